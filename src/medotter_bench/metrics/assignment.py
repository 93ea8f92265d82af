"""One-to-one assignment of overlapping instances: most pairs first where asked, then largest IoU sum.

Leaves to others: which pairs may be assigned at all, and what is made of the result (`instances`).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from medotter_bench.metrics.arrays import Counts, require_scipy

# Work (rows x pairs) above which one connected group of objects is left to a compiled float64 solver.
EXACT_WORK = 20_000_000

# Common denominators above this many bits are replaced by a fixed-point one of the same size.
_DENOMINATOR_BITS = 4096


@dataclass(frozen=True, slots=True)
class _Edges:
    """Pairs of one group: row and column numbers from 0, intersections and unions in voxels."""

    rows: list[int]
    columns: list[int]
    intersections: list[int]
    unions: list[int]

    @property
    def n_rows(self) -> int:
        return max(self.rows) + 1

    @property
    def n_columns(self) -> int:
        return max(self.columns) + 1


def assign(
    reference: Counts, prediction: Counts, intersection: Counts, union: Counts, *, most_pairs: bool
) -> tuple[Counts, list[float]]:
    """The pairs of the best one-to-one assignment.

    Objects that share no chain of pairs do not compete, so each connected group of the overlap graph
    is solved alone; almost all groups are single pairs. Groups are solved in whole numbers: rounding
    decides nothing, and neither does the order of ids (`EXACT_WORK` names the exception). Of equal
    IoU sums the one with the larger total intersection is taken.

    Source:
        Kuhn, Nav Res Logist Q 2 (1955) 83, with shortest paths after Edmonds and Karp, J ACM 19
        (1972) 248.

    Args:
        reference: Reference object of each pair, numbered from 0.
        prediction: Predicted object of each pair, numbered from 0.
        intersection: Shared pixels of each pair, above 0.
        union: Pixels in either object of each pair.
        most_pairs: Whether the number of pairs comes before the sum of IoU.

    Returns:
        Indices of the chosen pairs, ascending; and IoU sums whose total is the assignment's.
    """
    if reference.size == 0:
        return np.empty(0, dtype=np.int64), []
    alone = (np.bincount(reference)[reference] == 1) & (np.bincount(prediction)[prediction] == 1)
    chosen = [np.flatnonzero(alone)]
    sums: list[float] = (intersection[alone] / union[alone]).tolist()
    for group in _groups(reference, prediction, np.flatnonzero(~alone)):
        edges = _edges(reference[group], prediction[group], intersection[group], union[group])
        small = edges.n_rows * len(edges.rows) <= EXACT_WORK
        solve = _solve_exactly if small else _solve_in_floats
        picked, total = solve(edges, most_pairs)
        chosen.append(group[picked])
        sums.append(total)
    return np.sort(np.concatenate(chosen)), sums


def _groups(reference: Counts, prediction: Counts, pairs: Counts) -> list[Counts]:
    if pairs.size == 0:
        return []
    require_scipy("one-to-one assignment")
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right = reference[pairs], prediction[pairs]
    first_right = int(left.max()) + 1
    size = first_right + int(right.max()) + 1
    graph = coo_array((np.ones(len(pairs), dtype=np.int8), (left, right + first_right)), shape=(size, size))
    group_of = connected_components(graph, directed=False)[1][left]
    order = np.argsort(group_of, kind="stable")
    borders = np.flatnonzero(np.diff(group_of[order])) + 1
    return [pairs[members] for members in np.split(order, borders)]


def _edges(reference: Counts, prediction: Counts, intersection: Counts, union: Counts) -> _Edges:
    rows = np.unique(reference, return_inverse=True)[1]
    columns = np.unique(prediction, return_inverse=True)[1]
    if columns.max() < rows.max():
        rows, columns = columns, rows
    return _Edges(rows.tolist(), columns.tolist(), intersection.tolist(), union.tolist())


def _solve_exactly(edges: _Edges, most_pairs: bool) -> tuple[list[int], float]:
    scale = _common_denominator(edges.unions)
    ious = [(i * scale + u // 2) // u for i, u in zip(edges.intersections, edges.unions, strict=True)]
    # Whole numbers rank in strict order: number of pairs, IoU sum, total intersection.
    bound = sum(edges.intersections) + 1
    weights = [iou * bound + i for iou, i in zip(ious, edges.intersections, strict=True)]
    if most_pairs:
        bonus = sum(weights) + 1
        weights = [weight + bonus for weight in weights]
    neighbours: list[dict[int, int]] = [{} for _ in range(edges.n_rows)]
    edge_at = {}
    for edge, (row, column) in enumerate(zip(edges.rows, edges.columns, strict=True)):
        neighbours[row][column] = weights[edge]
        edge_at[row, column] = edge
    columns = _heaviest_matching(neighbours, edges.n_columns)
    picked = [edge_at[row, column] for row, column in enumerate(columns) if column < edges.n_columns]
    return picked, sum(ious[edge] for edge in picked) / scale


def _common_denominator(unions: list[int]) -> int:
    scale = 1
    for union in set(unions):
        scale = math.lcm(scale, union)
        if scale.bit_length() > _DENOMINATOR_BITS:
            # Sums that differ by less than this are the same float64 by a very wide margin.
            return 1 << _DENOMINATOR_BITS
    return scale


def _heaviest_matching(neighbours: list[dict[int, int]], n_columns: int) -> list[int]:
    """Column of each row in a matching of largest weight; `n_columns + row` means none.

    Prices keep row price + column price >= weight on every pair, with equality on chosen ones.
    """
    rows = [{**columns, n_columns + row: 0} for row, columns in enumerate(neighbours)]
    row_price = [0] * len(rows)
    column_price = [0] * (n_columns + len(rows))
    owner = [-1] * (n_columns + len(rows))
    choice = [-1] * len(rows)
    for root, columns in enumerate(rows):
        row_price[root] = max(weight - column_price[column] for column, weight in columns.items())
        settled, via, sink, length = _cheapest_path(root, rows, row_price, column_price, owner)
        row_price[root] -= length
        for column, distance in settled.items():
            column_price[column] += length - distance
            row_price[owner[column]] -= length - distance
        column, row = sink, -1
        while row != root:
            row = via[column]
            owner[column] = row
            choice[row], column = column, choice[row]
    return choice


def _cheapest_path(
    root: int, rows: list[dict[int, int]], row_price: list[int], column_price: list[int], owner: list[int]
) -> tuple[dict[int, int], dict[int, int], int, int]:
    reached: dict[int, int] = {}
    via: dict[int, int] = {}
    settled: dict[int, int] = {}
    queue: list[tuple[int, int]] = []
    row, length = root, 0
    while True:
        for column, weight in rows[row].items():
            distance = length + row_price[row] + column_price[column] - weight
            if column not in settled and distance < reached.get(column, distance + 1):
                reached[column], via[column] = distance, row
                heapq.heappush(queue, (distance, column))
        length, column = heapq.heappop(queue)
        while column in settled:
            length, column = heapq.heappop(queue)
        if owner[column] < 0:
            return settled, via, column, length
        settled[column] = length
        row = owner[column]


def _solve_in_floats(edges: _Edges, most_pairs: bool) -> tuple[list[int], float]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n_rows, n_columns = edges.n_rows, edges.n_columns
    ious = np.asarray(edges.intersections) / np.asarray(edges.unions)
    weights: npt.NDArray[np.float64] = ious + (n_rows + 1 if most_pairs else 0)
    # Each row may also take a column of its own of weight 0, which stands for no partner.
    ceiling = float(weights.max()) + 1
    own = np.arange(n_rows)
    costs = csr_array(
        (
            np.concatenate([ceiling - weights, np.full(n_rows, ceiling)]),
            (np.concatenate([edges.rows, own]), np.concatenate([edges.columns, n_columns + own])),
        ),
        shape=(n_rows, n_columns + n_rows),
    )
    matched = dict(zip(*(side.tolist() for side in min_weight_full_bipartite_matching(costs)), strict=True))
    picked = [
        edge
        for edge, (row, column) in enumerate(zip(edges.rows, edges.columns, strict=True))
        if matched[row] == column
    ]
    return picked, math.fsum(ious[picked].tolist())
