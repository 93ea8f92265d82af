"""MedOmni: clinical tasks for AI agents, on one small core.

Only the core exists so far (`medomni.core`); imaging bundles live in `medotter_bench`.
"""

__version__ = "0.3.0"
