"""The large arrays of `imaging/generated_expected.json`, from whole numbers alone (nothing random)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

BRATS_SHAPE = (240, 240, 155)
BRATS_REGIONS = {"WT": (1, 2, 3), "TC": (1, 3), "ET": (3,)}


def _paint_ellipsoid(volume: Array, value: int, centre: tuple[int, ...], radii: tuple[int, ...]) -> None:
    box = tuple(slice(max(0, c - r), c + r + 1) for c, r in zip(centre, radii, strict=True))
    x, y, z = np.ogrid[tuple(slice(s.start, min(s.stop, n)) for s, n in zip(box, volume.shape, strict=True))]
    rx, ry, rz = radii
    inside = (
        (x - centre[0]) ** 2 * (ry * rz) ** 2
        + (y - centre[1]) ** 2 * (rx * rz) ** 2
        + (z - centre[2]) ** 2 * (rx * ry) ** 2
    ) <= (rx * ry * rz) ** 2
    volume[box][inside] = value


def _brats_labels(centre: tuple[int, int, int], shrink: int) -> Array:
    volume = np.zeros(BRATS_SHAPE, dtype=np.uint8)
    _paint_ellipsoid(volume, 2, centre, (38 + shrink, 32, 28))
    _paint_ellipsoid(volume, 3, centre, (26, 22 - shrink, 19))
    _paint_ellipsoid(volume, 1, (centre[0] + 2, centre[1], centre[2]), (17, 15, 13))
    return volume


def brats_ellipsoids() -> tuple[Array, Array]:
    """Reference and prediction (X, Y, Z) of three nested regions with one far island."""
    prediction = _brats_labels((152, 129, 81), 2)
    prediction[20:24, 30:33, 40:42] = 2
    return _brats_labels((150, 130, 80), 0), prediction


def tile_lattice(n: int) -> tuple[Array, Array]:
    """Reference and prediction (Y, X) of n x n discs in cells of 25 x 25 pixels."""
    reference, prediction = np.zeros((2, 25 * n, 25 * n), dtype=np.int32)
    y, x = np.ogrid[:25, :25]
    for i in range(n):
        for j in range(n):
            cell = np.s_[25 * i : 25 * i + 25, 25 * j : 25 * j + 25]
            radius = 8 + (7 * i + 3 * j) % 4
            reference[cell][(y - 12) ** 2 + (x - 12) ** 2 <= radius**2] = i * n + j + 1
            if (i + 2 * j) % 11 == 0:
                continue
            row, column, smaller = 12 + i % 5 - 2, 12 + j % 5 - 2, radius - (i + j) % 3
            shared = (i * j) % 17 == 1 and j > 0
            label = 7 * (i * n + j) if shared else 7 * (i * n + j + 1)
            prediction[cell][(y - row) ** 2 + (x - column) ** 2 <= smaller**2] = label
    return reference, prediction


def volume_lattice() -> tuple[Array, Array]:
    """Reference and prediction (X, Y, Z) of 19 x 19 x 4 spheroids in cells of 26 x 26 x 16 voxels."""
    reference, prediction = np.zeros((2, 494, 494, 64), dtype=np.int32)
    x, y, z = np.ogrid[:26, :26, :16]
    k = 0
    for i in range(19):
        for j in range(19):
            for m in range(4):
                k += 1
                cell = np.s_[26 * i : 26 * i + 26, 26 * j : 26 * j + 26, 16 * m : 16 * m + 16]
                r, rz = 8 + (i + 2 * j + 3 * m) % 4, 4 + (i + j + m) % 3
                inside = ((x - 13) ** 2 + (y - 13) ** 2) * rz**2 + (z - 8) ** 2 * r**2 <= r**2 * rz**2
                reference[cell][inside] = k
                if (i + 3 * j + 5 * m) % 13 == 0:
                    continue
                cx, cy, cz, r = 13 + i % 3 - 1, 13 + j % 3 - 1, 8 + m % 3 - 1, r - (i * j + m) % 2
                inside = ((x - cx) ** 2 + (y - cy) ** 2) * rz**2 + (z - cz) ** 2 * r**2 <= r**2 * rz**2
                prediction[cell][inside] = k + 100000
    return reference, prediction


INSTANCE_MAPS: dict[str, Callable[[], tuple[Array, Array]]] = {
    "tile_1000_lattice": lambda: tile_lattice(40),
    "tile_100_lattice": lambda: tile_lattice(4),
    "volume_494x494x64_lattice": volume_lattice,
}
