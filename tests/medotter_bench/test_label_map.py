"""Label remap: one pass, exactly the unlisted ids to background, slots refine, regions are unions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from medotter_bench.errors import SpecError
from medotter_bench.label_map import (
    IDENTITY,
    LabelRemap,
    case_remap,
    joint_histogram,
    label_space_index,
    parse_dataset,
    parse_label_remap,
    region_table,
    to_canonical,
)

ids = st.integers(0, 12)
label_maps = arrays.arrays(np.uint8, arrays.array_shapes(max_dims=3, max_side=5), elements=ids)
maps = st.dictionaries(ids, ids, max_size=8)


def canonical(native, remap, space):
    """The remapped array in canonical ids."""
    index, unlisted = to_canonical(native, remap, label_space=space)
    return np.array(sorted({0, *space}))[index], unlisted


def test_a_map_that_swaps_two_ids_is_applied_in_one_pass():
    result, unlisted = canonical(np.array([0, 1, 2]), LabelRemap({1: 2, 2: 1}), [1, 2])
    assert result.tolist() == [0, 2, 1]
    assert unlisted == 0


def test_several_native_ids_may_map_to_one_and_unlisted_ids_are_counted():
    # MIDRC_RICORD_1a of the bundle page: native 4, 5, 6 drop to background.
    native = np.array([0, 1, 2, 3, 4, 5, 6, 6])
    result, unlisted = canonical(native, LabelRemap({1: 2, 2: 2, 3: 2}), [1, 2])
    assert result.tolist() == [0, 2, 2, 2, 0, 0, 0, 0]
    assert unlisted == 4


@given(label_maps, maps)
def test_a_remap_sends_exactly_the_unlisted_ids_to_background(native, mapping):
    """MB-038, against a voxel-by-voxel twin."""
    space = range(13)
    result, unlisted = canonical(native, LabelRemap(mapping), space)
    expected = [mapping.get(int(i), 0) for i in native.ravel()]
    assert result.ravel().tolist() == expected
    assert unlisted == sum(int(i) != 0 and int(i) not in mapping for i in native.ravel())


@given(label_maps, maps, maps)
def test_a_case_slot_changes_its_ids_and_leaves_the_others_to_the_dataset(native, mapping, slot):
    """MB-065, reading A 6."""
    result, _ = canonical(native, LabelRemap(mapping).refined(slot), range(13))
    expected = [slot.get(int(i), mapping.get(int(i), 0)) for i in native.ravel()]
    assert result.ravel().tolist() == expected


@given(label_maps)
def test_the_lookup_table_and_the_sorting_path_agree(native):
    wide = native.astype(np.uint64) + np.where(native == 3, np.uint64(1 << 40), np.uint64(0))
    mapping = {1: 1, 3 + (1 << 40): 2}
    small, lost = canonical(native, LabelRemap({1: 1, 3: 2}), [1, 2])
    large, also_lost = canonical(wide, LabelRemap(mapping), [1, 2])
    assert np.array_equal(small, large)
    assert lost == also_lost


def test_identity_keeps_canonical_ids_and_counts_ids_outside_the_label_space():
    result, unlisted = canonical(np.array([0, 1, 2, 9]), IDENTITY, [1, 2])
    assert result.tolist() == [0, 1, 2, 0]
    assert unlisted == 1


def test_a_slot_on_an_identity_dataset_moves_only_its_ids():
    result, unlisted = canonical(np.array([1, 2, 4]), IDENTITY.refined({4: 3}), [1, 2, 3])
    assert result.tolist() == [1, 2, 3]
    assert unlisted == 0


def test_the_case_slot_of_the_page_keeps_labels_one_and_two():
    remap = case_remap({"DS": LabelRemap({1: 1, 2: 2})}, {"dataset": "DS", "remap": {"4": 3}}, where="m")
    assert [remap.target(i) for i in (1, 2, 4, 7)] == [1, 2, 3, 0]


def test_native_to_lists_only_document_and_mean_identity():
    """MB-043: glioma's form."""
    assert parse_dataset({"native": [1, 2, 4], "to": [1, 2, 3]}, where="t") is IDENTITY


def test_notes_are_stripped_beside_ids_and_beside_datasets():
    """MB-037, reading A 5."""
    parsed = parse_label_remap({"note": "free text", "DS": {1: 2, "note": "more"}}, where="t")
    assert {name: dict(remap.ids) for name, remap in parsed.items()} == {"DS": {1: 2}}


def test_keys_may_be_decimal_text():
    assert parse_dataset({"4": 3}, where="t").ids == {4: 3}


@pytest.mark.parametrize("mapping", [{1: 1, "1": 2}, {"1": 1, 1: 1}])
def test_one_native_id_as_number_and_as_text_is_a_duplicate(mapping):
    with pytest.raises(SpecError, match="duplicate") as caught:
        parse_dataset(mapping, where="task.yaml, label_remap.DS")
    assert caught.value.code == "remap-duplicate"


@pytest.mark.parametrize(
    "mapping",
    [{True: 1}, {1: True}, {-1: 1}, {1: -1}, {1.0: 1}, {1: 1.0}, {"a": 1}, {1: "1"}, {"１": 1}, {1: None}],
)
def test_ids_that_are_no_whole_numbers_are_refused(mapping):
    with pytest.raises(SpecError) as caught:
        parse_dataset(mapping, where="t")
    assert caught.value.code == "remap-id"


@pytest.mark.parametrize("entry", [{}, {"note": "nothing"}])
def test_a_map_that_lists_nothing_is_refused_as_ambiguous(entry):
    with pytest.raises(SpecError) as caught:
        parse_dataset(entry, where="t")
    assert caught.value.code == "remap-empty"


@pytest.mark.parametrize("value", [[], "x", 3])
def test_a_remap_of_another_shape_is_refused(value):
    with pytest.raises(SpecError):
        parse_label_remap(value, where="t")
    with pytest.raises(SpecError):
        parse_dataset(value, where="t")


def test_what_a_dataset_can_produce():
    assert LabelRemap({1: 2}).can_produce(2)
    assert not LabelRemap({1: 2}).can_produce(1)
    assert IDENTITY.can_produce(7)
    assert not IDENTITY.refined({7: 1}).can_produce(7)


def test_ids_outside_the_label_space_are_named_with_their_voxels():
    index, outside = label_space_index(np.array([0, 1, 4, 4]), [0, 1, 3])
    assert outside == {4: 2}
    assert index.tolist() == [0, 1, 0, 0]
    _, outside = label_space_index(np.array([0, 1 << 50]), [0, 1])
    assert outside == {1 << 50: 1}


def test_a_region_is_the_union_of_its_ids():
    assert region_table([0, 1, 2, 3], [1, 3]).tolist() == [False, True, False, True]


@given(label_maps)
def test_the_joint_histogram_counts_every_voxel_once(native):
    index, _ = to_canonical(native, IDENTITY, label_space=range(13))
    table = joint_histogram(index, index[..., ::-1], 13)
    assert table.sum() == native.size
    assert np.array_equal(table.sum(axis=1), np.bincount(native.ravel(), minlength=13))


def test_memory_order_does_not_pair_voxels_wrongly():
    first = np.arange(6, dtype=np.uint8).reshape(2, 3) % 3
    assert np.array_equal(
        joint_histogram(np.asfortranarray(first), first, 3), joint_histogram(first, first, 3)
    )
