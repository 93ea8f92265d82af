"""What the agent reads: question, prediction time, record, targets, and where the answer goes.

The order is fixed: everything an agent is told stands in one of these parts.

Leaves to others: which rows the record shows (`record`), and what a target is (`content`).
"""

from __future__ import annotations

from medomni.studio.content.model import BuiltPair, BuiltTarget
from medomni.studio.perception.settings import PORT
from medomni.studio.record.markdown import markdown
from medomni.studio.record.model import Record

URL = f"http://127.0.0.1:{PORT}"
_HOUR_ZERO = """\
## Prediction time

{paragraph}

That moment is hour 0. Every time in the record counts from it: columns that end in `_h` in hours, columns
that end in `_d` in days from its date; what is negative lies in the past. There are no calendar dates.
"""
_SERVICE = f"""
A perception service on this machine turns a file below `/data` into numbers and words. `GET {URL}/encoders`
lists its encoders, `GET {URL}/openapi.json` describes it. This asks for an encoding:

```python
import json, urllib.request
request = json.dumps({{"encoder": "trends", "path": "record/<table>.csv"}}).encode()
print(urllib.request.urlopen("{URL}/encode", request).read().decode())
```
"""


def instruction(built: BuiltPair, record: Record, *, perception: bool) -> str:
    """The text of `instruction.md`.

    Args:
        built: The pair.
        record: What is shown of the evidence; of a rung, its own.
        perception: Whether the service is attached.
    """
    template = built.template
    return "".join(
        (
            f"{template.statement.strip()}\n\n",
            _HOUR_ZERO.format(paragraph=template.instruction.strip()),
            f"\n## Record\n\n{markdown(record)}",
            _SERVICE if perception else "",
            f"\n## Questions\n{''.join(_question(target) for target in built.targets)}",
            _answer(built),
        )
    )


def _question(target: BuiltTarget) -> str:
    return f"\n### `{target.name}`\n\n{target.question.strip()}\n\n{_domain(target)}\n"


def _domain(target: BuiltTarget) -> str:
    if target.kind == "binary":
        return "Answer with a probability: a number from 0 to 1."
    if target.kind == "ordinal":
        classes = "\n".join(f"- {number} = {name}" for number, name in enumerate(target.classes))
        return f"Answer with a whole number, one of these classes:\n\n{classes}"
    low, high = target.range or ("", "")
    return f"Answer with a number from {low} to {high}, in this unit: {target.unit}."


def _answer(built: BuiltPair) -> str:
    fields = ", ".join(f'"{target.name}": {_blank(target)}' for target in built.targets)
    path, keys = built.template.submission_path, "key" if len(built.targets) == 1 else "keys"
    return (
        f"\n## Answer\n\nWrite `{path}`: one JSON object in UTF-8 with exactly the {keys} below, each with a"
        f" number in place of the words.\n\n```text\n{{{fields}}}\n```\n"
    )


def _blank(target: BuiltTarget) -> str:
    if target.kind == "binary":
        return "<probability from 0 to 1>"
    if target.kind == "ordinal":
        return f"<whole number from 0 to {len(target.classes) - 1}>"
    low, high = target.range or ("", "")
    return f"<number from {low} to {high}>"
