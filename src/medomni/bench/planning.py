"""What a run will do, decided and checked before anything starts: set, built files, agent, terms,
environment.

Leaves to others: doing it (`running`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench.agents import Agent
from medomni.bench.built import BuiltPair, read_built
from medomni.bench.environments import Survey, require, rootfs_of
from medomni.bench.errors import RunRefusedError
from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError
from medomni.core.hashing import canonical_digest, task_set_hash
from medomni.core.names import IMPORTED_SETS, Pair, SetName
from medomni.core.workspace import Workspace

_DEFAULT_PLAN = {"attempts": 1, "aggregate": "first", "seed": 0, "data_terms_ack": []}
_CREDENTIALED, _GENERATED = "credentialed", "generated"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a command line asks for.

    Attributes:
        only: Only these pairs of the set.
        limit_atoms: Only so many atoms of each pair.
        attempts: Runs per atom; None leaves it to the plan.
        plan: A file with the plan; None for the usual one.
    """

    name: SetName
    agent: Agent
    arm: str | None = None
    variant: str | None = None
    only: tuple[Pair, ...] = ()
    limit_atoms: int | None = None
    environment: str = "docker"
    attempts: int | None = None
    plan: Path | None = None


@dataclass(frozen=True, slots=True)
class Atom:
    """One atom of a run."""

    name: str
    pair: str
    folder: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run that passed every check.

    Attributes:
        plan: Attempts, aggregate, seed and terms, as declared.
        held: What the environment holds here.
        atoms: In the order of their pairs and names.
    """

    wish: Wish
    arm: str
    variant: str | None
    card: Mapping[str, Any]
    task_set: Mapping[str, Any]
    task_set_hash: str
    plan: Mapping[str, Any]
    pairs: tuple[BuiltPair, ...]
    atoms: tuple[Atom, ...]
    held: Survey
    rootfs: Path | None

    def request(self) -> dict[str, Any]:
        """Everything that decides what is run, as plain data."""
        agent = self.wish.agent
        return {
            "schema": "medomni/bench-job/1",
            "benchmark": self.wish.name.benchmark,
            "set": self.wish.name.task_set,
            "task_set_hash": self.task_set_hash,
            "arm": self.arm,
            "variant": self.variant,
            "agent": {"name": agent.name, "model": agent.model, "settings": dict(agent.settings)},
            "environment": self.wish.environment,
            "base": "image" if self.wish.environment != "local" or self.rootfs else "host programs",
            "plan": dict(self.plan),
            "limit_atoms": self.wish.limit_atoms,
            "pairs": {str(each.pair): each.config_hash for each in self.pairs},
            "atoms": [{"atom": each.name, "pair": each.pair, "digest": each.digest} for each in self.atoms],
        }

    def digest(self) -> str:
        """A digest of the request: another agent, setting, file or plan is another run."""
        return canonical_digest(self.request())


def make_run(workspace: Workspace, wish: Wish) -> Run:
    """Check everything that a run needs.

    Raises:
        RunRefusedError: `run-set`, `run-card`, `run-arm`, `run-pair`, `run-version`, `run-builder`,
            `run-terms`,
            `run-plan`, `run-environment`, `run-limits`, and as `built.read_built`.
        IssuesError: A card, set, plan or built document breaks its contract.
    """
    card, task_set = _benchmark(workspace, wish.name)
    arm = _arm(task_set, wish)
    plan = _plan(wish)
    entries = _entries(task_set, wish)
    pairs = tuple(_built(workspace, task_set, entry, arm, wish) for entry in entries)
    _check_terms(pairs, plan, wish)
    rootfs = rootfs_of(workspace)
    held = require(wish.environment, rootfs)
    atoms = tuple(
        Atom(name, str(each.pair), each.folders[name], each.digests[name])
        for each in pairs
        for name in list(each.folders)[: wish.limit_atoms]
    )
    pinned = task_set_hash([(entry["task"], entry["version"]) for entry in task_set["tasks"]])
    return Run(wish, arm, wish.variant, card, task_set, pinned, plan, pairs, atoms, held, rootfs)


def _benchmark(workspace: Workspace, name: SetName) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    try:
        card = contracts.load("benchmark", workspace.benchmark_card(name.benchmark))
        task_set = contracts.load("task-set", workspace.task_set(name))
    except DocumentNotFoundError as failure:
        raise RunRefusedError(
            f"there is no task set {name}",
            where=failure.where,
            hint="medomni studio list sets",
            code="run-set",
        ) from failure
    if "agent" not in card["accepts"]:
        raise RunRefusedError(
            f"{name.benchmark} accepts {', '.join(card['accepts'])}, and no agents",
            where=str(workspace.benchmark_card(name.benchmark)),
            code="run-card",
        )
    if name.task_set in IMPORTED_SETS:
        raise RunRefusedError(
            f"{name} holds imported results of v0.2 and cannot be run", where=str(name), code="run-set"
        )
    return card, task_set


def _arm(task_set: Mapping[str, Any], wish: Wish) -> str:
    arms: list[str] = task_set["arms"]
    if wish.arm is None and len(arms) == 1:
        return arms[0]
    if wish.arm not in arms:
        what = "name an arm" if wish.arm is None else f"the set has no arm {wish.arm!r}"
        raise RunRefusedError(what, where="--arm", hint=f"there are: {', '.join(arms)}", code="run-arm")
    return wish.arm


def _plan(wish: Wish) -> dict[str, Any]:
    plan = dict(_DEFAULT_PLAN)
    if wish.plan is not None:
        plan |= contracts.load("run-plan", wish.plan)
    if wish.attempts is not None:
        if wish.plan is not None and wish.attempts != plan["attempts"]:
            raise RunRefusedError(
                f"--attempts is {wish.attempts}, and the plan declares {plan['attempts']}",
                where=str(wish.plan),
                hint="leave out --attempts",
                code="run-plan",
            )
        plan["attempts"] = wish.attempts
    return plan


def _entries(task_set: Mapping[str, Any], wish: Wish) -> Sequence[Mapping[str, Any]]:
    entries: list[Mapping[str, Any]] = task_set["tasks"]
    there = {str(Pair.parse(entry["task"])): entry for entry in entries}
    unknown = [str(pair) for pair in wish.only if str(pair) not in there]
    if unknown:
        raise RunRefusedError(
            f"{wish.name} has no pair {unknown[0]}",
            where="--only",
            hint=f"there are: {', '.join(there)}",
            code="run-pair",
        )
    wanted = {str(pair) for pair in wish.only}
    return [entry for name, entry in there.items() if not wanted or name in wanted]


def _built(
    workspace: Workspace, task_set: Mapping[str, Any], entry: Mapping[str, Any], arm: str, wish: Wish
) -> BuiltPair:
    pair = Pair.parse(entry["task"]).usable()
    built = read_built(workspace, pair, arm, wish.variant)
    where = str(workspace.content(pair) / "content.json")
    if built.content["version"] != entry["version"]:
        raise RunRefusedError(
            f"{wish.name} pins version {entry['version']} of {pair},"
            f" and version {built.content['version']} is built",
            where=where,
            hint=f"medomni studio build {wish.name}",
            code="run-version",
        )
    if built.builder != task_set["builder"]:
        raise RunRefusedError(
            f"{wish.name} is for the builder {task_set['builder']}, and {pair} was built by {built.builder}",
            where=where,
            code="run-builder",
        )
    return built


def _check_terms(pairs: Sequence[BuiltPair], plan: Mapping[str, Any], wish: Wish) -> None:
    acknowledged = set(plan["data_terms_ack"])
    for each in pairs:
        content = each.content
        if content["access"] == _GENERATED or content["dataset"] in acknowledged:
            continue
        third = wish.agent.sends_records and content["access"] == _CREDENTIALED
        why = "which this agent sends to somebody else" if third else f"whose access is {content['access']}"
        terms = " ".join(content["terms"])
        raise RunRefusedError(
            f"{each.pair} holds data of {content['dataset']}, {why},"
            f" and its terms are not acknowledged: {terms}",
            where=str(wish.plan or "--plan"),
            hint=f"once you may: data_terms_ack: [{content['dataset']}] in a file for --plan",
            code="run-terms",
        )
