"""Digests of bytes, files and documents."""

from __future__ import annotations

import hashlib
import os

import pytest

from medomni.core import hashing
from medomni.core.errors import DocumentError, DocumentNotFoundError
from medomni.core.hashing import canonical_digest, sha256_bytes, sha256_file

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_the_digests_of_the_standard_come_out():
    assert sha256_bytes(b"") == EMPTY
    assert sha256_bytes(b"abc") == ABC


@pytest.mark.parametrize("size", [0, 1, 1024 * 1024, 1024 * 1024 + 1])
def test_a_file_has_the_digest_of_its_bytes(tmp_path, size):
    data = os.urandom(size)
    (tmp_path / "f").write_bytes(data)
    assert sha256_file(tmp_path / "f") == sha256_bytes(data)
    assert sha256_file(str(tmp_path / "f")) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("change", ["grow", "shrink"])
def test_a_file_whose_size_changes_while_it_is_read_is_an_error(tmp_path, monkeypatch, change):
    path = tmp_path / "f"
    path.write_bytes(b"x" * 3_000_000)

    class Disturbing:
        def update(self, chunk):
            os.truncate(path, 5_000_000 if change == "grow" else 1_500_000)

        def hexdigest(self):
            raise AssertionError("a digest of a changing file")

    monkeypatch.setattr(hashing.hashlib, "sha256", Disturbing)
    with pytest.raises(DocumentError) as caught:
        sha256_file(path)
    assert caught.value.code == "document-changed"
    assert caught.value.where == str(path)


def test_what_is_not_there_or_not_a_file_is_a_typed_error(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    for name in ("gone", "file/below"):
        with pytest.raises(DocumentNotFoundError):
            sha256_file(tmp_path / name)
    for path in (tmp_path, tmp_path / "pipe", "nul\0", tmp_path / ("x" * 300)):
        with pytest.raises(DocumentError) as caught:
            sha256_file(path)
        assert caught.value.code == "document-unreadable"


def test_a_document_is_hashed_by_what_it_says_and_not_by_the_order_of_its_keys():
    assert canonical_digest({"b": 1.0, "a": [1]}) == canonical_digest({"a": [1], "b": 1})
    assert canonical_digest({"a": [1, 2]}) != canonical_digest({"a": [2, 1]})
    assert canonical_digest({"a": 1}) == sha256_bytes(b'{"a":1}')


def test_what_has_no_canonical_form_has_no_digest():
    with pytest.raises(DocumentError) as caught:
        canonical_digest({"a": 2**60})
    assert caught.value.code == "document-not-canonical"
