"""What an instruction asks for, read from its text: the targets with their domains, and where the answer
goes.

Agents get nothing else to go by than what every agent gets. Leaves to others: what is answered (`rules`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_PATH = re.compile(r"^Write `(?P<path>/[^`\s]+)`:", re.MULTILINE)
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_TARGET = re.compile(
    r'"(?P<name>[a-z0-9_-]+)": <(?P<kind>probability|whole number|number) from '
    rf"(?P<low>{_NUMBER}) to (?P<high>{_NUMBER})>"
)


class InstructionError(ValueError):
    """An instruction does not say what to answer in the form that built tasks have."""


@dataclass(frozen=True, slots=True)
class Question:
    """One target.

    Attributes:
        kind: `probability`, `whole number` or `number`.
        low: The lowest answer.
        high: The highest answer.
    """

    name: str
    kind: str
    low: float
    high: float

    def at(self, share: float) -> float | int:
        """The answer at a share of the way from the lowest to the highest; a class is rounded down at halves.

        Args:
            share: From 0 to 1; what lies outside is taken to the end.
        """
        value = self.low + min(1.0, max(0.0, share)) * (self.high - self.low)
        if self.kind != "whole number":
            return value
        whole = int(value)
        return whole if value - whole <= 0.5 else whole + 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What an instruction asks for: where the answer goes, and the targets."""

    path: str
    questions: tuple[Question, ...]

    def answer_text(self, share: float) -> str:
        """The answer file that answers every target at one share of its domain."""
        return json.dumps({each.name: each.at(share) for each in self.questions}) + "\n"


def parse(instruction: str) -> Asked:
    """Read an instruction.

    Raises:
        InstructionError: It names no file for the answer, or no target.
    """
    paths = _PATH.findall(instruction)
    # The last part of an instruction: what a record says before it does not count.
    tail = instruction[instruction.rfind("\n## Answer\n") :]
    questions = tuple(
        Question(found["name"], found["kind"], float(found["low"]), float(found["high"]))
        for found in _TARGET.finditer(tail)
    )
    if not paths or not questions:
        raise InstructionError("the instruction does not say what to answer, or where")
    return Asked(paths[-1], questions)
