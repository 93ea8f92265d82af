"""What an agent may see of a patient: the whole record minus what came later and what the guards remove.

Leaves to others: which patients (`select`), how it is shown (`record`), files on disk (`content`, `render`).
"""
