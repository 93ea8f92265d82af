"""One leak of each kind, planted: the build fails, names atom, table, column and row, and leaves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from studio_builders import beside, dummy_workspace
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core import execution
from medomni.core.issues import Issue, IssuesError
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.building.pair import Limits, Means, build_pair, evidence_of
from medomni.studio.content.model import BuiltAtom, BuiltPair
from medomni.studio.content.opened import OpenPair
from medomni.studio.definitions.arms import Arm
from medomni.studio.draw import Drawn
from medomni.studio.evidence.model import Evidence
from medomni.studio.render import render_atom

CKD = Pair("mimic-iv_ckd-staging", "dummy")
DEATH = Pair("mimic-iv_in-hospital-mortality", "dummy")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return beside(dummy_workspace(tmp_path_factory), tmp_path_factory.mktemp("leaks") / "workspace")


def without_guards(path: Path, *words: str) -> None:
    """Take out the guards in whose line one of the words stands."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not any(line.startswith("  - {") and word in line for word in words)]
    assert len(lines) - len(kept) == len(words)
    path.write_text("".join(kept), encoding="utf-8")


def told(issues: Sequence[Issue]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for issue in issues:
        found.setdefault(issue.code, []).append(issue.where)
    return found


def test_a_guard_that_is_missing_fails_the_build_at_the_command_line(
    tmp_path: Path, place: Workspace
) -> None:
    leaky = beside(place, tmp_path / "leaky")
    without_guards(leaky.label("mimic-iv", "ckd_g_stage"), "code: {any: [50912", "dict: hosp.d_labitems")
    command = ["studio", "build", str(CKD), "--arm", "encoders", "--workspace", str(leaky.root)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "is not built: its atoms would give something away" in result.stderr
    # Atom, table, column and row.
    assert "error[leak-words]: 'Creatinine' restates ckd_g_stage" in result.stderr
    assert ": hosp.labevents.label, row " in result.stderr
    assert "error[leak-canary]: '765.43' was planted" in result.stderr
    assert ": hosp.labevents.ref_range_" in result.stderr
    assert "error[leak-single-feature]: " in result.stderr
    assert "of hosp.labevents.value in rows of 50912 tells ckd_g_stage with a strength of" in result.stderr
    assert not leaky.content(CKD).exists()
    assert not leaky.rendered("encoders").exists()
    assert "Traceback" not in result.stderr


type Spoil = Callable[[Evidence, Drawn], Evidence]


def spoiled(cell: Callable[[Drawn], str]) -> Spoil:
    """Puts a text into the last column of the newest admission."""

    def spoil(found: Evidence, drawn: Drawn) -> Evidence:
        tables = list(found.tables)
        at = next(place for place, each in enumerate(tables) if each.table == "hosp.admissions")
        *rows, last = tables[at].rows
        tables[at] = replace(tables[at], rows=(*rows, (*last[:-1], cell(drawn))))
        return replace(found, tables=tuple(tables))

    return spoil


@pytest.fixture(scope="module")
def honest(place: Workspace) -> dict[int, Evidence]:
    """The evidence of everybody who is asked, gathered once."""
    kept: dict[int, Evidence] = {}

    def keep(opened: OpenPair, drawn: Sequence[Drawn], limits: Limits) -> Iterator[Evidence]:
        for each, found in zip(drawn, evidence_of(opened, drawn, limits), strict=True):
            kept[each.subject] = found
            yield found

    def render(built: BuiltPair, atom: BuiltAtom, arm: Arm, variant: str | None, folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_pair(
            place, DEATH, arms=("encoders",), means=Means(execution.here(), evidence=keep, render=render)
        )
    return kept


def build(place: Workspace, honest: dict[int, Evidence], spoil: Spoil, render=render_atom) -> list[Issue]:
    def leaky(opened: OpenPair, drawn: Sequence[Drawn], limits: Limits) -> list[Evidence]:
        return [spoil(honest[each.subject], each) for each in drawn]

    means = Means(execution.here(), evidence=leaky, render=render)
    with pytest.raises(IssuesError, match="is not built") as caught:
        build_pair(place, DEATH, arms=("encoders",), means=means)
    assert not place.content(DEATH).exists()
    return caught.value.issues


def test_evidence_that_reads_the_answer_fails_the_build(
    place: Workspace, honest: dict[int, Evidence]
) -> None:
    found = told(build(place, honest, spoiled(lambda drawn: f"seen {drawn.value}")))
    # All twenty atoms; the first of each kind are told.
    assert len(found["leak-depends-on-answer"]) == 8
    assert all(
        ": hosp.admissions." in where and ", row " in where for where in found["leak-depends-on-answer"]
    )
    # The planted text is a feature as well.
    assert "hosp.admissions." in found["leak-single-feature"][0]


def test_ids_and_dates_fail_the_build(place: Workspace, honest: dict[int, Evidence]) -> None:
    found = told(build(place, honest, spoiled(lambda drawn: f"{drawn.subject} on {drawn.prediction_time}")))
    assert set(found) == {"leak-id", "leak-date"}
    assert all(
        ": hosp.admissions." in where and ", row " in where for each in found.values() for where in each
    )


def test_a_planted_word_fails_the_build(place: Workspace, honest: dict[int, Evidence]) -> None:
    found = told(build(place, honest, spoiled(lambda drawn: "CANARY_FUTURE")))
    assert set(found) == {"leak-canary"}


def test_what_a_renderer_adds_fails_the_build(place: Workspace, honest: dict[int, Evidence]) -> None:
    def chatty(built: BuiltPair, atom: BuiltAtom, arm: Arm, variant: str | None, folder: Path) -> None:
        render_atom(built, atom, arm, variant, folder)
        (folder / "environment" / "note.txt").write_text(f"made for {atom.patient}\n", encoding="utf-8")

    found = told(build(place, honest, lambda found, drawn: found, chatty))
    assert set(found) == {"leak-id"}
    assert found["leak-id"][0].endswith("under encoders: environment/note.txt, line 1")


def test_a_leak_is_told_as_json_too(tmp_path: Path, place: Workspace) -> None:
    command = [
        "studio",
        "build",
        str(Pair("mimic-iv_nothing", "dummy")),
        f"{DEATH.template}@nobody",
        "--json",
    ]
    result = CliRunner().invoke(app, [*command, "--workspace", str(place.root)])
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert document["built"] == []
    assert [each["pair"] for each in document["failed"]] == [
        "mimic-iv_nothing@dummy",
        f"{DEATH.template}@nobody",
    ]
    assert "0 of 2 pairs were built" in result.stderr
