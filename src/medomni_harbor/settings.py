"""What a sandbox gets: memory, processes, time, room for files; and where it stands in the file system.

Leaves to others: making sandboxes (`sandbox`), the numbers of a task (its `task.toml`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

MB = 1024 * 1024
# What one command may print, and what is taken out of a sandbox at once.
MOST_PRINTED_BYTES = 256 * 1024
MOST_GIVEN_BYTES = 16 * MB
MOST_GIVEN_FILES = 2000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandbox may use.

    Attributes:
        memory_bytes: Memory of all its processes together; of each, where there are no cgroups.
        pids: Processes and threads at once.
        cpus: Processors.
        storage_bytes: Room for files, which lie in memory; `/tmp` has half of it.
        file_bytes: The largest file.
        open_files: Open files of a process.
    """

    memory_bytes: int = 1024 * MB
    pids: int = 512
    cpus: float | None = 1
    storage_bytes: int = 512 * MB
    file_bytes: int = 256 * MB
    open_files: int = 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sandbox's files come from.

    Attributes:
        staging: A new folder of its own below the machine's temporary folder, with a neutral name.
        rootfs: The folder of the base image's files; None takes this machine's own programs.
        data: What is at `/data`, read-only; None for nothing.
        writable: Folders that are empty and writable.
        workdir: Where commands start.
    """

    staging: Path
    rootfs: Path | None
    data: Path | None
    writable: tuple[str, ...]
    workdir: str


@dataclass(frozen=True, slots=True)
class Service:
    """A program beside the agent's, in a sandbox of its own, on the same loopback.

    Attributes:
        command: Its command line.
        files: Path inside its sandbox to the file.
    """

    command: tuple[str, ...]
    files: dict[str, Path] = field(default_factory=dict)
