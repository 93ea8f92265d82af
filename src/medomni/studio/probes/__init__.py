"""Probes: whether what an agent is shown gives its answer, its patient or the future away.

Every probe gives issues that name table, column and row. Leaves to others: removing it (`evidence`), deciding
what a build does about it (`build`).
"""
