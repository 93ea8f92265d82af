"""`mb1` covers what decides scores, in a form that others can recompute."""

from __future__ import annotations

import copy
import hashlib

import pytest

from medotter_bench.factory.errors import HashError
from medotter_bench.factory.manifest_hash import mb1

MANIFEST = {
    "task": "glioma",
    "version": "1.0.0",
    "split_version": "glioma/v1",
    "hash_algorithm": "mb1",
    "hash": "not part of it",
    "train": ["D/b"],
    "test": ["D/a"],
    "per_case": {
        "D/b": {
            "dataset": "D",
            "split": "train",
            "chan": {"t1n": "b1.nii.gz", "t1c": "b2.nii.gz"},
            "seg": "bs.nii.gz",
        },
        "D/a": {
            "dataset": "D",
            "split": "test",
            "image": "a.nii.gz",
            "patient_uid": None,
            "seg": "äs.nii.gz",
        },
    },
    "skipped": [{"case_id": "D/c", "reason": "not part of it"}],
}
# Written by hand: keys in the order of their UTF-16 code units, no white space, channels as ordered lists.
CANONICAL = (
    '{"per_case":{"D/a":{"dataset":"D","image":"a.nii.gz","patient_uid":null,"seg":"äs.nii.gz","split":"test"},'
    '"D/b":{"chan":[["t1n","b1.nii.gz"],["t1c","b2.nii.gz"]],"dataset":"D","seg":"bs.nii.gz","split":"train"}},'
    '"split_version":"glioma/v1","task":"glioma","test":["D/a"],"train":["D/b"],"version":"1.0.0"}'
)
GOLDEN = "616a16dc7bf39b16568359a59aba7f2cd7aee11797cb47adb016fcca13f750cd"
GOLDEN_EMPTY = "fd6ebdcd9971c839c8ecb8b6b492c64ef71aa92e0020602cbd3d2482b25fef84"


def changed(**changes):
    return {**copy.deepcopy(MANIFEST), **changes}


def test_the_hash_equals_the_golden_value_and_that_of_the_hand_written_text():
    assert hashlib.sha256(CANONICAL.encode()).hexdigest() == GOLDEN
    assert mb1(MANIFEST) == (GOLDEN[:12], GOLDEN)


def test_an_absent_split_version_counts_as_null():
    manifest = {"task": "t", "version": "0.0.1", "train": [], "test": [], "per_case": {}}
    text = '{"per_case":{},"split_version":null,"task":"t","test":[],"train":[],"version":"0.0.1"}'
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN_EMPTY
    assert mb1(manifest)[1] == GOLDEN_EMPTY


def test_swapping_two_channels_changes_the_hash():
    swapped = copy.deepcopy(MANIFEST)
    chan = swapped["per_case"]["D/b"]["chan"]
    swapped["per_case"]["D/b"]["chan"] = dict(reversed(chan.items()))
    assert swapped == MANIFEST
    assert mb1(swapped) != mb1(MANIFEST)


def test_the_order_of_other_keys_and_the_bookkeeping_do_not_matter():
    other = dict(reversed(changed(hash="x", skipped=[], dropped_cross_split=[1]).items()))
    other["per_case"] = dict(reversed(other["per_case"].items()))
    assert mb1(other) == mb1(MANIFEST)


@pytest.mark.parametrize("key", ["task", "version", "split_version"])
def test_each_covered_text_changes_the_hash(key):
    assert mb1(changed(**{key: "other"})) != mb1(MANIFEST)


def test_the_order_of_cases_and_each_path_change_the_hash():
    assert mb1(changed(test=["D/a", "D/b"], train=[])) != mb1(changed(test=["D/b", "D/a"], train=[]))
    other = changed()
    other["per_case"]["D/a"]["seg"] = "as.nii.gz"
    assert mb1(other) != mb1(MANIFEST)


@pytest.mark.parametrize("value", [2**60, float("nan"), {1, 2}])
def test_what_canonical_json_cannot_hold_is_refused(value):
    other = changed()
    other["per_case"]["D/a"]["extra"] = value
    with pytest.raises(HashError) as caught:
        mb1(other)
    assert caught.value.code == "freeze-unhashable"


def test_malformed_cases_are_hashed_as_they_are():
    assert mb1(changed(per_case=None))[1] != mb1(changed(per_case={"D/a": None}))[1]
