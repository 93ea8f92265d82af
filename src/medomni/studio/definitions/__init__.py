"""The files that people write for Studio, as typed objects: templates, cohorts, labels, recipes, arms.

All problems of a file are found at once, each with its line.

Leaves to others: the data's own definitions (`data.definitions`), and what the recipe language means
(`recipe`).
"""
