"""Many cases: rows survive the journal, only what is unchanged is taken over, no case takes others along."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundle_builders import BundleBuilder, box, instance_builder, write_nifti
from medomni.core.errors import ExecutionError, MissingExtraError
from medomni.core.journal import Journal
from medotter_bench import case_runs
from medotter_bench.adapters.base import CaseScore, RegionScore, Value
from medotter_bench.bundle import Bundle
from medotter_bench.case_runs import row_data, row_from
from medotter_bench.case_scoring import CaseJob, CaseRow, score_case
from medotter_bench.engine import ReferencesError, plan, protocol_of, score_predictions
from medotter_bench.errors import CasesFailedError


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    builder = BundleBuilder(tmp_path)
    for number in range(4):
        builder.case(f"{number:03}", box(), box(size=number + 1))
    builder.case("lost", box(), None)
    builder.case("bad", box(), box(label=7))
    return builder.write()


@pytest.fixture
def scored(monkeypatch) -> list[str]:
    """The cases that are really scored, in order."""
    cases: list[str] = []

    def score(job: CaseJob):
        cases.append(job.case_id)
        return score_case(job)

    monkeypatch.setattr(case_runs, "score_case", score)
    return cases


def score(builder: BundleBuilder, *, resume: bool = False, discard: bool = False, **options) -> str:
    with Journal(builder.root / "results.json.journal", resume=resume) as journal:
        results = score_predictions(
            builder.bundle, builder.predictions, builder.data, journal=journal, **options
        )
        if discard:
            journal.discard()
    return results.to_json()


def test_a_resumed_run_gives_the_same_bytes_and_scores_nothing_again(builder, scored):
    plain = score_predictions(builder.bundle, builder.predictions, builder.data).to_json()
    assert score(builder) == plain
    scored.clear()
    assert score(builder, resume=True) == plain
    assert scored == []
    assert score(builder) == plain
    assert len(scored) == 6


def test_timings_of_an_interrupted_run_are_kept(builder):
    def timings(*, resume: bool):
        with Journal(builder.root / "j", resume=resume) as journal:
            folders = (builder.bundle, builder.predictions, builder.data)
            return score_predictions(*folders, journal=journal).timings

    assert timings(resume=False) == timings(resume=True)


@pytest.mark.parametrize("changed", ["prediction", "reference", "input", "added", "removed"])
def test_only_a_case_whose_files_changed_is_scored_again(builder, scored, changed):
    case = {"added": "DS_A/lost"}.get(changed, "DS_A/001")
    score(builder)
    scored.clear()
    match changed:
        case "prediction" | "added":
            write_nifti(builder.predictions / f"{case}.nii.gz", box(size=3, at=1))
        case "reference":
            write_nifti(builder.data / f"{case}_seg.nii.gz", box(size=3, at=1))
        case "input":
            (builder.data / f"{case}_img.nii.gz").unlink()
        case "removed":
            (builder.predictions / f"{case}.nii.gz").unlink()
    resumed = score(builder, resume=True)
    assert scored == [case]
    assert resumed == score_predictions(builder.bundle, builder.predictions, builder.data).to_json()


@pytest.mark.parametrize("where", ["spec", "task", "manifest", "software", "scoring_version"])
def test_nothing_is_taken_over_if_anything_else_changed_that_decides_numbers(
    builder, scored, where, monkeypatch
):
    score(builder)
    scored.clear()
    match where:
        case "spec":
            builder.spec["hd95"]["percentile"] = 90
        case "task":
            builder.task["label_remap"]["DS_A"][2] = 1
        case "manifest":
            builder.manifest["per_case"]["DS_A/001"]["patient_uid"] = "000"
        case "software":
            changed = {"medomni": "9"}
            monkeypatch.setattr("medotter_bench.results.software", lambda: changed)
            monkeypatch.setattr(case_runs, "_software", lambda: changed)
        case "scoring_version":
            monkeypatch.setattr("medotter_bench.results.SCORING_VERSION", 2)
    builder.write()
    score(builder, resume=True)
    assert len(scored) == 6


def test_class_files_decide_rows_too(tmp_path, scored):
    builder = instance_builder(tmp_path)
    builder.task["canonical_labels"] = builder.spec["eval_regions"] = {"tumor": [1], "immune": [2]}
    builder.task["main_region"] = builder.spec["main_region"] = "macro_avg"
    builder.spec["prediction_format"] = {"type": "instance_mask2d", "label_space": [0, 1, 2], "classes": True}
    array = np.zeros((12, 12), np.uint16)
    array[1:4, 1:4], array[6:9, 6:9] = 7, 9
    case = builder.case("001", array, array)
    builder.write()
    reference = builder.data / f"{case}_seg.classes.json"
    prediction = builder.predictions / f"{case}.classes.json"
    for path in (reference, prediction):
        path.write_text('{"7": 1, "9": 2}')
    score(builder)
    for path in (reference, prediction):
        scored.clear()
        score(builder, resume=True)
        assert scored == []
        path.write_text('{"7": 2, "9": 2}')
        score(builder, resume=True)
        assert scored == [case]


def test_a_file_that_is_written_while_it_is_scored_is_not_noted(builder, monkeypatch):
    def score_and_write(job: CaseJob):
        outcome = score_case(job)
        if job.case_id == "DS_A/001":
            write_nifti(job.prediction.path, box())
        return outcome

    monkeypatch.setattr(case_runs, "score_case", score_and_write)
    score(builder)
    lines = (builder.root / "results.json.journal").read_text().splitlines()[1:]
    assert "DS_A/001" not in [json.loads(line)["entry"][0] for line in lines]
    assert len(lines) == 5


def test_a_prediction_that_vanished_is_no_missing_prediction(builder, monkeypatch):
    """Also what a cluster sees that does not share the folder: never a penalty."""

    def plan_and_remove(*arguments, **named):
        planned = plan(*arguments, **named)
        (builder.predictions / "DS_A/001.nii.gz").unlink()
        return planned

    monkeypatch.setattr("medotter_bench.engine.plan", plan_and_remove)
    with pytest.raises(ReferencesError) as caught:
        score(builder)
    assert caught.value.code == "prediction-vanished"


def test_a_fault_of_ours_names_its_case_and_the_others_are_kept(builder, monkeypatch, scored):
    plain = score_predictions(builder.bundle, builder.predictions, builder.data).to_json()

    def faulty(job: CaseJob):
        if job.case_id in ("DS_A/001", "DS_A/002"):
            raise ZeroDivisionError("oops")
        return score_case(job)

    with monkeypatch.context() as patched:
        patched.setattr(case_runs, "score_case", faulty)
        with pytest.raises(CasesFailedError) as caught:
            score(builder)
    assert [issue.code for issue in caught.value.issues] == ["internal"] * 2
    assert "case DS_A/001, test_case_runs.py" in str(caught.value)
    scored.clear()
    assert score(builder, resume=True) == plain
    assert scored == ["DS_A/001", "DS_A/002"]


def test_one_typed_error_of_every_case_is_raised_as_itself(builder, monkeypatch):
    def lacking(job: CaseJob):
        raise MissingExtraError.for_extra("imaging", "nibabel", "reading NIfTI files")

    monkeypatch.setattr(case_runs, "score_case", lacking)
    with pytest.raises(MissingExtraError):
        score(builder)


def test_wrong_references_are_listed_beside_faults_of_ours(builder, monkeypatch):
    (builder.data / "DS_A/000_seg.nii.gz").write_bytes(b"no image")
    with pytest.raises(ReferencesError):
        score(builder)

    def faulty(job: CaseJob):
        if job.case_id == "DS_A/001":
            raise MemoryError
        return score_case(job)

    monkeypatch.setattr(case_runs, "score_case", faulty)
    with pytest.raises(CasesFailedError) as caught:
        score(builder)
    assert caught.value.code == "cases-failed"
    assert len(caught.value.issues) == 2
    assert caught.value.issues[1].code == "worker-memory"


def test_workers_with_other_software_are_refused(builder, monkeypatch):
    monkeypatch.setattr(case_runs, "_software", lambda: {"numpy": "0"})
    with pytest.raises(ExecutionError) as caught:
        score(builder)
    assert caught.value.code == "worker-software"
    assert "numpy 0 instead of" in str(caught.value)


def test_the_journal_is_no_extra_file_of_the_predictions(builder):
    plain = score_predictions(builder.bundle, builder.predictions, builder.data).to_json()
    for resume in (False, True):
        with Journal(builder.predictions / "r.json.journal", resume=resume) as journal:
            folders = (builder.bundle, builder.predictions, builder.data)
            assert score_predictions(*folders, journal=journal).to_json() == plain


def test_relative_folders_reach_workers_as_absolute_ones(builder, monkeypatch):
    monkeypatch.chdir(builder.root)
    plain = score_predictions(builder.bundle, builder.predictions, builder.data).to_json()
    with Journal(Path("j")) as journal:
        relative = [Path(os.path.relpath(p)) for p in (builder.bundle, builder.predictions, builder.data)]
        assert score_predictions(*relative, journal=journal).to_json() == plain


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
regions = st.dictionaries(
    st.text(max_size=4),
    st.builds(
        RegionScore,
        st.dictionaries(st.text(max_size=4), st.builds(Value, numbers, st.text(max_size=5)), max_size=3),
        st.dictionaries(st.text(max_size=4), numbers | st.integers(), max_size=3),
        required=st.booleans(),
    ),
    max_size=3,
)


@given(
    score=st.builds(CaseScore, regions, st.integers(0)), seconds=st.floats(0, 1e6), code=st.none() | st.text()
)
@settings(max_examples=50)
def test_rows_come_back_equal_from_text(score, seconds, code):
    job = CaseJob("DS/1", {"dataset": "DS"}, None, None, Path(), None)  # type: ignore[arg-type]
    notes = {"prediction": {"saturated_at": 255}}
    row = CaseRow("DS/1", job.meta, "scored", code, "why", score, notes, seconds)
    assert repr(row_from(json.loads(json.dumps(row_data(row))), job)) == repr(row)


def test_a_new_field_of_a_row_must_be_taught_to_the_journal():
    fields = {
        kind: [field.name for field in dataclasses.fields(kind)]
        for kind in (CaseRow, CaseScore, RegionScore, Value)
    }
    assert fields == {
        CaseRow: ["case_id", "meta", "status", "code", "what", "score", "notes", "seconds"],
        CaseScore: ["regions", "unlisted_voxels"],
        RegionScore: ["metrics", "details", "required"],
        Value: ["value", "outcome"],
    }


def test_a_case_whose_files_cannot_be_read_has_no_digest(builder):
    bundle = Bundle(builder.bundle)
    jobs, _ = plan(bundle, protocol_of(bundle), builder.predictions, data_root=builder.data)
    assert case_runs.case_digest(jobs[0]) is not None
    (builder.data / f"{jobs[0].case_id}_img.nii.gz").write_bytes(b"no image")
    assert case_runs.case_digest(jobs[0]) is None
