"""What the shell agent's model is shown, what is kept, and whose fault a failure is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.bench.trials import _HARNESS_TYPES
from medomni_harbor import shell_failures
from medomni_harbor.shell_failures import Refusal, classify
from medomni_harbor.shell_words import Redactor, cut, shown, whole

MARKS = 120


@given(st.text(max_size=300), st.integers(1, 100))
@settings(max_examples=100, deadline=None)
def test_a_cut_text_keeps_its_ends_and_counts_what_is_left_out(text, most):
    found = cut(text, most)
    if len(text) <= most:
        assert found == text
        return
    kept = found.replace(f"\n[… {len(text) - most} characters left out …]\n", "", 1)
    assert len(kept) == most
    assert text.startswith(kept[: most - most // 2])
    assert text.endswith(kept[most - most // 2 :])


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(200, 2000))
@settings(max_examples=100, deadline=None)
def test_both_streams_together_stay_within_the_room(out, err, most):
    found = shown("o" * out, "e" * err, 0, most=most)
    assert found.count("o" * 1) + found.count("e" * 1) <= most + MARKS
    if out + err <= most:
        assert "o" * out in found
        assert "e" * err in found


def test_errors_are_shown_beside_a_flood_of_output():
    found = shown("x" * 100_000, "No such file\n", 1, most=1000)
    assert found.endswith("[stderr]\nNo such file\n[exit code 1]")
    assert "characters left out" in found


def test_line_ends_of_a_terminal_are_plain_line_ends():
    assert shown("a\r\nb\r\n", "", 0, most=500) == "a\nb\n[exit code 0]"


def test_a_key_is_taken_out_of_every_text():
    redact = Redactor("sk-123")
    told = {"a": ["Bearer sk-123", {"sk-123": 1}], "n": 5, "none": None}
    assert redact(told) == {"a": ["Bearer [key]", {"[key]": 1}], "n": 5, "none": None}


def test_half_characters_are_replaced_and_all_else_is_kept():
    assert whole({"a\ud83d": ["b\udc00", 5, None]}) == {"a?": ["b?", 5, None]}
    assert whole("x\U0001f600é") == "x\U0001f600é"


def test_without_a_key_nothing_is_changed():
    assert Redactor(None)({"a": "b"}) == {"a": "b"}


@pytest.mark.parametrize(
    ("status", "code", "message", "first", "expected"),
    [
        (None, "", "Connection error.", False, "ModelUnreachableError"),
        (500, "", "oops", False, "ModelUnreachableError"),
        (503, "", "overloaded", True, "ModelUnreachableError"),
        (429, "insufficient_quota", "pay", False, "ModelUnreachableError"),
        (401, "invalid_api_key", "no", True, "ModelUnusableError"),
        (404, "model_not_found", "no", False, "ModelUnusableError"),
        (400, "context_length_exceeded", "no", True, "ContextFullError"),
        (400, "", "This model's maximum context length is 8192 tokens", False, "ContextFullError"),
        (413, "", "too large", False, "ContextFullError"),
        (400, "content_filter", "no", True, "ContentRefusedError"),
        (400, "", "tools are not supported", True, "ModelUnusableError"),
        (400, "", "odd", False, "ModelRequestError"),
        (422, "", "odd", False, "ModelRequestError"),
    ],
)
def test_a_refusal_is_somebodys_fault(status, code, message, first, expected):
    found = classify(Refusal(status, code, message), first=first)
    assert type(found).__name__ == expected
    assert message in str(found)


def test_bench_runs_again_what_was_the_endpoints_fault_and_nothing_else():
    names = {name for name in vars(shell_failures) if name.endswith("Error")}
    assert names & set(_HARNESS_TYPES) == {"ModelUnreachableError", "ModelUnusableError"}
