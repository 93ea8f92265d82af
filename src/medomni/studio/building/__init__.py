"""The build: from a pair to its content and its atom tasks, checked for leaks, whole or not at all.

Leaves to others: every single step (`select`, `evidence`, `record`, `probes`, `content`, `render`).
"""
