"""No string leads out of its root, and only real files are copied."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medomni.core.errors import MissingPathError, UnsafePathError, WriteError
from medomni.core.files import check_relative, copy_real, resolve_under


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A root with files, and with links that stay, leave, dangle and run in circles."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("secret")
    folder = tmp_path_factory.mktemp("root")
    (folder / "a").mkdir()
    (folder / "a" / "f").write_text("data")
    (folder / "in").symlink_to(folder / "a")
    (folder / "out").symlink_to(outside)
    (folder / "up").symlink_to("..")
    (folder / "dangling").symlink_to(outside / "gone")
    (folder / "loop").symlink_to("loop")
    (folder / "self").symlink_to(".")
    os.mkfifo(folder / "pipe")
    return folder


def code_of(root: Path, relative: str, *, plain_file: bool = False) -> str:
    with pytest.raises(UnsafePathError) as caught:
        resolve_under(root, relative, plain_file=plain_file)
    return caught.value.code


PIECES = st.lists(
    st.sampled_from(
        [
            "a",
            "f",
            "in",
            "out",
            "up",
            "loop",
            "self",
            "dangling",
            "pipe",
            "gone",
            "..",
            ".",
            "/",
            "//",
            "\\",
            "C:",
            "\0",
            "\n",
            "\ud800",
            "é",
            " ",
            "x" * 300,
        ]
    ),
    max_size=7,
).map("/".join)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    relative=PIECES | st.text(max_size=30) | st.text(st.characters(), max_size=8), plain_file=st.booleans()
)
def test_no_string_leaves_the_root_or_raises_anything_else(root, relative, plain_file):
    try:
        path = resolve_under(root, relative, plain_file=plain_file)
    except UnsafePathError:
        return
    assert path.is_relative_to(root.resolve())
    assert Path(os.path.realpath(path)) == path
    assert not plain_file or path.is_file()


@pytest.mark.parametrize(
    ("relative", "code"),
    [
        ("", "path-empty"),
        (".", "path-empty"),
        ("./", "path-empty"),
        ("/etc/passwd", "path-absolute"),
        ("//host/share", "path-absolute"),
        ("\\\\host\\share", "path-absolute"),
        ("C:/x", "path-absolute"),
        ("c:x", "path-absolute"),
        ("a\\f", "path-backslash"),
        ("\\x", "path-backslash"),
        ("..", "path-parent"),
        ("a/../f", "path-parent"),
        ("a/..", "path-parent"),
        ("a\0", "path-control"),
        ("a\nb", "path-control"),
        ("a\x7f", "path-control"),
        ("a\x85", "path-control"),
        ("\ud800", "path-encoding"),
        ("\udc80", "path-encoding"),
        ("x" * 256, "path-too-long"),
        ("é" * 128, "path-too-long"),
        ("a/" * 2100 + "f", "path-too-long"),
        ("out/secret", "path-outside"),
        ("up", "path-outside"),
        ("dangling", "path-outside"),
        ("out", "path-outside"),
        ("loop", "path-outside"),
        ("loop/x", "path-outside"),
        ("in/../out", "path-parent"),
    ],
)
def test_each_way_out_is_refused_with_its_own_code(root, relative, code):
    assert code_of(root, relative) == code


def test_the_text_of_a_path_can_be_judged_without_a_root():
    check_relative("gone/file.png")
    for relative, code in (("../x", "path-parent"), ("/x", "path-absolute"), ("", "path-empty")):
        with pytest.raises(UnsafePathError) as caught:
            check_relative(relative)
        assert caught.value.code == code


def test_each_refusal_has_its_own_message(root):
    messages = set()
    for relative in ("", "/x", "a\\b", "..", "\0", "\ud800", "x" * 300, "out", "loop"):
        with pytest.raises(UnsafePathError) as caught:
            resolve_under(root, relative)
        assert str(caught.value).encode()
        messages.add(caught.value.what.split(" ", 3)[3])
    assert len(messages) == 9


def test_a_path_that_is_not_text_is_refused(root):
    with pytest.raises(UnsafePathError):
        resolve_under(root, 5)  # type: ignore[arg-type]


def test_links_inside_the_root_are_resolved(root):
    assert resolve_under(root, "in/f", plain_file=True) == root.resolve() / "a" / "f"
    assert resolve_under(root, "self/self/a/f") == root.resolve() / "a" / "f"


def test_a_path_that_is_not_there_yet_is_allowed(root):
    assert resolve_under(root, "new/deep/file") == root.resolve() / "new" / "deep" / "file"
    assert resolve_under(root, "a/f/below") == root.resolve() / "a" / "f" / "below"
    assert resolve_under(root, "...") == root.resolve() / "..."
    assert resolve_under(str(root), "in/gone") == root.resolve() / "a" / "gone"


@pytest.mark.parametrize("relative", ["a", "pipe", "in", "self"])
def test_where_a_plain_file_is_wanted_nothing_else_will_do(root, relative):
    assert code_of(root, relative, plain_file=True) == "path-not-file"


@pytest.mark.parametrize("relative", ["gone", "a/gone", "a/f/below"])
def test_a_missing_plain_file_is_also_a_file_not_found_error(root, relative):
    with pytest.raises(MissingPathError) as caught:
        resolve_under(root, relative, plain_file=True)
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.code == "path-missing"
    assert repr(relative)[1:-1] in str(caught.value)


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENAMETOOLONG, "path-too-long"), (errno.EACCES, "path-unreadable")]
)
def test_what_the_file_system_refuses_is_a_typed_error(root, monkeypatch, number, code):
    def refuse(path, *, strict=False):
        if strict:
            raise OSError(number, os.strerror(number))
        return str(path)

    monkeypatch.setattr(os.path, "realpath", refuse)
    assert code_of(root, "a/f") == code


def test_a_file_that_cannot_be_looked_up_is_unreadable(root, monkeypatch):
    def refuse(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "lstat", refuse)
    assert code_of(root, "a/f", plain_file=True) == "path-unreadable"


def test_names_that_the_system_cannot_encode_are_refused(root, monkeypatch):
    def narrow(name):
        return str(name).encode("ascii")

    monkeypatch.setattr(os, "fsencode", narrow)
    assert code_of(root, "é") == "path-encoding"


def test_copying_gives_a_file_of_its_own_with_equal_bytes(tmp_path):
    data = os.urandom(3_000_000)
    (tmp_path / "s").write_bytes(data)
    copy_real(tmp_path / "s", tmp_path / "t")
    assert (tmp_path / "t").read_bytes() == data
    assert not (tmp_path / "t").is_symlink()
    assert (tmp_path / "t").stat().st_ino != (tmp_path / "s").stat().st_ino
    (tmp_path / "s").write_bytes(b"")
    copy_real(str(tmp_path / "s"), str(tmp_path / "t"))
    assert (tmp_path / "t").read_bytes() == b""


def test_copying_over_a_link_replaces_the_link_and_not_what_it_names(tmp_path):
    (tmp_path / "s").write_text("new")
    (tmp_path / "precious").write_text("old")
    (tmp_path / "t").symlink_to(tmp_path / "precious")
    copy_real(tmp_path / "s", tmp_path / "t")
    assert (tmp_path / "precious").read_text() == "old"
    assert (tmp_path / "t").read_text() == "new"
    assert not (tmp_path / "t").is_symlink()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_only_regular_files_are_copied(tmp_path, kind):
    source = tmp_path / "s"
    if kind == "link":
        (tmp_path / "real").write_text("x")
        source.symlink_to(tmp_path / "real")
    elif kind == "folder":
        source.mkdir()
    else:
        os.mkfifo(source)
    with pytest.raises(UnsafePathError) as caught:
        copy_real(source, tmp_path / "t")
    assert caught.value.code == "path-not-file"
    assert not (tmp_path / "t").exists()


def test_copying_what_is_not_there_or_cannot_be_opened_is_a_typed_error(tmp_path, monkeypatch):
    with pytest.raises(MissingPathError):
        copy_real(tmp_path / "gone", tmp_path / "t")
    with pytest.raises(UnsafePathError) as caught:
        copy_real("a\0b", tmp_path / "t")
    assert caught.value.code == "path-unreadable"
    (tmp_path / "s").write_text("x")
    with pytest.raises(WriteError):
        copy_real(tmp_path / "s", tmp_path / "no-folder" / "t")
