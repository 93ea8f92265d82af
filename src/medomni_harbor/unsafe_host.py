"""`UnsafeHost`: an agent of one's own, on the host itself, without any limit but time. Needs Harbor.

For machines that can hold nothing, and agents that one trusts as oneself. A trial has a folder of its own,
and the paths that a task names (`/workspace`, `/data`, …) are replaced in commands by what stands for them
there. The perception service is started on its usual port, so one atom runs at a time. Records and boards
say all this.

Leaves to others: refusing it for anything else (`medomni.bench`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

from medomni_harbor import notes
from medomni_harbor.failures import EnvironmentFailedError
from medomni_harbor.settings import MOST_GIVEN_BYTES, MOST_PRINTED_BYTES

_PATHS = re.compile(r"(?<![\w./-])/(workspace|data|logs|tests|submission)(?=[/\s\"'`:;,)\]}]|$)")
_NOTHING_HELD = ("network", "processes", "user", "host_user", "memory", "read_only_data", "system_calls")


class UnsafeHost(BaseEnvironment):
    """The host as Harbor's environment."""

    def __init__(self, *args: Any, job: str = "job", **kwargs: Any) -> None:
        """Describe the environment.

        Args:
            args: Harbor's own.
            job: A name that all environments of a run share.
            kwargs: Harbor's own.
        """
        self._job = job
        self._root: Path | None = None
        self._service: asyncio.subprocess.Process | None = None
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """The name of this kind of environment."""
        return "unsafe-host"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """It says that it closes the network, and does not: whoever chose it knows."""
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        """Nothing of the definition is used."""

    def _place(self) -> Path:
        if self._root is None:
            raise EnvironmentFailedError("the environment was not started")
        return self._root

    def _here(self, text: str) -> str:
        """A text with the task's paths replaced."""
        return _PATHS.sub(lambda found: f"{self._place()}/{found[1]}", text)

    async def start(self, force_build: bool) -> None:
        """Make the folder, and start the service where the task has one."""
        self._root = Path(tempfile.mkdtemp(prefix=f"medomni-{self._job}-"))
        data = self.environment_dir.parent / "data"
        if data.is_dir():
            shutil.copytree(data, self._root / "data")
        for name in ("workspace", "tests", "logs/agent", "logs/verifier", "logs/artifacts"):
            (self._root / name).mkdir(parents=True, exist_ok=True)
        if not notes.is_verifier(self.session_id):
            held = {**dict.fromkeys(_NOTHING_HELD, False), "wall_time": True}
            notes.write(self.trial_paths.trial_dir, {"kind": self.type(), "held": held, "flags": []})
            await self._start_service()

    async def _start_service(self) -> None:
        folder = self.environment_dir / "perception"
        if folder.is_dir():
            command = [
                sys.executable,
                "-I",
                str(folder / "perception.pyz"),
                "--data",
                str(self._place() / "data"),
            ]
            command += ["--config", str(folder / "config.json"), "--port", "8080"]
            nothing = asyncio.subprocess.DEVNULL
            self._service = await asyncio.create_subprocess_exec(*command, stdout=nothing, stderr=nothing)

    async def stop(self, delete: bool) -> None:
        """End the service, and remove the folder."""
        if self._service is not None and self._service.returncode is None:
            self._service.kill()
            await self._service.wait()
        if self._root is not None:
            await asyncio.to_thread(shutil.rmtree, self._root, ignore_errors=True)
            self._root = None

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command as whoever runs this, in the trial's folder.

        Raises:
            RuntimeError: It took longer than `timeout_sec`.
        """
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", self._here(command)),
            cwd=self._here(cwd or self.task_env_config.workdir or "/workspace"),
            env={**os.environ, **(self._merge_env(env) or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except (TimeoutError, asyncio.CancelledError) as failure:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            if isinstance(failure, TimeoutError):
                raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from failure
            raise
        told = [data[:MOST_PRINTED_BYTES].decode("utf-8", "replace") for data in (out, err)]
        return ExecResult(stdout=told[0], stderr=told[1], return_code=process.returncode or 0)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file; the task's paths in its checks are replaced."""
        target = Path(self._here(target_path))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)
        if target.is_relative_to(self._place() / "tests"):
            target.write_text(self._here(target.read_text(encoding="utf-8")), encoding="utf-8")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder's plain files."""
        root = Path(source_dir)
        for path in sorted(each for each in root.rglob("*") if each.is_file() and not each.is_symlink()):
            await self.upload_file(path, f"{target_dir.rstrip('/')}/{path.relative_to(root).as_posix()}")

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a plain file.

        Raises:
            RuntimeError: It is no plain file, or larger than what is taken.
        """
        source = Path(self._here(source_path))
        if source.is_symlink() or not source.is_file() or source.stat().st_size > MOST_GIVEN_BYTES:
            raise RuntimeError(f"{source_path} is no plain file of a size that is taken")
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder's plain files."""
        root = Path(self._here(source_dir))
        for path in sorted(each for each in root.rglob("*") if each.is_file() and not each.is_symlink()):
            name = path.relative_to(root).as_posix()
            await self.download_file(f"{source_dir.rstrip('/')}/{name}", Path(target_dir) / name)
