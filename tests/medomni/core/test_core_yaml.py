"""Strict YAML: the value of `yaml.safe_load` where it is accepted, an error with its place otherwise."""

from __future__ import annotations

import contextlib
import datetime
import math
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core import _yaml_nodes
from medomni.core.errors import DocumentError, DocumentNotFoundError
from medomni.core.files import Document, parse_yaml, read_yaml

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.dates()
)
KEYS = st.text(max_size=8) | st.integers(-99, 99) | st.booleans() | st.dates()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def parse(text: str | bytes) -> Any:
    return parse_yaml(text, name="bundle/task.yaml").value


def refusal(text: str | bytes, **limits: int) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        parse_yaml(text, name="bundle/task.yaml", **limits)
    return caught.value


@settings(max_examples=150, deadline=None)
@given(VALUES, st.booleans() | st.none(), st.booleans())
def test_every_dumped_document_reads_as_safe_load_reads_it(value, flow, unicode):
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=unicode)
    assert same(parse(text), yaml.safe_load(text))


@settings(max_examples=80, deadline=None)
@given(VALUES, VALUES)
def test_shared_values_written_as_aliases_read_as_safe_load_reads_them(first, second):
    shared = [first]
    text = yaml.safe_dump({"a": shared, "b": [shared, second], "c": {"d": shared}})
    assert same(parse(text), yaml.safe_load(text))


def flow(mapping: dict[str, int], merged: str | None = None) -> str:
    entries = [f"<<: {merged}"] if merged else []
    return "{" + ", ".join([*entries, *(f"{key}: {value}" for key, value in mapping.items())]) + "}"


NAMES = st.sampled_from(["x", "yy", "zz", "w"])


@settings(max_examples=100, deadline=None)
@given(
    *[st.dictionaries(NAMES, st.integers(0, 3), max_size=3)] * 3, st.sampled_from(["*a", "*b", "[*a, *b]"])
)
def test_merge_keys_read_as_safe_load_reads_them_or_are_refused(first, second, own, sources):
    text = f"a: &a {flow(first)}\nb: &b {flow(second, '*a')}\nc: {flow(own, sources)}\n"
    try:
        value = parse(text)
    except DocumentError as error:
        assert error.code == "document-duplicate-key"
        return
    assert same(value, yaml.safe_load(text))
    merged = {"*a": first, "*b": first | second, "[*a, *b]": first | second | first}[sources]
    assert value["c"] == merged | own


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="ab:-[]{},&*!<=|>?#%@'\"\\\n\t 01._~/NoYx", max_size=24) | st.text(max_size=10))
def test_any_text_reads_as_safe_load_reads_it_or_is_refused(text):
    try:
        value = parse(text)
    except DocumentError:
        return
    assert same(value, yaml.safe_load(text))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=30))
def test_any_bytes_are_read_or_refused_with_a_typed_error(data):
    with contextlib.suppress(DocumentError):
        parse(data)


def same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def test_a_duplicate_key_names_file_line_path_and_the_first_line():
    error = refusal("label_remap:\n  DS_A:\n    1: 1\n    2: 2\n    2: 0\n")
    assert error.code == "document-duplicate-key"
    assert error.where == "bundle/task.yaml:5, label_remap.DS_A.2"
    assert "duplicate key label_remap.DS_A.2" in error.what
    assert "line 4" in error.what


@pytest.mark.parametrize(
    "keys", ["1, 0x1", "1, 1.0", "1, true", "a, 'a'", "null, ~", "2024-01-01, 2024-01-01"]
)
def test_keys_that_become_equal_are_duplicates(keys):
    first, second = keys.split(", ")
    error = refusal(f"{{{first}: a, {second}: b}}")
    assert error.code == "document-duplicate-key"


def test_an_own_key_overrides_a_merged_one_without_being_a_duplicate():
    text = "base: &b {unit: mm, pct: 95}\nhd95:\n  <<: *b\n  pct: 99\n"
    document = parse_yaml(text, name="f")
    assert document.value["hd95"] == {"unit": "mm", "pct": 99}
    assert document.line_of(("hd95", "pct")) == 4
    assert document.line_of(("hd95", "unit")) == 1


