"""Who was left out of a cohort and why: as a table, and as a picture in the manner of CONSORT.

Leaves to others: counting (`select`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from medomni.studio.draw import Drawn
from medomni.studio.select import Selection, StepCount

_WIDTH, _BOX, _SIDE, _GAP, _LINE = 830, 320, 408, 26, 20
# Letters that fit into a line in a box, beside it, and over the whole width; they are hardly wider than 7 px.
_INSIDE, _BESIDE, _ACROSS = 43, 54, 105
_GROUPS = (
    ("where", "Eligible at the prediction time"),
    ("where_outcome", "Eligible"),
    ("family", "With something of every required family"),
)


def shown_steps(selection: Selection) -> list[StepCount]:
    """The steps without those rules on missing values that left nobody out."""
    return [
        step
        for step in selection.steps
        if not (step.rule.startswith("null:") and step.events_before == step.events_after)
    ]


def flow_table(selection: Selection) -> str:
    """The steps as text: events and people before and after each."""
    rows = [("step", "rule", "events", "people", "events left out", "people left out")]
    for step in shown_steps(selection):
        rows.append(
            (
                step.step,
                step.rule,
                str(step.events_after),
                str(step.people_after),
                str(step.events_before - step.events_after),
                str(step.people_before - step.people_after),
            )
        )
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join([*left, *right]).rstrip())
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Box:
    """A box of the picture: what stays, and what the rules before it left out."""

    title: str
    events: int
    people: int
    left_out: tuple[str, ...] = ()
    strata: str = ""


def _count(events: int, people: int) -> str:
    return f"{_plural(events, 'event', 'events')}, {_plural(people, 'person', 'people')}"


def _plural(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _boxes(steps: Sequence[StepCount], strata: str) -> list[_Box]:
    first, last = steps[0], steps[-1]
    boxes = [_Box("Candidate events", first.events_after, first.people_after)]
    for group, title in _GROUPS:
        inside = [step for step in steps if step.step == group]
        if group == "where_outcome":
            pick = next(step for step in steps if step.step == "pick")
            boxes.append(_Box("One event per patient, by hash", pick.events_after, pick.people_after))
        if inside:
            lines = tuple(
                f"{step.rule}: "
                + _count(step.events_before - step.events_after, step.people_before - step.people_after)
                for step in inside
                if step.events_before != step.events_after
            )
            boxes.append(_Box(title, inside[-1].events_after, inside[-1].people_after, lines))
    others = last.people_before - last.people_after
    boxes.append(
        _Box(
            "In the cohort",
            last.events_after,
            last.people_after,
            (f"not drawn: {_plural(others, 'person', 'people')}",) if others else (),
            strata,
        )
    )
    return boxes


def _told(box: _Box) -> str:
    left_out = f" (left out: {'; '.join(box.left_out)})" if box.left_out else ""
    strata = f" ({box.strata})" if box.strata else ""
    return f"{box.title}: {_count(box.events, box.people)}{left_out}{strata}"


def _strata(selection: Selection) -> str:
    """The drawn people by stratum, as a line; empty where there are no strata."""
    counts = strata_counts(selection.atoms)
    told = ", ".join(f"{name}: {count:,}" for name, count in counts.items())
    return f"strata {told}" if set(counts) != {""} else ""


def strata_counts(atoms: Sequence[Drawn]) -> dict[str, int]:
    """Number of patients by stratum, in the strata's order."""
    counts = Counter(atom.stratum for atom in atoms)
    # The tenth quantile comes after the second.
    return dict(sorted(counts.items(), key=lambda each: (len(each[0]), each[0])))


def _wrapped(lines: Sequence[str], letters: int) -> list[str]:
    """Lines of at most so many letters; a rule may be as long as an expression."""
    indent = "\u00a0\u00a0"
    return [
        part
        for line in lines
        for part in wrap(line, letters, subsequent_indent=indent, break_on_hyphens=False)
    ]


def flow_svg(selection: Selection) -> str:
    """The steps as an SVG picture with a title and a description that screen readers read out."""
    boxes = _boxes(shown_steps(selection), _strata(selection))
    title = f"Flow of {selection.pair} v{selection.version} on {selection.release}"
    told = ". ".join([*map(_told, boxes), *selection.warnings])
    parts, y = _bold_lines([title], _GAP, size=14)
    for index, box in enumerate(boxes):
        if index:
            beside = _wrapped(["Left out:", *box.left_out], _BESIDE) if box.left_out else []
            space = _GAP + (len(beside) + 1) * _LINE if beside else _GAP
            parts.append(_arrow(_GAP + _BOX / 2, y, y + space))
            if beside:
                parts += _side(beside, y + _GAP / 2)
            y += space
        parts += _box(box, y)
        y += _height(box)
    warnings, y = _bold_lines([f"Warning: {each}" for each in selection.warnings], y + _LINE)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y:g}" width="{_WIDTH}"'
        f' height="{y:g}" role="img" aria-labelledby="flow-title flow-description"'
        ' font-family="sans-serif" font-size="13" fill="#1a1a1a">'
    )
    return "\n".join(
        [
            head,
            f'<title id="flow-title">{escape(title)}</title>',
            f'<desc id="flow-description">{escape(told)}</desc>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *parts,
            *warnings,
            "</svg>",
            "",
        ]
    )


def _bold_lines(lines: Sequence[str], y: float, *, size: int = 13) -> tuple[list[str], float]:
    """Lines over the whole width from `y` on, and where what follows may begin."""
    wrapped = _wrapped(lines, _ACROSS)
    style = f'font-size="{size}" font-weight="bold"'
    parts = [
        f'<text x="{_GAP}" y="{y + 10 + index * _LINE:g}" {style}>{escape(line)}</text>'
        for index, line in enumerate(wrapped)
    ]
    return parts, y + len(wrapped) * _LINE + 10


def _rect(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="#ffffff"'
        ' stroke="#1a1a1a"/>'
    )


def _lines(box: _Box) -> list[str]:
    return [_count(box.events, box.people), *_wrapped([box.strata], _INSIDE)]


def _height(box: _Box) -> int:
    return (1 + len(_lines(box))) * _LINE + 16


def _box(box: _Box, y: float) -> list[str]:
    x = _GAP + 12
    return [
        _rect(_GAP, y, _BOX, _height(box)),
        f'<text x="{x}" y="{y + _LINE + 2:g}" font-weight="bold">{escape(box.title)}</text>',
        *(
            f'<text x="{x}" y="{y + (index + 2) * _LINE + 2:g}">{escape(line)}</text>'
            for index, line in enumerate(_lines(box))
        ),
    ]


def _side(beside: Sequence[str], y: float) -> list[str]:
    x, height = _GAP + _BOX + 50, len(beside) * _LINE + 16
    middle = y + height / 2
    lines = [
        f'<text x="{x + 10}" y="{y + _LINE * (index + 1):g}" font-size="12">{escape(line)}</text>'
        for index, line in enumerate(beside)
    ]
    path = f"M {_GAP + _BOX / 2:g} {middle:g} H {x} M {x - 6} {middle - 4:g} L {x} {middle:g} L {x - 6}"
    return [
        f'<path d="{path} {middle + 4:g}" stroke="#1a1a1a" fill="none"/>',
        _rect(x, y, _SIDE, height),
        *lines,
    ]


def _arrow(x: float, top: float, bottom: float) -> str:
    head = f"M {x - 4:g} {bottom - 6:g} L {x:g} {bottom:g} L {x + 4:g} {bottom - 6:g}"
    return f'<path d="M {x:g} {top:g} V {bottom:g} {head}" stroke="#1a1a1a" fill="none"/>'
