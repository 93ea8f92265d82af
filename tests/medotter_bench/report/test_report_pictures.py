"""Pictures of the worst cases: outlines that enclose exactly the mask, the right slice, honest omissions."""

from __future__ import annotations

import base64
import copy
import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from bundle_builders import BundleBuilder, box, instance_builder
from medotter_bench.bundle import Bundle
from medotter_bench.engine import protocol_of, score_predictions
from medotter_bench.inference import Grid
from medotter_bench.report import Sources, render, write_report
from medotter_bench.report.outlines import loops, outline_path, png_data
from medotter_bench.report.pictures import Drawer, worst_cases
from medotter_bench.report.slices import disagreement, grey_levels, orientation_of, window, worst_index
from medotter_bench.results_reading import ResultsError, load_results
from results_builders import SPEC, dice_results, document, loaded, row


def filled(path: str, shape: tuple[int, int]) -> np.ndarray:
    """The pixels inside an SVG path of whole-pixel edges, by the even-odd rule."""
    inside = np.zeros(shape, dtype=bool)
    for loop in path.split("z")[:-1]:
        start = re.match(r"M(\d+) (\d+)", loop)
        assert start
        x, y = int(start[1]), int(start[2])
        first_y = y
        moves = re.findall(r"([hv])(-?\d+)", loop)
        for kind, length in moves:
            if kind == "h":
                x += int(length)
            else:
                low, high = sorted((y, y + int(length)))
                inside[low:high, x:] ^= True
                y += int(length)
        if y != first_y:  # z closes along a vertical edge
            low, high = sorted((y, first_y))
            inside[low:high, x:] ^= True
    return inside


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_an_outline_encloses_exactly_its_mask(mask):
    assert np.array_equal(filled(outline_path(mask.astype(np.uint8)), mask.shape), mask)


def test_a_square_has_one_loop_of_four_corners_and_a_hole_has_its_own():
    assert loops(np.ones((2, 3), dtype=bool)) == [[(0, 0), (0, 3), (2, 3), (2, 0)]]
    ring = np.ones((3, 3), dtype=bool)
    ring[1, 1] = False
    assert len(loops(ring)) == 2
    touching = np.eye(2, dtype=bool)
    assert len(loops(touching)) == 2


def test_neighbouring_objects_have_an_outline_each():
    ids = np.array([[1, 1, 7, 7]])
    assert outline_path(ids).count("z") == 2
    assert outline_path(np.zeros((3, 3), dtype=int)) == ""


def test_disagreement_of_one_object_is_what_only_one_of_them_has():
    reference, prediction = np.zeros((4, 4), int), np.zeros((4, 4), int)
    reference[:2], prediction[1:3] = 1, 1
    assert np.array_equal(disagreement(reference, prediction), reference != prediction)


def test_disagreement_of_objects_ignores_their_numbers_and_finds_merged_ones():
    reference = np.array([[1, 1, 0, 2, 2, 2]])
    assert not disagreement(reference, reference * 40 + 0).any()
    merged = np.array([[9, 9, 9, 9, 9, 9]])
    assert disagreement(reference, merged).tolist() == [[False, False, True, False, False, False]]
    missed = np.zeros_like(reference)
    assert np.array_equal(disagreement(reference, missed), reference != 0)


def test_the_slice_with_the_most_disagreement_is_shown():
    differs = np.zeros((3, 4, 5), dtype=bool)
    differs[:, :2, 3] = True
    assert worst_index(differs, 2) == 3
    assert worst_index(differs[0], None) == 0


def ras(*rows):
    return (*(tuple(float(v) for v in (*r, 0)) for r in rows), (0.0, 0.0, 0.0, 1.0))


def test_axial_slices_show_anterior_up_and_the_right_side_on_the_left():
    array = np.zeros((4, 5, 6))
    array[3, 4, 2] = 1  # most right, most anterior in RAS
    view = orientation_of(Grid((4, 5, 6), (1, 1, 1), ras((1, 0, 0), (0, 1, 0), (0, 0, 1))), 3)
    assert view.plane(array, 2).shape == (5, 4)
    assert view.plane(array, 2)[0, 0] == 1
    # The same patient stored as (S, L, P): the picture is the same.
    stored = np.moveaxis(array, 2, 0)[:, ::-1, ::-1]
    other = orientation_of(Grid((6, 4, 5), (1, 1, 1), ras((0, -1, 0), (0, 0, -1), (1, 0, 0))), 3)
    assert np.array_equal(other.plane(stored, 2), view.plane(array, 2))


