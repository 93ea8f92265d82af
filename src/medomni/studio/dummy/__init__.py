"""Made-up data in the files of each dataset, generated from nothing: no row comes from a person.

Leaves to others: importing them (`medomni.studio.data`), and what labels make of them.
"""

from __future__ import annotations

from pathlib import Path

from medomni.core.errors import WriteError
from medomni.studio.errors import UnknownDefinitionError

DATASETS = ("mimic-iv",)


def write_dummy(dataset: str, out: str | Path) -> dict[str, int]:
    """Write the made-up data of a dataset; the same bytes every time.

    Args:
        dataset: One of `DATASETS`.
        out: A folder that is empty or not there yet.

    Returns:
        Rows by file, such as `hosp/labevents.csv.gz`.

    Raises:
        UnknownDefinitionError: `dummy-unknown`: there is none for this dataset.
        WriteError: `out` is not empty, or cannot be written.
    """
    if dataset not in DATASETS:
        raise UnknownDefinitionError(
            f"there is no made-up data for {dataset!r}",
            hint=f"known: {', '.join(DATASETS)}",
            code="dummy-unknown",
        )
    folder = Path(out)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise WriteError(f"{folder} is not an empty folder", where=str(folder), hint="name a new one")
    except OSError as failure:
        raise WriteError(
            f"{folder} cannot be looked into: {failure.strerror}", where=str(folder)
        ) from failure
    from medomni.studio.dummy import mimic_iv

    return mimic_iv.generate().write(folder)


def canaries(dataset: str, template: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What made-up data plant for leak checks: texts that a template must never show, and ones it may.

    Args:
        dataset: Any dataset; without made-up data nothing is planted.
        template: A template of it.
    """
    if dataset not in DATASETS:
        return (), ()
    from medomni.studio.dummy.mimic_canaries import CANARIES

    never = tuple(each.text for each in CANARIES if not each.templates or template in each.templates)
    return never, tuple(each.text for each in CANARIES if each.text not in never)
