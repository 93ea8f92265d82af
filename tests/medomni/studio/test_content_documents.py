"""The content's documents: exact forms, contracts kept, and the fingerprint of the data behind them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from studio_builders import REPOSITORY, content, dummy_workspace

from medomni.core.errors import InvalidNameError
from medomni.core.hashing import ConfigHash, HashedFile
from medomni.core.issues import IssuesError
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.building.earlier import earlier_build
from medomni.studio.building.parts import atom_names
from medomni.studio.building.requests import Request, requests_of
from medomni.studio.content.documents import (
    answer_text,
    answers_text,
    content_text,
    manifest_text,
    step_counts,
)
from medomni.studio.content.fingerprint import data_fingerprint
from medomni.studio.content.model import BuiltAnswer, BuiltPair, BuiltTarget
from medomni.studio.content.placing import staging
from medomni.studio.data.store import open_in
from medomni.studio.definitions.templates import Cohort, Template
from medomni.studio.draw import Drawn
from medomni.studio.errors import BuildError
from medomni.studio.select import StepCount
from medomni.studio.tables import StoredTables

PAIR = Pair("mimic-iv_t", "dummy")
ATOM = "mimic-iv_t.dummy.0123456789"
TEMPLATE = Template(
    "mimic-iv_t", "mimic-iv", (), (), (), (), (), "What?", "Now.", {}, "/workspace/answer.json"
)
DAYS = BuiltTarget("days", "mae", "length", 2, "number", (), ("0", "30.5"), "days", None, "How long?")
STAGE = BuiltTarget("stage", "qwk", "grade", 1, "ordinal", ("none", "some"), None, "", None, "Which?")
BUILT = BuiltPair(
    PAIR,
    3,
    TEMPLATE,
    Cohort("dummy", 3, "mimic-iv/dummy-1", "subject_id", None),
    (DAYS,),
    "mimic-iv/dummy-1",
    "dummy",
    "generated",
    "CC0",
    ("Made up.",),
    "medomni/0.3.0",
)
STEPS = (StepCount("candidates", "stay", 9, 9, 5, 5), StepCount("draw", "n: 1", 5, 1, 5, 1))
ANSWERS = (BuiltAnswer(ATOM, "007", "", {"days": "1.25"}),)
TIMES = {ATOM: "2150-01-01T00:00:00"}
REFERENCE = {
    "days": {
        "eligible_n": 5,
        "quantiles": {"0": 0, "20": Decimal("1.5"), "100": 30.5},
        "median": 2,
        "mae_ref": 0.5,
    }
}
HASH = ConfigHash(
    "cfg1:" + "a" * 64,
    (HashedFile("studio/a.yaml", 3, "b" * 64),),
    "medomni-v1",
    "mimic-iv/dummy-1",
    "medomni/0.3.0",
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "1"), (0, "0"), (13, "13"), (Decimal("1.250"), "1.250"), (6.699340277777778, "6.699340277777778"),
     (1e-7, "0.0000001"), (Decimal("1E+2"), "100")],
)  # fmt: skip
def test_an_answer_keeps_its_digits_and_is_never_written_with_an_exponent(value: object, text: str) -> None:
    assert answer_text(value) == text


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), Decimal("NaN"), "1"])
def test_what_is_no_number_is_no_answer(value: object) -> None:
    with pytest.raises(BuildError) as caught:
        answer_text(value)
    assert caught.value.code == "build-answer"


def document(**changes: object) -> dict[str, object]:
    from medomni.core.files import parse_json

    text = content_text(
        replace(BUILT, **changes),
        ANSWERS,
        times=TIMES,
        steps=STEPS,
        reference=REFERENCE,  # type: ignore[arg-type]
    )
    return parse_json(text, name="content.json").value


def test_content_tells_range_unit_and_the_decimals_that_answers_have() -> None:
    found = document()
    assert found["targets"] == [
        {
            "name": "days", "metric": "mae", "label": "length", "label_version": 2, "type": "number",
            "range": [0, 30.5], "unit": "days", "decimals": 2, "question": "How long?",
        }
    ]  # fmt: skip
    assert found["reference"] == {
        "days": {"eligible_n": 5, "quantiles": {"0": 0, "0.2": 1.5, "1": 30.5}, "median": 2, "mae_ref": 0.5}
    }
    assert found["atoms"] == [{"atom": ATOM, "prediction_time": "2150-01-01T00:00:00"}]
    assert document(targets=(replace(DAYS, decimals=4),))["targets"][0]["decimals"] == 4  # type: ignore[index]


def test_content_that_breaks_its_contract_is_not_written() -> None:
    with pytest.raises(IssuesError, match="version is 0"):
        document(version=0)


def test_shares_are_a_list_and_classes_are_named() -> None:
    reference = {"stage": {"eligible_n": 4, "share": {"0": 0.25, "1": 0.75}}}
    answers = (BuiltAnswer(ATOM, "007", "1", {"stage": "1"}),)
    built = replace(BUILT, targets=(STAGE,))
    text = content_text(built, answers, times=TIMES, steps=STEPS, reference=reference)
    assert '"share": [\n        0.25,\n        0.75\n      ]' in text
    assert '"classes"' in text
    assert '"range"' not in text


def test_answers_are_text_and_a_cohort_without_strata_is_one_stratum() -> None:
    assert answers_text(ANSWERS, (DAYS,)) == f"atom,patient,stratum,days\n{ATOM},007,all,1.25\n"
    with pytest.raises(IssuesError, match=r"answers\.csv"):
        answers_text((*ANSWERS, *ANSWERS), (DAYS,))


def test_counts_are_of_people() -> None:
    assert step_counts(STEPS)[1] == {"step": "draw", "rule": "n: 1", "n_before": 5, "n_after": 1}


def test_a_manifest_sorts_its_files_and_names_builder_and_releases() -> None:
    text = manifest_text(
        BUILT,
        hashes={("encoders", None): HASH},
        steps=STEPS,
        files={"b": "c" * 64, "a": "d" * 64},
        data_fingerprint="rows1:x",
    )
    assert '"builder": "medomni-v1/0.3.0"' in text
    assert text.index('"a": "d') < text.index('"b": "c')
    with pytest.raises(IssuesError, match="hashes is"):
        manifest_text(BUILT, hashes={}, steps=STEPS, files={}, data_fingerprint="rows1:x")


# The fingerprint.


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return dummy_workspace(tmp_path_factory)


def test_the_fingerprint_is_of_the_rows_alone_and_of_these_patients(place: Workspace) -> None:
    store = StoredTables(open_in(place, "mimic-iv/dummy-1"))
    with store.connect() as connection:
        rows = connection.execute('SELECT subject_id FROM "hosp.patients" ORDER BY 1 LIMIT 3').fetchall()
    one, two, three = (row[0] for row in rows)
    first = data_fingerprint(store, [one, two], threads=1)
    assert first.startswith("rows1:")
    assert len(first) == len("rows1:") + 64
    assert data_fingerprint(store, [two, one], threads=2) == first
    assert data_fingerprint(store, [one, three]) != first


def test_the_fingerprint_is_what_its_definition_says(place: Workspace) -> None:
    store = StoredTables(open_in(place, "mimic-iv/dummy-1"))
    wanted = []
    with store.connect() as connection:
        subject = connection.execute('SELECT min(subject_id) FROM "hosp.patients"').fetchall()[0][0]
        for name in sorted(store.present):
            table = store.store.tables[name]
            listed = ", ".join(f'CAST("{column}" AS VARCHAR)' for column in table.columns)
            query = f'SELECT {listed} FROM "{name}@by_patient"'
            if table.definition.patient is not None:
                query += f" WHERE subject_id = {subject}"
            rows = connection.execute(query).fetchall()
            cells = ["\x1f".join("\x1e" if cell is None else cell for cell in row) for row in rows]
            total = sum(int.from_bytes(hashlib.md5(row.encode()).digest()[8:], "little") for row in cells)
            wanted.append(f"{name}|{table.n_rows}|{len(rows)}|{total % 2**64}")
    digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
    assert data_fingerprint(store, [subject]) == f"rows1:{digest}"


# What is asked for.


def test_a_pair_is_asked_for_under_every_arm_or_one(place: Workspace) -> None:
    pair = Pair("mimic-iv_ckd-staging", "dummy")
    assert requests_of(place, str(pair)) == [Request(pair)]
    assert requests_of(place, str(pair), arm="encoders") == [Request(pair, arms=("encoders",))]
    with pytest.raises(InvalidNameError, match="full"):
        requests_of(place, "mimic-iv_ckd-staging:full@dummy")
    with pytest.raises(InvalidNameError):
        requests_of(place, "mimic-iv_ckd-staging")


def write_set(place: Workspace, name: str, text: str) -> str:
    folder = place.benchmarks / "b" / "sets"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(f"name: {name}\n{text}", encoding="utf-8")
    return f"b/{name}"


def test_a_set_asks_for_its_pairs_at_their_versions_under_its_arms(tmp_path: Path) -> None:
    place = content(tmp_path / "w")
    tasks = "tasks:\n  - {task: mimic-iv_a@dummy, version: 2}\n  - {task: mimic-iv_b@dummy, version: 1}\n"
    name = write_set(place, "s", f"builder: medomni-v1\narms: [encoders, no-perception]\n{tasks}")
    both = ("encoders", "no-perception")
    assert requests_of(place, name) == [
        Request(Pair("mimic-iv_a", "dummy"), 2, both),
        Request(Pair("mimic-iv_b", "dummy"), 1, both),
    ]
    assert {each.arms for each in requests_of(place, name, arm="no-perception")} == {("no-perception",)}
    with pytest.raises(BuildError, match="not built under the arm") as caught:
        requests_of(place, name, arm="sound")
    assert caught.value.code == "build-set"
    other = write_set(place, "t", f"builder: medomni-v2\narms: [encoders]\n{tasks}")
    with pytest.raises(BuildError, match="built by medomni-v2") as caught:
        requests_of(place, other)
    assert caught.value.code == "build-set"


# Earlier builds, and names.


def earlier(place: Workspace, **changes: object):
    given = {
        "chosen": {"encoders"},
        "content": {"_content/p/content.json": "e" * 64},
        "fingerprint": "rows1:x",
        "hashes": {("encoders", None): HASH, ("no-perception", None): HASH},
    }
    return earlier_build(place, PAIR, **{**given, **changes})  # type: ignore[arg-type]


def test_atoms_of_another_arm_stay_only_if_all_that_they_come_from_is_the_same(tmp_path: Path) -> None:
    place = content(tmp_path / "w")
    assert earlier(place).kept == ()
    with staging(place, PAIR) as stage:
        path = stage.write(stage.rendered("no-perception", None) / ATOM / "instruction.md", b"x")
        files = {path: "f" * 64, "_content/p/content.json": "e" * 64}
        hashes = {("encoders", None): HASH, ("no-perception", None): HASH}
        text = manifest_text(BUILT, hashes=hashes, steps=STEPS, files=files, data_fingerprint="rows1:x")
        stage.write(stage.content / "manifest.json", text.encode())
        stage.commit()
    same = earlier(place)
    assert (same.kept, dict(same.files), same.removed) == ((("no-perception", None),), {path: "f" * 64}, ())
    assert same.kept_arms == {"no-perception"}
    other = replace(HASH, value="cfg1:" + "c" * 64)
    for changes in (
        {"content": {"_content/p/content.json": "0" * 64}},
        {"fingerprint": "rows1:y"},
        {"hashes": {("encoders", None): HASH, ("no-perception", None): other}},
    ):
        found = earlier(place, **changes)
        assert (found.kept, dict(found.files), found.removed) == ((), {}, ("no-perception",)), changes
    (place.atomtasks / path).unlink()
    assert earlier(place).removed == ("no-perception",)


def test_two_patients_with_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medomni.studio.building.parts.atom_name", lambda *_, **__: ATOM)
    opened = SimpleNamespace(pair=PAIR, cohort=SimpleNamespace(version=1))
    drawn = [Drawn(number, "", "", 0, "") for number in (1, 2)]
    with pytest.raises(BuildError) as caught:
        atom_names(opened, drawn)  # type: ignore[arg-type]
    assert caught.value.code == "build-atom-twice"


def test_the_repository_itself_holds_no_build() -> None:
    ignored = (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert any(line.strip("/") == "atomtasks" for line in ignored)
