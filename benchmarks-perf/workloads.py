"""Generated inputs of the benchmarks: label maps as scoring meets them, the same on every machine.

Four workloads: a brain tumour volume (a), a CT with 13 organs (b), a tile of nuclei (c) and a volume of
nuclei (d). `bad_predictions` makes inputs that no trained model should give, from the reference of a. Leaves
to others: files (`write_nifti` only stores an array) and timing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[Any]
Regions = Mapping[str, tuple[int, ...]]
Semantic = tuple[Labels, Labels, tuple[float, ...], Regions]

# Centre and radii of the two lesions of a, as parts of the grid.
_LESIONS = (((0.6, 0.55, 0.5), (0.16, 0.14, 0.18)), ((0.36, 0.38, 0.62), (0.08, 0.09, 0.1)))
# Centre and radii of 12 organs of b; the 13th is in neither map.
_ORGANS = (
    ((0.74, 0.55, 0.62), (0.09, 0.11, 0.10)),
    ((0.66, 0.60, 0.42), (0.06, 0.06, 0.11)),
    ((0.35, 0.60, 0.42), (0.06, 0.06, 0.11)),
    ((0.22, 0.30, 0.42), (0.03, 0.04, 0.04)),
    ((0.52, 0.45, 0.85), (0.02, 0.02, 0.12)),
    ((0.32, 0.48, 0.62), (0.18, 0.19, 0.14)),
    ((0.62, 0.36, 0.66), (0.10, 0.09, 0.10)),
    ((0.53, 0.52, 0.50), (0.022, 0.022, 0.42)),
    ((0.46, 0.50, 0.50), (0.024, 0.020, 0.38)),
    ((0.52, 0.42, 0.52), (0.12, 0.035, 0.04)),
    ((0.62, 0.55, 0.56), (0.018, 0.020, 0.03)),
    ((0.42, 0.56, 0.56), (0.018, 0.020, 0.03)),
)


def smooth_field(shape: Sequence[int], *, cell: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Random numbers of about -1 to 1 that change over `cell` voxels."""
    coarse = [max(2, -(-length // cell) + 1) for length in shape]
    field = rng.uniform(-1, 1, coarse).astype(np.float32)
    for axis, (length, points) in enumerate(zip(shape, coarse, strict=True)):
        places = np.linspace(0, points - 1, length)
        weights = np.maximum(0, 1 - np.abs(places[:, None] - np.arange(points))).astype(np.float32)
        field = np.moveaxis(np.tensordot(weights, field, axes=(1, axis)), 0, axis)
    return field


def _paint(
    labels: Labels,
    value: int,
    centre: Sequence[float],
    radii: Sequence[float],
    *,
    noise: float,
    rng: np.random.Generator,
) -> None:
    """An ellipsoid, given in voxels, whose surface is moved by up to about `noise` voxels."""
    box = tuple(
        slice(max(0, int(c - r - 4)), min(n, int(c + r + 5)))
        for c, r, n in zip(centre, radii, labels.shape, strict=True)
    )
    shape = [side.stop - side.start for side in box]
    axes = np.ogrid[box]
    distance = np.sqrt(sum(((x - c) / r) ** 2 for x, c, r in zip(axes, centre, radii, strict=True)))
    moved = distance + smooth_field(shape, cell=7, rng=rng) * np.float32(noise / min(radii))
    labels[box][moved <= 1] = value


def workload_a() -> Semantic:
    """Reference and prediction (X, Y, Z) 240 x 240 x 155 at 1 mm: two lesions, three nested regions.

    The prediction has another boundary, by about 2 voxels, and an island far away.
    """
    shape = (240, 240, 155)
    maps = []
    for seed, noise in ((1, 2.0), (2, 3.0)):
        rng = np.random.default_rng(seed)
        labels = np.zeros(shape, dtype=np.uint8, order="F")
        for centre, radii in _LESIONS:
            middle = [c * n for c, n in zip(centre, shape, strict=True)]
            for value, part in ((2, 1.0), (1, 0.7), (3, 0.45)):
                size = [part * r * n for r, n in zip(radii, shape, strict=True)]
                _paint(labels, value, middle, size, noise=noise, rng=rng)
        maps.append(labels)
    maps[1][20:25, 30:34, 40:43] = 2
    return maps[0], maps[1], (1.0, 1.0, 1.0), {"WT": (1, 2, 3), "TC": (1, 3), "ET": (3,)}


def workload_b() -> Semantic:
    """Reference and prediction (X, Y, Z) 512 x 512 x 400 at 0.8 x 0.8 x 2.5 mm: 13 organs, one in neither."""
    shape = (512, 512, 400)
    maps = []
    for seed, noise in ((3, 2.0), (4, 3.5)):
        rng = np.random.default_rng(seed)
        labels = np.zeros(shape, dtype=np.uint8, order="F")
        for value, (centre, radii) in enumerate(_ORGANS, start=1):
            middle = [c * n for c, n in zip(centre, shape, strict=True)]
            size = [r * n for r, n in zip(radii, shape, strict=True)]
            _paint(labels, value, middle, size, noise=noise, rng=rng)
        maps.append(labels)
    regions = {f"organ_{value:02d}": (value,) for value in range(1, 14)}
    return maps[0], maps[1], (0.8, 0.8, 2.5), regions


def _nuclei(shape: Sequence[int], *, cell: Sequence[int], count: int, seed: int) -> tuple[Labels, Labels]:
    """`count` objects, one per cell of a grid, and a prediction that finds most of them.

    Of 100 objects the prediction misses 7, splits 4, joins 4 to a neighbour's id, and adds 5 of its own.
    Its ids are shuffled, with gaps.
    """
    rng = np.random.default_rng(seed)
    grid = [length // side for length, side in zip(shape, cell, strict=True)]
    cells = rng.permutation(int(np.prod(grid)))
    reference, prediction = np.zeros((2, *shape), dtype=np.int32)
    names = rng.permutation(3 * cells.size)[: 2 * cells.size] + 1
    local = np.stack(np.meshgrid(*(np.arange(n) for n in cell), indexing="ij"))
    sizes = np.array(cell).reshape(-1, *(1,) * len(shape))
    for place, at in enumerate(cells):
        corner = [i * n for i, n in zip(np.unravel_index(at, grid), cell, strict=True)]
        box = tuple(slice(c, c + n) for c, n in zip(corner, cell, strict=True))
        shift = rng.uniform(-0.08, 0.08, sizes.shape) * sizes
        radius = sizes * rng.uniform(0.3, 0.42)
        true = (((local - sizes / 2 - shift) / radius) ** 2).sum(axis=0) <= 1
        moved = shift + rng.uniform(-0.06, 0.06, sizes.shape) * sizes
        seen = (((local - sizes / 2 - moved) / (radius * rng.uniform(0.85, 1.1))) ** 2).sum(axis=0) <= 1
        luck = rng.random()
        if place < count:
            reference[box][true] = place + 1
        if (place < count and luck < 0.07) or (
            place >= count and luck >= 0.05 * count / (cells.size - count)
        ):
            continue
        joined = place > 0 and 0.07 <= luck < 0.11
        prediction[box][seen] = names[place - 1 if joined else place]
        if 0.11 <= luck < 0.15:
            prediction[box][seen & (local[0] < cell[0] // 2)] = names[cells.size + place]
    return reference, prediction


def workload_c() -> tuple[Labels, Labels]:
    """Reference and prediction (Y, X) 1000 x 1000: 1500 nuclei."""
    return _nuclei((1000, 1000), cell=(23, 23), count=1500, seed=5)


def workload_d() -> tuple[Labels, Labels]:
    """Reference and prediction (X, Y, Z) 512 x 512 x 64: 2000 nuclei."""
    return _nuclei((512, 512, 64), cell=(21, 21, 15), count=2000, seed=6)


def bad_predictions(reference: Labels) -> Iterator[tuple[str, Labels]]:
    """Name and prediction, for a reference of three labels (X, Y, Z)."""
    for step in ((5, 2, 5), (15, 7, 15), (40, 20, 40)):
        yield f"shifted by {step}", np.roll(reference, step, axis=(0, 1, 2))
    rng = np.random.default_rng(7)
    salt = reference.copy(order="K")
    hit = np.flatnonzero(rng.random(reference.size) < 0.001)
    salt[np.unravel_index(hit, reference.shape)] = rng.integers(1, 4, hit.size)
    yield "salt noise, 0.1 %", salt
    blob = np.zeros_like(reference)
    blob[5:8, 5:8, 5:7] = 3
    yield "far blob of 18 voxels", blob
    yield "all foreground", np.full_like(reference, 3)
    parity = sum(np.ogrid[tuple(slice(n) for n in reference.shape)]) % 2
    yield "checkerboard", np.asarray(parity * 3, dtype=reference.dtype, order="F")


def million_ids(shape: Sequence[int] = (1000, 1000)) -> Labels:
    """A map in which every pixel is an object of its own."""
    return np.arange(1, int(np.prod(shape)) + 1, dtype=np.int32).reshape(shape)


def write_nifti(path: Path, labels: Labels, *, spacing: Sequence[float] = (1.0, 1.0, 1.0)) -> None:
    """Write a label map as `.nii.gz` at gzip level 1, in its own data type."""
    import nibabel as nib
    from nibabel.openers import Opener

    level, Opener.default_compresslevel = Opener.default_compresslevel, 1
    try:
        affine = np.diag([*spacing[: labels.ndim], *[1.0] * (3 - labels.ndim), 1.0])
        nib.save(nib.Nifti1Image(labels, affine, dtype=labels.dtype), path)
    finally:
        Opener.default_compresslevel = level
