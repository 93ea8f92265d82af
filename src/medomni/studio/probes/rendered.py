"""The probe of rendered bytes: everything below an atom's folder that an agent can come to see.

The host's side alone is left out: `task.toml`, and the tests, which run elsewhere. In the instruction, words
of the template and the labels may name the target, since they ask for it; the record in it may not.

Leaves to others: what is forbidden (`forbidden`), writing the files (`render`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from medomni.core.hashing import sha256_bytes
from medomni.core.issues import Issue, error
from medomni.studio.probes.forbidden import ATOM, PATIENT, RESTATED, Forbidden, text_issues

INSTRUCTION = "instruction.md"
_HOST_FILES = ("task.toml",)
_HOST_FOLDERS = ("tests",)
_EVIDENCE = "data"


def seen_by_agent(relative: str) -> bool:
    """Whether a file of an atom task, by its path in the folder, can come to an agent's eyes."""
    return relative not in _HOST_FILES and relative.partition("/")[0] not in _HOST_FOLDERS


@dataclass(slots=True)
class Probed:
    """The files of an atom that were looked through.

    Attributes:
        digests: SHA-256 by folder, and by path in it.
        seen: Digests of files whose bytes were looked through, under any arm: once is enough.
    """

    digests: dict[Path, dict[str, str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


def rendered_issues(
    atom: str,
    arm: str,
    folder: Path,
    *,
    record: str,
    forbidden: Sequence[Forbidden],
    probed: Probed | None = None,
) -> Iterator[Issue]:
    """Every forbidden text in what an agent sees of a rendered atom, and every link.

    Args:
        atom: The atom's name.
        arm: Arm and variant, for messages.
        folder: The atom task.
        record: The record's Markdown, as the instruction holds it.
        forbidden: What must not be found.
        probed: What is known of the atom's files under other arms; this arm's are added to it.
    """
    probed = probed or Probed()
    digests = probed.digests.setdefault(folder, {})
    anywhere = [each for each in forbidden if each.everywhere]
    for relative in _names(folder):
        place, path = f"{atom} under {arm}: {relative}", folder / relative
        if path.is_symlink():
            yield error("leak-link", place, "a link stands where a real file must", "copy the file")
            continue
        data = path.read_bytes()
        digest = digests[relative] = sha256_bytes(data)
        if not seen_by_agent(relative):
            continue
        yield from _name_issues(place, relative, anywhere)
        if digest in probed.seen:
            continue
        probed.seen.add(digest)
        text = data.decode("utf-8", errors="replace")
        if relative == INSTRUCTION:
            yield from _instruction_issues(place, text, record, forbidden)
        else:
            evidence = relative.partition("/")[0] == _EVIDENCE
            yield from text_issues(place, text, forbidden if evidence else anywhere)


def _names(folder: Path) -> list[str]:
    """Every file and link below a folder, by its path in it, sorted."""
    found = []
    start = len(str(folder)) + 1
    for here, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(here) / name).is_symlink()]
        found += [f"{here}/{name}"[start:] for name in (*files, *links)]
    return sorted(found)


def _name_issues(place: str, relative: str, anywhere: Sequence[Forbidden]) -> Iterator[Issue]:
    for each in anywhere:
        if each.code in (ATOM, PATIENT) and each.first(relative):
            yield error(each.code, place, f"a file's name {each.what}")


def _instruction_issues(
    place: str, text: str, record: str, forbidden: Sequence[Forbidden]
) -> Iterator[Issue]:
    """Everything is forbidden in the record, and all but the target's own words around it."""
    before, there, after = text.partition(record)
    if not there:
        # Nothing tells what somebody asked from what the data say: then all of it must be clean.
        yield from text_issues(place, text, forbidden)
        return
    yield from text_issues(f"{place} (its record)", record, forbidden)
    words = [each for each in forbidden if each.code != RESTATED]
    yield from text_issues(f"{place} (around its record)", f"{before}\n{after}", words)
