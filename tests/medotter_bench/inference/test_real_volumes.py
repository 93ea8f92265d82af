"""Real files, where the shared test data lies beside the repository."""

from pathlib import Path

import numpy as np
import pytest

from medotter_bench.inference import grid_difference, read_grid, read_image, read_label_map

DATA = Path(__file__).parents[4] / "shared" / "data" / "imaging"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared imaging data is not here")

PAIRS = [
    ("ct_totalsegmentator/example_ct_sm.nii.gz", "ct_totalsegmentator/example_seg.nii.gz", 41),
    ("ct_totalsegmentator/example_ct.nii.gz", "ct_totalsegmentator/example_seg_fast_force_split.nii.gz", 61),
    ("mr_totalsegmentator/example_mr_sm.nii.gz", "mr_totalsegmentator/example_seg_mr.nii.gz", 23),
    ("nucleus2d_stardist/img2d.tif", "nucleus2d_stardist/mask2d.tif", 125),
    ("nucleus2d_stardist/tests_img2d.tif", "nucleus2d_stardist/tests_mask2d.tif", 65),
    ("nucleus3d_stardist/img3d.tif", "nucleus3d_stardist/mask3d.tif", 51),
]


@pytest.mark.parametrize(("image", "mask", "n_ids"), PAIRS)
def test_image_and_mask_share_a_grid_and_the_mask_holds_its_ids(image, mask, n_ids):
    read = read_label_map(DATA / mask, expected=read_grid(DATA / image).grid)
    assert read.array.dtype.kind in "iu"
    assert len(np.setdiff1d(np.unique(read.array), 0)) == n_ids
    assert read.array.shape == read_image(DATA / image).array.shape


def test_label_maps_in_nrrd_are_read():
    pytest.importorskip("SimpleITK")
    grids = [read_grid(path).grid for path in sorted((DATA / "dicom_seg_dcmqi").glob("partial*.nrrd"))]
    assert len(grids) == 3
    assert all(grid_difference(grids[0], grid) is None for grid in grids)
    assert read_label_map(DATA / "dicom_seg_dcmqi/liver_seg.nrrd").array.shape == (512, 512, 3)
