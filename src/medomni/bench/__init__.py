"""Bench: runs agents on built atom tasks, scores what they answered, ranks them.

It reads what the core's contracts define and nothing of Studio. Harbor and `medomni_harbor` run in a
process of their own. Leaves to others: defining and building tasks (`medomni.studio`).
"""
