import sys
import zlib

import numpy as np
import pytest
from volume_files import labels, nrrd_bytes, refused, same_labels

from medomni.core.errors import MissingExtraError
from medotter_bench.inference import Grid, grid_difference, read_grid, read_image, read_label_map

sitk = pytest.importorskip("SimpleITK")


def nrrd(tmp_path, content, name="a.nrrd"):
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def written(tmp_path, name, array, *, compress=False):
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.T))
    image.SetSpacing((1, 2, 3))
    image.SetOrigin((10, 20, 30))
    sitk.WriteImage(image, str(tmp_path / name), compress)
    return tmp_path / name


@pytest.mark.parametrize("name", ["a.nrrd", "a.mha"])
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"])
def test_what_itk_writes_comes_back_in_x_y_z(tmp_path, name, compress, dtype):
    ids = labels()
    read = read_label_map(written(tmp_path, name, ids.astype(dtype), compress=compress))
    assert same_labels(read, ids)
    assert read.grid.spacing_mm == (1.0, 2.0, 3.0)
    assert read.grid.affine_ras[0] == (-1.0, 0.0, 0.0, -10.0)
    assert read.grid.affine_ras[2] == (0.0, 0.0, 3.0, 30.0)


def test_the_same_image_has_the_same_grid_as_nifti(tmp_path):
    grids = [read_grid(written(tmp_path, name, labels())).grid for name in ("a.nrrd", "a.mha", "a.nii.gz")]
    assert grid_difference(grids[0], grids[1]) is None
    assert grid_difference(grids[0], grids[2]) is None


@pytest.mark.parametrize(
    ("space", "diagonal"),
    [
        ("left-posterior-superior", (-1.0, -2.0, 3.0)),
        ("LPS", (-1.0, -2.0, 3.0)),
        ("right-anterior-superior", (1.0, 2.0, 3.0)),
        ("left-anterior-superior", (-1.0, 2.0, 3.0)),
    ],
)
def test_every_named_space_ends_in_ras(tmp_path, space, diagonal):
    read = read_label_map(nrrd(tmp_path, nrrd_bytes(labels(), fields={"space": space})))
    assert tuple(read.grid.affine_ras[axis][axis] for axis in range(3)) == diagonal
    assert same_labels(read, labels())


def test_what_the_file_does_not_state_is_not_made_up(tmp_path):
    bare = {"space": "", "space directions": "", "space origin": ""}
    ids = labels()
    assert read_grid(nrrd(tmp_path, nrrd_bytes(ids, fields=bare))).grid == Grid((4, 5, 6))
    spaced = nrrd(tmp_path, nrrd_bytes(ids, fields=bare | {"spacings": "1 2 3"}))
    assert read_grid(spaced).grid == Grid((4, 5, 6), (1.0, 2.0, 3.0))
    unknown = nrrd(tmp_path, nrrd_bytes(ids, fields={"space": "scanner-xyz"}))
    assert read_grid(unknown).grid == Grid((4, 5, 6), (1.0, 2.0, 3.0))
    refused(nrrd(tmp_path, nrrd_bytes(ids, fields=bare | {"spacings": "1 nan 3"})), "geometry-spacing")


@pytest.mark.parametrize("encoding", ["raw", "gzip"])
def test_another_length_than_promised_is_refused(tmp_path, encoding):
    ids = labels()
    voxels = ids.tobytes(order="F")
    assert same_labels(read_label_map(nrrd(tmp_path, nrrd_bytes(ids, encoding=encoding))), ids)
    refused(nrrd(tmp_path, nrrd_bytes(ids, encoding=encoding, data=voxels[:-1])), "volume-truncated")
    refused(nrrd(tmp_path, nrrd_bytes(ids, encoding=encoding, data=voxels + b"\0")), "volume-overlong")
    whole = nrrd_bytes(ids, encoding=encoding)
    refused(nrrd(tmp_path, whole[:-4]), "volume-truncated")


def test_a_compressed_metaimage_is_checked_to_its_end(tmp_path):
    content = written(tmp_path, "a.mha", labels(), compress=True).read_bytes()
    refused(nrrd(tmp_path, content[:-3], "b.mha"), "volume-truncated")
    refused(nrrd(tmp_path, content + b"junk", "b.mha"), "volume-corrupt")
    head = content[: content.index(b"LOCAL\n") + 6]
    voxels = labels().tobytes(order="F")
    refused(nrrd(tmp_path, head + zlib.compress(voxels + b"\1"), "b.mha"), "volume-overlong")
    refused(nrrd(tmp_path, head + zlib.compress(voxels[:-1]), "b.mha"), "volume-truncated")
    huge = head.replace(b"4 5 6", b"4000 5000 60") + zlib.compress(voxels)
    refused(nrrd(tmp_path, huge, "b.mha"), "volume-truncated")


def test_a_compressed_metaimage_needs_no_size_field(tmp_path):
    content = written(tmp_path, "a.mha", labels(), compress=True).read_bytes()
    assert b"CompressedDataSize" in content
    other = nrrd(tmp_path, content.replace(b"CompressedDataSize", b"Comment"), "b.mha")
    assert same_labels(read_label_map(other), labels())


