"""Outlines of label maps along pixel edges, as SVG paths, and slices as PNG.

Leaves to others: which slice (`slices`) and reading files (`pictures`).
"""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

type Vertex = tuple[int, int]

_RIGHT, _DOWN, _LEFT, _UP = (0, 1), (1, 0), (0, -1), (-1, 0)


def outline_path(ids: NDArray[Any]) -> str:
    """The outline of every object of a slice as one SVG path, x to the right and y down, in pixels.

    Args:
        ids: (rows, columns) whole numbers; 0 is background.
    """
    import numpy as np

    parts = []
    for each in np.unique(ids[ids != 0]).tolist():
        rows, columns = np.nonzero(ids == each)
        top, left = int(rows.min()), int(columns.min())
        inside = ids[top : rows.max() + 1, left : columns.max() + 1] == each
        for loop in loops(inside):
            parts.append(_closed([(row + top, column + left) for row, column in loop]))
    return "".join(parts)


def loops(mask: NDArray[np.bool_]) -> list[list[Vertex]]:
    """Closed loops of corners `(row, column)` around the mask, inside on the right of the way.

    Pixels that touch by a corner alone get loops of their own.
    """
    import numpy as np

    padded = np.pad(mask, 1)
    inner = padded[1:-1, 1:-1]
    steps: dict[Vertex, list[Vertex]] = {}
    # Per side: its outside neighbour, the corner where the edge starts, and where it leads.
    for neighbour, start, way in (
        (padded[:-2, 1:-1], (0, 0), _RIGHT),
        (padded[1:-1, 2:], (0, 1), _DOWN),
        (padded[2:, 1:-1], (1, 1), _LEFT),
        (padded[1:-1, :-2], (1, 0), _UP),
    ):
        for row, column in np.argwhere(inner & ~neighbour).tolist():
            steps.setdefault((row + start[0], column + start[1]), []).append(way)
    found = []
    while steps:
        found.append(_walk(steps))
    return found


def _walk(steps: dict[Vertex, list[Vertex]]) -> list[Vertex]:
    start = here = min(steps)
    way: Vertex | None = None
    corners = []
    while True:
        ways = steps[here]
        # Where two edges leave one corner, turn right: that keeps to the same pixel.
        follow = (way[1], -way[0]) if way is not None else ways[0]
        chosen = follow if follow in ways else ways[0]
        ways.remove(chosen)
        if not ways:
            del steps[here]
        if chosen != way:
            corners.append(here)
        way, here = chosen, (here[0] + chosen[0], here[1] + chosen[1])
        if here == start:
            return corners


def _closed(corners: list[Vertex]) -> str:
    (row, column), *rest = corners
    text = f"M{column} {row}"
    for next_row, next_column in rest:
        text += f"h{next_column - column}" if next_row == row else f"v{next_row - row}"
        row, column = next_row, next_column
    return f"{text}z"


def png_data(pixels: NDArray[np.uint8]) -> str:
    """A slice, (rows, columns[, 3]), as a data URI."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
