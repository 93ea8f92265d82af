"""A pair's content: what a build writes once, before any arm renders it.

Leaves to others: the evidence (`evidence`), the atom tasks themselves (`render`).
"""
