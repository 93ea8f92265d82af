"""What must not stand in anything an agent sees: found in cells by table, column and row, and in bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from evidence_builders import evidence, table

from medomni.core.names import Pair
from medomni.studio.dummy import canaries as planted
from medomni.studio.probes.forbidden import (
    canaries,
    dates,
    evidence_issues,
    identity,
    restated,
    text_issues,
)
from medomni.studio.probes.rendered import Probed, rendered_issues, seen_by_agent

PAIR = Pair("mimic-iv_ckd-staging", "dummy")
ATOM = "mimic-iv_ckd-staging.dummy.0123456789"


def codes(issues) -> list[tuple[str, str]]:
    return [(issue.code, issue.where) for issue in issues]


def hits(forbidden, text: str) -> bool:
    return any(each.first(text) for each in forbidden)


def test_a_restated_answer_names_table_column_and_row() -> None:
    made = evidence(
        table("hosp.omr", ("result_name", "value"), [("Weight", "80"), ("eGFR", "55"), ("eGFR", "54")])
    )
    found = list(evidence_issues(ATOM, made, [restated("ckd_g_stage", r"(?i)\be?gfr\b")]))
    assert codes(found) == [("leak-words", f"{ATOM}: hosp.omr.result_name, row 2, and 1 more rows")]
    assert "'eGFR' restates ckd_g_stage" in found[0].what


def test_a_column_whose_name_restates_the_answer_is_a_hit() -> None:
    made = evidence(table("hosp.x", ("gfr",), [("1",)]))
    assert codes(evidence_issues(ATOM, made, [restated("l", "gfr")])) == [
        ("leak-words", f"{ATOM}: hosp.x.gfr")
    ]


def test_a_text_that_the_label_allows_is_no_hit_and_hides_nothing_beside_it() -> None:
    rule = restated("l", "(?i)creatinine", ["Creatinine, Urine", "Urine Creatinine"])
    assert rule.first("Creatinine, Urine") is None
    assert rule.first("24h Urine Creatinine, and no other") is None
    found = rule.first("Creatinine, Urine; Creatinine")
    assert found is not None
    assert found.start() == len("Creatinine, Urine; ")
    assert rule.first("creatinine, urine") is not None


def test_every_planted_word_is_a_hit_unless_the_template_may_show_it() -> None:
    forbidden = canaries(("CANARY_GUARD", "765.43"), ("CANARY_KIDNEY",))
    for text in ("x CANARY_GUARD y", "CANARY1", "CANARY_KIDNEYS", "CANARY_NEW", "a 765.43 b"):
        assert hits(forbidden, text), text
    for text in ("CANARY_KIDNEY", "Sevelamer CANARY_KIDNEY 800", "1765.43", "765.432", "canary"):
        assert not hits(forbidden, text), text


def test_what_made_up_data_plant_is_known_by_template() -> None:
    never, allowed = planted("mimic-iv", "mimic-iv_ckd-staging")
    assert "CANARY_KIDNEY" in never
    never, allowed = planted("mimic-iv", "mimic-iv_length-of-stay")
    assert "CANARY_KIDNEY" in allowed
    assert "CANARY_FUTURE" in never
    assert planted("vitaldb", "vitaldb_any") == ((), ())


@pytest.mark.parametrize(
    "text", ["2150-03-04", "seen 3/4/2150.", "2150/3/4 10:30", "04-03-2150", "1899-12-31T00"]
)
def test_a_date_of_the_calendar_is_a_hit(text: str) -> None:
    assert hits([dates()], text)


@pytest.mark.parametrize(
    "text", ["-2150.000", "12-10", "120/80", "2150", "1-2-3", "3000-13-40", "10/500/2000"]
)
def test_a_number_is_no_date(text: str) -> None:
    assert not hits([dates()], text)


def test_ids_of_patient_admission_and_stay_and_the_atoms_name_are_hits() -> None:
    forbidden = identity(["19000001", "20123456", "77"], atom=ATOM, pair=PAIR)
    for text in ("19000001", "id=20123456,", ATOM, "x 0123456789 y"):
        assert hits(forbidden, text), text
    for text in ("190000012", "77", "119000001", "a0123456789"):
        assert not hits(forbidden, text), text
    assert [each.code for each in identity(["77"], atom=ATOM, pair=PAIR)] == ["leak-name"]


def test_a_hit_in_a_text_names_its_line() -> None:
    found = list(text_issues("file", "one\ntwo\n2150-01-02", [dates()]))
    assert codes(found) == [("leak-date", "file, line 3")]


def atom_folder(folder: Path, record: str = "RECORD\n") -> Path:
    for name, text in {
        "task.toml": f'patient = "19000001"\nname = "{ATOM}"\n',
        "instruction.md": f"Without any creatinine, judge.\n\n{record}\nAnswer.\n",
        "data/record/hosp.labevents.csv": "a\n1\n",
        "environment/Dockerfile": "FROM base:2026-01-02\n",
        "tests/expected.json": '["ckd_stage"]',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


FORBIDDEN = [
    restated("ckd_g_stage", "(?i)creatinine|ckd"),
    dates(),
    *canaries(("CANARY_GUARD",)),
    *identity(["19000001"], atom=ATOM, pair=PAIR),
]


def rendered(folder: Path, record: str = "RECORD\n", probed: Probed | None = None) -> list[tuple[str, str]]:
    found = rendered_issues(ATOM, "encoders", folder, record=record, forbidden=FORBIDDEN, probed=probed)
    return [(code, where.removeprefix(f"{ATOM} under encoders: ")) for code, where in codes(found)]


def test_words_of_the_question_and_files_of_the_host_are_no_hits(tmp_path: Path) -> None:
    probed = Probed()
    assert rendered(atom_folder(tmp_path), probed=probed) == []
    assert {"task.toml", "instruction.md"} <= set(probed.digests[tmp_path])
    assert len(probed.seen) == 3


def test_each_kind_of_leak_is_found_in_rendered_bytes(tmp_path: Path) -> None:
    atom_folder(tmp_path, "| Creatinine | 1.2 |\n")
    (tmp_path / "data/record/x.csv").write_text("19000001\n2150-01-02\n", encoding="utf-8")
    (tmp_path / "environment/note.txt").write_text("CANARY_GUARD 0123456789", encoding="utf-8")
    assert rendered(tmp_path, "| Creatinine | 1.2 |\n") == [
        ("leak-date", "data/record/x.csv, line 2"),
        ("leak-id", "data/record/x.csv, line 1"),
        ("leak-canary", "environment/note.txt, line 1"),
        ("leak-name", "environment/note.txt, line 1"),
        ("leak-words", "instruction.md (its record), line 1"),
    ]


def test_a_patient_in_the_words_around_the_record_is_found(tmp_path: Path) -> None:
    atom_folder(tmp_path)
    (tmp_path / "instruction.md").write_text("Of 19000001.\nRECORD\n", encoding="utf-8")
    assert rendered(tmp_path) == [("leak-id", "instruction.md (around its record), line 1")]


def test_an_instruction_without_its_record_must_be_clean_as_a_whole(tmp_path: Path) -> None:
    assert rendered(atom_folder(tmp_path), "another record") == [("leak-words", "instruction.md, line 1")]


def test_names_of_files_and_links_are_looked_at(tmp_path: Path) -> None:
    atom_folder(tmp_path)
    (tmp_path / "data/19000001.csv").write_text("", encoding="utf-8")
    (tmp_path / "data/link.csv").symlink_to(tmp_path / "task.toml")
    assert rendered(tmp_path) == [("leak-id", "data/19000001.csv"), ("leak-link", "data/link.csv")]


def test_bytes_that_are_no_text_are_looked_through_too(tmp_path: Path) -> None:
    atom_folder(tmp_path)
    (tmp_path / "data/signal.bin").write_bytes(os.urandom(64) + b"\x00CANARY_GUARD\xff")
    assert ("leak-canary", "data/signal.bin, line 1") in [
        (code, where.rpartition(",")[0] + ", line 1") for code, where in rendered(tmp_path)
    ]


def test_bytes_that_are_clean_under_one_arm_are_not_read_again(tmp_path: Path) -> None:
    probed = Probed()
    assert rendered(atom_folder(tmp_path / "a"), probed=probed) == []
    before = set(probed.seen)
    assert rendered(atom_folder(tmp_path / "b"), probed=probed) == []
    assert probed.seen == before
    assert [len(each) for each in probed.digests.values()] == [5, 5]


def test_only_the_hosts_side_is_not_seen_by_the_agent() -> None:
    names = ("task.toml", "tests/x", "instruction.md", "data/x", "tests.md")
    seen = [name for name in names if seen_by_agent(name)]
    assert seen == ["instruction.md", "data/x", "tests.md"]
