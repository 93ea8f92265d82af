"""Volumes: headers, label maps and model inputs from files, exactly as they are stored.

`VolumeLoader` loads what a case of a bundle names; its documentation says what the per-case `remap` slot
(`{4: 3}`) means. Leaves to others: remapping ids (`label_map`), scoring (`engine`), running models
(`sandbox`). The packages that decode files are imported when the first such file is read.
"""

from __future__ import annotations

from medotter_bench.inference.formats import SUFFIXES
from medotter_bench.inference.geometry import Grid, grid_difference
from medotter_bench.inference.labels import whole_numbers
from medotter_bench.inference.limits import DEFAULT_LIMITS, Limits
from medotter_bench.inference.loader import VolumeLoader
from medotter_bench.inference.reading import read_grid, read_image, read_label_map
from medotter_bench.inference.volumes import Header, LabelMap, Volume

__all__ = [
    "DEFAULT_LIMITS",
    "SUFFIXES",
    "Grid",
    "Header",
    "LabelMap",
    "Limits",
    "Volume",
    "VolumeLoader",
    "grid_difference",
    "read_grid",
    "read_image",
    "read_label_map",
    "whole_numbers",
]
