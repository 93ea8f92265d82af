"""A page that shows people what an agent will see of an atom, and what was removed by which rule.

Leaves to others: evidence, record and rendering, which are those of the build.
"""
