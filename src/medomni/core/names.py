"""The names that people and files write: pairs, task sets, atoms, arms, ids. Parsed, printed, refused.

Names become folders on any file system, so they are lower-case ASCII and short. "Variant" alone always means
an arm's variant (a rung); what stands in a pair's name is its *evidence variant*.

Leaves to others: whether what a name names exists (`workspace`, Studio, Bench), and which dataset a template
belongs to.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from medomni.core._document import key_text
from medomni.core.errors import InvalidNameError

# The same patterns stand in the contracts' schemas; a test holds them together.
ID_PATTERN = "[a-z0-9]+(?:[_-][a-z0-9]+)*"
DOTTED_PATTERN = "[a-z0-9]+(?:[._-][a-z0-9]+)*"
PAIR_PATTERN = f"{ID_PATTERN}(?::{ID_PATTERN})?@{ID_PATTERN}"
ATOM_PATTERN = rf"{ID_PATTERN}\.{ID_PATTERN}\.[0-9a-f]{{10}}"
RELEASE_PATTERN = f"{ID_PATTERN}/{DOTTED_PATTERN}"
LONGEST_ID = 80

DEFAULT_EVIDENCE = "default"
# The task sets whose entries are imported results of v0.2, and have version 0.
IMPORTED_SETS = ("v0.2-ladder", "v0.2-forced", "v0.2-mid")

_ATOM_DIGITS = 10
_LONGEST_SHOWN = 120
_ID_RULE = "lower-case letters and digits, with single hyphens or underscores between them"


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """A template with a cohort: `<template>[:<evidence variant>]@<cohort>`.

    The evidence variant `default` is not printed: `t:default@c` is the pair `t@c`.
    """

    template: str
    cohort: str
    evidence: str = DEFAULT_EVIDENCE

    def __post_init__(self) -> None:
        check_id(self.template, what="template")
        check_id(self.cohort, what="cohort")
        check_id(self.evidence, what="evidence variant")

    def __str__(self) -> str:
        evidence = "" if self.evidence == DEFAULT_EVIDENCE else f":{self.evidence}"
        return f"{self.template}{evidence}@{self.cohort}"

    @classmethod
    def parse(cls, text: str) -> Pair:
        """The pair that a text names.

        Raises:
            InvalidNameError: `pair-invalid`, or `name-invalid` for one of its parts.
        """
        if not isinstance(text, str) or text.count("@") != 1 or text.count(":") > 1:
            raise _refused("pair-invalid", text, "is no pair", "write <template>@<cohort>")
        front, cohort = text.split("@")
        template, colon, evidence = front.partition(":")
        return cls(template, cohort, evidence if colon else DEFAULT_EVIDENCE)

    def usable(self) -> Pair:
        """This pair, where it is about to be hashed, built, run or pinned.

        Raises:
            InvalidNameError: `evidence-variant-unsupported`: only `default` is built in this release.
        """
        if self.evidence != DEFAULT_EVIDENCE:
            raise _refused(
                "evidence-variant-unsupported",
                str(self),
                f"asks for the evidence variant {self.evidence!r}, and v0.3.0 builds only 'default'",
                f"use {self.template}@{self.cohort}",
            )
        return self


@dataclass(frozen=True, slots=True, order=True)
class SetName:
    """A task set of a benchmark: `<benchmark>/<set>`."""

    benchmark: str
    task_set: str

    def __post_init__(self) -> None:
        check_id(self.benchmark, what="benchmark")
        check_dotted(self.task_set, what="task set")

    def __str__(self) -> str:
        return f"{self.benchmark}/{self.task_set}"

    @classmethod
    def parse(cls, text: str) -> SetName:
        """The task set that a text names.

        Raises:
            InvalidNameError: `set-name-invalid`, or `name-invalid` for one of its parts.
        """
        if not isinstance(text, str) or text.count("/") != 1:
            raise _refused("set-name-invalid", text, "is no task set", "write <benchmark>/<set>")
        benchmark, task_set = text.split("/")
        return cls(benchmark, task_set)


def atom_name(pair: Pair, *, version: int, patient: str) -> str:
    """The name of a patient's atom: `<template>.<cohort>.<10 hex digits>`.

    The digits are the first ten of SHA-256(`atom|<pair>|v<N>|<patient>`): unique over all pairs of a
    workspace, legal for Harbor, and unrelated to the hash that draws the cohort.

    Args:
        pair: The pair.
        version: N, from 1.
        patient: The patient's id in the dataset, as the text that the dataset has.

    Raises:
        InvalidNameError: `atom-invalid`: N is not a whole number from 1, or the patient no text; or
            `evidence-variant-unsupported`.
    """
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise _refused("atom-invalid", version, "is no version of a pair", "N is a whole number from 1")
    if not isinstance(patient, str) or not patient.isprintable() or not patient:
        raise _refused("atom-invalid", patient, "is no patient", "ids of patients are text: 007 is not 7")
    text = f"atom|{pair.usable()}|v{version}|{patient}"
    digits = hashlib.sha256(text.encode("utf-8")).hexdigest()[:_ATOM_DIGITS]
    return f"{pair.template}.{pair.cohort}.{digits}"


def check_id(text: str, *, what: str) -> str:
    """`text`, if it can be the id of a template, cohort, arm, variant, label, recipe, dataset or benchmark.

    Raises:
        InvalidNameError: `name-invalid`; `what` says in the message what it should have named.
    """
    return _checked(text, ID_PATTERN, what, _ID_RULE)


def check_dotted(text: str, *, what: str) -> str:
    """`text`, if it can be the name of a task set or release, which may hold dots as well.

    Raises:
        InvalidNameError: `name-invalid`; `what` says in the message what it should have named.
    """
    return _checked(text, DOTTED_PATTERN, what, f"{_ID_RULE}, and single dots")


def _checked(text: str, pattern: str, what: str, rule: str) -> str:
    if not isinstance(text, str) or not re.fullmatch(pattern, text):
        raise _refused("name-invalid", text, f"cannot be the name of the {what}", f"names hold {rule}")
    if len(text) > LONGEST_ID:
        raise _refused("name-invalid", text, f"is too long for the {what}", f"at most {LONGEST_ID} letters")
    return text


def _refused(code: str, value: object, what: str, hint: str) -> InvalidNameError:
    shown = (
        key_text(value[:_LONGEST_SHOWN]) or '""' if isinstance(value, str) else repr(value)[:_LONGEST_SHOWN]
    )
    return InvalidNameError(f"{shown} {what}", hint=hint, code=code)