def test_two_merge_keys_in_one_mapping_are_duplicates():
    error = refusal("a: &a {x1: 1}\nb:\n  <<: *a\n  <<: *a\n")
    assert (error.code, error.where) == ("document-duplicate-key", "bundle/task.yaml:4, b.<<")


def test_merge_sources_that_contradict_each_other_give_the_first_ones_value_or_an_error():
    # The specification lets the first win; releases of PyYAML differ, and then it is refused.
    try:
        assert parse("a: &a {key: 1}\nb: &b {key: 2}\nc: {<<: [*a, *b]}\n")["c"] == {"key": 1}
    except DocumentError as error:
        assert error.code == "document-duplicate-key"
        assert "merge" in error.what


@pytest.mark.parametrize("merged", ["1", "[1]", "[[a]]"])
def test_a_merge_key_takes_only_mappings(merged):
    assert refusal(f"a:\n  <<: {merged}\n").code == "document-syntax"


def test_what_merging_reads_differently_in_some_release_is_refused(monkeypatch):
    monkeypatch.setattr(yaml, "safe_load", lambda text: {"a": {"x": 1}, "b": {"x": True}})
    assert refusal("a: &a {x: 1}\nb: {<<: *a}\n").code == "document-duplicate-key"
    monkeypatch.setattr(yaml, "safe_load", lambda text: {"a": [{"x": 1}], "b": {"x": 1}})
    assert parse("a: [&a {x: 1}]\nb: {<<: *a}\n")["b"] == {"x": 1}


@pytest.mark.parametrize("word", ["NO", "no", "No", "yes", "YES", "on", "Off", "OFF"])
def test_a_plain_word_that_yaml_turns_into_a_boolean_is_refused_as_value_and_as_key(word):
    error = refusal(f"a:\n  b: {word}\n")
    assert (error.code, error.where) == ("document-ambiguous-scalar", "bundle/task.yaml:2, a.b")
    error = refusal(f"label_remap:\n  {word}: {{1: 1}}\n")
    assert (error.code, error.where) == (
        "document-ambiguous-scalar",
        f"bundle/task.yaml:2, label_remap.{word}",
    )
    assert f'"{word}"' in error.hint
    assert parse(f"a: '{word}'") == {"a": word}


@pytest.mark.parametrize("word", ["true", "True", "TRUE", "false", "False"])
def test_true_and_false_are_booleans(word):
    assert parse(word) is (word.lower() == "true")


@pytest.mark.parametrize(
    "word", ["042", "-017", "+07", "00", "0_7", "1:30", "1:30.5", "-12:30:45", "0_", "!!int '042'", "! 042"]
)
def test_a_plain_word_that_yaml_turns_into_another_number_is_refused(word):
    error = refusal(f"patient_uid: {word}")
    assert error.code == "document-ambiguous-scalar"
    assert "patient_uid" in error.where


def test_quoted_numbers_stay_text():
    assert parse("{a: '042', b: \"1:30\", c: !!str 042, d: 08}") == {
        "a": "042",
        "b": "1:30",
        "c": "042",
        "d": "08",
    }


def test_other_numbers_and_dates_are_what_safe_load_makes_of_them():
    text = "[1_000, 0x1F, 0b11, 0, -0, 1e3, 1.0e+3, .5, 2024-01-31, 2024-01-31T10:00:00Z, '2024-01-31', =x]"
    assert same(parse(text), yaml.safe_load(text))
    assert parse("2024-01-31") == datetime.date(2024, 1, 31)


