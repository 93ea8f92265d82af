"""Progress: a bar on a terminal, few lines elsewhere, never a failure of the work."""

from __future__ import annotations

import io
import sys

import pytest

from medomni.core.progress import Progress, for_terminal, silent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(show: Progress, total: int, what: str = "scoring cases") -> None:
    for done in range(total + 1):
        show(done, total, what)


@pytest.mark.parametrize("total", [1, 7, 20, 21, 5000])
def test_elsewhere_at_most_twenty_lines_are_written_and_the_last_says_all(total):
    stream = io.StringIO()
    with for_terminal(stream) as show:
        run(show, total)
    lines = stream.getvalue().splitlines()
    assert len(lines) == min(total, 20)
    assert lines[-1] == f"scoring cases: {total} of {total}"


def test_each_step_has_its_own_lines_and_an_empty_step_has_one():
    stream = io.StringIO()
    with for_terminal(stream) as show:
        run(show, 2, "reading")
        run(show, 0, "nothing")
        run(show, 2, "writing")
    assert stream.getvalue().splitlines() == [
        "reading: 1 of 2",
        "reading: 2 of 2",
        "nothing: 0 of 0",
        "writing: 1 of 2",
        "writing: 2 of 2",
    ]


def test_on_a_terminal_a_bar_is_drawn_and_brackets_in_names_are_text():
    stream = Terminal()
    with for_terminal(stream) as show:
        run(show, 3, "scoring [red]cases[/nothing]")
        run(show, 2, "writing")
    assert "scoring [red]cases[/nothing]" in stream.getvalue()
    assert "3/3" in stream.getvalue()


def test_standard_error_is_the_default(capsys):
    with for_terminal() as show:
        run(show, 1)
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == "scoring cases: 1 of 1\n"


def test_a_stream_that_is_gone_does_not_end_the_work():
    stream = io.StringIO()
    with for_terminal(stream) as show:
        stream.close()
        run(show, 3)


def test_silent_progress_says_nothing(capsys):
    run(silent, 3)
    assert capsys.readouterr() == ("", "")


def test_lines_do_not_load_the_terminal_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with for_terminal(io.StringIO()) as show:
        run(show, 3)
