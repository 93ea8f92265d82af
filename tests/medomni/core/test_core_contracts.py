"""Contracts: every problem at once, with a stable code, its place, and a message for people."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core.contracts import FAULTS, kinds, load, schema, validate
from medomni.core.errors import ContractError, DocumentError, DocumentNotFoundError, MedomniError
from medomni.core.files import parse_json, parse_yaml
from medomni.core.issues import Issue, IssuesError

FILES = Path(__file__).parents[2] / "contracts"
VALID = sorted(FILES.glob("*/valid/*"))
INVALID = sorted(FILES.glob("*/invalid/*"))


def kind_of(path: Path) -> str:
    return path.parents[1].name


def name_of(path: Path) -> str:
    return f"{kind_of(path)}/{path.name}"


def manifest(**changes):
    case = {"dataset": "DS", "split": "test", "image": "i.png", "seg": "s.png"} | changes
    case = {key: value for key, value in case.items() if value is not ...}
    return {"task": "t", "version": "1", "hash": "h", "train": [], "test": ["a"], "per_case": {"a": case}}


def codes(issues: list[Issue]) -> list[str]:
    return [issue.code for issue in issues]


@pytest.mark.parametrize("path", VALID, ids=name_of)
def test_valid_files_fulfil_their_contract(path):
    assert load(kind_of(path), path) is not None
    assert validate(kind_of(path), load(kind_of(path), path)) == []


@pytest.mark.parametrize("path", INVALID, ids=name_of)
def test_invalid_files_fail_with_the_code_in_their_name(path):
    with pytest.raises(MedomniError) as caught:
        load(kind_of(path), path)
    found = codes(caught.value.issues) if isinstance(caught.value, IssuesError) else [caught.value.code]
    assert set(found) == {path.name.split("__")[0].removesuffix(path.suffix)}
    for line in str(caught.value).splitlines():
        assert "nan" not in line.lower() or "not-finite" in path.name
    assert path.name in str(caught.value)


def test_every_kind_has_files_of_both_sorts():
    for kind in kinds():
        assert [path for path in VALID if kind_of(path) == kind]
        assert [path for path in INVALID if kind_of(path) == kind]


def subschemas(node, path=()):
    if isinstance(node, dict):
        yield path, node
        for key, inner in node.items():
            yield from subschemas(inner, (*path, key))
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from subschemas(inner, (*path, index))


@pytest.mark.parametrize("kind", kinds())
def test_schemas_are_sound_and_described(kind):
    rules = schema(kind)
    jsonschema.Draft202012Validator.check_schema(rules)
    assert rules["$id"] == f"urn:medomni:contract:{kind}:1"
    assert rules["title"]
    assert rules["description"]
    for path, node in subschemas(rules):
        # What stands under `if` is a condition and no field.
        if path and path[-1] in ("properties", "$defs") and "if" not in path:
            for name, inner in node.items():
                assert inner.get("description"), f"{kind}: {path} {name} has no description"


@pytest.mark.parametrize("kind", kinds())
def test_schemas_use_only_what_the_validator_explains(kind):
    rules = schema(kind)
    for path, node in subschemas(rules):
        if path and path[-1] in ("properties", "$defs"):
            continue
        assert "patternProperties" not in node
        for choice in node.get("oneOf", []):
            assert list(choice) == ["required"]
            assert len(choice["required"]) == 1
        if "$ref" in node:
            target = rules["$defs"][node["$ref"].removeprefix("#/$defs/")]
            assert set(target) & set(node) <= {"description", "$ref"}


def test_the_schema_is_a_copy_and_unknown_kinds_are_refused(tmp_path):
    schema("results")["title"] = "changed"
    assert schema("results")["title"] != "changed"
    for call in (
        lambda: schema("nothing"),
        lambda: validate("nothing", {}),
        lambda: load("nothing", tmp_path / "x"),
    ):
        with pytest.raises(ContractError) as caught:
            call()
        assert "eval-spec" in caught.value.hint


def test_each_missing_key_is_one_issue_and_all_are_reported_together():
    issues = validate("bundle-manifest", {})
    assert codes(issues) == ["bundle-manifest-required"] * 6
    assert [issue.what for issue in issues] == [
        f"{key} is missing" for key in ("hash", "per_case", "task", "test", "train", "version")
    ]


def test_issues_name_file_line_and_path():
    text = "eval_regions: {a: [1]}\nmetrics: [hd95]\nhd95:\n  percentile: 0.95\n"
    (issue,) = validate("eval-spec", parse_yaml(text, name="bundle/eval_spec.yaml"))
    assert issue.where == "bundle/eval_spec.yaml:4, hd95.percentile"
    assert issue.code == "eval-spec-minimum"
    assert "hd95.percentile" in issue.what
    assert "0.95" in issue.what
    assert "from 1 to 100" in issue.what


def test_issues_of_plain_data_name_the_path_alone():
    assert validate("eval-spec", {})[0].where == "the document itself"
    document = {"metrics": ["dice"], "eval_regions": {"a": [0]}}
    assert validate("eval-spec", document)[0].where == "eval_regions.a[0]"


def test_issues_are_sorted_by_path_with_list_indexes_as_numbers():
    document = {"eval_regions": {"b": [0] + [1.5] * 10, "a": 1}, "metrics": []}
    where = [issue.where for issue in validate("eval-spec", document)]
    listed = [path for path in where if path.startswith("eval_regions.b[")]
    assert listed == [f"eval_regions.b[{index}]" for index in range(11)]
    assert where[0] == "eval_regions.a"
    assert where[-1] == "metrics"


def test_an_integer_key_of_a_label_map_keeps_its_line_and_place():
    text = "label_remap:\n  DS_A:\n    1: 1\n    2: -2\n    '3': x\n"
    issues = validate("bundle-task", parse_yaml(text, name="task.yaml"))
    assert [issue.where for issue in issues][-2:] == [
        "task.yaml:4, label_remap.DS_A.2",
        "task.yaml:5, label_remap.DS_A.3",
    ]


def test_validation_changes_no_document():
    document = {"label_remap": {"A": {1: 2}}, "x": [{3: (1, 2.5)}]}
    before = repr(document)
    validate("bundle-task", document)
    assert repr(document) == before


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", ["iou_threshold", "metrics", "free"])
def test_what_is_not_finite_never_passes_wherever_it_stands(value, place):
    issues = validate("eval-spec", {"metrics": ["dice"], "eval_regions": {"a": [1]}, place: value})
    assert codes(issues) == ["eval-spec-not-finite"]
    assert issues[0].where == place
    assert str(value) in issues[0].what


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_a_boolean_a_float_and_text_are_no_integers(value):
    issues = validate("eval-spec", {"metrics": ["dice"], "eval_regions": {"a": [value]}})
    assert codes(issues) == ["eval-spec-type"]


def test_an_integer_patient_is_told_to_be_quoted():
    (issue,) = validate("bundle-manifest", manifest(patient_uid=17))
    assert issue.where == "per_case.a.patient_uid"
    assert "quotes" in issue.hint
    assert '"17"' in issue.hint
    assert validate("bundle-manifest", manifest(patient_uid=None, series_uid=None)) == []


def test_exactly_one_of_image_and_chan_is_demanded():
    (issue,) = validate("bundle-manifest", manifest(chan={"t1": "x"}))
    assert "both are there" in issue.what
    assert codes(validate("bundle-manifest", manifest() | {"per_case": {"a": 1}})) == ["bundle-manifest-type"]
    (issue,) = validate("bundle-manifest", manifest(image=...))
    assert "none is there" in issue.what


def test_equal_numbers_of_two_types_are_found_twice():
    issues = validate("eval-spec", {"metrics": ["dice"], "eval_regions": {"a": [1, 1.0]}})
    assert "eval-spec-unique" in codes(issues)
    assert next(issue for issue in issues if issue.code == "eval-spec-unique").what.endswith(
        "holds 1 more than once"
    )


def test_a_document_nested_too_deep_is_an_issue():
    deep: list = []
    for _ in range(300):
        deep = [deep]
    assert codes(validate("eval-spec", {"metrics": ["dice"], "eval_regions": deep})) == ["eval-spec-depth"]
    circle: dict = {}
    circle["again"] = circle
    assert codes(validate("results", circle)) == ["results-depth"]


def test_keys_that_are_no_text_are_issues_wherever_they_stand():
    issues = validate("eval-spec", {"metrics": ["dice"], "eval_regions": {"a": [1]}, "free": {1: 2, None: 3}})
    assert codes(issues) == ["eval-spec-key", "eval-spec-key"]
    assert [issue.where for issue in issues] == ["free.1", "free.None"]


def test_loading_tells_all_problems_and_picks_the_reader_by_suffix(tmp_path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(manifest(split="tset", patient_uid=1)))
    with pytest.raises(IssuesError) as caught:
        load("bundle-manifest", path)
    assert codes(caught.value.issues) == ["bundle-manifest-type", "bundle-manifest-enum"]
    assert f"{path}:1, per_case.a.split" in str(caught.value)
    path = tmp_path / "m.yaml"
    path.write_text("task: t\n")
    with pytest.raises(IssuesError):
        load("bundle-manifest", path)
    with pytest.raises(DocumentNotFoundError):
        load("bundle-manifest", tmp_path / "gone.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DocumentError):
        load("bundle-manifest", tmp_path / "bad.json")


def test_long_values_are_cut_in_messages():
    (issue,) = validate("bundle-manifest", manifest(split="x" * 5000))
    assert len(issue.what) < 200


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=3) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 2), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = {
    kind: sorted(
        {
            name
            for path, node in subschemas(schema(kind))
            if path and path[-1] == "properties"
            for name in node
        }
    )
    for kind in kinds()
}


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(kinds()))
def test_anything_is_judged_with_known_codes_and_printable_issues(data, kind):
    keyed = st.dictionaries(st.sampled_from(NAMES[kind]), JUNK, max_size=4)
    document = data.draw(st.dictionaries(st.sampled_from(NAMES[kind]), JUNK | keyed, max_size=5) | JUNK)
    known = {f"{kind}-{fault}" for fault in FAULTS}
    for issue in validate(kind, document):
        assert issue.code in known
        assert issue.where
        assert str(issue).encode()


@settings(max_examples=100, deadline=None)
@given(
    st.fixed_dictionaries(
        {"dataset": st.text(max_size=1) | st.integers(), "split": st.sampled_from(["test", "x", 1])},
        optional={
            "tier": st.text(max_size=1) | st.none(),
            "patient_uid": st.text(max_size=1) | st.none() | st.integers(),
            "image": st.text(max_size=1),
            "chan": st.dictionaries(st.text(max_size=1), st.text(max_size=1) | st.none(), max_size=2),
            "seg": st.text(max_size=1) | st.booleans(),
            "remap": st.dictionaries(st.sampled_from(["1", "01", "-4", "x"]), st.integers(-1, 2), max_size=2),
        },
    )
)
def test_the_quick_way_through_a_manifest_judges_as_the_plain_validator_does(case):
    document = manifest() | {"per_case": {"a": case}}
    plain = jsonschema.Draft202012Validator(schema("bundle-manifest"))
    assert (validate("bundle-manifest", document) == []) == plain.is_valid(document)


def test_every_code_is_shown_by_some_file_or_test():
    shown = {path.name.split("__")[0] for path in INVALID}
    faults = {
        name.removeprefix(f"{kind}-") for name in shown for kind in kinds() if name.startswith(f"{kind}-")
    }
    # Files cannot show these: readers refuse NaN and deep nesting, and names depend on where a file lies.
    assert set(FAULTS) - faults == {"depth", "name", "not-finite"}


def test_the_readers_lines_and_the_schemas_messages_meet_in_json():
    text = json.dumps(manifest(split="x"), indent=1)
    (issue,) = validate("bundle-manifest", parse_json(text, name="m.json"))
    line = int(re.match(r"m\.json:(\d+), per_case\.a\.split", issue.where)[1])
    assert '"split"' in text.splitlines()[line - 1]
