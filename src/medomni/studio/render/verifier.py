"""`tests/`: whether an answer is well-formed. Nothing there knows a right answer, and nothing scores.

Leaves to others: the check itself (`format_check`, which is copied as it is), scoring (Bench).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medomni.core.files import json_text
from medomni.studio.content.model import BuiltPair, BuiltTarget

_TEST = """\
#!/bin/bash
# Says whether the answer is well-formed; it never scores. The reward is {"format_ok": 0} or {"format_ok": 1}.
cd "$(dirname "$0")" || exit 1
mkdir -p /logs/verifier
echo '{"format_ok": 0}' > /logs/verifier/reward.json
exec python3 -I format_check.py /logs/verifier/reward.json
"""


def verifier_files(built: BuiltPair) -> dict[str, str]:
    """The files of `tests/` by their path in the atom task.

    Args:
        built: The pair; its targets say what an answer looks like.
    """
    form = {"path": built.template.submission_path, "targets": [_form(each) for each in built.targets]}
    source = Path(__file__).with_name("format_check.py").read_text(encoding="utf-8")
    return {
        "tests/expected.json": json_text([target.name for target in built.targets]),
        "tests/form.json": json_text(form),
        "tests/format_check.py": source,
        "tests/test.sh": _TEST,
    }


def _form(target: BuiltTarget) -> dict[str, Any]:
    if target.kind == "binary":
        return {"name": target.name, "kind": "probability"}
    if target.kind == "ordinal":
        return {"name": target.name, "kind": "class", "classes": len(target.classes)}
    low, high = target.range or ("0", "0")
    return {"name": target.name, "kind": "number", "range": [float(low), float(high)]}
