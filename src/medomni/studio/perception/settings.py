"""What the service of one atom may do: its data root, the encoders that are refused, its limits.

Leaves to others: who decides what is refused (`render`, from the template's arm).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core.files import json_text, read_json
from medomni.studio.perception.errors import PerceptionSetupError

SCHEMA = "medomni/perception/1"
MOUNTED = "/data"
PORT = 8080
_KEYS = {"schema", "refused"}


@dataclass(frozen=True, slots=True)
class Settings:
    """The service's settings.

    Attributes:
        data: The folder that paths of requests are relative to.
        refused: Encoders that would restate a target of this task.
        most_file_bytes: Larger files are not read.
        time_limit_sec: An encoding that takes longer is stopped.
        memory_bytes: Address space of an encoding's process.
        most_answer_bytes: Longer encodings are refused.
    """

    data: Path
    refused: frozenset[str] = frozenset()
    most_file_bytes: int = 64 * 1024 * 1024
    time_limit_sec: float = 60.0
    memory_bytes: int = 2 * 1024**3
    most_answer_bytes: int = 8 * 1024 * 1024


def read_settings(data: str | Path, config: str | Path | None = None) -> Settings:
    """The settings of a service over a folder.

    Args:
        data: The folder that it may read.
        config: A JSON file `{"schema": "medomni/perception/1", "refused": [<encoder>, …]}`; without one,
            nothing is refused.

    Raises:
        PerceptionSetupError: `perception-setup`: `data` is no folder, or the file does not hold that.
        DocumentError: The file is not strict JSON.
        DocumentNotFoundError: There is no such file.
    """
    root = Path(data)
    if not root.is_dir():
        raise PerceptionSetupError(
            f"{data} is no folder", where="--data", hint="name the folder of the atom's staged files"
        )
    if config is None:
        return Settings(root)
    value: Any = read_json(config).value
    known = isinstance(value, dict) and set(value) == _KEYS and value["schema"] == SCHEMA
    refused = value["refused"] if known else None
    if not isinstance(refused, list) or not all(isinstance(name, str) for name in refused):
        raise PerceptionSetupError(
            "the file is no configuration of the perception service",
            where=str(config),
            hint=f'write {{"schema": "{SCHEMA}", "refused": []}}',
        )
    return Settings(root, frozenset(refused))


def config_text(refused: frozenset[str]) -> str:
    """The configuration file that refuses these encoders."""
    return json_text({"schema": SCHEMA, "refused": sorted(refused)})
