"""`task check`: everything that is wrong with a pair's files, and with what was built from them.

Leaves to others: whether a pair changed since a release (`release`).
"""
