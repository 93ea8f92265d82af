"""New definition files from parameters: they load as they are, and say FILL IN where only their author knows.

Leaves to others: checking them (`checking`, which refuses what still says FILL IN).
"""
