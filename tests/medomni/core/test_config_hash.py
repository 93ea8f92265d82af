"""Laws of `cfg1` and of the task set hash, against a second computation written from the prose."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from medomni.core import hashing
from medomni.core.errors import (
    ConfigHashError,
    DocumentError,
    DocumentNotFoundError,
    InvalidNameError,
    MedomniError,
    UnsafePathError,
)
from medomni.core.hashing import ConfigFile, cfg1, is_stray, recorded_files, task_set_hash
from medomni.core.names import Pair

TOKENS = {"builder": "medomni-v1", "dataset_release": "mimic-iv/3.1", "medomni_release": "medomni/0.3.0"}
parts = st.text("abz09-_.", min_size=1, max_size=4).filter(lambda part: part not in (".", ".."))
paths = st.lists(parts, min_size=1, max_size=3).map("/".join)
contents = st.dictionaries(paths, st.binary(max_size=8), min_size=1, max_size=4)
FEW = settings(max_examples=40)


def by_the_prose(files: dict[str, bytes], tokens: dict[str, str] = TOKENS) -> str:
    stream = b""
    for path in sorted(files, key=lambda text: text.encode("utf-8")):
        stream += (
            path.encode("utf-8") + b"\x00" + str(len(files[path])).encode("ascii") + b"\x00" + files[path]
        )
    for name in ("builder", "dataset_release", "medomni_release"):
        stream += tokens[name].encode("ascii") + b"\x00"
    return "cfg1:" + hashlib.sha256(stream).hexdigest()


def written(folder: Path, files: dict[str, bytes]) -> list[ConfigFile]:
    """The files with their bytes on disk, each under a name of its own."""
    found = []
    for number, (path, data) in enumerate(files.items()):
        (folder / str(number)).write_bytes(data)
        found.append(ConfigFile(path, folder / str(number)))
    return found


def hash_of(files: dict[str, bytes], **tokens: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return cfg1(written(Path(folder), files), **{**TOKENS, **tokens}).value


def refusal(call) -> MedomniError:
    with pytest.raises(MedomniError) as caught:
        call()
    return caught.value


@FEW
@given(contents)
def test_the_hash_is_that_of_the_prose(files: dict[str, bytes]) -> None:
    assert hash_of(files) == by_the_prose(files)


@FEW
@given(contents, st.randoms())
def test_the_order_of_discovery_does_not_matter(files: dict[str, bytes], random) -> None:
    shuffled = list(files.items())
    random.shuffle(shuffled)
    assert hash_of(dict(shuffled)) == hash_of(files)


@FEW
@given(contents, st.data())
def test_any_changed_byte_changes_the_hash(files: dict[str, bytes], data) -> None:
    path = data.draw(st.sampled_from(sorted(files)))
    other = data.draw(st.binary(max_size=8))
    assume(other != files[path])
    assert hash_of({**files, path: other}) != hash_of(files)


@FEW
@given(contents, st.data())
def test_a_renamed_added_or_removed_file_changes_the_hash(files: dict[str, bytes], data) -> None:
    new = data.draw(paths.filter(lambda path: path not in files))
    old = data.draw(st.sampled_from(sorted(files)))
    kept = {path: content for path, content in files.items() if path != old}
    hashes = [hash_of(files), hash_of({**kept, new: files[old]}), hash_of({**files, new: b""})]
    hashes += [hash_of(kept)] if kept else []
    assert len(set(hashes)) == len(hashes)


@FEW
@given(st.binary(min_size=1, max_size=6), st.data())
def test_a_boundary_that_moves_between_two_files_changes_the_hash(stream: bytes, data) -> None:
    """EH-28, its kind: lengths count, so the same bytes in a row are not the same files."""
    first, second = data.draw(st.lists(st.integers(0, len(stream)), min_size=2, max_size=2, unique=True))
    cuts = [{"a.yaml": stream[:cut], "b.yaml": stream[cut:]} for cut in (first, second)]
    assert hash_of(cuts[0]) != hash_of(cuts[1])


def test_bytes_cannot_pretend_to_be_a_path_or_a_token() -> None:
    forged = b"1\x00x\x00b\x001\x00y"
    assert hash_of({"a": b"x", "b": b"y"}) != hash_of({"a": forged})
    assert hash_of({"a": b""}) != hash_of({"a": b"medomni-v1\x00"})


def test_each_token_changes_the_hash() -> None:
    """MO-105, MO-106."""
    files = {"a": b"x"}
    hashes = {
        hash_of(files),
        hash_of(files, builder="medomni-v2"),
        hash_of(files, dataset_release="mimic-iv/demo-2.2"),
        hash_of(files, medomni_release="medomni/0.3.1"),
    }
    assert len(hashes) == 4


def test_line_ends_change_the_hash() -> None:
    """EH-27, its kind: bytes are taken as they are."""
    assert hash_of({"template.yaml": b"a: 1\n"}) != hash_of({"template.yaml": b"a: 1\r\n"})


def test_each_variant_of_an_arm_has_a_hash_of_its_own(tmp_path: Path) -> None:
    """MO-100."""
    (tmp_path / "arm").write_bytes(b"rungs: {}\n")
    hashes = {}
    for variant in (None, "r1", "r2"):
        found = cfg1([ConfigFile("arms/l.yaml", tmp_path / "arm", variant)], **TOKENS)
        hashes[variant] = found.value
        assert found.value == by_the_prose(
            {f"arms/l.yaml#{variant}" if variant else "arms/l.yaml": b"rungs: {}\n"}
        )
    assert len(set(hashes.values())) == 3


def test_the_hash_is_independent_of_folder_and_machine(tmp_path: Path, monkeypatch) -> None:
    files = {"studio/a.yaml": b"x\n"}
    here = hash_of(files)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "tr_TR")
    assert hash_of(files) == here


def test_a_recorded_hash_is_computed_again_from_the_copied_files(tmp_path: Path) -> None:
    """MO-109."""
    source = written(tmp_path, {"studio/t.yaml": b"t", "studio/arms/m.yaml": b"m"})
    first = cfg1([source[0], ConfigFile(source[1].path, source[1].source, "r2")], **TOKENS)
    for path, data in (("studio/t.yaml", b"t"), ("studio/arms/m.yaml", b"m")):
        (tmp_path / "config" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "config" / path).write_bytes(data)
    recorded = [row.as_dict() for row in first.files]
    assert [row["path"] for row in recorded] == ["studio/arms/m.yaml#r2", "studio/t.yaml"]
    again = cfg1(recorded_files(tmp_path / "config", [row["path"] for row in recorded]), **TOKENS)
    assert again == first
    with pytest.raises(UnsafePathError):
        recorded_files(tmp_path / "config", ["../x"])
    with pytest.raises(FileNotFoundError):
        recorded_files(tmp_path / "config", ["studio/gone.yaml"])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", "path-empty"), ("/a", "path-absolute"), ("C:/a", "path-absolute"), ("a/../b", "path-parent"),
        ("a\\b", "path-backslash"), ("a\0b", "path-control"), ("a\nb", "path-control"),
        ("\ud800", "path-encoding"),
        ("./a", "hash-path-not-plain"), ("a//b", "hash-path-not-plain"), ("a/", "hash-path-not-plain"),
        ("a#r1", "hash-path-not-plain"),
    ],
)  # fmt: skip
def test_paths_that_could_be_written_otherwise_are_refused(tmp_path: Path, path: str, code: str) -> None:
    (tmp_path / "x").write_bytes(b"")
    assert refusal(lambda: cfg1([ConfigFile(path, tmp_path / "x")], **TOKENS)).code == code


def test_the_same_path_twice_is_refused_and_so_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    file = ConfigFile("a", tmp_path / "x")
    assert refusal(lambda: cfg1([file, file], **TOKENS)).code == "hash-path-twice"
    assert refusal(lambda: cfg1([], **TOKENS)).code == "hash-input-invalid"
    with pytest.raises(InvalidNameError):
        cfg1([ConfigFile("a", tmp_path / "x", "r 1")], **TOKENS)


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("builder", "medomni-v1/0.3.0"), ("builder", "medomni"), ("builder", ""), ("builder", "medomni-v1\0"),
        ("dataset_release", "3.1"), ("dataset_release", "mimic-iv/"), ("dataset_release", "mimic-iv/3.1\n"),
        ("medomni_release", "0.3.0"), ("medomni_release", "mimic-iv/3.1"), ("medomni_release", None),
    ],
)  # fmt: skip
def test_tokens_of_another_form_are_refused_instead_of_hashed(tmp_path: Path, name: str, token: str) -> None:
    (tmp_path / "x").write_bytes(b"")
    told = refusal(lambda: cfg1([ConfigFile("a", tmp_path / "x")], **{**TOKENS, name: token}))
    assert told.code == "hash-token-invalid"
    assert isinstance(told, ConfigHashError)


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DocumentNotFoundError):
        cfg1([ConfigFile("a", tmp_path / "gone")], **TOKENS)
    with pytest.raises(DocumentError):
        cfg1([ConfigFile("a", tmp_path)], **TOKENS)


@pytest.mark.parametrize("size", [0, 5_000_000])
def test_a_file_that_changes_size_while_it_is_read_is_an_error(
    tmp_path: Path, monkeypatch, size: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 2_500_000)
    true_stat = os.fstat
    calls = []

    def disturbing(descriptor: int) -> os.stat_result:
        calls.append(descriptor)
        if len(calls) == 2:
            os.truncate(path, size)
        return true_stat(descriptor)

    monkeypatch.setattr(hashing.os, "fstat", disturbing)
    assert refusal(lambda: cfg1([ConfigFile("a", path)], **TOKENS)).code == "document-changed"


def set_by_the_prose(entries: dict[str, int]) -> str:
    rows = sorted((pair.encode("utf-8"), str(version).encode("ascii")) for pair, version in entries.items())
    return "set1:" + hashlib.sha256(b"".join(p + b"\x00" + n + b"\x0a" for p, n in rows)).hexdigest()


pair_texts = st.builds("{}_{}@{}".format, *(st.sampled_from(["a", "b", "a-b"]),) * 3)
sets = st.dictionaries(pair_texts, st.integers(0, 120), min_size=1, max_size=5)


@given(sets, st.randoms())
def test_a_sets_hash_is_that_of_the_prose_in_any_order(entries: dict[str, int], random) -> None:
    rows = list(entries.items())
    random.shuffle(rows)
    assert task_set_hash(rows) == set_by_the_prose(entries)
    assert task_set_hash((Pair.parse(pair), version) for pair, version in rows) == set_by_the_prose(entries)


@given(sets, sets)
def test_different_sets_have_different_hashes(one: dict[str, int], two: dict[str, int]) -> None:
    assert (task_set_hash(one.items()) == task_set_hash(two.items())) == (one == two)


def test_a_pair_has_one_hash_however_it_is_written() -> None:
    assert task_set_hash([("a_b:default@c", 1)]) == task_set_hash([("a_b@c", 1)])
    assert refusal(lambda: task_set_hash([("a_b@c", 1), ("a_b:default@c", 2)])).code == "hash-pair-twice"


@pytest.mark.parametrize("version", [True, 1.0, "1", None, -1, float("nan")])
def test_a_version_that_is_no_whole_number_is_refused(version) -> None:
    assert refusal(lambda: task_set_hash([("a_b@c", version)])).code == "hash-version-invalid"


def test_a_set_of_nothing_and_of_what_is_no_pair_is_refused() -> None:
    assert refusal(lambda: task_set_hash([])).code == "hash-input-invalid"
    assert refusal(lambda: task_set_hash([("a_b", 1)])).code == "pair-invalid"


@pytest.mark.parametrize(
    "name",
    [
        "a.yaml~",
        ".#a.yaml",
        "#a.yaml#",
        ".a.yaml.swp",
        ".a.yaml.swo",
        "a.yaml.bak",
        "a.yaml.orig",
        "._a.yaml",
        ".DS_Store",
    ],
)
def test_what_editors_and_desktops_leave_behind_is_stray(name: str) -> None:
    assert is_stray(name)


@pytest.mark.parametrize(
    "name", ["template.yaml", "README.md", ".gitignore", "swp", "a.swap.yaml", "DS_Store.yaml"]
)
def test_content_is_not_stray(name: str) -> None:
    assert not is_stray(name)
