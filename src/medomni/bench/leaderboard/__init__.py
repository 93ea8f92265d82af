"""Leaderboards from records: what compares with what, rank intervals, and how all of it is shown.

A board reads records alone, never answers, so that it can be made wherever the records are.

Leaves to others: scores and paired tests, which are made where the answers are (`medomni.bench.scoring`,
`medomni.bench.comparing`, `medomni.bench.suites`), and signatures (`medomni.core.signing`).
"""
