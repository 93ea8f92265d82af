"""A file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from medomni.core.errors import WriteError
from medomni.core.files import write_atomic

NO_SPACE = OSError(errno.ENOSPC, "No space left on device")


def fail(monkeypatch, error: BaseException, call: str = "fsync") -> None:
    def refuse(*_arguments, **_named):
        raise error

    monkeypatch.setattr(os, call, refuse)


def test_bytes_and_text_are_written_as_they_are(tmp_path):
    write_atomic(tmp_path / "a", b"\x00\r\n")
    write_atomic(str(tmp_path / "b"), "ä\n")
    assert (tmp_path / "a").read_bytes() == b"\x00\r\n"
    assert (tmp_path / "b").read_bytes() == "ä\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("error", [NO_SPACE, KeyboardInterrupt(), MemoryError()])
def test_whatever_goes_wrong_the_old_file_stays_and_nothing_is_left_behind(tmp_path, monkeypatch, error):
    path = tmp_path / "results.json"
    path.write_text("old")
    fail(monkeypatch, error)
    with pytest.raises(WriteError if error is NO_SPACE else type(error)):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_says_what_where_and_what_to_do(tmp_path, monkeypatch):
    fail(monkeypatch, NO_SPACE)
    with pytest.raises(WriteError) as caught:
        write_atomic(tmp_path / "results.json", b"new")
    assert isinstance(caught.value, OSError)
    assert caught.value.code == "write-failed"
    assert "No space left" in caught.value.what
    assert caught.value.where == str(tmp_path / "results.json")
    assert "space" in caught.value.hint


def test_a_rename_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(WriteError):
        write_atomic(tmp_path / "f", "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gone/f", "file/f", "nul\0", "\ud800", "x" * 300])
def test_a_place_that_cannot_be_written_is_a_typed_error(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError) as caught:
        write_atomic(tmp_path / name, "x")
    assert str(caught.value).encode()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_missing_folder_has_a_hint(tmp_path):
    with pytest.raises(WriteError) as caught:
        write_atomic(tmp_path / "gone" / "f", "x")
    assert "folder" in caught.value.hint


def test_folders_devices_and_pipes_are_never_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "device", "pipe"):
        with pytest.raises(WriteError):
            write_atomic(tmp_path / name, "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_text_that_is_no_unicode_is_refused(tmp_path):
    with pytest.raises(WriteError):
        write_atomic(tmp_path / "f", "\ud800")
    assert list(tmp_path.iterdir()) == []


def test_permissions_of_an_existing_file_are_kept_and_new_files_follow_the_mask(tmp_path):
    (tmp_path / "old").write_text("x")
    (tmp_path / "old").chmod(0o640)
    write_atomic(tmp_path / "old", "y")
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o640
    (tmp_path / "plain").touch()
    write_atomic(tmp_path / "new", "y")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_links_are_replaced_and_not_followed(tmp_path):
    (tmp_path / "precious").write_text("old")
    (tmp_path / "link").symlink_to("precious")
    (tmp_path / "dangling").symlink_to("gone")
    for name in ("link", "dangling"):
        write_atomic(tmp_path / name, "new")
        assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "precious").read_text() == "old"
    assert not (tmp_path / "gone").exists()


def test_a_name_as_long_as_allowed_can_be_written(tmp_path):
    write_atomic(tmp_path / ("x" * 255), "y")


def test_a_file_system_that_cannot_sync_folders_is_no_failure(tmp_path, monkeypatch):
    real = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    write_atomic(tmp_path / "f", "x")
    assert (tmp_path / "f").read_text() == "x"
