"""Installs Harbor into a Python environment of its own, from the list of files that was tested.

Leaves to others: finding it again (`harbor_program`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from medomni.bench.errors import HarnessError
from medomni.bench.harbor_program import VERSION, home_folder, package_folder

_LOCK = "requirements-harbor.lock"


def lock_file() -> Path:
    """The list of packages with their digests: in a wheel beside our part of Harbor, else in the repository.

    Raises:
        HarnessError: `harbor-setup`: it is not there.
    """
    ours = package_folder()
    for path in (ours / _LOCK, ours.parent.parent / _LOCK):
        if path.is_file():
            return path
    raise HarnessError(
        f"{_LOCK} is missing", where=str(ours), hint="install medomni again", code="harbor-setup"
    )


def install(into: Path | None = None) -> Path:
    """Install Harbor; what was there in that folder is replaced only by a whole installation.

    Args:
        into: The environment's folder.

    Raises:
        HarnessError: `harbor-setup`: an environment could not be made, or a package not be had.
    """
    folder = (into or home_folder()).absolute()
    lock = lock_file()
    marker = folder / ".ready"
    if marker.is_file() and marker.read_text(encoding="ascii") == VERSION:
        return folder
    if folder.exists() and not (folder / "pyvenv.cfg").is_file():
        raise HarnessError(
            f"{folder} is there and holds something else",
            hint="name a new folder with --into",
            code="harbor-setup",
        )
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "-r", str(lock)])
    marker.write_text(VERSION, encoding="ascii")
    return folder


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise HarnessError(f"Harbor could not be installed: {lines[-1]}", code="harbor-setup")
