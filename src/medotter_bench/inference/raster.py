"""PNG label maps and images, and JPEG images: samples as stored, never scaled, never recoloured.

The PNG's chunks are walked first, with their checksums and the length of the pixel data, because the decoder
verifies neither and fills what is missing with 0. Palette images give indices as label maps, and colours as
images.
Leaves to others: turning values into ids (`labels`). Pixels have no physical grid here.

Source: the PNG specification (third edition) for chunk layout, colour types and sample depths.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import VolumeError
from medotter_bench.inference.failures import corrupt, decoding, imported, overlong, truncated
from medotter_bench.inference.geometry import Grid
from medotter_bench.inference.limits import checked_shape
from medotter_bench.inference.volumes import Header, Source, Stored
from medotter_bench.label_runs import MakeRunWriter

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
JPEG_MAGIC = b"\xff\xd8\xff"
_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6
_MODES = {_GREY: "L", _RGB: "RGB", _PALETTE: "P", _GREY_ALPHA: "LA", _RGBA: "RGBA"}
_SAMPLES = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
# First column, first row, and steps between columns and rows of the seven passes of an interlaced PNG.
_ADAM7 = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)
_PIECE = 1 << 20
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8)}


class PngSource(Source):
    """One open PNG file."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        width, height, self._depth, self._colour, interlaced = _read_png_header(handle)
        shape = checked_shape((height, width))
        samples = _SAMPLES[self._colour]
        self._n_packed = _packed_size(width, height, samples * self._depth, interlaced=interlaced)
        itemsize = 2 if self._depth == 16 else 1
        self.header = Header(
            grid=Grid(shape),
            dtype="uint16" if itemsize == 2 else "uint8",
            stored_shape=shape if samples == 1 else (*shape, samples),
            n_bytes=height * width * samples * itemsize,
            channels=samples,
            format="png",
        )

    @property
    def mode(self) -> str:
        """The PNG's mode in Pillow's letters."""
        return "I;16" if self._colour == _GREY and self._depth == 16 else _MODES[self._colour]

    def voxels(self) -> Stored:
        """The samples as stored, (Y, X) or (Y, X, C); palette images as indices."""
        return Stored(self._decoded())

    def labels(self, *, rgb24: bool, runs: MakeRunWriter | None = None) -> Stored:
        """One value per pixel: equal colour channels as one, or with `rgb24` as R + 256 G + 65536 B."""
        if rgb24 and self._colour not in {_RGB, _RGBA}:
            raise _mode_error(f"ids packed into red, green and blue need the mode RGB, not {self.mode}")
        pixels = self._decoded()
        if pixels.ndim == 2:
            return Stored(pixels)
        colours = pixels
        if self._colour in {_GREY_ALPHA, _RGBA}:
            alpha, colours = pixels[..., -1], pixels[..., :-1]
            if alpha.min() != alpha.max():
                raise _mode_error(f"the PNG has the mode {self.mode} and a transparency that varies")
        if rgb24:
            weights = np.array([1, 256, 65536], dtype=np.uint32)
            return Stored((colours * weights).sum(axis=-1, dtype=np.uint32))
        if not (colours == colours[..., :1]).all():
            raise _mode_error(f"the PNG has the mode {self.mode} with colours; label ids cannot be told")
        return Stored(np.ascontiguousarray(colours[..., 0]))

    def image(self) -> Stored:
        """The samples as stored, a palette's indices replaced by their colours."""
        return Stored(self._decoded(colours=True))

    def _decoded(self, *, colours: bool = False) -> npt.NDArray[Any]:
        _check_png_chunks(self._handle, self._n_packed)
        self._handle.seek(0)
        with _opened(self._handle, "PNG") as image:
            if colours and self._colour == _PALETTE:
                return np.array(image.convert("RGB"))
            pixels: npt.NDArray[Any] = np.array(image)
        if pixels.shape != self.header.stored_shape:
            raise corrupt(f"the PNG decodes to {pixels.shape}, its header says {self.header.stored_shape}")
        if self._colour == _GREY and self._depth in {2, 4}:
            # The decoder stretches these to 0..255; the stored value is what the writer meant.
            pixels = pixels // (255 // (2**self._depth - 1))
        return pixels


