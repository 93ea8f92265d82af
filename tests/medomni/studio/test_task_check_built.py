"""`task check` of what was built: every way in which files can differ from what the build made."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from release_builders import mini, mini_data
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.names import Pair
from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.building.pair import build_pair
from medomni.studio.checking.built import built_problems, read_built
from medomni.studio.checking.definitions import DefinitionCheck, check_definitions
from medomni.studio.checking.visible import visible_problems
from medomni.studio.data.importer import import_release
from medomni.studio.definitions.library import open_library
from medomni.studio.release.bytes import released_bytes
from medomni.studio.release.freezing import freeze

PAIR = Pair("mini_stage", "dummy")
ARM = "no-perception"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with one built pair of nine atoms, which each test puts back as it was."""
    workspace = mini(tmp_path_factory.mktemp("built") / "w")
    cohort = workspace.cohort("mini", PAIR)
    change(cohort, "n: all", "strata: {by: label, classes: [0, 1, 2], per: 3}\nn: 9")
    files = mini_data(tmp_path_factory.mktemp("mini-files") / "release")
    import_release(workspace, "mini", [files], release="dummy-1")
    build_pair(workspace, PAIR, arms=(ARM,))
    return workspace


@pytest.fixture
def check(place: Workspace) -> DefinitionCheck:
    return check_definitions(open_library(place, "mini"), PAIR)


@pytest.fixture
def keep(place: Workspace) -> Iterator[Callable[[Path], Path]]:
    """Remembers the bytes of files that a test changes, and puts them back."""
    kept: dict[Path, bytes] = {}

    def remember(path: Path) -> Path:
        kept[path] = path.read_bytes()
        return path

    yield remember
    for path, data in kept.items():
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


type Keep = Callable[[Path], Path]


def found(place: Workspace, check: DefinitionCheck) -> dict[str, str]:
    """Code to what is wrong, of everything that is found in the build."""
    built, issues = read_built(place, PAIR)
    if built is not None:
        issues += [*built_problems(built, check), *visible_problems(built, check)]
    return {issue.code: f"{issue.where}: {issue.what}" for issue in issues}


def atom(place: Workspace) -> Path:
    return sorted(place.rendered(ARM).iterdir())[0]


