"""Real-world failures from public trackers, each through the real command line.

The inputs are small folders (`../shared/cases`); the tests skip where they are not. The tests of each case's
*kind*, on inputs of their own, stand in `tests/medotter_bench`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CASES = [
    "IM-01", "IM-03", "IM-06", "IM-11", "IM-12", "IM-14", "IM-15", "IM-16", "IM-17", "IM-19", "IM-21",
    "IM-23", "IM-24", "IM-25", "IM-26", "IM-28", "IM-34", "IM-35", "IM-36", "IM-41", "RN-11",
]  # fmt: skip


def run(folder: Path, *more: str) -> tuple[int, dict[str, Any] | None, str]:
    """Exit code, results document if there is one, and everything that was said."""
    command = [sys.executable, "-m", "medotter_bench", "score", str(folder / "bundle"), str(folder / "pred")]
    command += ["--data-root", str(folder / "data"), "--json", "--jobs", "1", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def told(document: dict[str, Any] | None, stderr: str) -> str:
    """The error, and the reasons of cases that count as invalid."""
    reasons = [f"{e['case_id']} {e['code']} {e['what']}" for e in (document or {}).get("invalid", [])]
    return "\n".join([stderr, *reasons])


def numbers(value: Any) -> list[float]:
    """Every number in a part of a results document."""
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers(item)]
    if isinstance(value, list):
        return [n for item in value for n in numbers(item)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


@pytest.mark.parametrize("name", CASES)
def test_the_case_comes_out_right(name: str, shared: Path) -> None:
    folder = shared / "cases" / name
    expect = json.loads((folder / "expected.json").read_text())["expect"]
    code, document, stderr = run(folder)
    options = expect.get("options", [expect])
    problems = [problem_of(option, code, document, stderr, name) for option in options]
    assert None in problems, problems


def problem_of(expect: dict[str, Any], code: int, document: Any, stderr: str, name: str) -> str | None:
    """What keeps an outcome from being the expected one; None if nothing does."""
    if expect["type"] == "error":
        return error_problem(expect, code, document, stderr, name)
    return value_problem(expect, code, document)


def error_problem(expect: dict[str, Any], code: int, document: Any, stderr: str, name: str) -> str | None:
    text = told(document, stderr)
    wanted = [*expect.get("must_mention", []), expect.get("field", ""), expect.get("case", "")]
    wanted.append(Path(expect["file"]).name if "file" in expect else "")
    lacking = [word for word in wanted if word.lower() not in text.lower()]
    if lacking:
        return f"not mentioned: {lacking} in {text!r}"
    if expect.get("file", "").startswith("pred/"):
        # A fault of one prediction: the case is invalid and takes the penalty.
        if code != 0 or not document or not document["invalid"]:
            return f"exit {code}, not an invalid case"
        row = next(r for r in document["cases"] if r["case_id"] == expect["case"])
        outcomes = {cell["outcome"] for cell in row["regions"]["lesion" if name != "IM-26" else "ET"].values()
                    if isinstance(cell, dict)}  # fmt: skip
        return None if outcomes == {"penalty:missing"} else f"outcomes {outcomes}"
    return None if code == 2 and document is None else f"exit {code} with {document}"


def value_problem(expect: dict[str, Any], code: int, document: Any) -> str | None:
    if code != 0 or document is None:
        return f"exit {code}"
    wrong = [text for text, found, wanted in comparisons(expect, document) if not close(found, wanted)]
    return "; ".join(wrong) or None


def close(found: float | None, wanted: float) -> bool:
    return found is not None and abs(found - wanted) <= 1e-6


def comparisons(expect: dict[str, Any], document: Any) -> list[tuple[str, float | None, float]]:
    """(what, found, expected) for every number that a case states."""
    rows = {row["case_id"]: row for row in document["cases"]}
    regions = document["aggregates"]["regions"]
    region = expect.get("region") or next(iter(regions))
    metric = expect.get("metric", "dice")
    found: list[tuple[str, float | None, float]] = []
    for case_id, wanted in expect.get("per_case", {}).items():
        found.append((f"{case_id} {metric}", rows[case_id]["regions"][region][metric]["value"], wanted))
    if "case" in expect and "value" in expect:
        found.append(("value", rows[expect["case"]]["regions"][region][metric]["value"], expect["value"]))
    for name, wanted in expect.get("per_region", {}).items():
        found.append((f"{name} {metric}", regions[name][metric]["value"], wanted))
    for name in ("f1", "pq", "aji"):
        if name in expect:
            found.append((name, rows[expect["case"]]["regions"][region][name]["value"], expect[name]))
    if "macro_avg" in expect:
        found.append(("macro", document["aggregates"]["macro_avg"][metric]["value"], expect["macro_avg"]))
    if "mean" in expect:
        found.append(("mean", regions[region][metric]["value"], expect["mean"]))
    for name in ("dice", "hd95"):
        if f"mean_{name}" in expect:
            found.append((name, regions[region][name]["value"], expect[f"mean_{name}"]))
    if "n_cases" in expect:
        found.append(("n", regions[region]["dice"]["n"], expect["n_cases"]))
    assert found, "the case states no number that this harness knows"
    return found


def test_im_16_an_unreadable_prediction_stays_in_the_mean(shared: Path) -> None:
    code, document, _ = run(shared / "cases" / "IM-16")
    assert code == 0
    assert document is not None
    assert document["aggregates"]["regions"]["lesion"]["dice"]["value"] == 0.5
    assert document["invalid"][0]["case_id"] == "DS_A/0002"


def test_rn_11_files_that_look_like_scores_are_listed_and_read_by_nobody(shared: Path) -> None:
    _, document, _ = run(shared / "cases" / "RN-11")
    assert document is not None
    assert document["extra"] == ["DS_A/0001_seg.nii.gz", "metrics.csv", "scores.json"]


def test_rn_23_labels_on_the_command_line_are_refused(shared: Path) -> None:
    folder = shared / "cases" / "RN-23"
    code, document, stderr = run(folder, "--labels", "1", "2", "3", "4")
    assert (code, document) == (2, None)
    assert "labels" in stderr
    assert "eval_spec" in stderr
    code, document, _ = run(folder)
    assert code == 0
    assert document is not None
    assert close(document["aggregates"]["regions"]["lesion"]["dice"]["value"], 2 / 3)
    assert list(document["aggregates"]["regions"]) == ["lesion"]


@pytest.mark.parametrize("name", CASES)
def test_bundle_check_ends_with_a_verdict_on_every_case(name: str, shared: Path) -> None:
    """`bundle check` looks at the same folders: exit 0 or 1, never a traceback."""
    folder = shared / "cases" / name
    command = [sys.executable, "-m", "medotter_bench", "bundle", "check", str(folder / "bundle")]
    command += ["--data-root", str(folder / "data"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
