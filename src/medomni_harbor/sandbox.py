"""A sandbox without a container engine: bubblewrap around a process that runs commands and passes files.

Own user, process, network and mount namespaces, a system call filter, a user id that nobody else on the
machine has (where root starts it), memory, processes and room for files limited. Whatever runs in it lives
until it is stopped, and nothing of it lives longer: it ends with whoever started it, killed or not.

Leaves to others: Harbor's interface (`bubblewrap`), whether what holds is enough (`medomni.bench`).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import secrets
import shutil
import struct
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medomni_harbor import cgroups, seccomp, wrapping
from medomni_harbor.settings import (
    MOST_GIVEN_BYTES,
    MOST_GIVEN_FILES,
    MOST_PRINTED_BYTES,
    Limits,
    Place,
    Service,
)

PREFIX = "medomni-"
# Above what distributions and container tools give out.
_FIRST_UID, _UIDS = 1_900_000_000, 100_000_000
_START_SECONDS = 60.0
_MOST_FRAME_BYTES = 64 * 1024 * 1024
_GRACE_SECONDS = 5.0
_HERE = Path(__file__).parent


class SandboxError(Exception):
    """The sandbox itself failed, and not what runs in it."""


class PathInsideError(Exception):
    """A path in the sandbox is not what it must be to be taken out."""


class Sandbox:
    """One sandbox, from `start` to `stop`."""

    def __init__(self, place: Place, limits: Limits, *, job: str, service: Service | None = None) -> None:
        """Describe a sandbox; nothing is started.

        Args:
            place: Where its files come from; `staging` is replaced by a folder that `start` makes.
            limits: What it may use.
            job: A name that all sandboxes of a run share, by which leftovers are found.
            service: A program beside it, on the same loopback.
        """
        self._place, self._limits, self._service = place, limits, service
        self._name = f"{job}-{secrets.token_hex(6)}"
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._ids = itertools.count(1)
        self._staging: Path | None = None
        self.group: cgroups.Group | None = None
        self.uid: int | None = None
        self.filtered = False

    async def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            SandboxError: It does not.
        """
        root = os.geteuid() == 0
        self.uid = _FIRST_UID + secrets.randbelow(_UIDS) if root else None
        place = await asyncio.to_thread(self._stage)
        pids = self._limits.pids + (160 if self._service else 32)
        self.group = cgroups.make(
            self._name, memory_bytes=self._limits.memory_bytes, pids=pids, cpus=self._limits.cpus
        )
        program, filters = seccomp.filter_bytes(), []
        for _ in range(2 if self._service else 1):
            if program is not None:
                filters.append(_memory_file(program))
        self.filtered = bool(filters)
        settings = {
            "cgroup": self.group.joined_through if self.group else [],
            "uid": self.uid,
            "limits": self._process_limits(),
            "cpus": None if self._limits.cpus is None else max(1, round(self._limits.cpus)),
            "keep": filters,
        }
        starter = [sys.executable, "-I", "-S", str(_HERE / "starting.py"), json.dumps(settings)]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *starter,
                *self._command(place, filters),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=filters,
                start_new_session=True,
                cwd="/",
            )
        finally:
            for descriptor in filters:
                os.close(descriptor)
        await self._wait_until_ready()

    def _command(self, place: Place, filters: Sequence[int]) -> list[str]:
        first = filters[0] if filters else None
        main = wrapping.main_command(place, self._limits, seccomp=first, network=self._service is None)
        if self._service is None:
            return main
        second = filters[1] if filters else None
        return wrapping.pod_command([wrapping.service_command(place, self._service, seccomp=second), main])

    def _process_limits(self) -> dict[str, int]:
        limits = {"core": 0, "fsize": self._limits.file_bytes, "nofile": self._limits.open_files}
        # Counted per user. The sandbox's own has nothing else; whoever is not root is somebody with other
        # work.
        others = 0 if self.uid is not None else _threads_of(os.geteuid())
        limits["nproc"] = self._limits.pids + 64 + others
        if self.group is None:
            limits["as"] = self._limits.memory_bytes
        return limits

    def _stage(self) -> Place:
        """Copies of what the sandbox's user must be able to read, in a folder that only it can enter."""
        self._staging = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{self._name}-"))
        shutil.copyfile(_HERE / "inside.py", self._staging / "inside.py")
        (self._staging / "passwd").write_text(
            f"root:x:0:0::/:/bin/bash\nagent:x:{wrapping.UID}:{wrapping.UID}::{wrapping.HOME}:/bin/bash\n",
            encoding="ascii",
        )
        (self._staging / "group").write_text(f"root:x:0:\nagent:x:{wrapping.UID}:\n", encoding="ascii")
        data = None
        if self._place.data is not None:
            data = self._staging / "data"
            shutil.copytree(self._place.data, data, symlinks=True)
        if self._service is not None:
            files = {}
            for number, (inside, file) in enumerate(sorted(self._service.files.items())):
                files[inside] = self._staging / f"service-{number}"
                shutil.copyfile(file, files[inside])
            self._service = Service(self._service.command, files)
        if self.uid is not None:
            for path in (self._staging, *self._staging.rglob("*")):
                os.chown(path, self.uid, self.uid, follow_symlinks=False)
        place = self._place
        return Place(self._staging, place.rootfs, data, place.writable, place.workdir)

    async def _wait_until_ready(self) -> None:
        ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[0] = ready
        self._reader = asyncio.create_task(self._read())
        try:
            await asyncio.wait_for(ready, _START_SECONDS)
        except (TimeoutError, SandboxError) as failure:
            told = await self._complaint()
            raise SandboxError(f"the sandbox did not start: {told or failure}") from failure

    async def _complaint(self) -> str:
        if self._process is None or self._process.stderr is None:
            return ""
        with contextlib.suppress(TimeoutError):
            data = await asyncio.wait_for(self._process.stderr.read(4096), 2.0)
            return data.decode("utf-8", "replace").strip()
        return ""

    async def _read(self) -> None:
        stream = self._process.stdout if self._process else None
        try:
            while stream is not None:
                size = struct.unpack(">I", await stream.readexactly(4))[0]
                if size > _MOST_FRAME_BYTES:
                    break
                told = json.loads(await stream.readexactly(size))
                future = self._waiting.pop(told.pop("id"), None)
                if future is not None and not future.done():
                    future.set_result(told)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(SandboxError("the sandbox has ended"))
        self._waiting.clear()

    async def _ask(self, **request: Any) -> dict[str, Any]:
        if (
            self._process is None
            or self._process.stdin is None
            or self._reader is None
            or self._reader.done()
        ):
            raise SandboxError("the sandbox has ended")
        number = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        data = json.dumps({"id": number, **request}).encode()
        try:
            self._process.stdin.write(struct.pack(">I", len(data)) + data)
            await self._process.stdin.drain()
            return await future
        except ConnectionError as failure:
            raise SandboxError("the sandbox has ended") from failure
        finally:
            self._waiting.pop(number, None)

    async def run(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Run a command: `stdout`, `stderr`, `code`, `timed_out`, `left_out` (bytes beyond what is kept).

        Args:
            command: For `bash -c`.
            cwd: Where; the sandbox's workdir by default.
            env: More environment variables.
            timeout: Seconds, after which it is killed.

        Raises:
            SandboxError: The sandbox has ended.
        """
        return await self._ask(
            op="run",
            command=command,
            cwd=cwd or self._place.workdir,
            env={**wrapping.ENVIRONMENT, **(env or {})},
            timeout=timeout,
            most_bytes=MOST_PRINTED_BYTES,
        )

    async def give(self, path: str) -> list[tuple[str, bytes]]:
        """The bytes of a plain file (its name empty), or of all plain files below a folder, with their paths.

        Raises:
            PathInsideError: There is no such thing, it is a link, or it is larger than what is taken out.
            SandboxError: The sandbox has ended.
        """
        told = await self._ask(op="give", path=path, most_bytes=MOST_GIVEN_BYTES, most_files=MOST_GIVEN_FILES)
        if "error" in told:
            raise PathInsideError(told["error"])
        if not told["files"] and told["skipped"] == [""]:
            raise PathInsideError(f"{path} is no plain file")
        return [(name, base64.b64decode(data)) for name, data in told["files"]]

    async def take(self, files: Sequence[tuple[str, int, bytes]]) -> None:
        """Write files (path, mode, bytes).

        Raises:
            PathInsideError: They cannot be written there.
            SandboxError: The sandbox has ended.
        """
        coded = [(path, mode, base64.b64encode(data).decode("ascii")) for path, mode, data in files]
        told = await self._ask(op="take", files=coded)
        if "error" in told:
            raise PathInsideError(told["error"])

    async def kinds(self, path: str) -> tuple[bool, bool]:
        """Whether a path is a folder, and whether it is a plain file."""
        told = await self._ask(op="kinds", path=path)
        return bool(told["folder"]), bool(told["file"])

    async def halt(self) -> None:
        """End every process in it; files stay, and it still answers."""
        await self._ask(op="halt")

    async def stop(self) -> None:
        """End it with everything in it; its files are gone."""
        if self._process is not None and self._process.returncode is None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            try:
                await asyncio.wait_for(self._process.wait(), _GRACE_SECONDS)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, 9)
                await self._process.wait()
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
        if self.group is not None:
            await asyncio.to_thread(self.group.remove)
        if self._staging is not None:
            await asyncio.to_thread(shutil.rmtree, self._staging, ignore_errors=True)
            self._staging = None


def remove_left(job: str) -> list[str]:
    """Remove what killed sandboxes of a job left: cgroups with their processes, and staged copies.

    Args:
        job: The name that they share.
    """
    removed = cgroups.remove_left(f"{job}-")
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}{job}-*")):
        shutil.rmtree(folder, ignore_errors=True)
        removed.append(folder.name)
    return removed


def _threads_of(user: int) -> int:
    """Processes and threads that a user has now."""
    count = 0
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and folder.stat().st_uid == user:
                count += len(list((folder / "task").iterdir()))
    return count


def _memory_file(data: bytes) -> int:
    descriptor = os.memfd_create("filter")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
