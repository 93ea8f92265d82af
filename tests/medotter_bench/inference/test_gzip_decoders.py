"""Every installed gzip decoder gives the same label maps and the same verdicts as Python's own."""

import gzip
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from volume_files import labels, nifti, nifti_bytes, nrrd_bytes, refused, same_labels

from medotter_bench.errors import VolumeError
from medotter_bench.inference import read_image, read_label_map, streams
from medotter_bench.inference.gunzip import MODULES, Decoder, decoder_of, fast_decoder
from medotter_bench.inference.labels import highest_of

DECODERS = {name: decoder for name in MODULES if (decoder := decoder_of(name)) is not None}
ALL = {"gzip": None, **DECODERS}
CONTENT = nifti_bytes(labels())
SHARED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=ALL, ids=str)
def decoder(request, monkeypatch):
    """Reading goes through this decoder."""
    monkeypatch.setattr(streams, "fast_decoder", lambda: ALL[request.param])
    return ALL[request.param]


def member(content, *, flags=0, extra=b"", crc=None, length=None):
    """One gzip member with any header flags and any trailer."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    body = packer.compress(content) + packer.flush()
    checks = (zlib.crc32(content) if crc is None else crc, len(content) if length is None else length)
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(4) + b"\x00\xff" + extra
    return head + body + b"".join((check & 0xFFFFFFFF).to_bytes(4, "little") for check in checks)


def with_header_checksum(content, *, right):
    head = b"\x1f\x8b\x08\x02" + bytes(4) + b"\x00\xff"
    checksum = (zlib.crc32(head) + (0 if right else 1)) & 0xFFFF
    return member(content, flags=2, extra=checksum.to_bytes(2, "little"))


WHOLE = member(CONTENT)
PIECES = [CONTENT[:100], b"", CONTENT[100:380], CONTENT[380:], b""]
READABLE = {
    "one member": WHOLE,
    "a member per piece, empty ones too": b"".join(member(piece) for piece in PIECES),
    "a member per byte": b"".join(member(CONTENT[at : at + 1]) for at in range(len(CONTENT))),
    "zeros after it": WHOLE + bytes(512),
    "zeros between members": member(CONTENT[:400]) + bytes(7) + member(CONTENT[400:]),
    "a name and a comment": member(CONTENT, flags=24, extra=b"a.nii\0by hand\0"),
    "an extra field": member(CONTENT, flags=4, extra=b"\x06\0abcdef"),
    "a header checksum": with_header_checksum(CONTENT, right=True),
    "a wrong header checksum, which Python does not look at": with_header_checksum(CONTENT, right=False),
}
REFUSED = {
    "cut in the voxels": (WHOLE[:-20], "volume-truncated"),
    "cut before the checksum": (WHOLE[:-8], "volume-truncated"),
    "cut in the length": (WHOLE[:-1], "volume-truncated"),
    "cut in the second member": (
        (member(CONTENT[:400]) + member(CONTENT[400:]))[:-1],
        "volume-truncated",
    ),
    "the second member lacks": (member(CONTENT[:400]), "volume-truncated"),
    "a wrong checksum": (member(CONTENT, crc=7), "volume-corrupt"),
    "a wrong length": (member(CONTENT, length=7), "volume-corrupt"),
    "a wrong checksum in the second member": (
        member(CONTENT[:400]) + member(CONTENT[400:], crc=7),
        "volume-corrupt",
    ),
    "a wrong checksum in an empty last member": (WHOLE + member(b"", crc=7), "volume-corrupt"),
    "a byte too many": (member(CONTENT + b"\0"), "volume-overlong"),
    "a member too many": (WHOLE + member(b"\0"), "volume-overlong"),
    "far too much": (member(CONTENT + bytes(1 << 22)), "volume-overlong"),
    "short junk after it": (WHOLE + b"junk", "volume-corrupt"),
    "one byte of junk after it": (WHOLE + b"\x1f", "volume-corrupt"),
    "junk after zeros": (WHOLE + bytes(9) + b"some longer junk after it", "volume-corrupt"),
}


@pytest.mark.parametrize("content", READABLE.values(), ids=READABLE)
def test_a_stream_in_any_lawful_form_is_read_by_every_decoder(tmp_path, decoder, content):
    path = tmp_path / "a.nii.gz"
    path.write_bytes(content)
    assert same_labels(read_label_map(path), labels())


@pytest.mark.parametrize(("content", "code"), REFUSED.values(), ids=REFUSED)
def test_a_faulty_stream_has_one_code_whatever_the_decoder(tmp_path, decoder, content, code):
    path = tmp_path / "a.nii.gz"
    path.write_bytes(content)
    error = refused(path, code)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(streams, "fast_decoder", lambda: None)
        assert refused(path, code).what == error.what


def outcome(path, chosen):
    """Code and message, or bytes and type, of reading `path` through the decoder `chosen`."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(streams, "fast_decoder", lambda: chosen)
        try:
            read = read_label_map(path)
        except VolumeError as error:
            return error.code, error.what
        return read.array.tobytes(order="F"), read.array.dtype, dict(read.notes)


