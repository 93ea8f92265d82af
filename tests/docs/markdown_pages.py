"""The repository's Markdown as tests see it: pages, fenced blocks, commands and their output, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
_FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks) *$", re.M | re.S
)
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
# Lines about progress go to stderr and depend on nothing that a page explains.
_PROGRESS = re.compile(r"(scoring|checking) (cases|predictions): \d+ of \d+(, about \d+ (s|min) left)?")


@dataclass(frozen=True)
class Block:
    """One fenced block: its info string, its text, and the line on which it begins."""

    info: str
    body: str
    line: int


@dataclass
class Command:
    """A command of a `console` block and the lines that the page shows below it."""

    text: str
    line: int
    expected: list[str] = field(default_factory=list)


def pages() -> list[Path]:
    """README and all of docs."""
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def all_markdown() -> list[Path]:
    """Every Markdown file that belongs to the repository."""
    folders = ("docs", "benchmarks", "evaluation", "benchmarks-perf")
    below = [path for folder in folders for path in sorted((REPOSITORY / folder).rglob("*.md"))]
    return [*sorted(REPOSITORY.glob("*.md")), *below]


def blocks(path: Path) -> Iterator[Block]:
    text = path.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        yield Block(match["info"].strip(), match["body"], text.count("\n", 0, match.start()) + 1)


def commands(block: Block) -> list[Command]:
    """The commands of a `console` block; a line that ends in a backslash goes on in the next."""
    found: list[Command] = []
    goes_on = False
    for number, line in enumerate(block.body.splitlines(), start=block.line + 1):
        if goes_on:
            found[-1].text += "\n" + line
        elif line.startswith("$ "):
            found.append(Command(line[2:], number))
        else:
            assert found, f"line {number}: output before any command"
            found[-1].expected.append(line)
            continue
        goes_on = line.endswith("\\")
    return found


def links(path: Path) -> Iterator[str]:
    """Targets of links and images that are no web addresses, code left out."""
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    for match in _LINK.finditer(re.sub(r"`[^`\n]*`", "", text)):
        if not re.match(r"[a-z]+:", match["target"]):
            yield match["target"]


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.+?) *$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def without_progress(output: str) -> list[str]:
    """The lines of an output as a page would show them."""
    lines = [line.rstrip() for line in output.splitlines()]
    return [line for line in lines if not _PROGRESS.fullmatch(line)]


def agrees(expected: list[str], found: list[str]) -> bool:
    """Whether an output is what a page shows: `…` in a line is any text, a line `…` any lines."""
    parts = [r"(?:.*\n)*?" if line.strip() == "…" else _line_pattern(line) for line in _trimmed(expected)]
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in _trimmed(found))) is not None


def _line_pattern(line: str) -> str:
    return ".*?".join(map(re.escape, line.rstrip().split("…"))) + r"\n"


def _trimmed(lines: list[str]) -> list[str]:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept
