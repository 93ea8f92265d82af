"""What contracts demand beyond their schemas, and codes that no file can show."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core.contracts import kinds, load, schema, validate
from medomni.core.errors import DocumentError, MedomniError
from medomni.core.files import parse_yaml
from medomni.core.issues import Issue, IssuesError
from medomni.core.names import IMPORTED_SETS

FILES = Path(__file__).parents[2] / "contracts"
# Not-finite and depth come before any schema: every kind has both codes.
EVERY_KIND = [
    "answers-not-finite", "benchmark-not-finite", "build-manifest-not-finite", "built-task-not-finite",
    "run-plan-not-finite", "comparison-record-not-finite", "release-lock-not-finite", "run-record-not-finite",
    "score-record-not-finite", "task-set-not-finite", "withdrawn-not-finite",
    "answers-depth", "benchmark-depth", "build-manifest-depth", "built-task-depth", "run-plan-depth",
    "comparison-record-depth", "release-lock-depth", "run-record-depth", "score-record-depth",
    "task-set-depth", "withdrawn-depth",
    "keyring-depth", "keyring-key", "keyring-not-finite",
    "suite-record-depth", "suite-record-key", "suite-record-not-finite",
    "answers-key", "benchmark-key", "run-plan-key", "task-set-key", "withdrawn-key",
]  # fmt: skip


def codes(issues: list[Issue]) -> list[str]:
    return [issue.code for issue in issues]


def valid(kind: str) -> Any:
    return copy.deepcopy(load(kind, sorted((FILES / kind / "valid").iterdir())[-1]))


def task_set(**changes: Any) -> dict[str, Any]:
    entry = {"task": "a_b@n20", "version": 1}
    return {"name": "v1", "builder": "medomni-v1", "arms": ["encoders"], "tasks": [entry], **changes}


def entries(*rows: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"task": task, "version": version} for task, version in rows]


@pytest.mark.parametrize("code", EVERY_KIND)
def test_numbers_that_are_not_finite_deep_nests_and_keys_that_are_no_text_never_pass(code: str) -> None:
    kind = next(kind for kind in kinds() if code.startswith(f"{kind}-"))
    nested: Any = 1
    for _ in range(200):
        nested = {"a": nested}
    wrong = {"depth": {"x": nested}, "key": {1: "x"}, "not-finite": {"x": float("nan")}}
    assert code in codes(validate(kind, wrong[code.removeprefix(f"{kind}-")]))


@pytest.mark.parametrize("version", [True, False, 1.0, "1", None, [1]])
def test_a_version_that_is_no_integer_is_named_by_its_path(version: Any) -> None:
    """MO-149; EH-31, its kind: one rule, the same everywhere."""
    (issue,) = validate("task-set", task_set(tasks=entries(("a_b@n20", version))))
    assert (issue.code, issue.where) == ("task-set-type", "tasks[0].version")


@pytest.mark.parametrize("text", [".nan", ".inf", "-.inf", "NaN"])
def test_a_version_that_is_no_number_is_refused_in_yaml(text: str, tmp_path: Path) -> None:
    """MO-149."""
    path = tmp_path / "v1.yaml"
    path.write_text(yaml.safe_dump(task_set(tasks=entries(("a_b@n20", "XXX")))).replace("XXX", text))
    with pytest.raises(MedomniError) as caught:
        load("task-set", path)
    assert "tasks[0].version" in str(caught.value)


def test_all_problems_of_schema_and_rules_are_told_at_once_with_their_lines() -> None:
    text = """
name: v1
builder: medomni-v0
arms: []
tasks:
  - {task: "a_b@n20", version: 1.0}
  - {task: "a_b:full@n20", version: 0}
  - {task: "a_b:full@n20", version: 2, note: x}
  - {task: "a_b"}
"""
    found = validate("task-set", parse_yaml(text, name="s.yaml"))
    assert sorted((issue.where, issue.code) for issue in found) == [
        ("s.yaml:3, builder", "task-set-conflict"),
        ("s.yaml:4, arms", "task-set-size"),
        ("s.yaml:6, tasks[0].version", "task-set-type"),
        ("s.yaml:7, tasks[1].task", "task-set-pair"),
        ("s.yaml:7, tasks[1].version", "task-set-conflict"),
        ("s.yaml:8, tasks[2].note", "task-set-unknown"),
        ("s.yaml:8, tasks[2].task", "task-set-pair"),
        ("s.yaml:8, tasks[2].task", "task-set-unique"),
        ("s.yaml:9, tasks[3]", "task-set-required"),
        ("s.yaml:9, tasks[3].task", "task-set-pattern"),
    ]
    assert any("builds only 'default'" in issue.what for issue in found)


@pytest.mark.parametrize("name", IMPORTED_SETS)
def test_version_0_belongs_to_the_imported_sets_alone(name: str) -> None:
    """MO-150."""
    imported = task_set(name=name, builder="medomni-v0", tasks=entries(("a_b@n20", 0)))
    assert validate("task-set", imported) == []
    assert codes(validate("task-set", {**imported, "name": "v0.2-other"})) == ["task-set-conflict"] * 2
    assert codes(validate("task-set", task_set(name=name))) == ["task-set-conflict"] * 2


def test_a_new_n_of_a_pair_needs_a_new_set() -> None:
    """MO-141."""
    issues = validate("task-set", task_set(tasks=entries(("a_b@n20", 1), ("a_b@n20", 2))))
    assert codes(issues) == ["task-set-unique"]
    assert issues[0].where == "tasks[1].task"


def test_an_entry_pins_a_pair_and_its_version_and_nothing_else() -> None:
    """MO-139."""
    more = {"task": "a_b@n20", "version": 1, "weight": 2}
    assert codes(validate("task-set", task_set(tasks=[more]))) == ["task-set-unknown"]


def test_a_file_at_its_place_must_be_called_as_it_says(tmp_path: Path) -> None:
    """MO-134, MO-144: benchmark-name, task-set-name."""
    folder = tmp_path / "bench" / "benchmarks" / "my-bench"
    (folder / "sets").mkdir(parents=True)
    for kind, source, path in (
        ("benchmark", "card.yaml", folder / "benchmark.yaml"),
        ("task-set", "two_pairs.yaml", folder / "sets" / "v1.yaml"),
    ):
        shutil.copy(FILES / kind / "valid" / source, path)
        load(kind, path)
        path.write_text(path.read_text().replace("name: ", "name: other-"))
        with pytest.raises(IssuesError) as caught:
            load(kind, path)
        assert codes(caught.value.issues) == [f"{kind}-name"]
        assert f"{path}:1, name" in str(caught.value)
        shutil.copy(path, tmp_path / "draft.yaml")
        load(kind, tmp_path / "draft.yaml")


def test_names_are_compared_from_inside_their_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sets").mkdir()
    shutil.copy(FILES / "task-set" / "valid" / "two_pairs.yaml", tmp_path / "sets" / "v2.yaml")
    monkeypatch.chdir(tmp_path / "sets")
    with pytest.raises(IssuesError, match="called v2"):
        load("task-set", "v2.yaml")


def test_the_version_of_a_benchmark_stays_text() -> None:
    """MO-135, MO-151."""
    card = {"name": "b", "version": "1.0", "owner": "o", "license": "l", "accepts": ["agent"]}
    assert validate("benchmark", card) == []
    (issue,) = validate("benchmark", {**card, "version": 1.0})
    assert issue.code == "benchmark-type"
    assert 'quotes if it is text: "1.0"' in issue.hint


def test_the_projects_own_benchmark_is_as_it_is_fixed(repository: Path) -> None:
    """MO-151."""
    card = load("benchmark", repository / "bench" / "benchmarks" / "medomni-bench" / "benchmark.yaml")
    assert card == {
        "name": "medomni-bench",
        "version": "1.0",
        "owner": "MedOmni team",
        "license": "CC-BY-4.0",
        "accepts": ["agent"],
    }


def test_columns_of_answers_that_are_missing_or_no_text_are_told(tmp_path: Path) -> None:
    """answers-required, answers-type, answers-unknown."""
    table = valid("answers")
    assert codes(validate("answers", {"rows": table["rows"]})) == ["answers-required"]
    assert codes(validate("answers", {**table, "note": 1})) == ["answers-unknown"]
    table["rows"][0]["patient"] = 7
    assert codes(validate("answers", table)) == ["answers-type"]
    path = tmp_path / "answers.csv"
    path.write_text("atom,stratum,stage,died\na_b.n20.0123456789,0,1,true\n")
    with pytest.raises(IssuesError) as caught:
        load("answers", path)
    assert {"answers-required", "answers-enum"} <= set(codes(caught.value.issues))
    assert f"{path}:2, rows[0]" in str(caught.value)


def test_a_trailing_line_feed_is_no_part_of_a_name() -> None:
    """Python's `$` also stands before a last line feed; a contract's must not."""
    issues = validate("task-set", task_set(name="v1\n", tasks=entries(("a_b@n20\n", 1))))
    assert codes(issues) == ["task-set-pattern"] * 2
    assert codes(validate("task-set", task_set(description="One.\n"))) == ["task-set-pattern"]


def test_a_wrong_key_is_told_with_what_it_should_be() -> None:
    record = valid("score-record")
    record["targets"] = {"A B": record["targets"]["stage"]}
    (issue,) = validate("score-record", record)
    assert issue.code == "score-record-key"
    assert "lower-case" in issue.hint


def test_old_hashes_and_version_0_belong_together_in_every_record() -> None:
    """MO-121."""
    for kind in ("run-record", "score-record", "comparison-record"):
        record = valid(kind)
        assert validate(kind, record) == []
        sides = [record["a"], record["b"]] if kind == "comparison-record" else [record]
        for side in sides:
            side["config_hash"] = "v0.2:123"
        assert codes(validate(kind, record)) == [f"{kind}-conflict"] * len(sides)


def test_a_newer_form_is_refused_by_name() -> None:
    named = [kind for kind in kinds() if "schema" in schema(kind)["properties"]]
    assert len(named) >= 7
    for kind in named:
        document = valid(kind)
        document["schema"] = document["schema"].replace("/1", "/2")
        (issue,) = validate(kind, document)
        assert issue.code == f"{kind}-enum"
        assert "allowed: med" in issue.what


ODD = st.sampled_from(["", "a_b@n20", "a_b:x@n20", "#", "../x"])
PLAIN = st.none() | st.booleans() | st.integers(-1, 2) | st.floats() | ODD
NESTED = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.text(max_size=2), PLAIN, max_size=2)
JUNK = NESTED | st.lists(NESTED, max_size=2) | st.dictionaries(st.text(max_size=2), NESTED, max_size=2)


@settings(max_examples=250)
@given(st.data())
def test_no_damage_to_a_document_breaks_the_check(data: st.DataObject) -> None:
    kind = data.draw(
        st.sampled_from(sorted(set(kinds()) - {"bundle-manifest", "bundle-task", "eval-spec", "results"}))
    )
    document = valid(kind)
    parent, steps = document, []
    while isinstance(parent, dict | list) and parent and (not steps or data.draw(st.booleans())):
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        steps.append((parent, data.draw(st.sampled_from(keys))))
        parent = parent[steps[-1][1]]
    holder, key = steps[-1]
    if data.draw(st.booleans()):
        holder[key] = data.draw(JUNK)
    else:
        del holder[key]
    for issue in validate(kind, document):
        assert issue.code.startswith(kind)
        assert str(issue)


def test_a_document_that_is_no_mapping_is_told_as_that() -> None:
    for kind in kinds():
        assert codes(validate(kind, ["x"])) == [f"{kind}-type"]


def test_nan_in_json_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"name": "v1",\n "tasks": [{"task": "x@n20", "version": NaN}]}')
    with pytest.raises(DocumentError) as caught:
        load("task-set", path)
    assert caught.value.code == "document-not-finite"
    assert caught.value.where == f"{path}:2, tasks[0].version"
