"""Harbor as a program: where it is, which version, the environment it runs in, and our part that it imports.

Harbor has a Python environment of its own (`make harbor`, or `medomni bench setup-harbor`), and nothing here
imports it. Our part, the package `medomni_harbor`, is put before it through a folder that holds nothing else.

Leaves to others: what it runs (`jobs`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from medomni.bench.errors import HarnessError, RunRefusedError

VERSION = "0.26.0"
VARIABLE = "MEDOMNI_HARBOR"
PACKAGE = "medomni_harbor"
_ENVIRONMENT = ".venv-harbor"
_HOST_SECONDS = 120


def home_folder() -> Path:
    """Where `setup-harbor` puts Harbor's environment by default."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "medomni" / f"harbor-{VERSION}"


def find_python(workspace: Path) -> Path:
    """The Python of Harbor's environment.

    Args:
        workspace: The workspace's root, which may hold it.

    Raises:
        RunRefusedError: `run-harbor`: it is not installed, or of another version.
    """
    named = os.environ.get(VARIABLE)
    for folder in [Path(named)] if named else _folders(workspace):
        python = folder / "bin" / "python"
        if python.is_file():
            _check_version(folder, python)
            return python
    raise RunRefusedError(
        f"Harbor {VERSION} is not installed here",
        where=named or f"{workspace / _ENVIRONMENT}, {home_folder()}",
        hint="medomni bench setup-harbor, or `make harbor` in a checkout",
        code="run-harbor",
    )


def _folders(workspace: Path) -> Iterator[Path]:
    yield workspace / _ENVIRONMENT
    # An editable installation: the repository.
    yield package_folder().parent.parent / _ENVIRONMENT
    yield home_folder()


def _check_version(folder: Path, python: Path) -> None:
    found = [path.name for path in folder.glob("lib/python*/site-packages/harbor-*.dist-info")]
    if f"harbor-{VERSION}.dist-info" not in found:
        raise RunRefusedError(
            f"Harbor {VERSION} is needed, and there is {', '.join(sorted(found)) or 'none'}",
            where=str(python),
            hint="medomni bench setup-harbor",
            code="run-harbor",
        )


def package_folder() -> Path:
    """The folder of our part, which is never imported here."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise HarnessError(
            f"the package {PACKAGE} is missing", hint="install medomni again", code="harness-failed"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def import_folder(folder: Path) -> Path:
    """A folder that holds our part and nothing else, for `PYTHONPATH`; made where it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / PACKAGE
    if not link.is_symlink():
        link.symlink_to(package_folder(), target_is_directory=True)
    return folder


def variables(folder: Path) -> dict[str, str]:
    """Environment variables of Harbor's process.

    Args:
        folder: What `import_folder` gave.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    # Without these it looks for price lists, and tells its makers that it was run.
    fixed = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0"}
    return {**own, **fixed, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def command(python: Path, arguments: Sequence[str]) -> list[str]:
    """The command line that runs Harbor and ends with this process."""
    return [str(python), "-m", f"{PACKAGE}.host", "harbor", str(os.getpid()), *arguments]


def ask_host(what: str, *arguments: str) -> Any:
    """What `medomni_harbor.host` says of this machine; Harbor is not needed for it.

    Raises:
        HarnessError: `harness-failed`: it fails.
    """
    folder = package_folder()
    asked = [sys.executable, "-m", f"{PACKAGE}.host", what, *arguments]
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(folder.parent)}
    try:
        done = subprocess.run(
            asked, capture_output=True, text=True, env=environment, timeout=_HOST_SECONDS, check=False
        )
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as failure:
        raise HarnessError(
            f"this machine could not be asked ({what}): {failure}", code="harness-failed"
        ) from failure
