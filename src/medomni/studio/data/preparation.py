"""Before an import writes anything: the release is settled, files are inspected and counted, room estimated.

Inspections are remembered by a file's size and time of change, so that an import that goes on after a kill
does not read everything again. Leaves to others: converting (`importer`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from medomni.core.errors import DocumentError
from medomni.core.files import read_json, write_json
from medomni.core.issues import Issue, IssuesError, error
from medomni.core.progress import Progress
from medomni.studio.data.definitions import Dataset, Release, Table
from medomni.studio.data.errors import DataImportError, DataSpaceError
from medomni.studio.data.inspection import Inspected, inspect
from medomni.studio.data.sources import Source, as_issue, find_table, with_header

_STEP = "checking files (MiB)"
_MANY = 16 << 20
# Of the size of a CSV: what one sort order takes as Parquet, and what is needed while its table is converted.
_KEPT, _PASSING = 0.35, 1.7
_SLACK = 64 << 20


def settle_release(dataset: Dataset, name: str | None, folders: Sequence[Path]) -> Release:
    """The release that was named, or else the one whose first counted table has as many rows as the file.

    Raises:
        StoreError: `release-unknown`.
        DataImportError: `release-unclear`: none was named and the files do not tell; or codes of `inspect`.
    """
    if name is not None:
        return dataset.release(name.removeprefix(f"{dataset.name}/"))
    table = next((each for each in dataset.tables.values() if _counting(dataset, each)), None)
    path = find_table(dataset, table, folders) if table is not None else None
    hint = f"name one with --release: {', '.join(dataset.releases)}"
    if table is None or path is None:
        raise DataImportError(
            f"these folders do not tell which release of {dataset.name} they hold",
            where=", ".join(map(str, folders)),
            hint=hint,
            code="release-unclear",
        )
    rows = inspect(with_header(Source(table, path, path.name))).rows
    fitting = [each for each in _counting(dataset, table) if rows in each.counts[table.name]]
    if len(fitting) != 1:
        raise DataImportError(
            f"{table.name} has {rows} rows, which is no known release of {dataset.name}",
            where=str(path),
            hint=hint,
            code="release-unclear",
        )
    return fitting[0]


def inspect_all(sources: Mapping[str, Source], memory: Path, progress: Progress) -> dict[str, Inspected]:
    """Inspect each file, unless it is as it was when `memory` was written.

    Raises:
        IssuesError: Files that are broken, all of them.
        WriteError: `memory` cannot be written.
    """
    known = _remembered(memory)
    found: dict[str, Inspected] = {}
    issues: list[Issue] = []
    total = max(1, sum(source.path.stat().st_size for source in sources.values()) >> 20)
    done = 0

    def told(size: int) -> None:
        nonlocal done
        done += size
        progress(min(total, done >> 20), total, _STEP)

    for name, source in sources.items():
        state = source.path.stat()
        mark = [str(source.path.absolute()), state.st_size, state.st_mtime_ns]
        before = known.get(name)
        if isinstance(before, dict) and before.get("mark") == mark:
            found[name] = Inspected(**before["inspected"])
            told(state.st_size)
            continue
        try:
            found[name] = inspect(source, told=told)
        except DataImportError as failure:
            issues.append(as_issue(failure))
            continue
        known[name] = {"mark": mark, "inspected": asdict(found[name])}
        write_json(memory, known)
    if issues:
        raise IssuesError(f"{len(issues)} files cannot be read", issues=issues)
    progress(total, total, _STEP)
    return found


def check_counts(
    release: Release, sources: Mapping[str, Source], found: Mapping[str, Inspected]
) -> list[str]:
    """Hold the rows of each file against what the release promises; the tables of which it promises nothing.

    Raises:
        IssuesError: Tables with another number (`count-mismatch`), all of them.
    """
    issues = []
    for name, source in sources.items():
        promised = release.counts.get(name)
        if promised is not None and found[name].rows not in promised:
            wanted = " or ".join(f"{count:,}" for count in promised)
            what = f"{name} has {found[name].rows:,} rows, and {release.token} has {wanted}"
            hint = "the file is cut off or of another release; get it again, or name another --release"
            issues.append(error("count-mismatch", str(source.path), what, hint))
    if issues:
        raise IssuesError(f"these files are not those of {release.token}", issues=issues)
    return [name for name in sources if name not in release.counts]


def room_needed(tables: Iterable[tuple[Table, Inspected]]) -> tuple[int, int]:
    """Bytes that an import will keep, and bytes that it needs besides while it runs; both estimated."""
    sizes = [(inspected.plain_size, len(table.sort)) for table, inspected in tables]
    kept = sum(int(size * _KEPT) * orders for size, orders in sizes)
    return kept, int(max((size for size, _ in sizes), default=0) * _PASSING)


def refuse_full_disk(needs: Mapping[Path, int]) -> None:
    """Refuse an import that will not fit, before it starts.

    Args:
        needs: Folders, all there, and the bytes that are needed in each.

    Raises:
        DataSpaceError: `disk-space`.
    """
    by_device: dict[int, tuple[Path, int]] = {}
    for folder, size in needs.items():
        device = folder.stat().st_dev
        first, before = by_device.get(device, (folder, 0))
        by_device[device] = (first, before + size)
    for folder, size in by_device.values():
        free = shutil.disk_usage(folder).free
        # Estimates of small files are rough too, but need no room for gigabytes.
        needed = size + min(size, _SLACK)
        if needed > free:
            raise DataSpaceError(
                f"the import needs about {_shown(needed)} of disk, and {_shown(free)} are free",
                where=str(folder),
                hint="free some space, or set studio.spill_folder in medomni.toml to another disk",
            )


def _counting(dataset: Dataset, table: Table) -> list[Release]:
    return [release for release in dataset.releases.values() if table.name in release.counts]


def _remembered(memory: Path) -> dict[str, Any]:
    try:
        value = read_json(memory, max_bytes=_MANY).value if memory.is_file() else {}
    except DocumentError:
        return {}
    return value if isinstance(value, dict) else {}


def _shown(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 1 << 30 else f"{-(-size >> 20)} MiB"