@pytest.mark.parametrize("word", [".nan", ".NaN", ".inf", "-.INF", "1.0e+999", "!!float .nan"])
def test_what_is_not_finite_is_refused_with_its_path(word):
    error = refusal(f"task_type: x\niou_threshold: {word}\n")
    assert (error.code, error.where) == ("document-not-finite", "bundle/task.yaml:2, iou_threshold")
    assert word.removeprefix("!!float ").lower() in error.what


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object:os.system x",
        "!!binary aGk=",
        "!!set {a, b}",
        "!foo x",
        "!!timestamp 2024-01-01",
        "!!omap [a: 1]",
        "!!str [a]",
        "!!map [a]",
        "!!seq {a: 1}",
        "%TAG ! tag:yaml.org,2002:python/\n---\n!tuple [1]",
    ],
)
def test_tags_outside_the_core_schema_or_on_the_wrong_kind_are_refused(text):
    assert refusal(text).code == "document-tag"


def test_tags_of_the_core_schema_are_read():
    text = "[!!str 1, !!int '2', !!float '3', !!bool 'true', !!null '', !!seq [], !!map {}, ! x]"
    assert same(parse(text), yaml.safe_load(text))


@pytest.mark.parametrize(
    "text", ["a: !!int 1.5", "a: !!bool maybe", "a: !!float ''", "a: 0x_", "a: 2024-13-45"]
)
def test_a_scalar_that_is_not_what_its_tag_or_form_says_is_refused(text):
    error = refusal(text)
    assert (error.code, error.where) == ("document-syntax", "bundle/task.yaml:1, a")


@pytest.mark.parametrize(
    "text",
    [
        "[1,",
        "a: b: c",
        "- *gone",
        "&a [&a 1]",
        "@",
        "a: =",
        "a: <<",
        "? [1]\n: 2",
        "a: 'x\x00'",
        '"\\U00110000"',
        "? {a: 1}\n: 2",
    ],
)
def test_what_is_not_yaml_is_refused(text):
    assert refusal(text).code == "document-syntax"


def test_tabs_as_indentation_are_refused_with_a_hint():
    error = refusal("a:\n\tb: 1\n")
    assert (error.code, error.where) == ("document-syntax", "bundle/task.yaml:2")
    assert "spaces" in error.hint


def test_several_documents_in_a_file_are_refused():
    error = refusal("a: 1\n---\nb: 2\n")
    assert (error.code, error.where) == ("document-syntax", "bundle/task.yaml:2")


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "~"])
def test_an_empty_document_is_nothing(text):
    assert parse(text) is None


def test_bytes_that_are_not_utf8_are_refused_with_their_line():
    error = refusal("a: 1\nb: ä\n".encode("latin-1"))
    assert (error.code, error.where) == ("document-not-utf8", "bundle/task.yaml:2")
    assert refusal("a: 1".encode("utf-16")).code == "document-not-utf8"


def test_half_of_a_surrogate_pair_is_refused():
    error = refusal('a: "\\ud800"')
    assert (error.code, error.where) == ("document-not-utf8", "bundle/task.yaml:1, a")


def test_a_byte_order_mark_is_read_as_safe_load_reads_it():
    assert parse("a: 1".encode("utf-8-sig")) == {"a": 1}


def test_an_alias_that_holds_itself_is_refused():
    assert refusal("a: &a [*a]").code == "document-alias-limit"
    assert refusal("a: &a {<<: *a}").code == "document-alias-limit"


def test_aliases_that_multiply_are_refused_before_they_are_expanded():
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    error = refusal("\n".join(levels))
    assert error.code == "document-alias-limit"
    assert "100000" in error.what


def test_aliases_up_to_the_limit_are_read(monkeypatch):
    text = "a: &a [1, 2, 3]\nb: [*a, *a]\n"
    monkeypatch.setattr(_yaml_nodes, "MAX_ALIASED_NODES", 8)
    assert parse(text)["b"] == [[1, 2, 3], [1, 2, 3]]
    monkeypatch.setattr(_yaml_nodes, "MAX_ALIASED_NODES", 7)
    assert refusal(text).code == "document-alias-limit"


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_deep_nesting_is_refused_and_not_a_recursion_error(opening):
    assert refusal(opening * 101).code == "document-syntax"
    assert refusal(opening * 50_000).code == "document-syntax"
    assert parse("[" * 100 + "]" * 100)


