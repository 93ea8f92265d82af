"""Build hook: puts the content (`medomni.toml`, `studio/`, `bench/`) into the wheel as `medomni/_content`.

`medomni init` copies it from there. An editable installation takes it from the repository itself, so that
nothing in it is ever stale. Leaves to others: the program's own files, which `pyproject.toml` names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CONTENT = ("medomni.toml", "studio", "bench")
# What `medomni bench setup-harbor` installs.
HARBOR_LOCK = "requirements-harbor.lock"


class WheelContent(BuildHookInterface[Any]):
    """Adds the content to standard wheels."""

    PLUGIN_NAME = "wheel-content"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name what has to go in; `version` is `standard` or `editable`."""
        if version == "editable":
            return
        for name in CONTENT:
            source = Path(self.root) / name
            if not source.exists():
                raise FileNotFoundError(
                    f"{name} is missing: the wheel would have no content to make workspaces from"
                )
            build_data["force_include"][str(source)] = f"medomni/_content/{name}"
        build_data["force_include"][str(Path(self.root) / HARBOR_LOCK)] = f"medomni_harbor/{HARBOR_LOCK}"
