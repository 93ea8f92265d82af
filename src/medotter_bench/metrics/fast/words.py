"""Runs of equal voxels, found by comparing 512 bits at a time, then 64.

Leaves to others: what is done with a run. Little-endian machines only (`metrics.fast.available`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from medotter_bench.metrics.fast.compiling import inlined


def _load_word(  # pragma: no cover - runs where a compiler does
    typing_context: Any, array: Any, index: Any
) -> Any:
    """`load_word(array, index)`: the 64 bits that start at an element, wherever it lies in memory."""

    def generate(  # pragma: no cover - runs where a compiler does
        context: Any, builder: Any, signature: Any, arguments: Any
    ) -> Any:
        view = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        place = builder.gep(view.data, [arguments[1]])
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(array, types.int64), generate


def _block_differs(  # pragma: no cover - runs where a compiler does
    typing_context: Any, array: Any, index: Any, word: Any
) -> Any:
    """`block_differs(array, index, word)`: the bits in which any of 8 words from there on is not `word`."""

    def generate(  # pragma: no cover - runs where a compiler does
        context: Any, builder: Any, signature: Any, arguments: Any
    ) -> Any:
        words, one = ir.VectorType(ir.IntType(64), 8), ir.IntType(32)
        undefined = ir.Constant(words, ir.Undefined)
        view = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        place = builder.gep(view.data, [arguments[1]])
        found = builder.load(builder.bitcast(place, words.as_pointer()), align=1)
        first = builder.insert_element(undefined, arguments[2], ir.Constant(one, 0))
        spread = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(one, 8), [0] * 8))
        name = "llvm.vector.reduce.or.v8i64"
        reduce = builder.module.globals.get(name)
        if reduce is None:
            reduce = ir.Function(builder.module, ir.FunctionType(ir.IntType(64), [words]), name)
        return builder.call(reduce, [builder.xor(found, spread)])

    return types.uint64(array, types.int64, types.uint64), generate


def _trailing_zeros(typing_context: Any, word: Any) -> Any:  # pragma: no cover - runs where a compiler does
    """`trailing_zeros(word)`: zero bits below the lowest set bit of a word that is not 0."""

    def generate(  # pragma: no cover - runs where a compiler does
        context: Any, builder: Any, signature: Any, arguments: Any
    ) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _set_bits(typing_context: Any, word: Any) -> Any:  # pragma: no cover - runs where a compiler does
    """`set_bits(word)`: how many bits of a word are 1."""

    def generate(  # pragma: no cover - runs where a compiler does
        context: Any, builder: Any, signature: Any, arguments: Any
    ) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


block_differs: Any = intrinsic(_block_differs)
load_word: Any = intrinsic(_load_word)
set_bits: Any = intrinsic(_set_bits)
trailing_zeros: Any = intrinsic(_trailing_zeros)

_SPREAD_8 = np.uint64(0x0101010101010101)
_SPREAD_16 = np.uint64(0x0001000100010001)
_SPREAD_32 = np.uint64(0x0000000100000001)
_SPREAD_64 = np.uint64(1)


def _run_end(left: Any, right: Any, start: int, stop: int) -> Any:  # pragma: no cover - compiled
    """First place after `start` (at most `stop`) where the pair of values is another one."""
    size = left.itemsize
    spread = _SPREAD_64
    if size == 1:
        spread = _SPREAD_8
    elif size == 2:
        spread = _SPREAD_16
    elif size == 4:
        spread = _SPREAD_32
    first, second = np.uint64(left[start]) * spread, np.uint64(right[start]) * spread
    lanes = 8 // size
    place = start
    while place + 8 * lanes <= stop:
        if (block_differs(left, place, first) | block_differs(right, place, second)) != np.uint64(0):
            break
        place += 8 * lanes
    while place + lanes <= stop:
        other = (load_word(left, place) ^ first) | (load_word(right, place) ^ second)
        if other != np.uint64(0):
            return place + trailing_zeros(other) // (8 * size)
        place += lanes
    while place < stop and left[place] == left[start] and right[place] == right[start]:
        place += 1
    return place


run_end: Any = inlined(_run_end)
