"""Scanning turns names into cases: nothing appears twice, and nothing vanishes without a reason."""

from __future__ import annotations

import sys

import pytest
from factory_builders import dataset, factory_document, factory_of, paths_of, write_files
from hypothesis import given, settings
from hypothesis import strategies as st

from medotter_bench.factory.errors import FreezeError
from medotter_bench.factory.scan import _refuse, list_files, scan


def scanned(folder, paths, **changes):
    document = factory_document(datasets={"AA": dataset(**changes)}, dummy=None)
    return scan(factory_of(folder, document), paths)


def ids(result):
    return [case.case_id for case in result.cases]


def test_image_and_reference_of_one_name_are_one_case(tmp_path):
    result = scanned(tmp_path, [*paths_of("b", "a"), "readme.txt", "aa/img/c.txt"])
    assert ids(result) == ["AA/a", "AA/b"]
    assert result.cases[0].files == {"image": "aa/img/a.nii.gz", "seg": "aa/seg/a.nii.gz"}
    assert not result.skipped
    assert not result.issues


@settings(max_examples=20)
@given(st.permutations(paths_of("a", "b", "c", "d")))
def test_the_order_of_paths_does_not_matter(tmp_path_factory, paths):
    result = scanned(tmp_path_factory.mktemp("order"), paths)
    assert ids(result) == ["AA/a", "AA/b", "AA/c", "AA/d"]


def test_a_missing_reference_and_a_missing_image_are_skipped_with_the_reason(tmp_path):
    result = scanned(tmp_path, ["aa/img/a.nii.gz", "aa/seg/b.nii.gz", *paths_of("c")])
    assert ids(result) == ["AA/c"]
    assert [entry.as_dict() for entry in result.skipped] == [
        {"case_id": "AA/a", "reason": "missing: seg (aa/seg/a.nii.gz)"},
        {"case_id": "AA/b", "reason": "missing: image (aa/img/b.nii.gz)"},
    ]


def test_a_skip_rule_takes_a_case_out_with_its_reason(tmp_path):
    factory = factory_of(tmp_path, factory_document(skip=[{"case": "AA/a", "reason": "bad mask"}]))
    result = scan(factory, paths_of("a", "b"))
    assert ids(result) == ["AA/b"]
    assert result.skipped[0].reason == "bad mask"


def test_patient_and_series_follow_from_the_fields(tmp_path):
    paths = [f"aa/{kind}/TCGA-18-5592-01Z.nii.gz" for kind in ("img", "seg")]
    rule = {"from": "{case}", "regex": "^(TCGA-[0-9]+-[0-9]+)"}
    case = scanned(tmp_path, paths, patient=rule, series="s_{case}").cases[0]
    assert (case.patient_uid, case.series_uid) == ("TCGA-18-5592", "s_TCGA-18-5592-01Z")


def test_an_unknown_patient_is_null_and_an_unmatched_one_an_issue(tmp_path):
    assert scanned(tmp_path / "null", paths_of("a"), patient=None).cases[0].patient_uid is None
    rule = {"from": "{case}", "regex": "^(P[0-9]+)"}
    result = scanned(tmp_path / "regex", paths_of("a"), patient=rule)
    assert [issue.code for issue in result.issues] == ["freeze-patient-unmatched"]


def test_only_keeps_other_files_out_of_the_dataset(tmp_path):
    result = scanned(tmp_path, paths_of("amos_0001", "amos_0507"), only={"case": "amos_0[0-4][0-9]{2}"})
    assert ids(result) == ["AA/amos_0001"]
    assert not result.skipped


def test_two_sets_of_files_for_one_id_are_an_issue(tmp_path):
    paths = [f"{site}/{kind}/1.nii.gz" for site in "xy" for kind in ("img", "seg")]
    result = scanned(
        tmp_path, paths, image="{site}/img/{n}.nii.gz", seg="{site}/seg/{n}.nii.gz", case="{n}", patient=None
    )
    assert [issue.code for issue in result.issues] == ["freeze-id-duplicate"]


def test_ids_that_differ_in_case_only_are_an_issue(tmp_path):
    result = scanned(tmp_path, paths_of("case_A", "case_a"))
    assert [issue.code for issue in result.issues] == ["freeze-id-casefold"]


@pytest.mark.parametrize("name", ["a\nb", "a\\b", "a:b", " a", "a ", "a*"])
def test_ids_that_cannot_name_a_file_everywhere_are_an_issue(tmp_path, name):
    result = scanned(tmp_path, paths_of(name))
    assert [issue.code for issue in result.issues] == ["freeze-id-unsafe"]


def test_prepared_files_serve_where_all_of_a_case_are_prepared(tmp_path):
    prepared = [f"_prepared/{path}" for path in paths_of("a")]
    result = scanned(tmp_path, [*paths_of("a", "b"), *prepared])
    assert ids(result) == ["AA/a", "AA/b"]
    assert not result.issues


def test_a_half_prepared_case_is_an_issue(tmp_path):
    result = scanned(tmp_path, [*paths_of("a"), "_prepared/aa/img/a.nii.gz"])
    assert [issue.code for issue in result.issues] == ["freeze-prepared-partial"]


def test_files_are_listed_sorted_and_without_hidden_ones(tmp_path):
    write_files(tmp_path, ["b/2.txt", "b/1.txt", ".git/x", "b/.DS_Store", "a.txt"])
    assert list_files(tmp_path) == ["a.txt", "b/1.txt", "b/2.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_links_to_folders_are_not_followed(tmp_path):
    root = write_files(tmp_path / "root", ["a.txt"])
    outside = write_files(tmp_path / "outside", ["b.txt"])
    (root / "link").symlink_to(outside, target_is_directory=True)
    assert list_files(root) == ["a.txt"]


def test_a_folder_that_cannot_be_listed_stops_the_scan():
    with pytest.raises(FreezeError) as caught:
        _refuse(PermissionError(13, "Permission denied", "data/x"))
    assert caught.value.code == "freeze-unreadable"
