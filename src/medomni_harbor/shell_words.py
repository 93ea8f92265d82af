"""What the shell agent tells its model: the task's frame, the one tool, outputs cut to size, what is left.

A new wording may change answers: the agent's version (`shell.Shell.version`) rises with it.

Leaves to others: the conversation (`shell_loop`), the instruction, which is the atom's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TOOL_NAME = "run_command"
TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Run a command with bash in the sandbox and return what it prints, and its exit code.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command, for bash -c."}},
            "required": ["command"],
            "additionalProperties": False,
        },
    },
}


class ArgumentsError(ValueError):
    """A call of the tool does not have the form that the tool asks for."""


def system_prompt(*, command_seconds: int, output_chars: int, steps: int) -> str:
    """What the model is told before the instruction.

    Args:
        command_seconds: How long a command may take.
        output_chars: How much of an output is shown.
        steps: How many replies it has.
    """
    return (
        "You answer questions about one patient's record. You work in a Linux sandbox without any network;"
        f" the record lies below /data, which is read-only. Read it and compute with the tool {TOOL_NAME}.\n"
        f"Each command runs in a new shell, starts in the same folder, and is ended after {command_seconds}"
        f" seconds. Of what it prints you are shown at most {output_chars} characters, the beginning and the"
        " end, and told how many are left out: print little, or write to a file and look at parts of it.\n"
        f"You have {steps} replies in all. Nobody can answer questions back to you. What counts is only the"
        " answer file that the instruction asks for: write it by a command, in good time; you may write it"
        " again later. When it is final, reply without calling the tool."
    )


def reminder(path: str) -> str:
    """What the model is told that stops without an answer.

    Args:
        path: Where the answer goes.
    """
    return (
        f"There is no file {path} yet, and only that file counts. Write it with {TOOL_NAME}, even if unsure."
    )


def parse_command(name: str, arguments: str) -> str:
    """The command that a call of the tool asks for.

    Args:
        name: The tool's name, as the model has it.
        arguments: JSON, as the model has it.

    Raises:
        ArgumentsError: It is not that tool, or these are not its arguments; the message is for the model.
    """
    if name != TOOL_NAME:
        raise ArgumentsError(f"there is no tool {name[:100]!r}: the only one is {TOOL_NAME}")
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        raise ArgumentsError('the arguments are no JSON: they must be {"command": "…"}') from None
    command = given.get("command") if isinstance(given, dict) else None
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise ArgumentsError('the arguments must be {"command": "…"}, with a command that is not empty')
    try:
        command.encode("utf-8")
    except UnicodeEncodeError:
        raise ArgumentsError("the command holds half a character (a lone surrogate)") from None
    return command


def cut(text: str, most: int) -> str:
    """A text's beginning and end, with a note of what is left out between them.

    Args:
        text: The text.
        most: So many of its characters are kept.
    """
    if len(text) <= most:
        return text
    head = most - most // 2
    tail = most - head
    end = text[len(text) - tail :] if tail else ""
    return f"{text[:head]}\n[… {len(text) - most} characters left out …]\n{end}"


def shown(stdout: str, stderr: str, code: int, *, most: int, ended_after: int | None = None) -> str:
    """What the model is shown of a command.

    Args:
        stdout: What it printed.
        stderr: What it printed as errors; empty where the environment does not keep them apart.
        code: Its exit code.
        most: So many characters of both together.
        ended_after: Seconds after which it was ended; None where it ended by itself.
    """
    out, err = _lines(stdout), _lines(stderr)
    # What is written to stderr is rarely long, and explains most: it has half of the room, or what is over.
    room = min(len(err), max(most // 2, most - len(out)))
    told = [cut(out, most - room)]
    if err:
        told.append(f"[stderr]\n{cut(err, room)}")
    if ended_after is not None:
        told.append(f"[it was ended after {ended_after} seconds]")
    told.append(f"[exit code {code}]")
    return "\n".join(each.rstrip("\n") for each in told if each.strip())


def _lines(text: str) -> str:
    # Engines that give commands a terminal end lines with a carriage return.
    return text.replace("\r\n", "\n")


def left_over(*, steps: int, share: float) -> str:
    """A note of what is left, where it is little; empty where it is not.

    Args:
        steps: Replies that are left.
        share: Of the tokens or the money, what is used, from 0 to 1.
    """
    if steps <= 3:
        replies = "1 reply is" if steps == 1 else f"{steps} replies are"
        return f"\n[{replies} left: write the answer file now]"
    if share >= 0.8:
        return "\n[little of your budget is left: write the answer file now]"
    return ""


def whole(value: Any) -> Any:
    """The same plain data without half characters (lone surrogates), which no request can carry."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {whole(name): whole(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [whole(each) for each in value]
    return value


class Redactor:
    """Takes a key out of everything that is kept."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def __call__(self, value: Any) -> Any:
        """The same plain data, with the key replaced in every text, and in names too."""
        if self._key is None:
            return value
        if isinstance(value, str):
            return value.replace(self._key, "[key]")
        if isinstance(value, Mapping):
            return {self(name): self(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self(each) for each in value]
        return value