def test_nesting_through_aliases_counts():
    lines = [f"a0: &a0 {'[' * 40}{']' * 40}"]
    lines += [f"a{n}: &a{n} {'[' * 40}*a{n - 1}{']' * 40}" for n in (1, 2, 3)]
    assert "levels deep" in refusal("\n".join(lines)).what


@pytest.mark.parametrize("number", ["9" * 2000, "0x" + "f" * 2000, "1." + "0" * 2000])
def test_overlong_numbers_are_refused(number):
    assert "too long" in refusal(f"a: {number}").what


def test_a_document_over_the_size_limit_is_refused():
    assert refusal("a: " + "x" * 100, max_bytes=50).code == "document-too-large"
    assert refusal(b"a: " + b"x" * 100, max_bytes=50).code == "document-too-large"


def test_reading_a_file_names_it_as_it_was_given(tmp_path):
    path = tmp_path / "task.yaml"
    path.write_text("a: 1\n")
    assert read_yaml(path).value == {"a": 1}
    assert read_yaml(str(path)).name == str(path)
    path.write_text("a: 1\na: 2\n")
    with pytest.raises(DocumentError) as caught:
        read_yaml(path)
    assert str(caught.value).splitlines()[1].strip() == f"{path}:2, a"
    with pytest.raises(DocumentError) as caught:
        read_yaml(path, max_bytes=3)
    assert caught.value.code == "document-too-large"


def test_a_missing_file_is_also_a_file_not_found_error(tmp_path):
    for path in (tmp_path / "gone.yaml", tmp_path / "file" / "x"):
        (tmp_path / "file").write_text("")
        with pytest.raises(DocumentNotFoundError) as caught:
            read_yaml(path)
        assert isinstance(caught.value, FileNotFoundError)


def test_folders_pipes_and_impossible_names_are_unreadable(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "nul\0name", tmp_path / ("x" * 300)):
        with pytest.raises(DocumentError) as caught:
            read_yaml(path)
        assert caught.value.code == "document-unreadable"


def test_lines_and_places_of_a_document():
    document = parse_yaml("a:\n  b:\n  - x\n  - c: 1\n    'd.e': 2\n1: {2: 3}\n", name="f.yaml")
    assert document.line_of(("a", "b", 1, "c")) == 4
    assert document.where(("a", "b", 1, "c")) == "f.yaml:4, a.b[1].c"
    assert document.where(("a", "b", 1, "d.e")) == 'f.yaml:5, a.b[1]["d.e"]'
    assert document.where((1, 2)) == "f.yaml:6, 1.2"
    assert document.where(()) == "f.yaml"
    assert document.line_of(()) is None
    assert document.line_of(("a", "gone")) is None
    assert document.line_of(("a", "b", 0, "deeper")) is None
    assert document.where(("a", "gone")) == "f.yaml:1, a.gone"
    assert document.where(("gone",)) == "f.yaml, gone"


def test_an_aliased_value_has_the_lines_of_its_anchor():
    document = parse_yaml("a: &a\n  x: 1\nb: *a\n", name="f")
    assert document.line_of(("b", "x")) == 2


def test_a_document_without_lines_still_says_where():
    assert Document({"a": [1]}, "f").where(("a", 0)) == "f, a[0]"


def test_documents_cross_process_borders():
    document = ForkingPickler.loads(ForkingPickler.dumps(parse_yaml("a: 1", name="f")))
    assert (document.value, document.where(("a",))) == ({"a": 1}, "f:1, a")


def test_a_plain_equals_sign_is_a_key_and_no_value():
    assert parse("=: 1") == yaml.safe_load("=: 1") == {"=": 1}
    assert refusal("a: =").hint


def test_no_nan_leaves_the_reader():
    value = parse("[1.5, -0.0, 1.0e-320]")
    assert all(math.isfinite(number) for number in value)
