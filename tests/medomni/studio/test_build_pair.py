"""Building a pair from made-up data through the real steps: whole, repeatable, and blind to answers."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studio_builders import beside, dummy_workspace, edit
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core import execution
from medomni.core.contracts import load
from medomni.core.errors import ExecutionError, InvalidNameError
from medomni.core.hashing import cfg1, recorded_files
from medomni.core.issues import warning
from medomni.core.names import Pair, atom_name
from medomni.core.workspace import Workspace
from medomni.studio.building.pair import BuildReport, Limits, Means, build_pair
from medomni.studio.building.requests import Request
from medomni.studio.cli.build import _show
from medomni.studio.config_files import hash_pair
from medomni.studio.content.placing import staging
from medomni.studio.errors import BuildError
from medomni.studio.probes.association import folded_auc, ranks
from medomni.studio.probes.rendered import seen_by_agent
from medomni.studio.probes.single_feature import SIZES

PAIR = Pair("mimic-iv_in-hospital-mortality", "dummy")
RUNGS = ("r1", "r2", "r3", "r4", "r5")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return beside(dummy_workspace(tmp_path_factory), tmp_path_factory.mktemp("build") / "workspace")


@pytest.fixture(scope="module")
def report(place: Workspace) -> BuildReport:
    return build_pair(place, PAIR)


@pytest.fixture(scope="module")
def built(place: Workspace, report: BuildReport) -> Workspace:
    return place


@pytest.fixture
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the probe of single features, which decides nothing about what is built."""
    monkeypatch.setitem(SIZES, "dummy", 1)
    monkeypatch.setattr("medomni.studio.building.probing._single_features", lambda *_: ())


def digests(workspace: Workspace) -> dict[str, str]:
    return {
        path.relative_to(workspace.atomtasks).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(workspace.atomtasks.rglob("*"))
        if path.is_file() and ".build" not in path.parts
    }


def manifest(workspace: Workspace) -> dict[str, object]:
    return load("build-manifest", workspace.content(PAIR) / "manifest.json")


def answers(workspace: Workspace) -> list[dict[str, str]]:
    return load("answers", workspace.content(PAIR) / "answers.csv")["rows"]


def atoms_under(workspace: Workspace, arm: str, variant: str | None = None) -> Iterator[Path]:
    return (workspace.rendered(arm, variant) / row["atom"] for row in answers(workspace))


def test_every_file_that_was_built_is_in_the_manifest_and_nothing_else(built: Workspace) -> None:
    files = digests(built)
    own = f"_content/{PAIR}/manifest.json"
    assert files.pop(own)
    assert manifest(built)["files"] == files


def test_the_pair_is_built_under_every_arm_and_rung(built: Workspace, report: BuildReport) -> None:
    expected = [("encoders", None), *(("modality-ladder", rung) for rung in RUNGS), ("no-perception", None)]
    assert list(report.hashes) == expected
    assert [(row["arm"], row["variant"]) for row in manifest(built)["hashes"]] == expected
    for arm, variant in expected:
        assert all((atom / "instruction.md").is_file() for atom in atoms_under(built, arm, variant))


def test_the_config_hashes_can_be_computed_from_the_copies(built: Workspace) -> None:
    for row in manifest(built)["hashes"]:
        files = recorded_files(built.config_copies(PAIR), [file["path"] for file in row["files"]])
        again = cfg1(
            files, builder="medomni-v1", dataset_release="mimic-iv/dummy-1", medomni_release="medomni/0.3.0"
        )
        assert again.value == row["config_hash"]
        assert again.value == hash_pair(built, PAIR, arm=row["arm"], variant=row["variant"]).value


def test_content_holds_the_atoms_in_the_order_of_names_and_no_answer(
    built: Workspace, report: BuildReport
) -> None:
    content = load("built-task", built.content(PAIR) / "content.json")
    names = [each["atom"] for each in content["atoms"]]
    assert names == sorted(names) == [row["atom"] for row in answers(built)]
    assert (content["release_class"], content["access"]) == ("dummy", "generated")
    assert content["step_counts"][-1] == {"step": "draw", "rule": "n: 20", "n_before": 230, "n_after": 20}
    assert content["reference"]["hospital_death"]["eligible_n"] == 230
    assert "stratum" not in json.dumps(content)


