"""Errors say what, where and what to do; they survive process borders and are what a stranger would catch."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import pytest

from medomni.core import errors, issues


def test_an_error_prints_what_where_and_hint():
    error = errors.DocumentError("it is wrong", where="f.yaml:3", hint="fix it", code="document-syntax")
    assert str(error) == "error[document-syntax]: it is wrong\n  f.yaml:3\nhint: fix it"
    assert str(errors.WriteError("full")) == "error[write-failed]: full"


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.DocumentError, ValueError),
        (errors.DocumentNotFoundError, FileNotFoundError),
        (errors.UnsafePathError, ValueError),
        (errors.MissingPathError, FileNotFoundError),
        (errors.WriteError, OSError),
        (errors.ContractError, ValueError),
        (errors.StatisticsError, ValueError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_each_error_is_also_the_builtin_that_a_stranger_would_catch(kind, builtin):
    error = kind("what", where="there", hint="do", code="some-code")
    assert isinstance(error, builtin)
    assert isinstance(error, errors.MedomniError)
    copy = ForkingPickler.loads(ForkingPickler.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)


def test_a_missing_extra_names_the_command_that_installs_it():
    error = errors.MissingExtraError.for_extra("imaging", "nibabel", "reading NIfTI files")
    assert error.hint == 'pip install "medomni[imaging]"'
    assert "nibabel" in error.what


def test_issues_print_like_errors_and_carry_their_severity():
    first, second = issues.error("a-b", "f:1", "wrong", "fix"), issues.warning("c-d", "f:2", "odd")
    assert str(first) == "error[a-b]: wrong\n  f:1\nhint: fix"
    assert str(second) == "warning[c-d]: odd\n  f:2"
    assert issues.errors_of([second, first]) == [first]
    assert first.as_dict() == {
        "code": "a-b",
        "severity": "error",
        "where": "f:1",
        "what": "wrong",
        "hint": "fix",
    }


def test_several_issues_raise_as_one_error_that_prints_all():
    many = [issues.error("a-b", "f:1", "wrong"), issues.error("c-d", "f:2", "odd")]
    text = str(issues.IssuesError("2 problems", issues=many, where="f"))
    assert all(str(issue) in text for issue in many)
    alone = issues.IssuesError("1 problem", issues=many[:1])
    assert alone.code == "a-b"
    assert str(alone) == str(many[0])
