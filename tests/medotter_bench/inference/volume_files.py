"""Builders: small volume files, right or wrong in exactly one way."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

from medotter_bench.errors import VolumeError
from medotter_bench.inference import LabelMap, read_label_map

AFFINE = np.diag([0.8, 1.0, 2.5, 1.0])


def labels(shape=(4, 5, 6), dtype="uint8", n_ids=4):
    """A label map that is different from all its flips and transposes."""
    return (np.arange(np.prod(shape)).reshape(shape) * 7 % 11 % n_ids).astype(dtype)


def nifti_bytes(
    array, *, affine=AFFINE, version=1, order="<", extension=b"", data=None, **fields: Any
) -> bytes:
    """A NIfTI file; `fields` overwrite raw header fields, `data` the voxels' bytes."""
    kind = nib.Nifti1Header if version == 1 else nib.Nifti2Header
    header = kind(endianness=order)
    header.set_data_dtype(array.dtype)
    header.set_data_shape(array.shape)
    header.set_qform(affine, 1)
    header.set_sform(affine, 1)
    start = 352 if version == 1 else 544
    header["magic"] = b"n+1" if version == 1 else b"n+2\0\r\n\x1a\n"
    header["vox_offset"] = start + len(extension)
    for name, value in fields.items():
        header[name] = value
    voxels = array.astype(array.dtype.newbyteorder(order)).tobytes(order="F") if data is None else data
    return header.binaryblock + (b"\1\0\0\0" if extension else b"\0" * 4) + extension + voxels


def write_nifti(path: Path, array, **how: Any) -> Path:
    content = nifti_bytes(array, **how)
    path.write_bytes(gzip.compress(content, 1) if path.name.endswith(".gz") else content)
    return path


def nifti(tmp_path: Path, array, name="a.nii.gz", **how: Any) -> Path:
    return write_nifti(tmp_path / name, array, **how)


def png_bytes(width, height, depth, colour, rows: list[bytes], *, extra=(), interlace=0, body=None) -> bytes:
    """A PNG with unfiltered `rows`, for sample depths that imaging libraries do not write."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    body = zlib.compress(b"".join(b"\0" + row for row in rows)) if body is None else body
    chunks = [chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))]
    chunks += [chunk(kind, content) for kind, content in extra]
    chunks += [chunk(b"IDAT", body), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def nrrd_bytes(array, *, encoding="raw", fields: dict[str, str] | None = None, data=None) -> bytes:
    """An NRRD of a (X, Y, Z) uint8 or int16 array with spacing 1, 2, 3 mm in LPS."""
    stated = {
        "type": {"uint8": "uchar", "int16": "short"}[array.dtype.name],
        "dimension": str(array.ndim),
        "space": "left-posterior-superior",
        "sizes": " ".join(map(str, array.shape)),
        "space directions": "(1,0,0) (0,2,0) (0,0,3)",
        "kinds": "domain domain domain",
        "endian": "little",
        "encoding": encoding,
        "space origin": "(10,20,30)",
    } | (fields or {})
    head = "NRRD0004\n" + "".join(f"{name}: {value}\n" for name, value in stated.items() if value) + "\n"
    voxels = array.tobytes(order="F") if data is None else data
    return head.encode() + (gzip.compress(voxels) if encoding == "gzip" else voxels)


def refused(path: Path, code: str, **how: Any) -> VolumeError:
    """The error with `code` that reading the label map at `path` raises."""
    with pytest.raises(VolumeError) as caught:
        read_label_map(path, **how)
    assert caught.value.code == code, caught.value
    assert caught.value.where == str(path)
    assert caught.value.hint
    return caught.value


def same_labels(read: LabelMap, written) -> bool:
    return read.array.dtype.kind in "iu" and np.array_equal(read.array, written)
