"""Writing generated arrays as NIfTI, PNG, TIFF or NPY with reproducible bytes, and reading them back.

Leaves to others: strict reading of files from elsewhere (`medotter_bench.inference`), and what is in the
arrays (`dummy_shapes`).
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from medomni.core.errors import MissingExtraError
from medomni.core.files import write_atomic
from medotter_bench.factory.errors import DummyError
from medotter_bench.factory.folders import make_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

NIFTI = (".nii.gz", ".nii")
TIFF = (".tif", ".tiff")


def _extra(module: str, purpose: str) -> Any:
    try:
        return import_module(module)
    except ImportError as missing:
        raise MissingExtraError.for_extra("imaging", module.partition(".")[0], purpose) from missing


def affine_ras(spacing: Sequence[float], orientation: str) -> NDArray[np.float64]:
    """The affine of a grid whose first voxel lies at the origin; letters name where each axis points."""
    signs = [1.0 if letter in "RAS" else -1.0 for letter in orientation]
    return np.diag([sign * step for sign, step in zip(signs, spacing, strict=True)] + [1.0])


def write_array(path: Path, array: NDArray[Any], *, affine: NDArray[np.float64] | None = None) -> None:
    """Writes an array in the format that the file's name says; folders are made.

    Args:
        path: Ends in .nii.gz, .nii, .png, .tif, .tiff or .npy.
        array: Axes as stored: (x, y, z) for NIfTI, (y, x[, 3]) for PNG, ([z, ]y, x) for TIFF.
        affine: Voxel indices to millimetres in RAS, for NIfTI.

    Raises:
        DummyError: no such format (`dummy-format`).
        MissingExtraError: the extra `imaging` is not installed.
    """
    make_folder(path.parent)
    if path.name.endswith(NIFTI):
        data = _nifti(array, np.eye(4) if affine is None else affine)
        data = gzip.compress(data, 6, mtime=0) if path.name.endswith(".gz") else data
    elif path.suffix == ".png":
        data = _png(array)
    elif path.suffix in TIFF:
        stream = io.BytesIO()
        photometric = "rgb" if array.shape[-1] == 3 and array.dtype == np.uint8 else "minisblack"
        tifffile = _extra("tifffile", "writing TIFF files")
        tifffile.imwrite(stream, array, photometric=photometric, metadata=None, software=False)
        data = stream.getvalue()
    elif path.suffix == ".npy":
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        data = stream.getvalue()
    else:
        raise DummyError(
            f"no way to write {path.name}",
            hint="generated files can be .nii.gz, .nii, .png, .tif, .tiff or .npy",
            code="dummy-format",
        )
    write_atomic(path, data)


def _nifti(array: NDArray[Any], affine: NDArray[np.float64]) -> bytes:
    nibabel = _extra("nibabel", "writing NIfTI files")
    made = nibabel.Nifti1Image(array, affine)
    made.set_qform(affine, code=1)
    made.set_sform(affine, code=1)
    made.header.set_xyzt_units("mm")
    return bytes(made.to_bytes())


def _png(array: NDArray[Any]) -> bytes:
    pillow = _extra("PIL.Image", "writing PNG files")
    stream = io.BytesIO()
    pillow.fromarray(np.ascontiguousarray(array)).save(stream, format="PNG")
    return stream.getvalue()


def read_labels(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """A generated label map with its affine (None where the format has none).

    Raises:
        DummyError: no such format (`dummy-format`).
        MissingExtraError: the extra `imaging` is not installed.
    """
    if path.name.endswith(NIFTI):
        loaded = _extra("nibabel", "reading NIfTI files").load(path)
        return np.asanyarray(loaded.dataobj).astype(np.int64), np.asarray(loaded.affine, dtype=np.float64)
    if path.suffix == ".png":
        with _extra("PIL.Image", "reading PNG files").open(path) as opened:
            return np.asarray(opened).astype(np.int64), None
    if path.suffix in TIFF:
        return np.asarray(_extra("tifffile", "reading TIFF files").imread(path)).astype(np.int64), None
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False)).astype(np.int64), None
    raise DummyError(f"no way to read {path.name} as generated labels", code="dummy-format")
