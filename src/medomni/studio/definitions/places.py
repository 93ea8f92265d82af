"""Where a part of a label stands, for errors that only the rows of a release show: file and line.

Leaves to others: reading labels (`labels`); the file is read again here, since this is asked once a failure.
"""

from __future__ import annotations

from pathlib import Path

from medomni.core.errors import MedomniError
from medomni.core.files import JsonPath, read_yaml
from medomni.studio.recipe.model import Label


def place_of(label: Label, path: JsonPath) -> str:
    """`file:line, path` of a part of a label, or of a recipe that it imports; the file alone if gone."""
    file = Path(label.file)
    recipes = [file.parent.parent / "recipes" / f"{name}.yaml" for name in label.imports]
    for each in (file, *recipes):
        try:
            document = read_yaml(each)
        except MedomniError:
            continue
        if document.line_of(path) is not None:
            return document.where(path)
    return label.file