def test_images_and_stacks_without_orientation_stay_as_stored():
    flat = np.arange(6).reshape(2, 3)
    assert np.array_equal(orientation_of(Grid((2, 3)), 2).plane(flat, 0), flat)
    stack = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(orientation_of(Grid((2, 3, 4)), 3).plane(stack, 1), stack[1])
    colours = np.zeros((2, 3, 3))
    assert orientation_of(Grid((2, 3)), 2).plane(colours, 0).shape == (2, 3, 3)


def test_the_window_holds_what_is_labelled_and_never_leaves_the_slice():
    shown = np.zeros((200, 100), dtype=bool)
    shown[150:160, 95:100] = True
    rows, columns = window(shown, shown)
    assert shown[rows, columns].sum() == shown.sum()
    assert (rows.stop - rows.start, columns.stop - columns.start) == (64, 65)
    assert columns.stop == 100
    empty = np.zeros((30, 20), dtype=bool)
    assert [s.stop - s.start for s in window(empty, empty)] == [30, 20]


def test_a_large_scene_is_cut_where_it_disagrees_most():
    shown = np.ones((1000, 900), dtype=bool)
    differs = np.zeros_like(shown)
    differs[800:820, 700:720] = True
    rows, columns = window(shown, differs)
    assert differs[rows, columns].sum() == differs.sum()
    assert (rows.stop - rows.start, columns.stop - columns.start) == (320, 320)


def test_grey_levels_survive_constant_and_broken_images():
    assert grey_levels(np.full((3, 3), 7.0))[0].max() == 0
    pixels, low, high = grey_levels(np.array([[np.nan, 0.0], [np.inf, 100.0]]))
    assert pixels[0, 0] == 0
    assert 0 <= low < high <= 100
    assert grey_levels(np.full((2, 2), np.nan))[1:] == (0.0, 0.0)


def test_a_png_holds_the_pixels():
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    data = png_data(pixels).partition(",")[2]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))), pixels)


def scored(builder, tmp_path):
    builder.write()
    found = score_predictions(builder.bundle, builder.predictions, builder.data)
    path = tmp_path / "results.json"
    found.write(path)
    bundle = Bundle(builder.bundle)
    return load_results(path), Drawer(bundle, protocol_of(bundle), builder.data, builder.predictions)


def test_a_case_is_drawn_with_the_outlines_of_both_files(tmp_path):
    builder = BundleBuilder(tmp_path)
    builder.case("001", box((90, 80, 8)), box((90, 80, 8), size=3), spacing=(1.0, 2.0, 1.0))
    builder.case("002", box(), None)
    results, drawer = scored(builder, tmp_path)
    worst = worst_cases(results, results.rows)
    assert [w.row.case_id for w in worst] == ["DS_A/001"]
    picture = drawer.draw(worst[0])
    assert not isinstance(picture, str), picture
    shape = (picture.height, picture.width)
    assert filled(picture.reference, shape).sum() == 16
    # Slice 6 of 8 holds the reference alone: that is where they differ most.
    assert (picture.prediction, picture.differing) == ("", 16)
    assert picture.where.startswith(
        "slice 6 of 8 along axis 3, axial, patient's right on the left, window of"
    )
    assert picture.stretch == 2.0


def test_objects_are_drawn_one_by_one(tmp_path):
    builder = instance_builder(tmp_path)
    mask = np.zeros((90, 90), np.int32)
    mask[5:15, 5:15], mask[5:15, 15:25] = 4, 9
    builder.case("001", mask, np.where(mask > 0, 1, 0).astype(np.int32))
    results, drawer = scored(builder, tmp_path)
    picture = drawer.draw(worst_cases(results, results.rows)[0])
    assert not isinstance(picture, str), picture
    assert (picture.reference.count("z"), picture.prediction.count("z")) == (2, 1)


def test_named_channels_are_drawn_from_the_first(tmp_path):
    builder = BundleBuilder(tmp_path)
    case = builder.case("001", box(), box(size=3))
    meta = builder.manifest["per_case"][case]
    image = meta.pop("image")
    meta["chan"] = {"flair": image, "t1": image}
    results, drawer = scored(builder, tmp_path)
    picture = drawer.draw(worst_cases(results, results.rows)[0])
    assert not isinstance(picture, str), picture
    assert picture.where.startswith("channel flair, slice")


