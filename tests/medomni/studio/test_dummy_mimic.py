"""Made-up MIMIC-IV: the same bytes always, imports cleanly, feeds all nine labels, and holds its canaries."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.errors import WriteError
from medomni.core.workspace import load_workspace
from medomni.studio.dummy import mimic_iv, write_dummy
from medomni.studio.dummy.draws import Draws
from medomni.studio.dummy.mimic_canaries import CANARIES, CANARY_CODE
from medomni.studio.dummy.mimic_headers import HEADERS
from medomni.studio.dummy.mimic_kidney import egfr, injured_value, injury_stage, steady_values
from medomni.studio.dummy.mimic_plan import PATIENTS, Patient, patients
from medomni.studio.dummy.tables import Tables, tenths

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
type Row = dict[str, str]


@pytest.fixture(scope="module")
def made() -> Tables:
    return mimic_iv.generate()


@pytest.fixture(scope="module")
def people() -> list[Patient]:
    return patients()


def rows(made: Tables, table: str) -> list[Row]:
    names = [name.lower() for name in HEADERS[table]]
    return [dict(zip(names, row, strict=True)) for row in made.rows[table]]


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def auc(yes: Sequence[float], no: Sequence[float]) -> float:
    wins = sum((a > b) + 0.5 * (a == b) for a in yes for b in no)
    return wins / (len(yes) * len(no))


def results(made: Tables, item: int) -> dict[int, list[tuple[datetime, float]]]:
    found = defaultdict(list)
    for row in rows(made, "hosp/labevents"):
        if row["itemid"] == str(item) and row["valuenum"]:
            found[int(row["subject_id"])].append((when(row["charttime"]), float(row["valuenum"])))
    return found


def last_before(series: Iterable[tuple[datetime, float]], time: datetime) -> float:
    return max((each for each in series if each[0] < time), default=(time, 0.0))[1]


# Always the same.


def test_the_bytes_are_those_that_releases_were_built_from(made: Tables) -> None:
    # A change here is a new dummy release: pinned builds change with it.
    digest = hashlib.sha256()
    for table in sorted(HEADERS):
        digest.update(made.csv_bytes(table))
    assert digest.hexdigest() == "cca1919146bfcd61eaf3f23dfc65c6d85381f7b1f0cf5864e46164d8c9a1887f"


def test_written_files_are_the_real_layout(made: Tables, tmp_path: Path) -> None:
    written = made.write(tmp_path / "new")
    assert set(written) == {f"{table}.csv.gz" for table in HEADERS}
    data = (tmp_path / "new" / "icu" / "procedureevents.csv.gz").read_bytes()
    assert data[4:8] == bytes(4), "no time of making"
    with gzip.open(io.BytesIO(data), "rt", encoding="utf-8", newline="") as stream:
        header = next(csv.reader(stream))
    assert header[-2:] == ["ORIGINALAMOUNT", "ORIGINALRATE"]


def test_a_folder_that_cannot_be_made_is_told(made: Tables, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(WriteError):
        made.write(tmp_path / "file")
    with pytest.raises(WriteError):
        write_dummy("mimic-iv", tmp_path / "file")


def test_draws_depend_on_their_path_alone() -> None:
    assert [Draws("a").integer(0, 10**6) for _ in range(2)] == [Draws("a").integer(0, 10**6)] * 2
    assert Draws("a", 1).integer(0, 2**60) != Draws("a", 2).integer(0, 2**60)
    assert Draws("a").about("b").integer(0, 2**60) == Draws("a", "b").integer(0, 2**60)
    # SHA-256 of the key of the path "a" and block 0, by hand.
    key = hashlib.sha256(b"a").digest()
    block = hashlib.sha256(key + bytes(8)).digest()
    assert Draws("a").integer(0, 2**64 - 1) == int.from_bytes(block[:8])


def test_draws_cover_their_range_evenly() -> None:
    draws = Draws("even")
    counts = Counter(draws.integer(1, 6) for _ in range(6000))
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    assert all(900 < count < 1100 for count in counts.values())
    noise = [draws.noise(10) for _ in range(4000)]
    assert abs(sum(noise) / len(noise)) < 1
    assert 8.5 < (sum(each * each for each in noise) / len(noise)) ** 0.5 < 11.5
    assert sorted(draws.shuffled(range(50))) == list(range(50))


# Kidneys.


def test_filtration_is_that_of_the_published_formula() -> None:
    assert round(egfr(9, 60, female=False), 1) == Decimal("97.8")
    assert round(egfr(14, 50, female=False), 1) == Decimal("61.2")
    assert round(egfr(20, 70, female=True), 1) == Decimal("26.4")


def test_steady_values_stay_in_their_class_for_years() -> None:
    edges = [1000, 60, 45, 30, 15, 0]
    for female in (False, True):
        for age in range(30, 92, 7):
            for kidney in range(5):
                for value in steady_values(kidney, age, female=female):
                    for at in (age - 1, age + 3):
                        assert edges[kidney + 1] <= egfr(value, at, female=female) < edges[kidney]


def test_injured_values_reach_their_stage() -> None:
    for baseline in range(4, 40):
        for stage in range(4):
            reached = injury_stage(baseline, baseline, injured_value(baseline, stage))
            assert reached >= stage
    assert injury_stage(6, 6, 9) == 1
    assert injury_stage(39, 39, 42) == 3
    assert injury_stage(39, 41, 42) == 0


def test_tenths_are_written_as_laboratories_do() -> None:
    assert [tenths(each) for each in (14, 20, 5, -3, 0)] == ["1.4", "2", "0.5", "-0.3", "0"]


# Its form.


def test_there_are_240_patients_with_odd_ids_and_ordered_lives(people: list[Patient]) -> None:
    assert len({patient.subject_id for patient in people}) == PATIENTS == 240
    for patient in people:
        times = [(each.start, each.end) for each in patient.admissions]
        assert all(start < end for start, end in times)
        assert all(before[1] < after[0] for before, after in itertools.pairwise(times))
        assert patient.last.role == "intensive"
    stays = [each.unit.stay_id for patient in people for each in patient.admissions if each.unit]
    hadms = [each.hadm_id for patient in people for each in patient.admissions]
    assert len(set(stays)) == len(stays)
    assert len(set(hadms)) == len(hadms)


def test_nothing_can_sort_admissions_by_their_ids(people: list[Patient]) -> None:
    sorted_by_id = sum(
        [each.hadm_id for each in patient.admissions] == sorted(each.hadm_id for each in patient.admissions)
        for patient in people
    )
    assert sorted_by_id < 60


def test_results_are_stored_after_they_were_drawn(made: Tables) -> None:
    for row in rows(made, "hosp/labevents"):
        assert row["charttime"] < row["storetime"]
    assert all(row["storetime"] for row in rows(made, "icu/chartevents"))


def test_units_lie_inside_their_admissions_and_transfers_follow_each_other(made: Tables) -> None:
    admissions = {row["hadm_id"]: row for row in rows(made, "hosp/admissions")}
    for row in rows(made, "icu/icustays"):
        around = admissions[row["hadm_id"]]
        assert around["admittime"] < row["intime"] < row["outtime"] <= around["dischtime"]
    by_admission = defaultdict(list)
    for row in rows(made, "hosp/transfers"):
        by_admission[row["hadm_id"]].append(row)
    for steps in by_admission.values():
        assert [each["outtime"] for each in steps[:-1]] == [each["intime"] for each in steps[1:]]
        assert (steps[-1]["eventtype"], steps[-1]["outtime"]) == ("discharge", "")


def test_no_text_of_the_files_names_a_real_person_or_place(made: Tables) -> None:
    for table in ("note/discharge", "note/radiology"):
        for row in rows(made, table):
            assert "Name: ___" in row["text"] or "EXAMINATION" in row["text"]


# What labels need (rough, and by the plan; labels themselves are tested elsewhere).


def test_classes_are_large_enough_for_every_draw(people: list[Patient]) -> None:
    assert min(Counter(patient.kidney for patient in people).values()) >= 40
    assert min(Counter(patient.injury for patient in people if patient.kidney < 4).values()) >= 20
    assert sum(patient.dies for patient in people) == 65
    assert sum(patient.liver > 0 for patient in people) == 110
    assert sum(patient.infection == "late" for patient in people) == 80
    moved = [patient for patient in people if patient.moves]
    assert len(moved) == 110
    for patient in moved:
        ward = patient.admission("ward")
        assert ward.unit is not None
        assert DAY < ward.unit.start - ward.start <= 4 * DAY
    returned = [patient for patient in people if patient.returns]
    for patient in returned:
        assert patient.last.start - patient.admission("ward").end <= 30 * DAY


def test_true_infections_begin_in_the_window_and_early_ones_before_it(
    made: Tables, people: list[Patient]
) -> None:
    taken = {}
    for row in rows(made, "hosp/microbiologyevents"):
        if row["charttime"]:
            taken[int(row["subject_id"])] = when(row["charttime"])
    for patient in people:
        unit = patient.last.unit
        assert unit is not None
        if patient.infection == "late":
            assert 12 * HOUR < taken[patient.subject_id] - unit.start <= 60 * HOUR
        if patient.infection == "early":
            assert taken[patient.subject_id] - unit.start < 12 * HOUR


@pytest.mark.parametrize(
    ("item", "role", "trait"),
    [
        (50931, "ward", "returns"),
        (50813, "ward", "moves"),
        (51277, "ward", "dies_later"),
        (50813, "intensive", "dies"),
    ],
)
def test_a_single_result_tells_the_answer_somewhat_and_never_alone(
    made: Tables, people: list[Patient], item: int, role: str, trait: str
) -> None:
    series = results(made, item)
    yes, no = [], []
    for patient in people:
        if trait == "dies_later" and patient.dies:
            continue
        admission = patient.admission(role)
        time = admission.unit.start + DAY if role == "intensive" and admission.unit else admission.end
        (yes if getattr(patient, trait) else no).append(last_before(series[patient.subject_id], time))
    assert 0.7 < auc(yes, no) < 0.95


def test_urea_rises_with_the_kidney_class_and_does_not_settle_it(made: Tables, people: list[Patient]) -> None:
    series = results(made, 51006)
    by_class = defaultdict(list)
    for patient in people:
        by_class[patient.kidney].append(
            last_before(series[patient.subject_id], patient.admission("ward").end)
        )
    for kidney in range(4):
        assert 0.6 < auc(by_class[kidney + 1], by_class[kidney]) < 0.95


# Canaries.


def text_of(made: Tables) -> str:
    return "\n".join(made.csv_bytes(table).decode() for table in HEADERS)


def test_every_canary_is_planted(made: Tables) -> None:
    text = text_of(made)
    for canary in CANARIES:
        assert canary.text in text, canary.text
    planted = {
        word
        for word in text.replace('"', " ").replace(",", " ").replace(":", " ").split()
        if "CANARY" in word
    }
    assert {word.rstrip(".") for word in planted} == {each.text for each in CANARIES if "CANARY" in each.text}


def test_canaries_lie_where_only_a_mistake_finds_them(made: Tables, people: list[Patient]) -> None:
    last = {patient.subject_id: patient.last for patient in people}
    seen: Counter[str] = Counter()
    for row in rows(made, "hosp/labevents"):
        end = last[int(row["subject_id"])].end
        if row["comments"] == "CANARY_FUTURE":
            assert when(row["charttime"]) > end
        if row["comments"] == "CANARY_STORE":
            assert when(row["charttime"]) < end < when(row["storetime"])
        seen[row["comments"][:13]] += bool(row["comments"])
    assert seen["CANARY_FUTURE"] == PATIENTS
    for table in ("icu/procedureevents", "icu/inputevents", "hosp/pharmacy"):
        column, stop = (
            ("status", "stoptime") if table == "hosp/pharmacy" else ("statusdescription", "endtime")
        )
        ended = [row for row in rows(made, table) if row[column] == "CANARY_END"]
        assert len(ended) == PATIENTS
        assert all(when(row[stop]) > last[int(row["subject_id"])].end for row in ended)
    coded = [row for row in rows(made, "hosp/diagnoses_icd") if row["icd_code"] == CANARY_CODE]
    assert {int(row["hadm_id"]) for row in coded} == {each.hadm_id for each in last.values()}
    notes = [row for row in rows(made, "note/discharge") if "CANARY_STORE" in row["text"]]
    assert all(
        when(row["charttime"]) <= last[int(row["subject_id"])].end < when(row["storetime"]) for row in notes
    )


# Imported.


def test_it_imports_cleanly_as_its_release(
    made: Tables, tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb", reason="importing needs the extra `studio`")
    from medomni.studio.data.importer import import_release
    from medomni.studio.data.store import open_in

    (tmp_path / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
    content = tmp_path / "studio" / "datasets" / "mimic-iv"
    (content / "recipes").mkdir(parents=True)
    for name in ("dataset.yaml", "recipes/tables.yaml"):
        shutil.copy(repository / "studio" / "datasets" / "mimic-iv" / name, content / name)
    monkeypatch.setattr(mimic_iv, "generate", lambda: made)
    ran = CliRunner().invoke(app, ["studio", "dummy", "mimic-iv", "--out", str(tmp_path / "dummy"), "--json"])
    written = json.loads(ran.stdout)["tables"]
    place = load_workspace(tmp_path)
    record = import_release(place, "mimic-iv", [tmp_path / "dummy"]).record
    assert (record.release, record.release_class, record.uncounted) == ("mimic-iv/dummy-1", "dummy", ())
    assert record.absent == ("hosp.d_hcpcs", "hosp.provider", "icu.caregiver")
    store = open_in(place, "mimic-iv/dummy-1")
    counts: dict[str, Any] = {
        f"{name.replace('.', '/', 1)}.csv.gz": each.n_rows for name, each in store.tables.items()
    }
    assert {name: count for name, count in counts.items() if count} == written
    assert dict(store.table("hosp.labevents").availability)["charttime"] == 0
    assert store.table("icu.icustays").columns["los"] == "DECIMAL(38,18)"