class JpegSource(Source):
    """One open JPEG file: an image, never a label map."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        with _opened(handle, "JPEG") as image:
            width, height = image.size
            mode = image.mode
        if mode not in {"L", "RGB"}:
            raise _mode_error(f"the JPEG has the mode {mode}; L and RGB are read")
        shape = checked_shape((height, width))
        samples = 3 if mode == "RGB" else 1
        self.header = Header(
            grid=Grid(shape),
            dtype="uint8",
            stored_shape=shape if samples == 1 else (*shape, samples),
            n_bytes=height * width * samples,
            channels=samples,
            format="jpeg",
            lossy=True,
        )

    def voxels(self) -> Stored:
        """The decoded samples, (Y, X) or (Y, X, 3)."""
        self._handle.seek(0)
        with _opened(self._handle, "JPEG") as image:
            return Stored(np.array(image))


@contextmanager
def _opened(handle: BinaryIO, kind: str) -> Iterator[Any]:
    """The image in `handle`, which must be of the format `kind`; its decoder's errors become ours."""
    pillow = imported("PIL.Image", f"reading {kind} files")
    try:
        bombs = (pillow.DecompressionBombError,)
        with decoding(f"the {kind}", also=bombs), pillow.open(handle, formats=(kind,)) as image:
            yield image
    except VolumeError as error:
        if isinstance(error.__cause__, pillow.DecompressionBombError):
            error.code = "volume-too-large"
        raise


def _read_png_header(handle: BinaryIO) -> tuple[int, int, int, int, bool]:
    """Width, height, bits per sample, colour type, and whether the rows are interlaced."""
    start = handle.read(33)
    if len(start) < 33:
        raise truncated(f"the file holds {len(start)} bytes, too few for a PNG header")
    length, kind, width, height, depth, colour, _, _, interlace, checksum = struct.unpack(
        ">I4sIIBBBBBI", start[8:]
    )
    if length != 13 or kind != b"IHDR" or zlib.crc32(start[12:29]) != checksum:
        raise corrupt("the PNG header is damaged")
    if colour not in _MODES or depth not in _DEPTHS.get(colour, (8, 16)):
        raise corrupt(f"the PNG header states {depth} bits per sample with the colour type {colour}")
    if depth == 16 and colour != _GREY:
        raise _mode_error(f"the PNG has the mode {_MODES[colour]} with 16 bits per sample; 8 are read")
    return width, height, depth, colour, interlace == 1


def _packed_size(width: int, height: int, bits_per_pixel: int, *, interlaced: bool) -> int:
    """Bytes of the filtered rows: one filter byte and the packed samples each."""
    size = 0
    for x, y, step_x, step_y in _ADAM7 if interlaced else ((0, 0, 1, 1),):
        columns, rows = (width - x + step_x - 1) // step_x, (height - y + step_y - 1) // step_y
        if columns > 0 and rows > 0:
            size += rows * (1 + (columns * bits_per_pixel + 7) // 8)
    return size


class _PixelData:
    """Counts what the pixel data inflates to, in bounded pieces."""

    def __init__(self, n_expected: int) -> None:
        self._inflate = zlib.decompressobj()
        self._n_expected = n_expected
        self._n_found = 0

    def add(self, piece: bytes) -> None:
        """Count one more piece of the compressed data."""
        with decoding("the PNG's pixel data"):
            while piece and not self._inflate.eof:
                self._n_found += len(self._inflate.decompress(piece, _PIECE))
                piece = self._inflate.unconsumed_tail
                if self._n_found > self._n_expected:
                    raise overlong(
                        f"the PNG's header promises {self._n_expected} bytes of pixels, it holds more"
                    )

    def finish(self) -> None:
        """Refuse pixel data that ended too early."""
        if not self._inflate.eof or self._n_found < self._n_expected:
            raise truncated(
                f"the PNG's header promises {self._n_expected} bytes of pixels, it holds {self._n_found}"
            )


def _check_png_chunks(handle: BinaryIO, n_packed: int) -> None:
    """Verify every chunk's checksum up to the end mark, and that there are `n_packed` bytes of pixels.

    Raises:
        VolumeError: `volume-truncated`, `volume-overlong`, `volume-corrupt`, or `volume-frames` for an
            animation.
    """
    handle.seek(len(PNG_MAGIC))
    pixels = _PixelData(n_packed)
    kind = b""
    while kind != b"IEND":
        head = handle.read(8)
        if len(head) < 8:
            raise truncated("the PNG ends before its end mark")
        length, kind = struct.unpack(">I4s", head)
        if kind in {b"acTL", b"fcTL"}:
            raise VolumeError(
                "the PNG is an animation", hint="write one image per file", code="volume-frames"
            )
        checksum = zlib.crc32(kind)
        while length > 0 and (piece := handle.read(min(length, _PIECE))):
            checksum = zlib.crc32(piece, checksum)
            length -= len(piece)
            if kind == b"IDAT":
                pixels.add(piece)
        stated = handle.read(4)
        if length > 0 or len(stated) < 4:
            raise truncated("the PNG ends within a chunk")
        if int.from_bytes(stated, "big") != checksum:
            raise corrupt(f"the checksum of the PNG's chunk {kind!r} is wrong")
    pixels.finish()


def _mode_error(what: str) -> VolumeError:
    return VolumeError(
        what, hint="write a single-channel 8- or 16-bit grey PNG of label ids", code="volume-mode"
    )
