"""MedOmni: clinical tasks for AI agents, on one small core.

`core` is what everything stands on, `studio` goes from datasets to built tasks, `cli` is the command; imaging
bundles live in `medotter_bench`.
"""

__version__ = "0.3.0"
