"""Strict JSON: equal to the standard library for what is accepted, an error with its place otherwise."""

from __future__ import annotations

import json
from multiprocessing.reduction import ForkingPickler

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core.errors import DocumentError, DocumentNotFoundError
from medomni.core.files import canonical_json, json_text, parse_json, read_json, render_path, write_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
INDENTS = st.sampled_from([None, 0, 2])


def refusal(text: str | bytes, **limits: int) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        parse_json(text, name="m.json", **limits)
    return caught.value


def paths_of(value, path=()):
    yield path
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_of(inner, (*path, key))


@settings(max_examples=150, deadline=None)
@given(VALUES, INDENTS)
def test_a_written_document_reads_back_equal_with_a_line_for_every_path(value, indent):
    text = json_text(value, indent=indent)
    assert text.endswith("\n")
    document = parse_json(text, name="f")
    assert document.value == value
    for path in paths_of(value):
        assert (document.line_of(path) is None) == (path == ())


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='{}[]:,"\\ \n0123e.-truefalsnNI', max_size=24))
def test_any_text_reads_as_the_standard_library_reads_it_or_is_refused(text):
    try:
        value = parse_json(text, name="f").value
    except DocumentError:
        return
    assert value == json.loads(text)


@pytest.mark.parametrize(
    "text", ["NaN0", "[1,\nNaNx]", "-Infinity0", '{"a": Infinityx', "1e999x", "[1e999,", "NaN NaN"]
)
def test_what_follows_a_refused_number_does_not_hide_it(text):
    assert refusal(text).code == "document-not-finite"


def test_lines_of_a_json_document():
    document = parse_json('{"a": [\n {"b":\n 1},\n 2],\n"c": {}}', name="m.json")
    assert document.line_of(("a", 0, "b")) == 2
    assert document.line_of(("a", 1)) == 4
    assert document.line_of(("c",)) == 5
    assert document.where(("a", 0, "b")) == "m.json:2, a[0].b"
    assert ForkingPickler.loads(ForkingPickler.dumps(document)).line_of(("c",)) == 5


def test_a_duplicate_key_names_file_line_path_and_the_first_line():
    error = refusal('{"per_case": {\n"A/1": {"seg": 1,\n"seg": 2}}}')
    assert (error.code, error.where) == ("document-duplicate-key", "m.json:3, per_case.A/1.seg")
    assert "duplicate key per_case.A/1.seg" in error.what
    assert "line 2" in error.what


def test_an_escaped_key_is_a_duplicate_of_the_plain_one():
    assert refusal('{"a": 1, "\\u0061": 2}').code == "document-duplicate-key"


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_what_is_not_finite_is_refused_with_its_path(literal):
    error = refusal('{"a": [0, "NaN",\n {"iou_threshold": ' + literal + "}]}")
    assert (error.code, error.where) == ("document-not-finite", "m.json:2, a[2].iou_threshold")
    assert literal.lower() in error.what
    assert refusal(literal).where == "m.json:1"


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 1001, "0." + "1" * 1001])
def test_overlong_numbers_are_refused(number):
    error = refusal(f"[\n{number}]")
    assert (error.code, error.where) == ("document-syntax", "m.json:2, [0]")


def test_integers_up_to_the_limit_are_read_exactly():
    assert parse_json("9" * 1000, name="f").value == 10**1000 - 1


@pytest.mark.parametrize("text", ["", "1 2", "{} x", "[1,]", "{'a': 1}", "[1", '{"a" 1}', '"\n"', "// c\n1"])
def test_what_is_not_json_is_refused_with_its_line(text):
    error = refusal(text)
    assert error.code == "document-syntax"
    assert error.where == "m.json:1"
    assert "column" in error.what


def test_a_byte_order_mark_is_refused():
    assert refusal("{}".encode("utf-8-sig")).code == "document-syntax"


def test_bytes_that_are_not_utf8_are_refused():
    error = refusal(b'{"a":\n"\xff"}')
    assert (error.code, error.where) == ("document-not-utf8", "m.json:2")


@pytest.mark.parametrize("text", ['["\\ud800"]', '["\\uDC00x"]', '{"\\ud800": 1}', '[{"\\ud83dx": {}}]'])
def test_half_of_a_surrogate_pair_is_refused(text):
    assert refusal(text).code == "document-not-utf8"