def document(place: Workspace, name: str) -> Path:
    return place.content(PAIR) / name


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_what_the_build_made_passes_through_the_command(place: Workspace) -> None:
    given = ["studio", "task", "check", str(PAIR), "--require-build", "--workspace", str(place.root)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert "build: ok (9 atoms, " in result.stdout


def test_data_there_and_nothing_built_is_told(place: Workspace) -> None:
    given = ["studio", "task", "check", "mini_days@dummy", "--workspace", str(place.root)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0
    assert "build: not built" in result.stdout


def test_a_changed_missing_or_further_file_is_found(
    place: Workspace, check: DefinitionCheck, keep: Keep
) -> None:
    assert found(place, check) == {}
    path = keep(atom(place) / "data" / "record" / "core.patients.csv")
    path.write_text(path.read_text() + "\n")
    assert set(found(place, check)) == {"build-file-changed"}
    path.unlink()
    assert set(found(place, check)) == {"build-file-missing"}
    extra = atom(place) / "data" / "more.csv"
    extra.write_text("a\n")
    assert "more.csv" in found(place, check)["build-file-extra"]
    extra.unlink()


def test_links_are_found(place: Workspace, check: DefinitionCheck, keep: Keep) -> None:
    path = keep(atom(place) / "data" / "record" / "core.patients.csv")
    aside = place.root / "aside.csv"
    aside.write_bytes(path.read_bytes())
    path.unlink()
    os.link(aside, path)
    assert set(found(place, check)) == {"build-file-linked"}
    path.unlink()
    path.symlink_to(place.content(PAIR) / "content.json")
    assert {"build-file-linked", "leak-link"} <= set(found(place, check))
    aside.unlink()
    folder = atom(place) / "data" / "other"
    folder.symlink_to(place.content(PAIR), target_is_directory=True)
    assert "other" in found(place, check)["build-file-extra"]
    folder.unlink()


def test_atoms_must_be_complete_and_no_more(place: Workspace, check: DefinitionCheck) -> None:
    one = atom(place)
    aside = place.root / one.name
    one.rename(aside)
    assert "the atom was not rendered" in found(place, check)["build-atom-missing"]
    other = one.with_name(f"{PAIR.template}.{PAIR.cohort}.0000000000")
    aside.rename(other)
    assert other.name in found(place, check)["build-atom-extra"]
    other.rename(one)
    record = place.content(PAIR) / one.name / "record.json"
    data = record.read_bytes()
    record.unlink()
    assert "no record.json" in found(place, check)["build-atom-missing"]
    record.write_bytes(data)
    test = one / "tests" / "expected.json"
    data = test.read_bytes()
    test.unlink()
    assert "lacks tests/expected.json" in found(place, check)["build-atom-missing"]
    test.write_bytes(data)
    assert found(place, check) == {}


def test_answers_must_be_possible_and_belong_to_their_atoms(
    place: Workspace, check: DefinitionCheck, keep: Keep
) -> None:
    path = keep(document(place, "answers.csv"))
    lines = path.read_text().splitlines()
    row = lines[1].split(",")
    path.write_text("\n".join([lines[0], ",".join([*row[:3], "3"]), *lines[2:], ""]))
    assert "'3' is no answer for stage" in found(place, check)["build-answer"]
    path.write_text("\n".join([lines[0], ",".join([row[0], "7", *row[2:]]), *lines[2:], ""]))
    assert row[0] in found(place, check)["build-atom-name"]
    path.write_text("\n".join([*lines[:-1], ""]))
    assert "do not name the same atoms" in found(place, check)["build-disagrees"]
    path.write_text(
        "\n".join([lines[0].replace("stage,", "stage,").replace(",stage", ",other"), *lines[1:], ""])
    )
    assert "the columns are other" in found(place, check)["build-disagrees"]
    path.write_text("\n".join([lines[0], *reversed(lines[1:]), ""]))
    assert "answers-order" in found(place, check)


def test_numbers_stay_in_their_range() -> None:
    from medomni.studio.checking.built import _possible

    target = {"type": "number", "range": [0, 10]}
    assert [_possible(text, target) for text in ("0", "10", "3.5", "10.1", "-1", "x", "nan", "inf")] == [
        True, True, True, False, False, False, False, False,
    ]  # fmt: skip
    assert [_possible(text, {"type": "binary"}) for text in ("0", "1", "2", "true")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_documents_must_agree(place: Workspace, check: DefinitionCheck, keep: Keep) -> None:
    path = keep(document(place, "content.json"))
    value = json.loads(path.read_text())
    path.write_text(json.dumps(value | {"version": 2}))
    wrong = found(place, check)
    assert "version differs" in wrong["build-disagrees"]
    assert "version was 2 when it was built, and is 1" in wrong["build-stale"]
    path.write_text(json.dumps(value | {"statement": "Another?"}))
    assert "statement was Another?" in found(place, check)["build-stale"]
    path.write_text(json.dumps(value | {"pair": "mini_stage@other"}))
    assert "built-task-conflict" in found(place, check)
    path.write_text(json.dumps(value | {"atoms": value["atoms"][:-1]}))
    assert "8 atoms" in found(place, check)["build-disagrees"]
    path.unlink()
    assert "file-not-found" in found(place, check)
    manifest = keep(document(place, "manifest.json"))
    path.write_text(json.dumps(value))
    change(manifest, '"builder": "medomni-v1/', '"builder": "medomni-v2/')
    wrong = found(place, check)
    assert "built by medomni-v2" in wrong["builder-unknown"]
    assert "do not give the recorded hash" in wrong["build-config-hash"]
    change(manifest, '"pair": "mini_stage@dummy"', '"pair": "mini_stage@other"')
    assert "manifest.json is of mini_stage@other" in found(place, check)["build-disagrees"]


def test_the_copies_of_config_files_must_give_the_recorded_hash(
    place: Workspace, check: DefinitionCheck, keep: Keep
) -> None:
    path = keep(place.config_copies(PAIR) / "studio" / "arms" / f"{ARM}.yaml")
    path.write_text(path.read_text() + "\n")
    assert "do not give the recorded hash" in found(place, check)["build-config-hash"]
    path.unlink()
    assert "the hash cannot be computed" in found(place, check)["build-config-hash"]


def test_files_that_changed_since_the_build_are_named(place: Workspace, keep: Keep) -> None:
    label = keep(place.label("mini", "stage"))
    data = label.read_bytes()
    label.write_bytes(data + b"# a comment\n")
    again = check_definitions(open_library(place, "mini"), PAIR)
    assert "labels/stage.yaml: changed since" in found(place, again)["build-stale"]
    label.write_bytes(data.replace(b"\n", b"\r\n"))
    wrong = found(place, check_definitions(open_library(place, "mini"), PAIR))
    assert "in its line endings alone" in wrong["line-endings"]
    assert "build-stale" not in wrong
    label.write_bytes(data)
    arm = keep(place.arm(ARM))
    arm.unlink()
    wrong = found(place, check_definitions(open_library(place, "mini"), PAIR))
    assert "cannot be hashed any more" in wrong["build-stale"]


def test_another_content_release_makes_a_build_stale(place: Workspace, check: DefinitionCheck) -> None:
    marker = place.root / "medomni.toml"
    before = marker.read_text()
    marker.write_text('release = "0.4.0"\n')
    later = load_workspace(place.root)
    marker.write_text(before)
    check = check_definitions(open_library(later, "mini"), PAIR)
    assert "built for medomni/0.3.0, and this is medomni/0.4.0" in found(later, check)["build-stale"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CANARY_FUTURE", "leak-canary"),
        ("seen on 2150-03-04", "leak-date"),
        ("a Secret word", "leak-words"),
        ("{patient}", "leak-id"),
        ("{atom}", "leak-name"),
    ],
)
def test_what_no_agent_may_see_is_found_in_rendered_files(
    place: Workspace, check: DefinitionCheck, keep: Keep, text: str, code: str
) -> None:
    one = atom(place)
    rows = document(place, "answers.csv").read_text().splitlines()[1:]
    patient = next(row.split(",")[1] for row in rows if row.startswith(one.name))
    path = keep(one / "data" / "record" / "core.patients.csv")
    path.write_text(path.read_text() + text.format(patient=patient, atom=one.name) + "\n")
    wrong = found(place, check)
    assert one.name in wrong[code]
    assert "core.patients.csv" in wrong[code]


def test_the_instruction_shows_what_record_json_holds(
    place: Workspace, check: DefinitionCheck, keep: Keep
) -> None:
    path = keep(place.content(PAIR) / atom(place).name / "record.json")
    value = json.loads(path.read_text())
    value["parts"][0]["rows"][0][0] = "another"
    path.write_text(json.dumps(value))
    assert atom(place).name in found(place, check)["build-record-differs"]
    path.write_text("{}")
    # Without a record nothing tells questions from data, and the questions name what is asked.
    assert "build-file-changed" in found(place, check)


def test_a_frozen_release_knows_the_bytes_of_its_dummy_builds(
    place: Workspace, check: DefinitionCheck, keep: Keep
) -> None:
    folder = place.benchmark("mine")
    (folder / "sets").mkdir(parents=True)
    (folder / "benchmark.yaml").write_text(
        'name: mine\nversion: "1.0"\nowner: me\nlicense: CC-BY-4.0\naccepts: [agent]\n'
    )
    (folder / "sets" / "v1.yaml").write_text(
        f"name: v1\nbuilder: medomni-v1\narms: [{ARM}]\ntasks: [{{task: {PAIR}, version: 1}}]\n"
    )
    built, _ = read_built(place, PAIR)
    assert built is not None
    assert list(released_bytes(place)(built)) == []
    frozen = freeze(place, "0.3.0")
    assert frozen.builds == 1
    lock = json.loads(frozen.path.read_text())
    assert lock["builds"][str(PAIR)] == built.manifest["files"]
    assert list(released_bytes(place)(built)) == []
    name = next(iter(built.manifest["files"]))
    lock["builds"][str(PAIR)][name] = "0" * 64
    frozen.path.write_text(json.dumps(lock))
    (issue,) = released_bytes(place)(built)
    assert issue.code == "release-build-differs"
    assert name in issue.what
    del lock["builds"][str(PAIR)]
    frozen.path.write_text(json.dumps(lock))
    assert list(released_bytes(place)(built)) == []
    shutil.rmtree(place.root / "bench")


def test_a_stale_dummy_build_cannot_be_frozen(place: Workspace, keep: Keep) -> None:
    path = keep(atom(place) / "instruction.md")
    path.write_text(path.read_text() + "more\n")
    folder = place.benchmark("mine")
    (folder / "sets").mkdir(parents=True)
    (folder / "benchmark.yaml").write_text(
        'name: mine\nversion: "1.0"\nowner: me\nlicense: CC-BY-4.0\naccepts: [agent]\n'
    )
    (folder / "sets" / "v1.yaml").write_text(
        f"name: v1\nbuilder: medomni-v1\narms: [{ARM}]\ntasks: [{{task: {PAIR}, version: 1}}]\n"
    )
    result = CliRunner().invoke(app, ["studio", "release", "freeze", "0.3.0", "--workspace", str(place.root)])
    assert result.exit_code == 2
    assert "error[release-build-missing]" in result.stderr
    assert "instruction.md" in result.stderr
    shutil.rmtree(place.root / "bench")
