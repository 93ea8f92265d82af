"""MedOmni Studio: from datasets and definitions to built tasks (builder `medomni-v1`).

Content lies under `studio/` of a workspace. Leaves to others: running agents and scoring them (Bench).
"""
