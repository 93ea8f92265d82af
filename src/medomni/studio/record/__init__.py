"""The record: the part of the evidence that an instruction shows, and the complete tables beside it.

Leaves to others: what is evidence (`evidence`), the rest of the instruction (`render`).
"""
