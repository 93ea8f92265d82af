"""`ClosedDocker` and `ClosedPodman`: atom tasks in containers that no network reaches. Needs Harbor and
PyYAML.

Harbor's own way to close a network pulls images and lets traffic through a filter. A built task instead
says in its compose file that each container has no network, or nothing but another's loopback. That is read
here before anything starts, and tried from within before the agent does. When the agent's time is over, its
processes are ended before anything of it is read.

The names with an underscore are Harbor's own, of version 0.26.0: contract tests hold them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import yaml
from harbor.environments.base import ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.environments.docker.docker import DockerEnvironment, DockerOptions
from harbor.environments.podman import PodmanEnvironment, PodmanOptions
from harbor.models.task.config import NetworkMode

from medomni_harbor import compose, notes, probing
from medomni_harbor.failures import EnvironmentFailedError
from medomni_harbor.sandbox import PathInsideError
from medomni_harbor.settings import MOST_GIVEN_BYTES, MOST_GIVEN_FILES, MOST_PRINTED_BYTES

_OVERLAY = "medomni-compose.json"
_PROBE_SECONDS = 60
_MAIN = "main"
_CHUNK = 65536
_CUT = "bytes left out]"


class ClosedOptions(DockerOptions):
    """What `ClosedDocker` is given.

    Attributes:
        job: A name that all environments of a run share; containers and images have it as a label.
    """

    job: str = "job"


class ClosedPodmanOptions(PodmanOptions):
    """What `ClosedPodman` is given; as `ClosedOptions`."""

    job: str = "job"


class _Closed(DockerEnvironment):
    """What both engines share."""

    options_model = ClosedOptions
    _ulimits: ClassVar[Mapping[str, int]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Describe the environment; arguments are Harbor's own, and `job` (see `ClosedOptions`)."""
        self._over = False
        self._note: dict[str, Any] = {}
        super().__init__(*args, **kwargs)

    @classmethod
    def _egress_control_kernel_support(cls) -> bool:
        """No filter for traffic: there is none."""
        return False

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """A closed network is what this is for."""
        return super().capabilities.model_copy(update={"disable_internet": True})

    def _validate_definition(self) -> None:
        super()._validate_definition()
        if self._network_policy.network_mode != NetworkMode.NO_NETWORK:
            raise ValueError("closed environments run tasks with network_mode = no-network alone")
        text = self._environment_docker_compose_path.read_text(encoding="utf-8")
        open_services = compose.open_services(yaml.safe_load(text))
        if open_services:
            raise ValueError(f"the compose file does not close the network of {', '.join(open_services)}")

    @property
    def _docker_compose_paths(self) -> list[Path]:
        return [*super()._docker_compose_paths, self._overlay()]

    def _overlay(self) -> Path:
        """Labels by which leftovers are found, and limits that Harbor knows nothing of."""
        role = "verifier-" if notes.is_verifier(self.session_id) else ""
        path = self.trial_paths.trial_dir / f"{role}{_OVERLAY}"
        if not path.is_file():
            text = self._environment_docker_compose_path.read_text(encoding="utf-8")
            document = compose.overlay(yaml.safe_load(text), job=self.options.job, ulimits=self._ulimits)
            path.write_text(json.dumps(document), encoding="utf-8")
        return path

    async def start(self, force_build: bool) -> None:
        """Start the containers, and find out by trying what they hold.

        Raises:
            EnvironmentFailedError: They did not start, or their network is not closed.
        """
        try:
            await super().start(force_build)
        except (RuntimeError, OSError) as failure:
            raise EnvironmentFailedError(str(failure)[-2000:]) from failure
        if not notes.is_verifier(self.session_id):
            await self._find_out()

    async def _find_out(self) -> None:
        told = await super().exec(probing.command(), cwd="/", timeout_sec=_PROBE_SECONDS, user="agent")
        found = probing.parse(told.stdout or "")
        if found is None:
            raise EnvironmentFailedError(f"the container's limits could not be tried: {told.stdout}")
        limits = await self._cgroup_limits()
        known = {
            "memory": limits["memory"],
            "memory_of_all": limits["memory"],
            "pids": limits["pids"],
            "files": bool(self._ulimits),
            "storage": False,
            "wall_time": True,
            "host_user": found["uid"] != 0,
        }
        self._note = {"kind": str(self.type().value), "held": probing.held(found, known=known), "flags": []}
        notes.write(self.trial_paths.trial_dir, self._note)
        if not self._note["held"]["network"]:
            raise EnvironmentFailedError(f"the network is not closed: {found}")

    async def _cgroup_limits(self) -> dict[str, bool]:
        """Whether the container's groups limit memory and processes, in either version of cgroups."""
        script = (
            "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; echo;"
            " cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null"
        )
        told = await super().exec(script, cwd="/", timeout_sec=_PROBE_SECONDS, user="agent")
        memory, _, pids = (told.stdout or "").replace("\r", "").partition("\n\n")
        wanted = (self._effective_memory_mb or 0) * 1024 * 1024
        return {
            "memory": bool(wanted) and memory.strip().isdigit() and int(memory) <= wanted,
            "pids": pids.strip().isdigit(),
        }

    @contextlib.contextmanager
    def scoped_exec_env(self, env: dict[str, str]) -> Generator[None, None, None]:
        """Harbor's bracket around everything that an agent does; at its end the agent's time is over."""
        self._over = False
        with super().scoped_exec_env(env):
            try:
                yield
            finally:
                self._over = True

    async def _ended(self) -> None:
        """End what the agent left, once its time is over."""
        if not self._over or notes.is_verifier(self.session_id):
            return
        self._over = False
        # In one step of the kernel, for every process of that user; the last to go is the one that asks.
        command = ["exec", "-T", "-u", "agent", _MAIN, "bash", "-c", "kill -9 -1; echo ended"]
        told = await self._run_docker_compose_command(command, check=False, timeout_sec=_PROBE_SECONDS)
        if "ended" not in (told.stdout or ""):
            # There was no room for even one more process.
            self._flag("process-limit-reached")
            await self._run_docker_compose_command(["kill", _MAIN], check=False, timeout_sec=_PROBE_SECONDS)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command; what it prints beyond a limit is counted and not kept."""
        await self._ended()
        told = await super().exec(command, cwd=cwd, env=env, timeout_sec=timeout_sec, user=user)
        if _CUT in (told.stdout or "")[-200:]:
            self._flag("output-cut")
        return told

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a plain file out of the container; no link is followed, and there is a limit to its size.

        Raises:
            PathInsideError: It is no such file.
        """
        await self._ended()
        told = await self._as_root(f"stat -c '%F:%s' {shlex.quote(source_path)}")
        kind, _, size = (told.stdout or "").strip().rpartition(":")
        if told.return_code == 0:
            why = ""
            if "regular" not in kind:
                why = f"{source_path} is a {kind}"
            elif int(size) > MOST_GIVEN_BYTES:
                why = f"{source_path} is larger than what is taken out of a container"
            if why:
                self._refused(source_path, why)
                raise PathInsideError(why)
        await super().download_file(source_path, target_path)
        await asyncio.to_thread(_without_links, Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder out of the container, without its links, up to a limit.

        Raises:
            PathInsideError: It holds more than is taken out.
        """
        await self._ended()
        quoted = shlex.quote(source_dir)
        told = await self._as_root(
            f"du -sb {quoted} | cut -f1; find {quoted} | head -n {MOST_GIVEN_FILES + 1} | wc -l"
        )
        size, _, count = (told.stdout or "").replace("\r", "").strip().partition("\n")
        if not (size.isdigit() and count.strip().isdigit()):
            raise PathInsideError(f"{source_dir} cannot be looked at")
        if int(size) > MOST_GIVEN_BYTES or int(count) > MOST_GIVEN_FILES:
            why = f"{source_dir} holds more than is taken out of a container"
            self._refused(source_dir, why)
            raise PathInsideError(why)
        await super().download_dir(source_dir, target_dir)
        await asyncio.to_thread(_without_links, Path(target_dir))

    async def _as_root(self, script: str) -> ExecResult:
        command = ["exec", "-T", "-u", "root", _MAIN, "sh", "-c", script]
        return await self._run_docker_compose_command(command, check=False, timeout_sec=_PROBE_SECONDS)

    async def stop(self, delete: bool) -> None:
        """Stop and remove the containers."""
        await super().stop(delete)
        if self._note:
            notes.write(self.trial_paths.trial_dir, self._note)

    def _flag(self, name: str) -> None:
        if self._note and name not in self._note["flags"]:
            self._note["flags"].append(name)

    def _refused(self, path: str, why: str) -> None:
        if self._note:
            self._note.setdefault("refused", {})[path] = why

    @staticmethod
    async def _collect_buffered_output(
        process: asyncio.subprocess.Process, *, timeout_sec: int | None, stdin_data: bytes | None = None
    ) -> ExecResult:
        """Keep the beginning of what a process prints: an agent may print without end."""
        if stdin_data is not None or process.stdout is None:
            return await DockerEnvironment._collect_buffered_output(
                process, timeout_sec=timeout_sec, stdin_data=stdin_data
            )
        try:
            text = await asyncio.wait_for(_beginning(process), timeout_sec)
        except TimeoutError as failure:
            await DockerEnvironment._terminate_process(process)
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from failure
        except BaseException:
            await DockerEnvironment._terminate_process(process)
            raise
        return ExecResult(stdout=text or None, stderr=None, return_code=process.returncode or 0)


class ClosedDocker(_Closed):
    """Docker with closed networks."""

    _ulimits: ClassVar[Mapping[str, int]] = {"fsize": 256 * 1024 * 1024, "core": 0}


class ClosedPodman(_Closed, PodmanEnvironment):
    """Podman with closed networks."""

    options_model = ClosedPodmanOptions


async def _beginning(process: asyncio.subprocess.Process) -> str:
    stream = process.stdout
    kept, left_out = bytearray(), 0
    while stream is not None and (data := await stream.read(_CHUNK)):
        room = MOST_PRINTED_BYTES - len(kept)
        kept += data[:room]
        left_out += max(0, len(data) - room)
    await process.wait()
    text = kept.decode("utf-8", "replace")
    return f"{text}\n[{left_out} {_CUT}\n" if left_out else text


def _without_links(path: Path) -> None:
    """Remove links from what was copied out: nothing on the host may be read through them."""
    for each in (path, *(path.rglob("*") if path.is_dir() and not path.is_symlink() else ())):
        if each.is_symlink():
            each.unlink()
