"""Data of a release: what its files must hold, the import into typed Parquet, and the imported store.

Leaves to others: what the columns mean for an answer (labels, recipes), and which rows become evidence.
"""