def test_answers_are_those_of_the_drawn_and_strata_live_with_them_alone(
    built: Workspace, report: BuildReport
) -> None:
    drawn = {str(each.subject): each for each in report.selection.atoms}
    for row in answers(built):
        mine = drawn[row["patient"]]
        assert row["atom"] == atom_name(PAIR, version=1, patient=row["patient"])
        assert (row["stratum"], row["hospital_death"]) == (mine.stratum, str(mine.value))
    with (built.content(PAIR) / "answers.csv").open(encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == ["atom", "patient", "stratum", "hospital_death"]


def test_the_record_that_is_kept_is_what_the_instruction_shows(built: Workspace) -> None:
    atom = answers(built)[0]["atom"]
    record = json.loads((built.content(PAIR) / atom / "record.json").read_text(encoding="utf-8"))
    instruction = (built.rendered("encoders") / atom / "instruction.md").read_text(encoding="utf-8")
    assert record["rule"] in instruction
    for part in record["parts"]:
        total = part["shown"] + part["not_shown"]
        assert f"### {part['family']}: {part['table']}\n" in instruction
        assert f"{part['shown']} of {total} rows shown; complete table: `/{part['file']}`" in instruction
        assert (built.rendered("encoders") / atom / part["file"]).is_file()
    assert len(instruction.encode()) < 80 * 1024


def test_one_more_rung_adds_files_and_rows_and_takes_none_away(built: Workspace) -> None:
    for row in answers(built)[:5]:
        before: dict[str, set[str]] = {}
        for rung in RUNGS:
            folder = built.rendered("modality-ladder", rung) / row["atom"] / "data" / "record"
            now = {path.name: set(path.read_text("utf-8").splitlines()) for path in folder.glob("*.csv")}
            assert all(lines <= now[name] for name, lines in before.items())
            before = now


def test_nothing_an_agent_sees_names_patient_or_atom(built: Workspace) -> None:
    row = answers(built)[0]
    for arm in ("encoders", "no-perception"):
        folder = built.rendered(arm) / row["atom"]
        for path in folder.rglob("*"):
            if path.is_file() and seen_by_agent(path.relative_to(folder).as_posix()):
                data = path.read_bytes()
                assert row["patient"].encode() not in data
                assert row["atom"].rpartition(".")[2].encode() not in data


def test_name_order_size_and_times_of_atoms_tell_no_answer(built: Workspace) -> None:
    rows = answers(built)
    truth = np.array([row["hospital_death"] == "1" for row in rows])
    folders = list(atoms_under(built, "encoders"))
    sizes = [sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) for folder in folders]
    signs = {
        "name": [int(row["atom"].rpartition(".")[2], 16) for row in rows],
        "order on disk": [sorted(path.name for path in folders).index(folder.name) for folder in folders],
        "time": [folder.stat().st_mtime_ns for folder in folders],
        "times of files": [max(p.stat().st_mtime_ns for p in folder.rglob("*")) for folder in folders],
        "size": sizes,
        "size of record": [
            (built.content(PAIR) / row["atom"] / "record.json").stat().st_size for row in rows
        ],
    }
    for name, values in signs.items():
        strength = folded_auc(ranks(np.array(values, dtype=np.float64)), truth)
        # Ten against ten: 0.77 is where a two-sided test at 0.05 begins to see something. Sizes may tell how
        # much was measured, which is evidence, and no more.
        assert strength < (0.85 if name.startswith("size") else 0.77), (name, strength)


@pytest.mark.usefixtures("nobody_is_asked")
def test_the_same_build_by_two_processes_and_one_thread_has_the_same_bytes(built: Workspace) -> None:
    before = digests(built)
    with execution.local(2, preload=("medomni.studio.building.rendering",)) as workers:
        build_pair(built, PAIR, arms=("encoders", "no-perception"), means=Means(workers, Limits(threads=1)))
    # The rungs stayed, since nothing that they come from is another.
    assert digests(built) == before


@pytest.mark.usefixtures("nobody_is_asked")
def test_a_new_version_replaces_everything_and_an_arm_left_out_is_gone(
    tmp_path: Path, built: Workspace
) -> None:
    place = beside(built, tmp_path / "other")
    shutil.copytree(built.atomtasks, place.atomtasks)
    edit(place.cohort("mimic-iv", PAIR), "version: 1", "version: 2")
    first = {row["atom"] for row in answers(place)}
    report = build_pair(place, PAIR, arms=("encoders",), version=2)
    assert report.removed == ("modality-ladder", "no-perception")
    assert load("built-task", place.content(PAIR) / "content.json")["version"] == 2
    second = {row["atom"] for row in answers(place)}
    assert not first & second
    assert {path.name for path in place.rendered("encoders").iterdir()} == second
    assert list(place.rendered("no-perception").iterdir()) == []
    assert manifest(place)["files"].keys() == digests(place).keys() - {f"_content/{PAIR}/manifest.json"}
    with pytest.raises(BuildError, match="version 1 of") as caught:
        build_pair(place, PAIR, version=1)
    assert caught.value.code == "build-version"