@given(data=st.data())
@SHARED
def test_damage_has_the_same_outcome_whatever_the_decoder(tmp_path, data):
    content = bytearray(data.draw(st.sampled_from([WHOLE, READABLE["a member per piece, empty ones too"]])))
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))] + data.draw(st.binary(max_size=12))
    path = tmp_path / "a.nii.gz"
    path.write_bytes(bytes(content))
    expected = outcome(path, None)
    for chosen in DECODERS.values():
        assert outcome(path, chosen) == expected


@given(
    dtype=st.sampled_from(["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]),
    order=st.sampled_from("<>"),
    values=st.lists(st.integers(-3, 70000), min_size=1, max_size=9),
)
@SHARED
def test_values_types_and_notes_are_the_same_whatever_the_decoder(tmp_path, dtype, order, values):
    limits = np.iinfo(dtype) if dtype[0] != "f" else np.iinfo("i4")
    kept = np.clip(values, limits.min, limits.max).astype(dtype).reshape(-1, 1, 1)
    path = nifti(tmp_path, kept, order=order)
    expected = outcome(path, None)
    for chosen in DECODERS.values():
        assert outcome(path, chosen) == expected
    if kept.min() < 0:
        assert expected[0] == "labels-negative"
    else:
        assert expected[0] == read_label_map(path).array.tobytes(order="F")
        assert read_label_map(path).array.ravel().tolist() == kept.ravel().tolist()


def test_a_volume_of_many_pieces_comes_back(tmp_path, decoder, monkeypatch):
    monkeypatch.setattr(streams, "_PIECE", 64)
    ids = labels((13, 11, 7), "i4", 9)
    ids[12, 10, 6] = 70000
    assert same_labels(read_label_map(nifti(tmp_path, ids)), ids)
    ids[12, 10, 6] = -1
    refused(nifti(tmp_path, ids), "labels-negative")
    saturated = labels((13, 11, 7))
    saturated[0, 5, 3] = 255
    assert read_label_map(nifti(tmp_path, saturated)).notes == {"saturated_at": 255}


def test_an_integer_map_is_read_into_one_array_without_a_second(tmp_path, decoder):
    ids = labels((200, 200, 100), "u2")
    path = nifti(tmp_path, ids)
    read_label_map(path)
    tracemalloc.start()
    try:
        read = read_label_map(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read.array.dtype == np.uint16
    assert read.array.flags.f_contiguous
    assert peak < ids.nbytes + 4_000_000


def test_a_bomb_is_stopped_at_the_size_of_its_header(tmp_path, decoder):
    path = tmp_path / "a.nii.gz"
    path.write_bytes(gzip.compress(CONTENT + bytes(30_000_000)))
    read_label_map(nifti(tmp_path, labels(), "warm.nii.gz"))
    tracemalloc.start()
    try:
        refused(path, "volume-overlong")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


def test_gzip_in_an_nrrd_is_read_by_every_decoder(tmp_path, decoder):
    pytest.importorskip("SimpleITK")
    path = tmp_path / "a.nrrd"
    path.write_bytes(nrrd_bytes(labels(), encoding="gzip"))
    assert same_labels(read_label_map(path), labels())
    path.write_bytes(nrrd_bytes(labels(), encoding="gzip")[:-1])
    refused(path, "volume-truncated")


@pytest.mark.skipif(not DECODERS, reason="no fast decoder is installed")
def test_a_whole_file_is_left_to_the_fast_decoder(tmp_path, monkeypatch):
    """Else a change in the decoder's package would cost its speed and nobody would know."""
    path = nifti(tmp_path, labels())

    def never(*_, **__):
        pytest.fail("the slow decoder was asked")

    monkeypatch.setattr(streams, "gzip", type("gzip", (), {"GzipFile": never}))
    for chosen in DECODERS.values():
        monkeypatch.setattr(streams, "fast_decoder", lambda chosen=chosen: chosen)
        assert same_labels(read_label_map(path), labels())


class Faulty:
    """A decoder that fails in one way."""

    def __init__(self, fault):
        self.fault = fault

    def read(self, size=-1):
        if isinstance(self.fault, Exception):
            raise self.fault
        return bytes(size) if self.fault == "long" else b""

    def readinto(self, buffer):
        if self.fault == "short":
            return 0
        buffer[:] = b"\1" * len(buffer)
        return len(buffer)


FAULTS = [
    ValueError("no"),
    EOFError("no"),
    TypeError("no"),
    MemoryError(),
    zlib.error("no"),
    "short",
    "long",
    "",
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_a_decoder_that_fails_is_not_believed(tmp_path, monkeypatch, fault):
    errors = (ValueError, EOFError, TypeError, MemoryError, zlib.error)
    faulty = Decoder(lambda handle, size: Faulty(fault), errors)
    monkeypatch.setattr(streams, "fast_decoder", lambda: faulty)
    assert same_labels(read_label_map(nifti(tmp_path, labels())), labels())
    refused(nifti(tmp_path, labels(), vox_offset=400), "volume-truncated")


def test_without_a_fast_package_there_is_no_fast_decoder():
    assert decoder_of("no_such_package_here") is None
    assert decoder_of("math") is None
    expected = next(iter(DECODERS.values()), None)
    assert fast_decoder() == expected


@pytest.mark.parametrize("values", [[0, 1, 255], [0, 256, 3], [70000, 1, 0], [-0.0, 1, 2]])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_whole_floats_become_the_smallest_unsigned_type(tmp_path, values, dtype):
    stored = np.array(values, dtype=dtype).reshape(3, 1, 1)
    read = read_label_map(nifti(tmp_path, stored))
    assert read.array.ravel().tolist() == [abs(int(value)) for value in values]
    assert read.array.dtype == np.min_scalar_type(int(max(values)))
    assert read.notes == {}


def test_an_image_with_negative_values_is_read_as_it_is(tmp_path, decoder):
    stored = np.array([[[-1000, 5], [300, -1]]], dtype=np.int16)
    assert np.array_equal(read_image(nifti(tmp_path, stored)).array, stored)


def test_the_highest_value_is_known_only_where_none_is_negative():
    assert highest_of(np.array([[3, 0], [127, 5]], dtype="i1")[:, ::-1]) == 127
    assert highest_of(np.array([2**64 - 1, 0], dtype="u8")) == 2**64 - 1
    for unknown in (
        np.array([3, -1], dtype="i4"),
        np.array([1.0]),
        np.array([1], dtype=">i2"),
        np.array([], "u1"),
    ):
        assert highest_of(unknown) is None
