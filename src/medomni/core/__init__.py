"""The shared ground of every package here: errors, issues, strict files, hashing, statistics, contracts.

It imports none of the packages that stand on it, and nothing heavy.
"""