def test_a_pair_that_is_being_built_cannot_be_built_again(built: Workspace) -> None:
    with staging(built, PAIR), pytest.raises(BuildError) as caught:
        build_pair(built, PAIR)
    assert caught.value.code == "build-in-use"


def test_an_arm_that_the_pair_does_not_support_is_refused(built: Workspace) -> None:
    for name, pair in (("sound", PAIR), ("modality-ladder", Pair("mimic-iv_meld-na", "dummy"))):
        with pytest.raises(BuildError, match="is not built under the arm") as caught:
            build_pair(built, pair, arms=(name,))
        assert caught.value.code == "build-arm"


def test_another_evidence_variant_is_refused(built: Workspace) -> None:
    with pytest.raises(InvalidNameError, match="full"):
        build_pair(built, Pair(PAIR.template, "dummy", "full"))


def test_a_file_that_is_edited_while_its_pair_is_built_is_noticed(tmp_path: Path, built: Workspace) -> None:
    from medomni.studio.building.parts import refuse_changed
    from medomni.studio.content.opened import open_for_build

    place = beside(built, tmp_path / "other")
    opened = open_for_build(place, PAIR)
    refuse_changed(opened)
    with place.cohort("mimic-iv", PAIR).open("a", encoding="utf-8") as stream:
        stream.write("# later\n")
    with pytest.raises(BuildError, match=r"dummy\.yaml changed") as caught:
        refuse_changed(opened)
    assert caught.value.code == "build-config-changed"
    place.cohort("mimic-iv", PAIR).unlink()
    with pytest.raises(BuildError, match="changed"):
        refuse_changed(opened)


def test_a_rung_with_an_unknown_family_is_refused(tmp_path: Path, built: Workspace) -> None:
    from medomni.studio.content.opened import open_for_build

    place = beside(built, tmp_path / "other")
    ladder = place.template_arm("mimic-iv", PAIR.template, "modality-ladder")
    text = ladder.read_text(encoding="utf-8")
    ladder.write_text(text.replace("demographics", "demographic"), encoding="utf-8")
    with pytest.raises(BuildError, match="demographic") as caught:
        open_for_build(place, PAIR)
    assert caught.value.code == "build-arm-family"


def test_what_renders_is_given_no_answer(built: Workspace) -> None:
    from dataclasses import fields

    from medomni.studio.content.model import BuiltAtom, BuiltPair

    names = {field.name for each in (BuiltAtom, BuiltPair) for field in fields(each)}
    assert not names & {"answer", "answers", "value", "values", "stratum"}


def test_the_command_tells_counts_hashes_and_what_is_gone(
    report: BuildReport, capsys: pytest.CaptureFixture[str]
) -> None:
    note = warning("leak-single-feature", "atom: table.column, row 1", "a strong feature")
    request = Request(PAIR)
    once = warning("build-cohort", str(PAIR), "only one class occurs")
    told = replace(report, removed=("sound",), warnings=(once, *(note,) * 11))
    _show([(request, told)], [], as_json=False)
    out, err = capsys.readouterr()
    assert f"{PAIR} v1 on mimic-iv/dummy-1: 20 atoms, {report.files} files" in out
    assert "modality-ladder/r5: cfg1:" in out
    assert "candidates" in out
    assert "atoms of sound were made from something else" in err
    assert err.count("warning[leak-single-feature]") == 9
    assert "warning[build-cohort]: only one class occurs" in err
    assert "and 2 more warnings" in err
    _show([(request, told)], [], as_json=True)
    document = json.loads(capsys.readouterr().out)["built"][0]
    assert document["arms_removed"] == ["sound"]
    assert document["config_hashes"][1]["variant"] == "r1"
    assert document["data_fingerprint"] == report.fingerprint


def test_jobs_and_a_scheduler_exclude_each_other(built: Workspace) -> None:
    command = ["studio", "build", str(PAIR), "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"]
    result = CliRunner().invoke(app, [*command, "--workspace", str(built.root)])
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
    result = CliRunner().invoke(app, ["studio", "build", str(PAIR), "--scheduler", "nowhere://x"])
    assert result.exit_code == 2


def test_a_worker_that_fails_is_told_by_the_atom(built: Workspace) -> None:
    from medomni.studio.building.rendering import _failed

    known = BuildError("no room", code="render-variant")
    assert _failed("a", execution.Failure("render-variant", "no room", error=known)) is known
    inner = _failed("a", execution.Failure(execution.INTERNAL, "KeyError: 1", "x.py:1"))
    assert isinstance(inner, ExecutionError)
    died = _failed("a", execution.Failure("worker-died", "killed"))
    assert isinstance(died, BuildError)
    assert (died.code, died.what) == ("worker-died", "a: killed")
