"""What Harbor needs of MedOmni: closed environments and the built-in agents. Only Harbor's process imports
it.

It needs Harbor and the standard library alone, since Harbor has a Python environment of its own. Modules that
need Harbor say so; the others (`answering`, `rules`, `sandbox`, …) can be imported anywhere.

Leaves to others: what is run, when, and what becomes of the results (`medomni.bench`).
"""
