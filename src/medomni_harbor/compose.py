"""What a compose file says of networks, and what is laid over it. Plain data; needs neither Harbor nor YAML.

Leaves to others: reading the file, and trying whether it is true (`closed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LABEL = "medomni.job"
_NONE, _OF = "none", "service:"


def open_services(document: Mapping[str, Any]) -> list[str]:
    """Services whose network the file does not close: neither `none`, nor that of a service that has `none`.

    Args:
        document: The file.
    """
    services: Mapping[str, Mapping[str, Any]] = document.get("services") or {}
    modes = {name: str((service or {}).get("network_mode", "")) for name, service in services.items()}
    closed = {name for name, mode in modes.items() if mode == _NONE}
    closed |= {
        name for name, mode in modes.items() if mode.removeprefix(_OF) in closed and mode.startswith(_OF)
    }
    asking = {name for name, service in services.items() if {"networks", "ports"} & (service or {}).keys()}
    return sorted(({"main", *services} - closed) | asking)


def overlay(document: Mapping[str, Any], *, job: str, ulimits: Mapping[str, int]) -> dict[str, Any]:
    """What is laid over a compose file: labels on every container and built image, limits on the agent's.

    Images are built without a network as well.

    Args:
        document: The file.
        job: The label's value.
        ulimits: Limits of each process in the agent's container.
    """
    labels = {LABEL: job}
    services: dict[str, Any] = {}
    for name, service in (document.get("services") or {}).items():
        services[name] = {"labels": labels}
        if name == "main" or "build" in (service or {}):
            services[name]["build"] = {"labels": labels, "network": _NONE}
        if name == "main" and ulimits:
            services[name]["ulimits"] = dict(ulimits)
    return {"services": services}
