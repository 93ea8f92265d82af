"""Draws that are the same on every machine and for ever: whole numbers from SHA-256 in counter mode.

Leaves to others: what is drawn.

Source: FIPS 180-4 (SHA-256); the byte stream is this project's own and stands in `Draws`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


class Draws:
    """A stream of draws, named by a path: other paths give unrelated streams.

    Block n is SHA-256(SHA-256(path joined by `|`) + n as 8 bytes), read as four big-endian 64-bit numbers.
    """

    def __init__(self, *path: str | int) -> None:
        self._path = path
        self._key = hashlib.sha256("|".join(map(str, path)).encode()).digest()
        self._block = 0
        self._ready: list[int] = []

    def about(self, *path: str | int) -> Draws:
        """The stream of a path below this one."""
        return Draws(*self._path, *path)

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        if not self._ready:
            block = hashlib.sha256(self._key + self._block.to_bytes(8)).digest()
            self._ready = [int.from_bytes(block[at : at + 8]) for at in (24, 16, 8, 0)]
            self._block += 1
        # 64 bits against spans of at most a few millions: the bias is far below anything that shows.
        return low + self._ready.pop() % (high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in `percent` of 100 draws."""
        return self.integer(1, 100) <= percent

    def choice[T](self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.integer(0, len(items) - 1)]

    def noise(self, size: int) -> int:
        """A bell around 0 with a standard deviation of about `size`, never beyond 3.5 times that."""
        reach = size * 7
        return sum(self.integer(-reach, reach) for _ in range(4)) // 8

    def shuffled[T](self, items: Sequence[T]) -> list[T]:
        """The items in drawn order."""
        mixed = list(items)
        for at in range(len(mixed) - 1, 0, -1):
            other = self.integer(0, at)
            mixed[at], mixed[other] = mixed[other], mixed[at]
        return mixed
