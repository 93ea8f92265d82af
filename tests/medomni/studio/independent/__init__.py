"""The nine MIMIC-IV labels computed a second time, in plain Python, from the written definitions.

Nothing here reads the label files, the recipe compiler or a database: a mistake there stays a mistake there.
Each module holds one label: `RULES` (a rule is true when the candidate passes it), `NOT_APPLIED` (rules whose
field is empty in the demo: they pass) and `candidates(tables)`.
"""
