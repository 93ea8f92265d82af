"""Holds built atom tasks against every rule of Harbor's lint, and loads each of them in Harbor.

`python tools/harbor_lint.py FOLDER…` looks for atom tasks at and below the folders. It needs `make harbor`,
and for the compose files a recent Docker client with its compose plugin; where there is none, both are
unpacked from Debian packages into `.venv-harbor/compose`, which changes nothing on the machine.

Exit codes: 0 clean, 1 findings, 2 not checked, with the reason. Leaves to others: what the atoms hold.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
HARBOR = REPOSITORY / ".venv-harbor"
# Harbor's lint passes it to `docker compose config`; clients before 2.36 lack it.
NEEDED_OPTION = "--no-env-resolution"
PACKAGES = ("docker-cli", "docker-compose")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_AT_ONCE = 100
# Runs in Harbor's own Python: the folders come in as JSON, and the failures go out as JSON.
_LOADER = """
import json, sys
from harbor.models.task.task import Task
failures = {}
for folder in json.load(sys.stdin):
    try:
        task = Task(folder)
        assert task.instruction.strip(), "the instruction is empty"
        assert task.config.task and task.config.task.version, "the task has no version"
    except Exception as failure:
        failures[folder] = f"{type(failure).__name__}: {failure}"
json.dump(failures, sys.stdout)
"""


class NotCheckedError(Exception):
    """Something that the check needs cannot be had here."""


def atoms(folders: Sequence[Path]) -> list[Path]:
    """The atom tasks at and below some folders, sorted; content folders hold none."""
    found = {path.parent for folder in folders for path in folder.rglob("task.toml")}
    return sorted(folder for folder in found if (folder / "instruction.md").is_file())


def harbor(name: str) -> Path:
    """A program of Harbor's environment.

    Raises:
        NotCheckedError: The environment is not there.
    """
    program = HARBOR / "bin" / name
    if not program.is_file():
        raise NotCheckedError("Harbor is not installed here: run `make harbor`")
    return program


def client_environment(*, unpack: bool = True) -> dict[str, str]:
    """Environment variables under which `docker compose config` can do what the lint asks of it.

    Args:
        unpack: Whether to download and unpack a client where there is none.

    Raises:
        NotCheckedError: There is no such client, and none can be unpacked.
    """
    here = dict(os.environ)
    if _suits(here):
        return here
    unpacked = HARBOR / "compose"
    own = {
        **here,
        "DOCKER_CONFIG": str(unpacked / "config"),
        "PATH": f"{unpacked / 'files' / 'usr' / 'bin'}{os.pathsep}{here.get('PATH', '')}",
    }
    if not _suits(own):
        if not unpack:
            raise NotCheckedError(f"no `docker compose` that knows {NEEDED_OPTION}: run `make harbor-lint`")
        _unpack(unpacked)
    if not _suits(own):
        raise NotCheckedError(f"the unpacked `docker compose config` lacks {NEEDED_OPTION}")
    return own


def _suits(environment: Mapping[str, str]) -> bool:
    if shutil.which("docker", path=environment.get("PATH")) is None:
        return False
    asked = ["docker", "compose", "config", "--help"]
    told = subprocess.run(asked, capture_output=True, text=True, env=environment, check=False)
    return told.returncode == 0 and NEEDED_OPTION in told.stdout


def _unpack(folder: Path) -> None:
    """Unpack the client and its plugin, with package lists of their own, so that nothing is installed."""
    if shutil.which("apt-get") is None or not _KEYRING.is_file():
        raise NotCheckedError(
            f"no Docker client whose compose knows {NEEDED_OPTION}, and no Debian to take it from"
        )
    for part in ("lists/partial", "cache/archives/partial", "files", "config/cli-plugins"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    told = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], folder)
    mirror = next(iter(told.split()), "")
    (folder / "sources.list").write_text(f"deb [signed-by={_KEYRING}] {mirror} sid main\n", encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
    }
    options = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
    _run(["apt-get", *options, "update"], folder)
    _run(["apt-get", *options, "download", *PACKAGES], folder)
    for package in sorted(folder.glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(folder / "files")], folder)
    for plugin in (folder / "files/usr/libexec/docker/cli-plugins").glob("*"):
        shutil.copy(plugin, folder / "config/cli-plugins" / plugin.name)
    (folder / "config/config.json").write_text("{}\n", encoding="utf-8")


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotCheckedError(f"`{command[0]}` failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def lint(folders: Sequence[Path], environment: Mapping[str, str]) -> Iterator[str]:
    """What `harbor lint --select ALL` finds, in Harbor's words."""
    for start in range(0, len(folders), _AT_ONCE):
        some = [str(folder) for folder in folders[start : start + _AT_ONCE]]
        command = [str(harbor("harbor")), "lint", "--select", "ALL", *some]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode not in (0, 1):
            raise NotCheckedError(f"harbor lint ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        if done.returncode:
            yield done.stdout.strip()


def load(folders: Sequence[Path]) -> Iterator[str]:
    """The atom tasks that Harbor cannot load, and why."""
    given = json.dumps([str(folder) for folder in folders])
    command = [str(harbor("python")), "-c", _LOADER]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotCheckedError(f"Harbor's loader ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    for folder, why in json.loads(done.stdout).items():
        yield f"{folder}: {why}"


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    folders = atoms([Path(each) for each in arguments])
    if not folders:
        print("no atom task is built there: run `medomni studio build PAIR`", file=sys.stderr)
        return 2
    try:
        found = [*load(folders), *lint(folders, client_environment())]
    except NotCheckedError as reason:
        print(f"not checked: {reason}", file=sys.stderr)
        return 2
    print(
        "\n".join(
            [*found, f"harbor: {len(folders)} atom tasks, {'findings above' if found else 'all clean'}"]
        )
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
