"""What dataset.yaml and tables.yaml may hold, and how their problems are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_builders import DATASET_YAML, TABLES_YAML, workspace

from medomni.core.errors import DocumentNotFoundError
from medomni.core.issues import IssuesError
from medomni.core.workspace import load_workspace
from medomni.studio.data.definitions import Dataset, load_dataset
from medomni.studio.data.errors import StoreError


def codes_of(root: Path, *, dataset: str = DATASET_YAML, tables: str = TABLES_YAML) -> list[tuple[str, str]]:
    with pytest.raises(IssuesError) as caught:
        load_dataset(workspace(root, dataset=dataset, tables=tables), "tiny")
    return [(issue.code, issue.where) for issue in caught.value.issues]


def mimic(repository: Path) -> Dataset:
    return load_dataset(load_workspace(repository), "mimic-iv")


def test_the_shipped_dataset_has_three_releases_of_three_classes(repository: Path) -> None:
    releases = mimic(repository).releases
    assert {name: each.release_class for name, each in releases.items()} == {
        "3.1": "real",
        "demo-2.2": "demo",
        "dummy-1": "dummy",
    }
    assert releases["3.1"].token == "mimic-iv/3.1"
    assert releases["3.1"].counts["hosp.labevents"] == (158_374_764,)
    assert releases["demo-2.2"].counts["hosp.labevents"] == (107_727, 107_549)


def test_what_is_published_of_the_real_release_is_counted_and_no_more(repository: Path) -> None:
    """The page on tasks says so: sixteen tables of 3.1, and all tables of the demo."""
    dataset = load_dataset(load_workspace(repository), "mimic-iv")
    assert len(dataset.release("3.1").counts) == 16
    demo = dataset.release("demo-2.2")
    assert set(demo.counts) == {
        table.name for table in dataset.tables.values() if table.module in demo.modules
    }


def test_a_real_release_needs_all_of_hosp_and_icu_but_lists_of_ids(repository: Path) -> None:
    tables = mimic(repository).tables
    not_needed = {
        name
        for name, table in tables.items()
        if table.module in ("hosp", "icu") and "real" not in table.required
    }
    assert not_needed == {"hosp.provider", "icu.caregiver"}


def test_codes_are_text_and_laboratory_values_are_decimals(repository: Path) -> None:
    tables = mimic(repository).tables
    assert tables["hosp.diagnoses_icd"].columns["icd_code"].duckdb == "VARCHAR"
    assert tables["hosp.prescriptions"].columns["ndc"].duckdb == "VARCHAR"
    assert tables["hosp.labevents"].columns["valuenum"].duckdb == "DECIMAL(20,8)"
    assert not tables["hosp.labevents"].columns["valuenum"].rounds
    assert {table.columns["subject_id"].duckdb for table in tables.values() if table.patient} == {"BIGINT"}


def test_every_table_of_patients_says_when_its_rows_are_known(repository: Path) -> None:
    unsaid = {
        name for name, table in mimic(repository).tables.items() if table.patient and not table.available
    }
    assert unsaid == {"hosp.patients"}


def test_coded_tables_are_known_a_week_after_the_discharge(repository: Path) -> None:
    (rule,) = mimic(repository).tables["hosp.diagnoses_icd"].available
    assert (rule.table, rule.column, rule.plus_seconds) == ("hosp.admissions", "dischtime", 7 * 86_400)
    assert str(rule) == "hosp.admissions.dischtime + 7 d"


def test_the_declared_columns_are_those_of_the_real_files(repository: Path, shared: Path) -> None:
    import gzip

    tables = mimic(repository).tables
    for path in sorted((shared / "data").glob("mimic-iv-demo-*/*/*.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            header = stream.readline().strip().lower().split(",")
        table = tables[f"{path.parent.name}.{path.name.removesuffix('.csv.gz')}"]
        assert list(table.columns) == header, path.name


def test_an_unknown_dataset_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="dataset-unknown") as caught:
        load_dataset(workspace(tmp_path), "other")
    assert caught.value.hint == "known datasets: tiny"


def test_an_unknown_release_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="release-unknown") as caught:
        load_dataset(workspace(tmp_path), "tiny").release("2.0")
    assert "1.0, demo" in caught.value.hint


def test_missing_tables_are_named(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    place.recipe("tiny", "tables").unlink()
    with pytest.raises(DocumentNotFoundError, match=r"tables\.yaml"):
        load_dataset(place, "tiny")


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("lab_id: bigint", "lab_id: int8", "tables-type-unknown", "columns.lab_id"),
        ("icd_code: text", "icd_code: {type: text, round: true}", "tables-type-unknown", "icd_code"),
        ("decimal(28,8)", "decimal(8,28)", "tables-type-unknown", "rate"),
        ("key: [lab_id]", "key: [labid]", "tables-column-unknown", "key[0]"),
        ("code: itemid", "code: item", "tables-column-unknown", "code"),
        ("time: charttime", "time: comments", "tables-column-type", "time"),
        ("available: [storetime,", "available: [chartdate,", "tables-column-type", "available[0]"),
        ("{day_end: chartdate}", "{day_end: comments}", "tables-column-type", "available[2]"),
        ("ends: [{column: dod}]", "ends: [{column: dod, hides: [x]}]", "tables-column-unknown", "hides[0]"),
        ("{from: hosp.labs,", "{from: hosp.lab,", "tables-table-unknown", "available[0]"),
        ("by: [subject_id], column", "by: [lab_id], column", "tables-column-unknown", "available[0]"),
        ("column: charttime, plus", "column: comments, plus", "tables-column-type", "available[0]"),
        ("code: itemid", "code: itemid\n    dictionary: hosp.codes", "tables-table-unknown", "dictionary"),
        ("required: [real]", "required: [genuine]", "tables-enum", "required[0]"),
        ("recipe: tables", "recipe: tables\nextra: 1", "tables-unknown", "extra"),
        ("by_patient: [subject_id]}", "by_person: [subject_id]}", "tables-required", "sort"),
    ],
)  # fmt: skip
def test_a_wrong_tables_file_is_refused_by_code_and_place(
    tmp_path: Path, old: str, new: str, code: str, place: str
) -> None:
    assert old in TABLES_YAML
    found = codes_of(tmp_path, tables=TABLES_YAML.replace(old, new))
    assert any(each == code and place in where and ".yaml:" in where for each, where in found), found


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("dataset: tiny", "dataset: huge", "dataset-name"),
        ("{hosp.patients: 2}", "{hosp.people: 2}", "dataset-table-unknown"),
        ("{hosp.patients: 2}", "{hosp.patients: 2.0}", "dataset-type"),
        ("{hosp: required, note: optional}", "{ward: required}", "dataset-module-unknown"),
        ('  note: {files: ["note/{file}.csv"]}\n', "", "dataset-module-unknown"),
        ("class: real", "class: true", "dataset-type"),
        ("access: open", "access: secret", "dataset-enum"),
        ('"note/{file}.csv"', '"note/notes.csv"', "dataset-pattern"),
    ],
)
def test_a_wrong_dataset_file_is_refused_by_code(tmp_path: Path, old: str, new: str, code: str) -> None:
    assert old in DATASET_YAML
    assert code in {each for each, _ in codes_of(tmp_path, dataset=DATASET_YAML.replace(old, new))}


def test_all_problems_of_a_file_come_at_once(tmp_path: Path) -> None:
    wrong = TABLES_YAML.replace("key: [lab_id]", "key: [x]").replace("code: itemid", "code: y")
    assert [code for code, _ in codes_of(tmp_path, tables=wrong)] == ["tables-column-unknown"] * 2


def test_a_change_of_availability_needs_no_new_import_and_one_of_types_does(tmp_path: Path) -> None:
    def digest(tables: str) -> str:
        return load_dataset(workspace(tmp_path, tables=tables), "tiny").tables["hosp.labs"].storage_digest()

    before = digest(TABLES_YAML)
    assert (
        digest(TABLES_YAML.replace("available: [storetime, charttime,", "available: [charttime,")) == before
    )
    assert digest(TABLES_YAML.replace("itemid: integer", "itemid: bigint")) != before
    assert digest(TABLES_YAML.replace("key: [lab_id]\n", "key: [lab_id, itemid]\n")) != before
