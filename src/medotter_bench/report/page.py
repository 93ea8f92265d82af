"""Puts the parts of a page together. Every value passes the template's automatic escaping.

Leaves to others: what the parts hold (`view`), reading and writing files (`files`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from medomni.core.errors import MissingExtraError
from medotter_bench.report import distribution, view
from medotter_bench.report.layout import number
from medotter_bench.report.pictures import Drawer, worst_cases
from medotter_bench.results_reading import LoadedResults

if TYPE_CHECKING:
    from jinja2 import Template

NO_FILES = "data and predictions were not given (--bundle, --data-root, --predictions)"


def render(
    results: LoadedResults,
    *,
    drawer: Drawer | None = None,
    about: Mapping[str, str] | None = None,
    timings: Mapping[str, float] | None = None,
    withheld: Sequence[str] = (),
) -> str:
    """The page as HTML text; the same text for the same input.

    Args:
        results: What to show.
        drawer: Draws the worst cases; without one they are listed without pictures.
        about: What the bundle says of itself: name, modality, anatomy, description.
        timings: Seconds per case.
        withheld: Tiers of which no single case may be shown; they stay in all aggregates.

    Raises:
        MissingExtraError: the template package is not installed.
    """
    document, effective = results.document, results.document["effective"]
    metric = document["headline"]["metric"]
    shown = [row for row in results.rows if row.meta["tier"] not in withheld]
    hidden = [row.case_id for row in results.rows if row.meta["tier"] in withheld]
    drawn = [
        (worst, NO_FILES if drawer is None else drawer.draw(worst)) for worst in worst_cases(results, shown)
    ]
    return _template().render(
        css=_text("report.css"),
        task=document["bundle"]["task"],
        version=document["bundle"]["version"],
        head=view.headline(results),
        scored=view.scored_table(results, about or {}),
        status=view.status_table(results),
        problems=view.problem_table(shown, document["extra"]),
        figures=view.figures(results, shown) if shown else [],
        aggregates=view.aggregate_tables(results),
        drawn=drawn,
        worst_table=view.worst_table(drawn, metric),
        worst_values=[f"{metric} {number(w.value, metric)}" for w, p in drawn if not isinstance(p, str)],
        timings=view.timing_table(timings, hidden) if timings else None,
        cases=view.case_table(results, shown),
        protocol=view.protocol_table(effective),
        defaults=view.defaults_table(effective),
        remap=view.remap_table(effective),
        withheld=sorted(set(withheld)),
        n_hidden=len(hidden),
        box=distribution,
    )


def _text(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    try:
        import jinja2
    except ImportError as missing:  # pragma: no cover - the test environment has every extra
        raise MissingExtraError.for_extra("report", "jinja2", "writing HTML reports") from missing
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    return environment.from_string(_text("report.html"))


def _printable(value: Any) -> Any:
    """Text without characters that HTML forbids, and without those that turn or hide what is around them."""
    if type(value) is not str or value.isprintable():
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in value)