@pytest.mark.parametrize("encoding", ["raw", "gzip"])
def test_the_byte_order_is_the_headers(tmp_path, encoding):
    ids = labels(dtype="i2") * 300
    swapped = ids.astype(">i2").tobytes(order="F")
    big = nrrd_bytes(ids, encoding=encoding, data=swapped, fields={"endian": "big"})
    assert same_labels(read_label_map(nrrd(tmp_path, big)), ids)
    assert same_labels(read_label_map(nrrd(tmp_path, nrrd_bytes(ids, encoding=encoding))), ids)
    refused(nrrd(tmp_path, nrrd_bytes(ids, fields={"endian": "middle"})), "volume-corrupt")
    content = written(tmp_path, "a.mha", ids).read_bytes()
    content = content.replace(b"MSB = False", b"MSB = True").replace(ids.tobytes(order="F"), swapped)
    assert same_labels(read_label_map(nrrd(tmp_path, content, "b.mha")), ids)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"data file": "/etc/hostname"}, "volume-format"),
        ({"datafile": "LIST"}, "volume-format"),
        ({"byte skip": "-1"}, "volume-format"),
        ({"line skip": "2"}, "volume-format"),
        ({"byte skip": "x"}, "volume-header"),
        ({"encoding": "hex"}, "volume-format"),
        ({"encoding": ""}, "volume-header"),
        ({"sizes": "4 5 0"}, "volume-header"),
        ({"sizes": "4 5 x"}, "volume-header"),
        ({"space units": '"mm" "cm" "mm"'}, "geometry-units"),
        ({"space directions": "(1,0,0) (1,0,0) (0,0,3)"}, "geometry-affine"),
    ],
)
def test_headers_that_would_be_guessed_at_are_refused(tmp_path, fields, code):
    refused(nrrd(tmp_path, nrrd_bytes(labels(), fields=fields)), code)


def test_several_values_per_voxel_are_refused(tmp_path):
    layers = sitk.Compose([sitk.GetImageFromArray(labels()), sitk.GetImageFromArray(labels())])
    sitk.WriteImage(layers, str(tmp_path / "a.nrrd"))
    assert "shape" in refused(tmp_path / "a.nrrd", "volume-axes").what
    sitk.WriteImage(layers, str(tmp_path / "a.mha"))
    refused(tmp_path / "a.mha", "volume-axes")


def test_complex_voxels_are_refused(tmp_path):
    image = sitk.GetImageFromArray(labels().astype("c8"))
    sitk.WriteImage(image, str(tmp_path / "a.mha"))
    with pytest.raises(Exception) as caught:
        read_label_map(tmp_path / "a.mha")
    assert caught.value.code in {"volume-datatype", "volume-axes"}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b"ElementDataFile = LOCAL", b"ElementDataFile = other.raw", "volume-format"),
        (b"BinaryData = True", b"BinaryData = False", "volume-format"),
        (b"CompressedData = False", b"HeaderSize = 12", "volume-format"),
        (b"CompressedData = False", b"CompressedData = Maybe", "volume-header"),
        (b"DimSize = 4 5 6", b"DimSize = 4 5 9999", "volume-truncated"),
        (b"DimSize = 4 5 6", b"DimSize = 4 5 -6", "volume-header"),
        (b"ElementSpacing = 1 2 3", b"ElementSpacing = 1 x 3", "volume-header"),
        (b"ElementSpacing = 1 2 3", b"ElementSpacing = 1 0 3", "geometry-spacing"),
        (b"DimSize", b"DimSizes", "volume-header"),
    ],
)
def test_metaimage_headers_that_would_be_guessed_at_are_refused(tmp_path, old, new, code):
    content = written(tmp_path, "a.mha", labels()).read_bytes()
    assert old in content
    with pytest.raises(Exception) as caught:
        read_label_map(nrrd(tmp_path, content.replace(old, new), "b.mha"))
    assert caught.value.code in {code, "volume-corrupt"}


def test_a_header_without_an_end_is_refused(tmp_path):
    refused(nrrd(tmp_path, b"NRRD0004\ntype: uchar\n"), "volume-truncated")
    refused(nrrd(tmp_path, b"ObjectType = Image\nNDims = 3\n", "a.mha"), "volume-truncated")


def test_a_plane_has_two_axes(tmp_path):
    read = read_image(written(tmp_path, "a.nrrd", labels((4, 5))[..., None]))
    assert read.array.shape == (4, 5, 1)
    flat = sitk.GetImageFromArray(labels((5, 4)))
    sitk.WriteImage(flat, str(tmp_path / "b.mha"))
    assert read_label_map(tmp_path / "b.mha").array.shape == (4, 5)


def test_the_missing_package_is_named(tmp_path, monkeypatch):
    path = nrrd(tmp_path, nrrd_bytes(labels()))
    monkeypatch.setitem(sys.modules, "SimpleITK", None)
    with pytest.raises(MissingExtraError) as caught:
        read_label_map(path)
    assert "medomni[nrrd]" in caught.value.hint
