"""Guards checked against the tables: that what they remove exists.

Leaves to others: removing it (evidence), moments in a guard (`recipe.binding`), and the families themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import Catalog, Kind, column_kind, unknown
from medomni.studio.recipe.events import codes_condition
from medomni.studio.recipe.functions import check_pattern
from medomni.studio.recipe.model import Guard


def guard_problems(
    guard: Guard, catalog: Catalog, families: Callable[[], Collection[str]]
) -> Iterator[RecipeError]:
    """What a guard names that does not exist.

    Args:
        guard: The guard.
        catalog: The dataset's tables.
        families: Gives the names of the dataset's families; asked only where a guard names one.
    """
    if guard.family is not None:
        names = sorted(families())
        if guard.family not in names:
            problem = unknown("family", guard.family, names)
            yield RecipeError(problem.what, hint=problem.hint, code="guard-family-unknown")
    matched: set[str] = set()
    for name in guard.tables:
        try:
            table = catalog.table(name)
            for column in guard.columns:
                column_kind(table, column)
            if guard.codes is not None:
                codes_condition(guard.codes, table, catalog)
            if guard.pattern is not None:
                check_pattern(guard.pattern)
            several = len(guard.rule_columns) > 1
            for column in guard.rule_columns:
                if several and column not in table.columns:
                    continue
                if column_kind(table, column) is not Kind.TEXT:
                    raise RecipeError(f"{name}.{column} holds no text", code="recipe-type")
                matched.add(name)
            if guard.rule_columns and name not in matched:
                raise RecipeError(
                    f"{name} has none of {', '.join(guard.rule_columns)}", code="recipe-column-unknown"
                )
        except RecipeError as problem:
            yield problem
