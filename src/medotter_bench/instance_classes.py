"""The class file of an instance map: JSON, instance id -> canonical id, beside the map.

Needed only where one image holds instances of several regions (`prediction_format.classes`).
Leaves to others: the instance map itself (`inference`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medomni.core.errors import DocumentError, DocumentNotFoundError
from medomni.core.files import read_json
from medotter_bench.errors import SpecError, VolumeError
from medotter_bench.label_map import parse_ids


def read_classes(path: Path, label_map: NDArray[Any], *, label_space: tuple[int, ...]) -> dict[int, int]:
    """Read one class file and hold it against the ids of its map.

    Args:
        path: The JSON file.
        label_map: (…) the instance ids that need a class.
        label_space: The canonical ids that a class may be.

    Raises:
        VolumeError: `classes-missing`, `classes-invalid`, or `classes-incomplete` naming the ids without one.
    """
    try:
        document = read_json(path)
        if not isinstance(document.value, dict):
            raise VolumeError(
                "the class file must hold an object of id: class", where=str(path), code="classes-invalid"
            )
        classes = parse_ids(document.value, where=document.name)
    except DocumentNotFoundError as missing:
        raise VolumeError(f"no class file {path.name}", where=str(path), code="classes-missing") from missing
    except (DocumentError, SpecError) as bad:
        raise VolumeError(
            f"class file: {bad.what}", where=bad.where or str(path), code="classes-invalid"
        ) from bad
    outside = sorted({c for c in classes.values() if c not in label_space or c == 0})
    if outside:
        raise VolumeError(
            f"classes outside the label_space {list(label_space)}: {outside[:10]}",
            where=str(path),
            code="classes-invalid",
        )
    without = [int(i) for i in np.unique(label_map) if i != 0 and int(i) not in classes]
    if without:
        raise VolumeError(
            f"{len(without)} instance ids have no class: {without[:10]}",
            where=str(path),
            code="classes-incomplete",
        )
    return classes


def class_file_of(path: Path, suffixes: tuple[str, ...], side_suffix: str) -> Path:
    """The class file beside an instance map: its name with the map's suffix replaced."""
    for suffix in sorted(suffixes, key=len, reverse=True):
        if path.name.endswith(suffix):
            return path.with_name(path.name.removesuffix(suffix) + side_suffix)
    return path.with_name(path.stem + side_suffix)
