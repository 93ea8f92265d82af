"""Pictures of the worst cases: the input's slice with outlines of reference and prediction.

Nothing is drawn that was not scored: files whose counts differ from the result's are left out, with the
reason. Leaves to others: which slice and window (`slices`), paths and PNG (`outlines`), the page (`view`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from medomni.core.errors import MedomniError
from medotter_bench.bundle import Bundle
from medotter_bench.case_scoring import CaseRow
from medotter_bench.errors import VolumeError
from medotter_bench.metric_facts import direction
from medotter_bench.report import outlines, slices
from medotter_bench.results_reading import LoadedResults
from medotter_bench.specs import MACRO_AVG

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from medotter_bench.engine import Protocol
    from medotter_bench.inference import Grid

MOST_PICTURES = 12


@dataclass(frozen=True, slots=True)
class Worst:
    """One of the worst cases: the region and value that make it so."""

    row: CaseRow
    region: str
    value: float
    outcome: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A slice and two outlines. Lengths are in display units, pixels times their spacing.

    Attributes:
        image: Data URI of the PNG.
        width: Columns of the window.
        height: Rows of the window.
        stretch: Height of a pixel in widths of a pixel.
        reference: SVG path of the reference's outlines, in pixels.
        prediction: SVG path of the prediction's outlines, in pixels.
        where: Which slice and window it is, in words.
        differing: Pixels of the window that disagree.
    """

    image: str
    width: int
    height: int
    stretch: float
    reference: str
    prediction: str
    where: str
    differing: int


def worst_cases(results: LoadedResults, rows: Sequence[CaseRow], most: int = MOST_PICTURES) -> list[Worst]:
    """The cases with the worst value of the headline's metric, worst first; ties by case id.

    With a macro average as headline a case counts by its worst region. Missing and invalid predictions have
    nothing to show and are left out.
    """
    head = results.document["headline"]
    metric = head["metric"]
    way = direction(metric)
    if way is None:
        return []
    sign = 1.0 if way == "higher" else -1.0
    regions = results.regions if head["region"] == MACRO_AVG else [head["region"]]
    found = []
    for row in rows:
        cells = [(region, row.score.regions[region].metrics[metric]) for region in regions]
        numbers = [(sign * c.value, region, c) for region, c in cells if c.value is not None]
        if row.status == "scored" and numbers:
            _, region, cell = min(numbers, key=lambda item: item[0])
            found.append(Worst(row, region, cell.value or 0.0, cell.outcome))
    return sorted(found, key=lambda worst: (sign * worst.value, worst.row.case_id))[:most]


@dataclass(frozen=True, slots=True)
class Drawer:
    """Draws cases of one bundle from its data and a folder of predictions."""

    bundle: Bundle
    protocol: Protocol
    data_root: Path
    predictions: Path

    def draw(self, worst: Worst) -> Picture | str:
        """The picture, or why there is none."""
        try:
            return self._draw(worst)
        except MedomniError as bad:
            return bad.what

    def _draw(self, worst: Worst) -> Picture:
        from medotter_bench.inference import VolumeLoader

        meta = self.bundle.case_meta(worst.row.case_id)
        loader = VolumeLoader(self.data_root)
        reference, prediction, grid = self._maps(loader, worst, meta)
        _refuse_others(worst, reference, prediction, self.is_semantic)
        image = loader.load_input(meta)
        array = image.array[0] if image.channels else image.array
        view = slices.orientation_of(grid, reference.ndim)
        differs = slices.disagreement(reference, prediction)
        index = slices.worst_index(differs, view.across)
        planes = [view.plane(each, index) for each in (reference, prediction, differs)]
        cut = slices.window((planes[0] != 0) | (planes[1] != 0), planes[2])
        colours = array.ndim == reference.ndim + 1
        plane = view.plane(array if colours else array.reshape(reference.shape), index)[cut]
        pixels, low, high = slices.grey_levels(plane)
        channel = f"channel {image.channels[0]}, " if image.channels else ""
        words = _where(view, index, reference.shape, plane.shape, channel)
        return Picture(
            image=outlines.png_data(pixels),
            width=plane.shape[1],
            height=plane.shape[0],
            stretch=_stretch(grid, view),
            reference=outlines.outline_path(planes[0][cut]),
            prediction=outlines.outline_path(planes[1][cut]),
            where=words if colours else f"{words}, grey values {low:.4g} to {high:.4g}",
            differing=int(planes[2][cut].sum()),
        )

    @property
    def is_semantic(self) -> bool:
        """Whether regions are made of voxel classes rather than of objects."""
        return self.protocol.spec.task_type == "seg"

    def _maps(
        self, loader: Any, worst: Worst, meta: Mapping[str, Any]
    ) -> tuple[NDArray[Any], NDArray[Any], Grid]:
        """Object ids of the region in reference and prediction; 0 and 1 for voxel classes."""
        from medotter_bench.inference import read_label_map
        from medotter_bench.predictions import scan

        form = self.protocol.spec.prediction_format
        case_id = worst.row.case_id
        reference = loader.load_label(str(meta["seg"]), root=loader.resolve(meta))
        folder = scan(self.predictions, [case_id], prediction_type=form.type, side_suffix=form.classes)
        found = folder.found[case_id]
        if found.path is None:
            raise VolumeError(found.what, where=found.relative, code="report-files")
        prediction = read_label_map(found.path, expected=reference.grid, rgb24=form.type == "instance_rgb24")
        ids = prediction.array.reshape(reference.array.shape)
        if self.is_semantic:
            return *self._regions(worst, meta, reference.array, ids), reference.grid
        if form.classes is not None and meta.get("region") is None:
            raise VolumeError("objects of several classes in one image are not drawn", code="report-files")
        return reference.array, ids, reference.grid

    def _regions(
        self, worst: Worst, meta: Mapping[str, Any], native: NDArray[Any], predicted: NDArray[Any]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        import numpy as np

        from medotter_bench.label_map import case_remap, label_space_index, region_table, to_canonical

        space = self.protocol.spec.prediction_format.label_space
        remap = case_remap(self.protocol.remaps, meta, where=worst.row.case_id)
        canonical, _ = to_canonical(native, remap, label_space=space)
        index, _ = label_space_index(predicted, space)
        table = region_table(space, self.protocol.spec.regions[worst.region]).astype(np.uint8)
        return table[canonical], table[index].reshape(canonical.shape)


def _refuse_others(worst: Worst, reference: Any, prediction: Any, semantic: bool) -> None:
    """Refuse files that are not those of the result."""
    import numpy as np

    details = worst.row.score.regions[worst.region].details
    for key, ids in (("n_reference", reference), ("n_prediction", prediction)):
        count = int(np.count_nonzero(ids)) if semantic else int(np.count_nonzero(np.unique(ids)))
        if details.get(key) is not None and details[key] != count:
            raise VolumeError(
                f"the files given are not those that were scored: {key} is {count}, was {details[key]}",
                hint="give the folders that were scored",
                code="report-files",
            )


def _stretch(grid: Grid, view: slices.Orientation) -> float:
    if grid.spacing_mm is None:
        return 1.0
    return round(grid.spacing_mm[view.rows] / grid.spacing_mm[view.columns], 4)


def _where(
    view: slices.Orientation, index: int, shape: Sequence[int], plane: Sequence[int], channel: str
) -> str:
    size = f"window of {plane[1]} by {plane[0]} pixels"
    if view.across is None:
        return f"{channel}{size}"
    text = f"{channel}slice {index + 1} of {shape[view.across]} along axis {view.across + 1}"
    return ", ".join(part for part in (text, view.words, size) if part)
