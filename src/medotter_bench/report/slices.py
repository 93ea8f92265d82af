"""Chooses the slice and the window in which reference and prediction disagree most, and turns it for display.

Pure functions on arrays. Leaves to others: reading files (`pictures`), drawing (`outlines`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from medotter_bench.inference import Grid

_LARGEST, _SMALLEST, _SPACE = 320, 64, 12
_BLOCK = 32


@dataclass(frozen=True, slots=True)
class Orientation:
    """How a slice is laid out: voxel axes and flips, and what it says to the reader.

    Attributes:
        across: The axis that is cut; None for two axes.
        rows: The axis that runs down the page.
        columns: The axis that runs to the right.
    """

    across: int | None
    rows: int
    columns: int
    flip_rows: bool = False
    flip_columns: bool = False
    words: str = ""

    def plane(self, array: NDArray[Any], index: int) -> NDArray[Any]:
        """The slice at `index`, (rows, columns[, 3]), as it is shown."""
        import numpy as np

        cut = array if self.across is None else np.take(array, index, axis=self.across)
        rows, columns = self._places()
        turned = np.moveaxis(cut, (rows, columns), (0, 1))
        return turned[:: -1 if self.flip_rows else 1, :: -1 if self.flip_columns else 1]

    def _places(self) -> tuple[int, int]:
        if self.across is None:
            return self.rows, self.columns
        return self.rows - (self.rows > self.across), self.columns - (self.columns > self.across)


def orientation_of(grid: Grid, ndim: int) -> Orientation:
    """Axial slices seen from the feet where the grid says what is where, else the stored order."""
    import numpy as np

    if grid.affine_ras is None:
        # Stacks are stored (Z, Y, X), images (Y, X).
        return Orientation(0, 1, 2) if ndim == 3 else Orientation(None, 0, 1)
    affine = np.array(grid.affine_ras)[:3, :ndim]
    share = np.abs(affine) / np.maximum(np.sqrt((affine**2).sum(axis=0)), 1e-12)
    across = int(share[2].argmax()) if ndim == 3 else None
    first, second = (axis for axis in range(ndim) if axis != across)
    columns, rows = (first, second) if share[0, first] >= share[0, second] else (second, first)
    words = "axial, patient's right on the left" if ndim == 3 else ""
    return Orientation(across, rows, columns, bool(affine[1, rows] > 0), bool(affine[0, columns] > 0), words)


def disagreement(reference: NDArray[Any], prediction: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a prediction is not the object that covers most of the reference's object, any shape.

    With one object in both this is where exactly one of them is.
    """
    import numpy as np

    if max(int(reference.max(initial=0)), int(prediction.max(initial=0))) <= 1:
        return np.asarray(reference != prediction)  # one object: no need to sort millions of voxels
    ours, partner = np.unique(reference, return_inverse=True)
    theirs, other = np.unique(prediction, return_inverse=True)
    pairs, counts = np.unique(partner.ravel() * len(theirs) + other.ravel(), return_counts=True)
    best = np.full(len(ours), -1)
    for pair, _ in sorted(zip(pairs.tolist(), counts.tolist(), strict=True), key=lambda item: item[1]):
        place, candidate = divmod(pair, len(theirs))
        if ours[place] != 0 and theirs[candidate] != 0:
            best[place] = candidate
    expected = np.where(best >= 0, theirs[np.maximum(best, 0)], -1)
    expected[ours == 0] = 0
    return np.asarray(expected[partner].reshape(reference.shape) != prediction)


def worst_index(differs: NDArray[np.bool_], across: int | None) -> int:
    """The slice with the most disagreement; of equals the first."""
    if across is None:
        return 0
    others = tuple(axis for axis in range(differs.ndim) if axis != across)
    return int(differs.sum(axis=others).argmax())


def window(shown: NDArray[np.bool_], differs: NDArray[np.bool_]) -> tuple[slice, slice]:
    """What is cut out of a slice: all objects with some space, or where they disagree most if that is large.

    Args:
        shown: (rows, columns) where some object is.
        differs: (rows, columns) where the two disagree.
    """
    import numpy as np

    spans = []
    for axis in (0, 1):
        places = np.flatnonzero(shown.any(axis=1 - axis))
        length = shown.shape[axis]
        low, high = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, length)
        if high - low + 2 * _SPACE > _LARGEST:
            middle = _densest(differs, axis)
            low, high = middle - _LARGEST // 2, middle + _LARGEST // 2
        else:
            grow = max(_SPACE, (_SMALLEST - (high - low) + 1) // 2)
            low, high = low - grow, high + grow
        size = min(high - low, length)
        low = min(max(low, 0), length - size)
        spans.append(slice(low, low + size))
    return spans[0], spans[1]


def _densest(differs: NDArray[np.bool_], axis: int) -> int:
    """The middle, along one axis, of the block with the most disagreement."""
    import numpy as np

    rows, columns = (np.arange(0, n, _BLOCK) for n in differs.shape)
    sums = np.add.reduceat(np.add.reduceat(differs.astype(np.int64), rows, axis=0), columns, axis=1)
    place = np.unravel_index(int(sums.argmax()), sums.shape)
    return int(place[axis]) * _BLOCK + _BLOCK // 2


def grey_levels(image: NDArray[Any]) -> tuple[NDArray[np.uint8], float, float]:
    """Pixels from 0 to 255 between the 1st and 99th percentile, and these two; not finite is black."""
    import numpy as np

    finite = np.isfinite(image)
    known = image[finite].astype(np.float64)
    low, high = (float(v) for v in np.percentile(known, (1, 99))) if known.size else (0.0, 0.0)
    spread = high - low if high > low else 1.0
    scaled = (np.where(finite, image, low).astype(np.float64) - low) / spread
    return (scaled.clip(0, 1) * 255).round().astype(np.uint8), low, high
