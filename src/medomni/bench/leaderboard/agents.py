"""Who is on a board: agents told apart by name, version, model and settings, each with a short label.

Leaves to others: their scores (`board`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from medomni.bench.leaderboard.model import Agent
from medomni.core.hashing import canonical_digest

_KEY_DIGITS = 16
_SHOWN_DIGITS = 6


def agent_key(agent: Mapping[str, Any]) -> str:
    """A digest of everything that makes an agent that agent."""
    parts = {key: agent[key] for key in ("name", "version", "model", "settings")}
    return canonical_digest(parts)[-64:][:_KEY_DIGITS]


def agents_of(found: Iterable[Mapping[str, Any]]) -> tuple[Agent, ...]:
    """The agents among records, by label; a label says no more than is needed to tell them apart."""
    unique = {agent_key(agent): agent for agent in found}
    labels = {key: _named(agent) for key, agent in unique.items()}
    for longer in (_versioned, _settings):
        counts = Counter(labels.values())
        labels = {
            key: label if counts[label] == 1 else longer(key, label, unique[key])
            for key, label in labels.items()
        }
    agents = [
        Agent(key, labels[key], each["name"], each["version"], each["model"], each["settings"])
        for key, each in unique.items()
    ]
    return tuple(sorted(agents, key=lambda agent: (agent.label, agent.key)))


def _named(agent: Mapping[str, Any]) -> str:
    model = agent["model"]
    return f"{agent['name']} ({model})" if model else str(agent["name"])


def _versioned(_key: str, label: str, agent: Mapping[str, Any]) -> str:
    return f"{label} {agent['version']}"


def _settings(key: str, label: str, _agent: Mapping[str, Any]) -> str:
    return f"{label} #{key[:_SHOWN_DIGITS]}"
