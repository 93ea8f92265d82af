"""Content releases: what a release fixed, whether a pinned pair changed since, and fixing a new one.

Only config files are compared, by their parsed values. Builds and runs never come here.

Leaves to others: whether a pair's files are right (`checking`), and building.
"""