def test_files_that_were_not_scored_are_not_drawn(tmp_path):
    builder = BundleBuilder(tmp_path)
    builder.case("001", box(), box(size=3))
    results, drawer = scored(builder, tmp_path)
    from bundle_builders import write_nifti

    write_nifti(builder.predictions / "DS_A/001.nii.gz", box(size=2))
    worst = worst_cases(results, results.rows)[0]
    # The error `report-files` becomes the reason that stands in the picture's place.
    assert "not those that were scored: n_prediction is 8, was 27" in drawer.draw(worst)
    (builder.predictions / "DS_A/001.nii.gz").unlink()
    assert "missing: no file" in drawer.draw(worst)
    (builder.data / "DS_A/001_img.nii.gz").unlink()
    assert isinstance(drawer.draw(worst), str)


def test_the_page_shows_pictures_or_why_there_are_none(tmp_path):
    builder = BundleBuilder(tmp_path)
    builder.case("001", box(), box(size=3))
    builder.case("002", box(), box(size=3))
    results, _ = scored(builder, tmp_path)
    out = tmp_path / "report.html"
    sources = Sources(builder.bundle, builder.data, builder.predictions)
    write_report(results, out, sources=sources)
    first = out.read_text()
    assert first.count("data:image/png;base64,") == 2
    assert ">Demo</td>" in first
    write_report(results, out, sources=sources)
    assert out.read_text() == first
    (builder.data / "DS_A/002_img.nii.gz").unlink()
    write_report(results, out, sources=sources)
    assert "no picture: " in out.read_text()
    write_report(results, out)
    assert "data and predictions were not given" in out.read_text()


def test_objects_of_several_classes_are_named_as_not_drawn(tmp_path):
    builder = instance_builder(tmp_path)
    builder.spec["prediction_format"]["classes"] = True
    mask = np.zeros((20, 20), np.int32)
    mask[5:15, 5:15] = 4
    builder.case("001", mask, mask)
    for folder, name in ((builder.data, "001_seg"), (builder.predictions, "001")):
        (folder / "DS_A" / f"{name}.classes.json").write_text('{"4": 1}')
    results, drawer = scored(builder, tmp_path)
    assert "several classes" in drawer.draw(worst_cases(results, results.rows)[0])


def test_no_case_is_the_worst_where_no_way_is_better():
    spec = copy.deepcopy(SPEC)
    spec["metrics"] = ["speed"]
    spec["aggregation"]["headline"]["metric"] = "speed"
    results = loaded(document([row("c", {r: {"speed": 1.0} for r in ("liver", "spleen")})], spec=spec))
    assert worst_cases(results, results.rows) == []
    assert "not known which values" in render(results)


def test_a_bundle_without_task_yaml_has_nothing_to_say_of_itself(tmp_path):
    builder = BundleBuilder(tmp_path)
    builder.case("001", box(), box())
    builder.write()
    (builder.bundle / "task.yaml").unlink()
    results = score_predictions(builder.bundle, builder.predictions, builder.data)
    results.write(tmp_path / "results.json")
    write_report(
        load_results(tmp_path / "results.json"), tmp_path / "r.html", sources=Sources(builder.bundle)
    )
    assert ">Demo</td>" not in (tmp_path / "r.html").read_text()


def test_another_bundle_is_refused(tmp_path):
    builder = BundleBuilder(tmp_path)
    builder.case("001", box(), box())
    results, _ = scored(builder, tmp_path)
    builder.manifest["version"] = "0.2.0"
    builder.write()
    with pytest.raises(ResultsError, match="version, files differ") as caught:
        write_report(results, tmp_path / "r.html", sources=Sources(builder.bundle))
    assert caught.value.code == "report-bundle"


def test_the_worst_cases_come_first_and_ties_by_name():
    results = dice_results([0.9, 0.2, 0.5, 0.2, None])
    found = worst_cases(results, results.rows, most=3)
    assert [(w.row.case_id, w.value) for w in found] == [("c001", 0.2), ("c003", 0.2), ("c002", 0.5)]


def test_with_a_macro_average_a_case_counts_by_its_worst_region():
    spec = {
        **SPEC,
        "aggregation": {**SPEC["aggregation"], "headline": {"region": "macro_avg", "metric": "hd95"}},
    }
    cells = {"liver": {"dice": 0.9, "hd95": 1.0}, "spleen": {"dice": 0.9, "hd95": 7.0}}
    results = loaded(document([row("a", cells)], spec=spec))
    assert [(w.region, w.value) for w in worst_cases(results, results.rows)] == [("spleen", 7.0)]
