"""The journal: what was finished comes back equal, what is torn or foreign never counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core import journal as journal_module
from medomni.core.errors import JournalError, WriteError
from medomni.core.journal import Journal, journal_path

KEY = {"version": 1, "bundle": {"hash": "abc"}}
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.none() | st.booleans()
data = st.recursive(
    numbers | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.json.journal"


def write(path: Path, entries: dict[str, object], key: dict = KEY) -> bytes:
    with Journal(path) as journal:
        journal.start(key)
        for item, value in entries.items():
            journal.append(item, value)
    return path.read_bytes()


def resumed(path: Path, key: dict = KEY) -> tuple[dict[str, object], list[str]]:
    said: list[str] = []
    with Journal(path, resume=True, say=said.append) as journal:
        return journal.start(key), said


def test_the_journal_lies_beside_the_output():
    assert journal_path(Path("out/results.json")) == Path("out/results.json.journal")


@given(entries=st.dictionaries(st.text(), data, min_size=1, max_size=4))
@settings(max_examples=60)
def test_what_was_appended_comes_back_equal_to_the_bit(tmp_path_factory, entries):
    path = tmp_path_factory.mktemp("j") / "journal"
    write(path, entries)
    found, _ = resumed(path)
    assert repr(found) == repr(entries)


def test_numbers_that_json_does_not_know_are_refused(path):
    with Journal(path) as journal:
        journal.start(KEY)
        with pytest.raises(ValueError, match="JSON"):
            journal.append("a", float("nan"))


def test_a_torn_end_costs_at_most_the_last_item_wherever_it_is_torn(path):
    whole = write(path, {"a": 1.5, "b": [2, "ü"]})
    header = whole.index(b"\n") + 1
    first = whole.index(b"\n", header) + 1
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        found, said = resumed(path)
        assert len(said) == 1
        if end < first:
            assert found == {}
        elif end < len(whole):
            assert found == {"a": 1.5}
        else:
            assert found == {"a": 1.5, "b": [2, "ü"]}


def test_a_run_goes_on_behind_a_torn_line(path):
    whole = write(path, {"a": 1, "b": 2})
    path.write_bytes(whole[:-5])
    with Journal(path, resume=True) as journal:
        assert journal.start(KEY) == {"a": 1}
        journal.append("c", 3)
    assert resumed(path)[0] == {"a": 1, "c": 3}


def test_a_changed_digit_makes_a_line_worthless_and_is_said(path):
    whole = write(path, {"a": 0.25, "b": 0.75})
    path.write_bytes(whole.replace(b"0.25", b"0.35"))
    found, said = resumed(path)
    assert found == {"b": 0.75}
    assert "1 damaged" in said[0]


@pytest.mark.parametrize("line", [b"nonsense", b"[]", b"3", b'{"entry": 4, "check": ""}', b"\xff\xfe"])
def test_lines_that_are_no_entries_are_left_out(path, line):
    whole = write(path, {"a": 1})
    path.write_bytes(whole + line + b"\n")
    assert resumed(path)[0] == {"a": 1}


def test_the_last_line_of_an_item_counts(path):
    with Journal(path) as journal:
        journal.start(KEY)
        journal.append("a", 1)
        journal.append("a", 2)
    assert resumed(path)[0] == {"a": 2}


def test_a_journal_of_another_run_is_not_used_and_the_difference_is_named(path):
    write(path, {"a": 1})
    found, said = resumed(path, {**KEY, "version": 2, "more": None})
    assert found == {}
    assert "another more, version" in said[0]


def test_without_resume_an_unfinished_journal_is_replaced_and_that_is_said(path):
    write(path, {"a": 1})
    said: list[str] = []
    with Journal(path, say=said.append) as journal:
        assert journal.start(KEY) == {}
        journal.append("b", 2)
    assert "1 finished items is replaced" in said[0]
    assert resumed(path)[0] == {"b": 2}


def test_resuming_without_a_journal_starts_anew_and_says_so(path):
    found, said = resumed(path)
    assert found == {}
    assert said[0].startswith("nothing to resume")


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    "content", [b"my notes\n", b'{"schema":"medomni/journal/9"}\n', b'{"a": 1}\n', b"[1]"]
)
def test_somebody_elses_file_is_refused_and_left_as_it_is(path, content, resume):
    path.write_bytes(content)
    with pytest.raises(JournalError) as caught, Journal(path, resume=resume) as journal:
        journal.start(KEY)
    assert caught.value.code == "journal-foreign"
    assert path.read_bytes() == content


def test_a_header_without_a_key_holds_nothing(path):
    path.write_bytes(b'{"schema":"medomni/journal/1","key":3}\n')
    assert resumed(path)[0] == {}


def test_a_journal_in_use_is_refused(path):
    script = (
        "import sys; from pathlib import Path; from medomni.core.journal import Journal\n"
        "j = Journal(Path(sys.argv[1])); j.start({}); j.append('a', 1)\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        before = path.read_bytes()
        for resume in (True, False):
            with pytest.raises(JournalError) as caught, Journal(path, resume=resume) as journal:
                journal.start(KEY)
            assert caught.value.code == "journal-in-use"
        assert path.read_bytes() == before
        holder.kill()
    assert resumed(path, {})[0] == {"a": 1}


def test_a_finished_run_leaves_no_journal(path):
    with Journal(path) as journal:
        journal.start(KEY)
        journal.append("a", 1)
        journal.discard()
    assert not path.exists()
    journal.discard()


def test_a_run_that_finished_nothing_leaves_no_journal(path):
    with Journal(path) as journal:
        journal.start(KEY)
        assert path.exists()
    assert not path.exists()


def test_nothing_is_opened_before_the_start(path):
    with Journal(path):
        pass
    assert not path.exists()
    with pytest.raises(JournalError) as caught:
        Journal(path).append("a", 1)
    assert caught.value.code == "journal-closed"


def test_what_cannot_be_a_journal_is_refused(path, tmp_path):
    with pytest.raises(WriteError), Journal(tmp_path / "absent" / "journal") as journal:
        journal.start(KEY)
    target = tmp_path / "target"
    target.write_text("precious")
    path.symlink_to(target)
    with pytest.raises(WriteError), Journal(path) as journal:
        journal.start(KEY)
    assert target.read_text() == "precious"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(JournalError) as caught, Journal(path) as journal:
        journal.start(KEY)
    assert caught.value.code == "journal-foreign"


def test_a_full_disk_is_an_error_and_keeps_what_is_written(path, monkeypatch):
    with Journal(path) as journal:
        journal.start(KEY)
        journal.append("a", 1)

        def full(descriptor: int, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            with pytest.raises(WriteError):
                journal.append("b", 2)
    assert resumed(path)[0] == {"a": 1}


def test_a_write_in_pieces_is_whole(path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
    write(path, {"a": "a long text"})
    assert resumed(path)[0] == {"a": "a long text"}


def test_a_file_that_is_removed_between_opening_and_locking_is_opened_again(path, monkeypatch):
    write(path, {"a": 1})
    real = journal_module._lock
    calls = []

    def lock(descriptor: int, where: Path) -> None:
        real(descriptor, where)
        if not calls:
            where.unlink()
        calls.append(where)

    monkeypatch.setattr(journal_module, "_lock", lock)
    with Journal(path) as journal:
        journal.start(KEY)
        journal.append("b", 2)
    assert len(calls) == 2
    assert resumed(path)[0] == {"b": 2}


def test_every_line_is_json(path):
    lines = write(path, {"a": 1, "b": {"c": [0.1]}}).splitlines()
    assert [sorted(json.loads(line)) for line in lines] == [["key", "schema"], *[["check", "entry"]] * 2]