def test_whole_surrogate_pairs_and_escaped_backslashes_are_text():
    assert parse_json(r'["\ud83d\ude00", "\\ud800"]', name="f").value == ["😀", r"\ud800"]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_is_refused_and_not_a_recursion_error(opening):
    closing = "]" if opening == "[" else "0}"
    for depth in (101, 5000, 200_000):
        error = refusal(
            opening * depth + closing.replace("0", "") * depth if opening == "[" else opening * depth
        )
        assert error.code == "document-syntax"
    assert parse_json("[" * 100 + "]" * 100, name="f").value
    assert "levels deep" in refusal('{"a":' * 101 + "0" + "}" * 101).what
    assert "levels deep" in refusal("[" * 200_000).what


def test_a_document_over_the_size_limit_is_refused(tmp_path):
    assert refusal("[" + "1," * 50 + "1]", max_bytes=20).code == "document-too-large"
    path = tmp_path / "m.json"
    path.write_text("[1, 2, 3]")
    with pytest.raises(DocumentError):
        read_json(path, max_bytes=4)
    assert read_json(path).value == [1, 2, 3]
    with pytest.raises(DocumentNotFoundError):
        read_json(tmp_path / "gone.json")


def test_written_json_keeps_the_order_of_keys_and_all_characters(tmp_path):
    write_json(tmp_path / "r.json", {"b": "ä", "a": [1.5, None, True, (2,)]})
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == (
        '{\n  "b": "ä",\n  "a": [\n    1.5,\n    null,\n    true,\n    [\n      2\n    ]\n  ]\n}\n'
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_never_written(tmp_path, number):
    document = {"cases": [{"dice": 1.0}, {"dice": number}]}
    with pytest.raises(DocumentError) as caught:
        write_json(tmp_path / "r.json", document)
    assert caught.value.code == "document-not-finite"
    assert caught.value.where == "cases[1].dice"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DocumentError) as caught:
        canonical_json(document)
    assert caught.value.code == "document-not-canonical"


def circle() -> list:
    value: list = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [{1: 2}, {None: 1}, {"a": {1, 2}}, [b"x"], [object], "\ud800", {"\ud800": 1}, [1 << 4000], circle()],
)
def test_what_json_cannot_hold_is_refused(value):
    for write, code in ((json_text, "document-not-json"), (canonical_json, "document-not-canonical")):
        with pytest.raises(DocumentError) as caught:
            write(value)
        assert caught.value.code == code


def test_a_document_as_deep_as_the_reader_allows_can_be_written():
    value = parse_json("[" * 100 + "1" + "]" * 100, name="f").value
    assert json_text(value, indent=None) == "[" * 100 + "1" + "]" * 100 + "\n"


def test_canonical_json_sorts_keys_and_writes_numbers_one_way():
    # The example of RFC 8785, section 3.2.2, without its control characters.
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27],
        "literals": [None, True, False],
        "€": 1.0,
    }
    assert canonical_json(value) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"€":1}'.encode()
    )


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.integers(-(2**53) + 1, 2**53 - 1), max_size=6))
def test_canonical_json_ignores_the_order_of_keys(value):
    backwards = dict(reversed(value.items()))
    assert canonical_json(value) == canonical_json(backwards)
    assert json.loads(canonical_json(value)) == value


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**30])
def test_integers_beyond_exact_floats_have_no_canonical_form(number):
    with pytest.raises(DocumentError) as caught:
        canonical_json({"a": [number]})
    assert (caught.value.code, caught.value.where) == ("document-not-canonical", "a[0]")
    assert canonical_json(2**53 - 1) == b"9007199254740991"


def test_paths_are_written_as_people_read_them():
    assert render_path(("a", "b", 0, "c")) == "a.b[0].c"
    assert render_path(("a", 2), {"a": {2: 1}}) == "a.2"
    assert render_path(("a", 2), {"a": [1, 2, 3]}) == "a[2]"
    assert render_path(("a b", "", "x" * 300))[:14] == '["a b"][""]["x'
    assert render_path(()) == ""
