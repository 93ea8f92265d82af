"""`Bubblewrap`: atom tasks in Harbor without a container engine. Needs Harbor.

Atoms that attach the perception service get it in a sandbox beside the agent's, on the same loopback. When
the agent's time is over, all of its processes are ended before anything of it is read.

Leaves to others: the sandbox itself (`sandbox`), Harbor's own files.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.task.config import NetworkMode

from medomni_harbor import notes, probing
from medomni_harbor.failures import EnvironmentFailedError
from medomni_harbor.host import known_limits
from medomni_harbor.sandbox import PathInsideError, Sandbox, SandboxError
from medomni_harbor.settings import MB, Limits, Place, Service

_WORKSPACE = "/workspace"
_MOST_STORAGE_MB = 1024
_USUAL_MEMORY_MB = 1024
_FRAME_BYTES = 4 * MB
_PROBE_SECONDS = 30
_ARCHIVE, _CONFIG = "/run/perception/perception.pyz", "/run/perception/config.json"
_PORT = "8080"


class Bubblewrap(BaseEnvironment):
    """A sandbox of bubblewrap as Harbor's environment."""

    def __init__(self, *args: Any, job: str = "job", rootfs: str | None = None, **kwargs: Any) -> None:
        """Describe the environment.

        Args:
            args: Harbor's own.
            job: A name that all environments of a run share.
            rootfs: The base image's files; by default this machine's programs.
            kwargs: Harbor's own.
        """
        self._job, self._rootfs = job, Path(rootfs) if rootfs else None
        self._sandbox: Sandbox | None = None
        self._over = False
        self._note: dict[str, Any] = {}
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """The name of this kind of environment."""
        return "bubblewrap"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """A closed network, and no other."""
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """Memory and processors as limits."""
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True, fractional_cpus=True)

    def _validate_definition(self) -> None:
        if self._network_policy.network_mode != NetworkMode.NO_NETWORK:
            raise ValueError("Bubblewrap runs tasks with network_mode = no-network alone")

    @property
    def _for_verifier(self) -> bool:
        return notes.is_verifier(self.session_id)

    def _limits(self) -> Limits:
        config = self.task_env_config
        memory = config.memory_mb or _USUAL_MEMORY_MB
        # Files lie in memory: all that an agent may write must fit beside a process that reads it.
        storage = min(config.storage_mb or _MOST_STORAGE_MB, _MOST_STORAGE_MB, memory // 2)
        return Limits(memory_bytes=memory * MB, cpus=config.cpus, storage_bytes=storage * MB)

    def _service(self) -> Service | None:
        folder = self.environment_dir / "perception"
        # The form of an answer is checked without the service.
        if self._for_verifier or not folder.is_dir():
            return None
        command = ("python3", _ARCHIVE, "--data", "/data", "--config", _CONFIG, "--port", _PORT)
        return Service(command, {_ARCHIVE: folder / "perception.pyz", _CONFIG: folder / "config.json"})

    async def start(self, force_build: bool) -> None:
        """Start the sandbox, and find out by trying what it holds.

        Raises:
            EnvironmentFailedError: It did not start, or its network is not closed.
        """
        data = self.environment_dir.parent / "data"
        workdir = self.task_env_config.workdir or _WORKSPACE
        writable = [workdir, "/logs", *(("/tests",) if self._for_verifier else ())]
        place = Place(Path(), self._rootfs, data if data.is_dir() else None, tuple(writable), workdir)
        self._sandbox = Sandbox(place, self._limits(), job=self._job, service=self._service())
        try:
            await self._sandbox.start()
            await self._sandbox.run("mkdir -p /logs/agent /logs/verifier /logs/artifacts", cwd="/")
            if not self._for_verifier:
                await self._find_out()
        except (SandboxError, OSError) as failure:
            raise EnvironmentFailedError(str(failure)) from failure

    async def _find_out(self) -> None:
        sandbox = self._running()
        told = await sandbox.run(probing.command(), cwd="/", timeout=_PROBE_SECONDS)
        found = probing.parse(told["stdout"])
        if found is None:
            raise EnvironmentFailedError(f"the sandbox's limits could not be tried: {told['stderr'][-300:]}")
        known = known_limits(sandbox)
        self._note = {"kind": self.type(), "held": probing.held(found, known=known), "flags": []}
        notes.write(self.trial_paths.trial_dir, self._note)
        if not self._note["held"]["network"]:
            raise EnvironmentFailedError(f"the network is not closed: {found}")

    def _running(self) -> Sandbox:
        if self._sandbox is None:
            raise EnvironmentFailedError("the sandbox was not started")
        return self._sandbox

    def _flag(self, name: str) -> None:
        if self._note and name not in self._note["flags"]:
            self._note["flags"].append(name)

    async def stop(self, delete: bool) -> None:
        """End the sandbox with everything in it."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is None:
            return
        if sandbox.group is not None and sandbox.group.memory_ran_out():
            self._flag("memory-limit-reached")
        await sandbox.stop()
        if self._note:
            notes.write(self.trial_paths.trial_dir, self._note)

    @contextlib.contextmanager
    def scoped_exec_env(self, env: dict[str, str]) -> Generator[None, None, None]:
        """Harbor's bracket around everything that an agent does; at its end the agent's time is over."""
        self._over = False
        with super().scoped_exec_env(env):
            try:
                yield
            finally:
                self._over = True

    async def _ready(self) -> Sandbox:
        sandbox = self._running()
        if self._over and not self._for_verifier:
            self._over = False
            await sandbox.halt()
        return sandbox

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command. There is one user inside, whoever is asked for.

        Raises:
            RuntimeError: It took longer than `timeout_sec`.
        """
        sandbox = await self._ready()
        told = await sandbox.run(
            command,
            cwd=cwd or self.task_env_config.workdir,
            env=self._merge_env(env),
            timeout=timeout_sec,
        )
        if "error" in told:
            raise RuntimeError(told["error"])
        if told.get("left_out"):
            self._flag("output-cut")
        if told["code"] == 126 and "no process can be started" in told["stderr"]:
            self._flag("process-limit-reached")
        if told.get("timed_out"):
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        return ExecResult(stdout=told["stdout"], stderr=told["stderr"], return_code=told["code"])

    async def is_dir(self, path: str, user: str | int | None = None) -> bool:
        """Whether a path is a folder, and no link to one."""
        return (await (await self._ready()).kinds(path))[0]

    async def is_file(self, path: str, user: str | int | None = None) -> bool:
        """Whether a path is a plain file, and no link to one."""
        return (await (await self._ready()).kinds(path))[1]

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file into the sandbox."""
        source = Path(source_path)
        data = await asyncio.to_thread(source.read_bytes)
        await (await self._ready()).take([(target_path, source.stat().st_mode & 0o777, data)])

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder's plain files into the sandbox."""
        root, sandbox = Path(source_dir), await self._ready()
        batch: list[tuple[str, int, bytes]] = []
        size = 0
        for path in sorted(root.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            data = await asyncio.to_thread(path.read_bytes)
            inside = f"{target_dir.rstrip('/')}/{path.relative_to(root).as_posix()}"
            batch.append((inside, path.stat().st_mode & 0o777, data))
            size += len(data)
            if size > _FRAME_BYTES:
                await sandbox.take(batch)
                batch, size = [], 0
        await sandbox.take(batch)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a plain file out of the sandbox; no link is followed, and there is a limit to its size.

        Raises:
            PathInsideError: It is no such file.
        """
        try:
            [(_, data)] = await (await self._ready()).give(source_path)
        except PathInsideError as failure:
            self._refused(source_path, failure)
            raise
        except SandboxError:
            self._lost(source_path)
            raise
        await asyncio.to_thread(_write, Path(target_path), data)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy the plain files of a folder out of the sandbox.

        Raises:
            PathInsideError: It is no folder, or holds more than is taken out.
        """
        try:
            found = await (await self._ready()).give(source_dir)
        except PathInsideError as failure:
            self._refused(source_dir, failure)
            raise
        root = Path(target_dir)
        root.mkdir(parents=True, exist_ok=True)
        for name, data in found:
            parts = Path(name).parts
            if not parts or ".." in parts or Path(name).is_absolute():
                raise PathInsideError(f"{name!r} is no path below {source_dir}")
            await asyncio.to_thread(_write, root / name, data)

    def _lost(self, path: str) -> None:
        """The sandbox ended before its files were read: by its own memory limit, or for a reason of ours."""
        group = self._sandbox.group if self._sandbox else None
        if self._note and group is not None and group.memory_ran_out():
            self._note.setdefault("refused", {})[path] = "the sandbox ended at its memory limit"
        elif self._note:
            self._note["lost"] = True

    def _refused(self, path: str, failure: PathInsideError) -> None:
        if self._note and "No such file" not in str(failure):
            self._note.setdefault("refused", {})[path] = str(failure)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink()
    path.write_bytes(data)
