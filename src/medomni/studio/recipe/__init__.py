"""The recipe language: expressions, references, predicates and windows, checked and compiled to DuckDB.

Leaves to others: reading the files (`definitions`), running a label (`labels`), drawing a cohort (`select`).
"""
