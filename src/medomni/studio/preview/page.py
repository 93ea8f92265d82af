"""The page as HTML: one file, no script, nothing fetched. Every value is escaped where it enters.

Leaves to others: what is shown (`making`), and the picture of times (`timeline`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources

from medomni.studio.evidence.model import Removal
from medomni.studio.preview.model import Preview
from medomni.studio.preview.timeline import timeline, words
from medomni.studio.record.model import RecordPart

_SECTIONS = (
    ("asked", "What is asked"),
    ("record", "The record"),
    ("times", "When"),
    ("files", "Files"),
    ("removed", "What was removed"),
    ("exact", "The exact text"),
)
_WHY = {
    "guard": ("Guards", "Rows and cells that would give the answer away; the labels' guards say which."),
    "later": ("Not known yet", "Rows that became known only after the prediction time."),
    "end": ("Not final yet", "Cells emptied because their value was settled only after the prediction time."),
    "always": ("Never shown", "Ids and calendar dates, which no agent sees of anybody."),
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_FEW_ROWS = 6


def page(preview: Preview) -> str:
    """The page of a preview; the same text for the same preview."""
    css = resources.files("medomni.studio.preview").joinpath("page.css").read_text(encoding="utf-8")
    title = f"{preview.built.pair}: what the agent sees"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}</title><style>{css}</style></head><body>",
            _header(preview),
            "<main>",
            *(
                _section(key, name, body(preview))
                for (key, name), body in zip(_SECTIONS, _BODIES, strict=True)
            ),
            "</main></body></html>",
            "",
        ]
    )


def _section(key: str, name: str, body: str) -> str:
    return f'<section aria-labelledby="{key}"><h2 id="{key}">{escape(name)}</h2>\n{body}\n</section>'


def _header(preview: Preview) -> str:
    built = preview.built
    tags = [
        f"{built.pair} v{built.version}",
        f"arm {preview.arm}",
        built.release,
        f"atom {preview.number} of {preview.total}",
        *(["perception service attached"] if preview.perception else []),
    ]
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name in _SECTIONS)
    return "\n".join(
        [
            f"<header><h1>{escape(str(built.pair))}: what the agent sees</h1>",
            f'<p class="lead">{escape(built.template.statement.strip())}</p>',
            f'<ul class="tags">{"".join(f"<li>{escape(tag)}</li>" for tag in tags)}</ul>',
            _terms(preview),
            f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>',
        ]
    )


def _terms(preview: Preview) -> str:
    built = preview.built
    if built.access == "generated":
        return '<p class="note">Generated data: no row describes a person. Not for scores.</p>'
    terms = " ".join(built.terms)
    scores = "" if built.release_class == "real" else " Not for scores."
    return (
        f'<p class="alert"><strong>This page holds rows of {escape(built.release)}</strong>'
        f" ({escape(built.access)}, {escape(built.licence)}). {escape(terms)}{scores}</p>"
    )


def _asked(preview: Preview) -> str:
    template = preview.built.template
    parts = [
        "<h3>The prediction time</h3>",
        f'<div class="quote"><p>{escape(template.instruction.strip())}</p></div>',
        "<h3>The questions</h3>",
    ]
    for target in preview.built.targets:
        rows = [("Answer's key", target.name), ("Scored by", target.metric), ("Kind", target.kind)]
        if target.classes:
            rows.append(("Classes", "; ".join(f"{at} = {name}" for at, name in enumerate(target.classes))))
        if target.range is not None:
            rows.append(("Range", f"{target.range[0]} to {target.range[1]} {target.unit}"))
        rows.append(("Label", f"{target.label} v{target.label_version}"))
        parts.append(f'<div class="quote"><p>{escape(target.question.strip())}</p></div>{_pairs(rows)}')
    facts = [
        ("Answer goes to", template.submission_path),
        ("Config hash", preview.config_hash),
        ("Atom", preview.atom),
    ]
    note = "Metric, label, hash and the atom's name are for you: the agent sees none of them."
    return "\n".join([*parts, _pairs(facts), f'<p class="note">{note} The answer is not on this page.</p>'])


def _record(preview: Preview) -> str:
    record = preview.record
    shown = sum(len(part.rows) for part in record.parts)
    total = sum(part.total for part in record.parts)
    parts = [
        f"<p>The instruction shows {shown:,} of {total:,} rows; the complete tables are files.</p>",
        f'<p class="note">{escape(record.rule)}</p>',
    ]
    if not record.parts:
        parts.append("<p>Nothing is on record.</p>")
    return "\n".join([*parts, *map(_record_part, record.parts)])


def _record_part(part: RecordPart) -> str:
    count = f"{len(part.rows):,} of {part.total:,} rows"
    name = f"{part.family}: {part.table}"
    body = _table(name, part.columns, [[cell or "" for cell in row] for row in part.rows], hide_caption=True)
    is_open = " open" if len(part.rows) <= _FEW_ROWS else ""
    return (
        f'<details{is_open}><summary>{escape(name)} <span class="count">({count})</span></summary>\n'
        f"{body if part.rows else '<p>No row fits; see the file.</p>'}</details>"
    )


def _times(preview: Preview) -> str:
    picture = timeline(preview.tracks)
    rows = [
        [
            each.table,
            f"{each.rows:,}",
            words(each.hours[0]) if each.hours else "–",
            words(each.hours[-1]) if each.hours else "–",
            f"{each.untimed:,}",
        ]
        for each in preview.tracks
    ]
    columns = ("table", "rows", "first", "last", "without a time")
    figure = (
        '<figure><div class="scroll" role="region" aria-label="When the rows lie" tabindex="0">'
        f"{picture}</div><figcaption>One mark for each moment at which a table has a row. The line at the"
        " right is the prediction time, hour 0; what stands behind it (plans, orders) was known by then. The"
        " scale widens towards hour 0.</figcaption></figure>"
    )
    note = "<p>No kept row has a time.</p>"
    table = _table("Rows that are kept, by table", columns, rows, numbers=(1, 4))
    return f"{figure if picture else note}\n{table}"


def _files(preview: Preview) -> str:
    rows = [[each.path, f"{each.size:,}"] for each in preview.files]
    return _table("What the agent finds below /data", ("file", "bytes"), rows, numbers=(1,))


def _removed(preview: Preview) -> str:
    parts = ["<p>Counted in rows of this patient; a row that two rules touch counts for both.</p>"]
    for why, (name, told) in _WHY.items():
        found = [each for each in preview.removed if each.why == why]
        parts += [f"<h3>{escape(name)}</h3>", f'<p class="note">{escape(told)}</p>']
        parts.append(_removals(name, found) if found else "<p>Nothing.</p>")
    if preview.withheld:
        rows = [[family, f"{count:,}"] for family, count in preview.withheld]
        parts.append(f"<h3>Not under {escape(preview.arm)}</h3>")
        parts.append('<p class="note">Families that this variant of the arm does not show.</p>')
        parts.append(_table("Not shown", ("family", "rows"), rows, numbers=(1,), hide_caption=True))
    others = [each for each in preview.removed if each.why not in _WHY]
    if others:
        parts += ["<h3>Others</h3>", _removals("Others", others)]
    return "\n".join(parts)


def _removals(name: str, found: Sequence[Removal]) -> str:
    rows = [
        [each.table, each.rule, ", ".join(each.columns) or "whole rows", f"{each.rows:,}"] for each in found
    ]
    return _table(name, ("table", "rule", "cells", "rows"), rows, numbers=(3,), hide_caption=True)


def _exact(preview: Preview) -> str:
    size = len(preview.instruction.encode("utf-8"))
    return (
        f"<details><summary>instruction.md, {size:,} bytes</summary>"
        f'<pre tabindex="0">{escape(preview.instruction)}</pre></details>'
    )


_BODIES = (_asked, _record, _times, _files, _removed, _exact)


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in rows)}</dl>"


def _table(
    name: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    hide_caption: bool = False,
) -> str:
    """A table that scrolls sideways by itself; `numbers` are the columns that stand to the right."""

    def cell(tag: str, at: int, text: str) -> str:
        return f"<{tag}{' class="n"' if at in numbers else ''}>{escape(text)}</{tag.partition(' ')[0]}>"

    head = "".join(cell('th scope="col"', at, text) for at, text in enumerate(columns))
    body = "\n".join(
        f"<tr>{''.join(cell('td' if at else 'th scope="row"', at, text) for at, text in enumerate(row))}</tr>"
        for row in rows
    )
    caption = "" if hide_caption else f"<caption>{escape(name)}</caption>"
    return (
        f'<div class="scroll" role="region" aria-label="{escape(name)}" tabindex="0"><table>{caption}'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )
