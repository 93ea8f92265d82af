"""The files of a case: which root they lie under, the model's input, and the reference in native ids.

Leaves to others: reading one file (`reading`), and every remapping of ids (`label_map`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from medomni.core.files import resolve_under
from medotter_bench.errors import BundleError, VolumeError
from medotter_bench.inference.geometry import Grid, compare_grids
from medotter_bench.inference.limits import DEFAULT_LIMITS, Limits
from medotter_bench.inference.reading import read_grid, read_image, read_label_map
from medotter_bench.inference.volumes import LabelMap, Volume
from medotter_bench.label_runs import MakeRunWriter

PREPARED = "_prepared"


class VolumeLoader:
    """Loads what a manifest's `per_case` entry (`meta`) names, from one root per case.

    The root is `data_root/_prepared` where that folder holds the case's files, else `data_root`. A case of
    which only some files are prepared is an error: a prepared image beside a raw mask is on another grid.

    Label maps come in the dataset's *native* ids. Two slots say what they become: `label_remap` of
    `task.yaml`, per dataset, and the optional `remap` of a single case, which refines it. With

        {"dataset": "BraTS", "image": "001.nii.gz", "seg": "001_seg.nii.gz", "remap": {4: 3}}

    the native id 4 of this case counts as the canonical id 3, and every other id follows the dataset's map.
    Without the slot nothing changes. (JSON has text keys only: a manifest writes `{"4": 3}`.) The loader
    applies neither map.

    Args:
        data_root: Folder that the manifest's paths are relative to.
        limits: What one file may ask for.
    """

    def __init__(self, data_root: Path | str, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self.data_root = Path(data_root)
        self._limits = limits

    def resolve(self, meta: Mapping[str, Any]) -> Path:
        """The root that all files of the case lie under.

        A reference that exists under neither root is left out of the decision: it was withheld.

        Raises:
            VolumeError: `prepared-partial`, naming the files that are not prepared.
            BundleError: `case-inputs` or `case-reference`, for a malformed `meta`.
            UnsafePathError: A path leaves the root.
        """
        paths = list(_inputs(meta).values())
        reference = _reference(meta)
        if reference is not None:
            paths.append(reference)
        raw = {path: resolve_under(self.data_root, path) for path in paths}
        prepared_root = self.data_root / PREPARED
        if not prepared_root.is_dir():
            return self.data_root
        prepared = {path: resolve_under(prepared_root, path).exists() for path in paths}
        if not any(prepared.values()):
            return self.data_root
        absent = [path for path, is_there in prepared.items() if not is_there]
        if absent == [reference] and not raw[absent[0]].exists():
            absent = []
        if absent:
            raise VolumeError(
                f"{PREPARED}/ holds some files of the case, but not {', '.join(absent)}",
                where=str(prepared_root),
                hint=f"prepare all files of the case, or take all of them out of {PREPARED}/",
                code="prepared-partial",
            )
        return prepared_root

    def load_input(self, meta: Mapping[str, Any]) -> Volume:
        """The model's input: (C, X, Y, Z) for `chan`, in the map's order; (X, Y, Z) or (Y, X[, 3]) else.

        Raises:
            VolumeError: A file cannot be read, or channels lie on different grids.
            BundleError: `meta` names no input, or two kinds of it.
            UnsafePathError: A path leaves the root.
        """
        paths = self._input_paths(meta)
        images = {name: read_image(path, limits=self._limits) for name, path in paths.items()}
        first = next(iter(images.values()))
        if "chan" not in meta:
            return first
        for name, image in images.items():
            _check_channel(name, image.grid, first.grid, where=paths[name])
            if image.array.ndim != len(image.grid.shape):
                raise _channel_error(f"the channel {name!r} is a colour image", paths[name])
        stacked = np.stack([image.array.reshape(first.grid.shape) for image in images.values()])
        return Volume(stacked, first.grid, tuple(images))

    def load_label(
        self,
        relpath: str,
        *,
        root: Path | None = None,
        expected: Grid | None = None,
        rgb24: bool = False,
        runs: MakeRunWriter | None = None,
    ) -> LabelMap:
        """The reference at `relpath`, in native ids.

        Args:
            relpath: As in the manifest.
            root: The case's root, from `resolve`; `data_root` where absent.
            expected: The grid that it must be on.
            rgb24: Ids are packed into an RGB PNG.
            runs: As in `read_label_map`.

        Raises:
            VolumeError: As `read_label_map`.
            UnsafePathError: The path leaves the root.
        """
        path = resolve_under(self.data_root if root is None else root, relpath)
        return read_label_map(path, expected=expected, limits=self._limits, rgb24=rgb24, runs=runs)

    def input_grid(self, meta: Mapping[str, Any]) -> Grid | None:
        """The grid of the case's input, from headers alone; `None` if the input is not there.

        Raises:
            VolumeError: A header cannot be read, or channels lie on different grids.
            BundleError: `meta` names no input, or two kinds of it.
            UnsafePathError: A path leaves the root.
        """
        paths = self._input_paths(meta)
        if not any(path.exists() for path in paths.values()):
            return None
        grids = {name: read_grid(path, limits=self._limits).grid for name, path in paths.items()}
        first = next(iter(grids.values()))
        for name, grid in grids.items():
            _check_channel(name, grid, first, where=paths[name])
        return first

    def label_path(self, meta: Mapping[str, Any]) -> Path:
        """Where the case's reference lies, whether or not it exists.

        Raises:
            VolumeError: `prepared-partial`.
            BundleError: `case-reference` where `meta` names none.
            UnsafePathError: The path leaves the root.
        """
        reference = _reference(meta)
        if reference is None:
            raise BundleError(
                "the case names no reference (`seg`)",
                hint="add the path of the reference mask to the manifest",
                code="case-reference",
            )
        return resolve_under(self.resolve(meta), reference)

    def _input_paths(self, meta: Mapping[str, Any]) -> dict[str, Path]:
        root = self.resolve(meta)
        return {name: resolve_under(root, path) for name, path in _inputs(meta).items()}


def _inputs(meta: Mapping[str, Any]) -> dict[str, str]:
    """Paths by channel name, in the manifest's order; the name is empty for a single image."""
    image, channels = meta.get("image"), meta.get("chan")
    if (image is None) == (channels is None):
        raise _case_error("a case needs either `image` or `chan`, and this one has both or neither")
    if image is not None:
        channels = {"": image}
    if not isinstance(channels, Mapping) or not channels:
        raise _case_error(f"`chan` must map channel names to paths, and is {channels!r}")
    for name, path in channels.items():
        if not isinstance(name, str) or not isinstance(path, str):
            raise _case_error(f"names and paths of inputs must be text: {name!r}: {path!r}")
    return dict(channels)


def _reference(meta: Mapping[str, Any]) -> str | None:
    reference = meta.get("seg")
    if reference is not None and not isinstance(reference, str):
        raise BundleError(
            f"the path of the reference (`seg`) must be text, and is {reference!r}",
            hint="correct the manifest",
            code="case-reference",
        )
    return reference


def _check_channel(name: str, grid: Grid, first: Grid, *, where: Path) -> None:
    difference = compare_grids(first, grid)
    if difference is not None:
        raise _channel_error(
            f"the channel {name!r} is on another grid than the first: {difference[1]}", where
        )


def _channel_error(what: str, where: Path) -> VolumeError:
    return VolumeError(
        what,
        where=str(where),
        hint="all channels of a case must be single images on one grid",
        code="channels-differ",
    )


def _case_error(what: str) -> BundleError:
    return BundleError(what, hint="correct the case's entry in the manifest", code="case-inputs")
