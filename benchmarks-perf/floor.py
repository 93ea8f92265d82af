"""What nothing can be faster than, or what a plain program does: measured beside what is compared to it.

`floor` is the limit of scoring from files: read both, decompress them into arrays, and look at every voxel
once. `plain_transforms` is of the usual hd95 recipe only the distance transforms. Leaves to others: clocks
(`timing`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ours import boxes_of
from timing import Values

Decode = Callable[[bytes, int], Any]

# Decoders of whole files: the module, and its function that gives new bytes.
_WHOLE = {"zlib-ng": ("zlib_ng.zlib_ng", "decompress"), "isal": ("isal.isal_zlib", "decompress")}


def _into_bytes(module: str, function: str) -> Decode:
    decompress = getattr(import_module(module), function)
    return lambda packed, n_bytes: decompress(packed, 31, n_bytes)


def _streamed(module: str) -> Decode:
    """As scoring itself does it: in pieces, straight into the array."""
    reader = import_module(module)._GzipReader

    def decode(packed: bytes, n_bytes: int) -> Any:
        voxels = np.empty(n_bytes, dtype=np.uint8)
        view, stream, at = memoryview(voxels), reader(io.BytesIO(packed), 1 << 17), 0
        while n_new := stream.readinto(view[at : at + (1 << 20)]):
            at += n_new
        return voxels

    return decode


def _libdeflate(packed: bytes, n_bytes: int) -> Any:
    import imagecodecs

    voxels = np.empty(n_bytes, dtype=np.uint8)
    return imagecodecs.gzip_decode(packed, out=memoryview(voxels))


def decoders() -> dict[str, Decode]:
    """Whatever of the fast gzip decoders is installed; Python's own where there is no other."""
    found: dict[str, Decode] = {}
    for name, (module, function) in _WHOLE.items():
        if find_spec(module.split(".")[0]):
            found[f"{name} into bytes"] = _into_bytes(module, function)
            found[f"{name} into an array"] = _streamed(module)
    if find_spec("imagecodecs"):
        found["libdeflate into an array"] = _libdeflate
    return found or {"zlib into bytes": _into_bytes("zlib", "decompress")}


def floor(paths: Sequence[Path], n_bytes: int, decode: Decode) -> Callable[[], Values]:
    """Read and decompress the files, hold all of them, and take the largest byte of each.

    `n_bytes` is the size of one file's content.
    """

    def run() -> Values:
        held = [decode(path.read_bytes(), n_bytes) for path in paths]
        return {"highest": [float(np.frombuffer(voxels, dtype=np.uint8).max()) for voxels in held]}

    return run


def plain_transforms(
    reference: NDArray[Any],
    prediction: NDArray[Any],
    spacing: Sequence[float],
    regions: Sequence[Sequence[int]],
) -> Callable[[], Values]:
    """SciPy's distance transforms of the crop of each region: one per surface. Surfaces are found before."""
    from scipy.ndimage import binary_erosion, distance_transform_edt

    edges = []
    for ids in regions:
        masks = boxes_of(reference, prediction, ids)
        edges += [~(mask & ~binary_erosion(mask)) for mask in masks if mask.any()]

    def run() -> Values:
        for edge in edges:
            distance_transform_edt(edge, sampling=spacing)
        return {}

    return run
