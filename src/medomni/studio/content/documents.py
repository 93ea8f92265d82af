"""The three documents of a pair's content, from plain data: `content.json`, `answers.csv`, `manifest.json`.

Each is checked against its contract before anybody writes it. The same data give the same bytes.

Leaves to others: where they are written (`placing`), hashes (`medomni.core.hashing`).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from medomni.core import contracts
from medomni.core.files import json_text, parse_csv
from medomni.core.hashing import ConfigHash
from medomni.core.issues import IssuesError
from medomni.studio.config_files import BUILDER
from medomni.studio.content.model import BuiltAnswer, BuiltPair, BuiltTarget
from medomni.studio.errors import BuildError
from medomni.studio.select import StepCount

# The stratum of a cohort without strata.
NO_STRATUM = "all"


def answer_text(value: Any) -> str:
    """An answer as `answers.csv` has it: a class from 0, or a number with the digits that it has.

    Raises:
        BuildError: `build-answer`: it is no number, or not finite.
    """
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}"
    if isinstance(value, float) and math.isfinite(value):
        return f"{Decimal(repr(value)):f}"
    raise BuildError(f"an answer is {value!r}, which is no number", code="build-answer")


def content_text(
    built: BuiltPair,
    answers: Sequence[BuiltAnswer],
    *,
    times: Mapping[str, str],
    steps: Sequence[StepCount],
    reference: Mapping[str, Any],
) -> str:
    """`content.json`: what an evaluation needs to know, answers left out.

    Args:
        built: The pair.
        answers: Of every atom, in the order of names; only their decimals are told.
        times: Atom to its prediction time.
        steps: Of the selection.
        reference: Target to what `select` knows of all eligible people.

    Raises:
        IssuesError: The document does not fulfil its contract.
    """
    release = built.release
    document = {
        "schema": "medomni/built-task/1",
        "pair": str(built.pair),
        "version": built.version,
        "dataset": built.template.dataset,
        "release": release,
        "release_class": built.release_class,
        "access": built.access,
        "licence": built.licence,
        "terms": list(built.terms),
        "statement": built.template.statement,
        "submission_path": built.template.submission_path,
        "targets": [_target(each, answers) for each in built.targets],
        "atoms": [{"atom": each.atom, "prediction_time": times[each.atom]} for each in answers],
        "step_counts": step_counts(steps),
        "reference": {name: _reference(each) for name, each in reference.items()},
    }
    return _checked("built-task", document, "content.json")


def answers_text(answers: Sequence[BuiltAnswer], targets: Sequence[BuiltTarget]) -> str:
    """`answers.csv`, in the order given.

    Raises:
        IssuesError: The table does not fulfil its contract.
    """
    names = [target.name for target in targets]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["atom", "patient", "stratum", *names])
    for each in answers:
        row = [each.atom, each.patient, each.stratum or NO_STRATUM, *(each.values[name] for name in names)]
        writer.writerow(row)
    _refuse(contracts.validate("answers", parse_csv(text.getvalue(), name="answers.csv")), "answers.csv")
    return text.getvalue()


def manifest_text(
    built: BuiltPair,
    *,
    hashes: Mapping[tuple[str, str | None], ConfigHash],
    steps: Sequence[StepCount],
    files: Mapping[str, str],
    data_fingerprint: str,
) -> str:
    """`manifest.json`: what a pair was built from, and every file that was built.

    Args:
        built: The pair.
        hashes: The config hash under each arm and variant.
        steps: Of the selection.
        files: Path below `atomtasks/` to SHA-256.
        data_fingerprint: Of the data.

    Raises:
        IssuesError: The document does not fulfil its contract.
    """
    release = built.release_token.partition("/")[2]
    document = {
        "schema": "medomni/build-manifest/1",
        "pair": str(built.pair),
        "version": built.version,
        "builder": f"{BUILDER}/{release}",
        "releases": {"dataset": built.release, "medomni": built.release_token},
        "hashes": [
            {
                "arm": arm,
                "variant": variant,
                "config_hash": found.value,
                "files": [file.as_dict() for file in found.files],
            }
            for (arm, variant), found in hashes.items()
        ],
        "step_counts": step_counts(steps),
        "files": dict(sorted(files.items())),
        "data_fingerprint": data_fingerprint,
    }
    return _checked("build-manifest", document, "manifest.json")


def step_counts(steps: Sequence[StepCount]) -> list[dict[str, Any]]:
    """The counts of every step, in people."""
    return [
        {"step": each.step, "rule": each.rule, "n_before": each.people_before, "n_after": each.people_after}
        for each in steps
    ]


def _target(target: BuiltTarget, answers: Sequence[BuiltAnswer]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": target.name,
        "metric": target.metric,
        "label": target.label,
        "label_version": target.label_version,
        "type": target.kind,
    }
    if target.classes:
        found["classes"] = list(target.classes)
    if target.kind == "number":
        found["range"] = [_number(Decimal(end)) for end in target.range or ()]
        found["unit"] = target.unit
        found["decimals"] = _decimals(target, answers)
    return found | {"question": target.question}


def _decimals(target: BuiltTarget, answers: Sequence[BuiltAnswer]) -> int:
    """The label's decimals, or the most that an answer has where the label rounds to none."""
    if target.decimals is not None:
        return target.decimals
    return max(len(each.values[target.name].partition(".")[2]) for each in answers)


def _reference(known: Mapping[str, Any]) -> dict[str, Any]:
    """What `select` knows of the eligible, in the contract's form."""
    found: dict[str, Any] = {"eligible_n": known["eligible_n"]}
    if "share" in known:
        return found | {"share": list(known["share"].values())}
    quantiles = {f"{Decimal(part) / 100:f}": _number(value) for part, value in known["quantiles"].items()}
    return found | {
        "quantiles": quantiles,
        "median": _number(known["median"]),
        "mae_ref": _number(known["mae_ref"]),
    }


def _number(value: Any) -> int | float:
    """A number as JSON has it."""
    whole = int(value)
    return whole if whole == value else float(value)


def _checked(kind: str, document: Any, name: str) -> str:
    _refuse(contracts.validate(kind, document), name)
    return json_text(document)


def _refuse(issues: Sequence[Any], name: str) -> None:
    if issues:
        raise IssuesError(
            f"the build would write a {name} that breaks its contract", issues=list(issues), where=name
        )
