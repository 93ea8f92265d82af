"""Atom tasks: what an agent runs, in the folder that Harbor reads.

`render_atom` writes one atom under one arm and variant. What it is given holds no answer, and what an agent
sees of it (`instruction.md`, `data/`, the images of `environment/`) holds no name or id either.

Leaves to others: the evidence and the record (`evidence`, `record`), which atoms there are (`content`), and
running them (Bench).
"""

from medomni.studio.render.atom import atom_files, render_atom

__all__ = ["atom_files", "render_atom"]
