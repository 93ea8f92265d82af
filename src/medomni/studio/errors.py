"""The errors of Studio: unusable definitions, labels without an answer, cohorts that cannot be drawn.

Leaves to others: problems found by checks, which are issues (`medomni.core.issues`).
"""

from __future__ import annotations

from medomni.core.errors import MedomniError


class RecipeError(MedomniError, ValueError):
    """Something written in the recipe language cannot be used; `code` says why."""

    code = "recipe-invalid"


class LabelError(MedomniError, ValueError):
    """A label cannot be computed on a release, or gives an impossible answer; `code` says why."""

    code = "label-invalid"


class CohortError(MedomniError, ValueError):
    """A cohort cannot be drawn from a label; `code` says why."""

    code = "cohort-invalid"


class ReleaseError(MedomniError, ValueError):
    """A content release cannot be fixed; `code` says why."""


class UnknownDefinitionError(MedomniError, LookupError):
    """A template, cohort, label, recipe or dataset is asked for that does not exist."""

    code = "definition-unknown"


class BuildError(MedomniError, ValueError):
    """A pair cannot be built, or what was built gives something away; `code` says why."""

    code = "build-failed"
