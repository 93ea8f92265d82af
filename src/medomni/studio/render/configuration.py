"""`task.toml`: what Harbor needs to know of an atom task, and whose it is.

Only the host reads it. The network is closed here and in the environment's own files (`environment`): whoever
ignores one is stopped by the other.

Leaves to others: back ends that hold the limits (whoever runs the task).

Source: Harbor's task format, schema version 1.4 (harbor 0.26.0, `harbor.models.task.config`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath

from medomni.studio.config_files import BUILDER
from medomni.studio.content.model import BuiltAtom, BuiltPair
from medomni.studio.definitions.arms import Arm
from medomni.studio.render.environment import AGENT_USER, HEALTH_COMMAND

BUILD_TIMEOUT_SEC = 600
STORAGE_MB = 10240
type Plain = str | int | float | bool | tuple[str, ...]


def task_toml(built: BuiltPair, atom: BuiltAtom, arm: Arm, variant: str | None) -> str:
    """The text of `task.toml`.

    Args:
        built: The pair.
        atom: The atom.
        arm: The arm.
        variant: The arm's variant; None for an arm without variants.
    """
    template = built.template
    limits = template.environment
    tables: list[tuple[str, Mapping[str, Plain]]] = [
        ("", {"schema_version": "1.4", "artifacts": (template.submission_path,)}),
        ("[task]", _task(built, atom, arm)),
        *(("[[task.authors]]", {"name": name}) for name, _ in template.authors),
        ("[metadata]", _metadata(built, atom, arm, variant)),
        ("[agent]", {"timeout_sec": float(limits["agent_timeout_sec"]), "user": AGENT_USER}),
        (
            "[verifier]",
            {"timeout_sec": float(limits["verifier_timeout_sec"]), "environment_mode": "separate"},
        ),
        ("[environment]", _environment(built)),
    ]
    if arm.attaches_perception(variant):
        tables.append(("[environment.healthcheck]", _health()))
    return "\n".join(_table(name, values) for name, values in tables)


def _task(built: BuiltPair, atom: BuiltAtom, arm: Arm) -> dict[str, Plain]:
    return {
        "name": f"medomni/{atom.name}",
        "version": str(built.version),
        "description": f"One patient of {built.pair}, version {built.version}.",
        "keywords": (built.template.dataset, arm.name, built.release_class),
    }


def _metadata(built: BuiltPair, atom: BuiltAtom, arm: Arm, variant: str | None) -> dict[str, Plain]:
    rung: dict[str, Plain] = {} if variant is None else {"variant": variant}
    return {
        "arm": arm.name,
        **rung,
        "pair": str(built.pair),
        "version": built.version,
        "patient": atom.patient,
        "builder": f"{BUILDER}/{built.release_token.partition('/')[2]}",
        "release": built.release,
        "release_class": built.release_class,
        "access": built.access,
        "perception": arm.attaches_perception(variant),
    }


def _environment(built: BuiltPair) -> dict[str, Plain]:
    limits = built.template.environment
    return {
        "build_timeout_sec": float(BUILD_TIMEOUT_SEC),
        "cpus": limits["cpus"],
        "memory_mb": limits["memory_mb"],
        "storage_mb": STORAGE_MB,
        "network_mode": "public" if limits["internet"] else "no-network",
        "workdir": str(PurePosixPath(built.template.submission_path).parent),
    }


def _health() -> dict[str, Plain]:
    return {
        "command": HEALTH_COMMAND,
        "interval_sec": 1.0,
        "timeout_sec": 10.0,
        "start_period_sec": 30.0,
        "start_interval_sec": 0.5,
        "retries": 5,
    }


def _table(name: str, values: Mapping[str, Plain]) -> str:
    lines = [name] if name else []
    return "\n".join([*lines, *(f"{key} = {_value(value)}" for key, value in values.items()), ""])


def _value(value: Plain) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for one character that only TOML refuses.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
