"""The perception service: turns a staged file into numbers and words, for the agent of one atom.

It stands beside the agent, is reachable over a shared loopback alone, and reads the atom's `data/` and
nothing else. The whole service fits into one archive (`archive`) that runs on a bare Python 3.11 or later:
images of agents hold nothing of this project.

Leaves to others: which arms attach it (`definitions.arms`), putting it into an atom task (`render`), and
sandboxes and containers (whoever runs the task).
"""
