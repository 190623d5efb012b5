"""Many numbers as text, as Python writes each of them: for a list of JSON, several times as fast."""

from __future__ import annotations

import numpy as np

from linrank.arrays import Vector, for_kernels
from linrank.compiled import kernel
from linrank.reading.decimals import fives_rounded_up
from linrank.reading.number_writer import LONGEST_NUMBER, is_written_whole, write_number

_POINT, _ZERO = 46, 48


def listed(values: Vector, between: str) -> str:
    """`between.join(map(repr, values))`, of finite numbers in float64."""
    separator = np.frombuffer(between.encode(), dtype=np.uint8)
    text = np.empty(len(values) * (LONGEST_NUMBER + len(separator)), dtype=np.uint8)
    size = _write_listed(text, for_kernels(values), for_kernels(separator), *fives_rounded_up())
    return text[:size].tobytes().decode("ascii")


@kernel
def _write_listed(text, values, separator, fives_high, fives_low):  # type: ignore[no-untyped-def]
    pos = 0
    for place in range(len(values)):
        if place:
            for letter in range(len(separator)):
                text[pos] = separator[letter]
                pos += 1
        pos = write_number(text, pos, values[place], False, fives_high, fives_low)
        if is_written_whole(values[place]):
            text[pos], text[pos + 1] = _POINT, _ZERO
            pos += 2
    return pos
