"""Where a part of a label stands: in its own file, in a recipe that it imports, or nowhere any more."""

from __future__ import annotations

from pathlib import Path

from studio_builders import content

from medomni.studio.definitions.library import open_library
from medomni.studio.definitions.places import place_of


def test_a_part_is_found_in_the_label_or_in_what_it_imports(tmp_path: Path) -> None:
    library = open_library(content(tmp_path), "mimic-iv")
    label = library.label("ckd_g_stage").label
    file, recipe = Path(label.file), library.workspace.recipe("mimic-iv", "renal")
    for path, name in ((file, "value"), (recipe, "predicates.creatinine")):
        line = next(
            number
            for number, text in enumerate(path.read_text().splitlines(), start=1)
            if text.strip().startswith(f"{name.rpartition('.')[2]}:")
        )
        assert place_of(label, tuple(name.split("."))) == f"{path}:{line}, {name}"


def test_what_is_gone_since_is_told_by_the_label_alone(tmp_path: Path) -> None:
    library = open_library(content(tmp_path), "mimic-iv")
    label = library.label("ckd_g_stage").label
    library.workspace.recipe("mimic-iv", "renal").unlink()
    assert place_of(label, ("predicates", "creatinine")) == label.file
