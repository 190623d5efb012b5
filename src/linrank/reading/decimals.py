"""Tables for turning decimal digits into the nearest double, and doubles into the shortest digits."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector

# mantissa * 10**exponent with at most 19 digits is zero below the first of these, and infinite above the second.
LEAST_EXPONENT = -342
GREATEST_EXPONENT = 308
# The powers of ten that bring the last bit of any double to about one.
LEAST_WRITTEN_EXPONENT = -292
GREATEST_WRITTEN_EXPONENT = 324
# The greatest power of five of 128 bits.
_GREATEST_WHOLE_POWER = 55


class DecimalTables(NamedTuple):
    """Powers of ten: exactly, where a double holds them, and as 5**q ~ (high * 2**64 + low) * 2**(two - q - 128).

    `high * 2**64 + low` is 5**q cut to its leading 128 bits, so the error is less than one unit of `low`. Entry
    `q - LEAST_EXPONENT` belongs to q.
    """

    powers: Vector
    fives_high: NDArray[np.uint64]
    fives_low: NDArray[np.uint64]
    twos: Offsets


@cache
def decimal_tables() -> DecimalTables:
    cut = [_leading_bits_of_five_to(q) for q in range(LEAST_EXPONENT, GREATEST_EXPONENT + 1)]
    return DecimalTables(
        powers=np.array([float(10**n) for n in range(23)]),
        fives_high=np.array([bits >> 64 for bits, _ in cut], dtype=np.uint64),
        fives_low=np.array([bits & (2**64 - 1) for bits, _ in cut], dtype=np.uint64),
        twos=np.array([two for _, two in cut], dtype=np.int64),
    )


@cache
def fives_rounded_up() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The leading 128 bits of 5**q, rounded up, as high and low halves; `q - LEAST_WRITTEN_EXPONENT` belongs to q."""
    powers = range(LEAST_WRITTEN_EXPONENT, GREATEST_WRITTEN_EXPONENT + 1)
    bits = [_leading_bits_of_five_to(q)[0] + (not 0 <= q <= _GREATEST_WHOLE_POWER) for q in powers]
    halves = [divmod(number, 2**64) for number in bits]
    high, low = np.array(halves, dtype=np.uint64).T
    return np.ascontiguousarray(high), np.ascontiguousarray(low)


def _leading_bits_of_five_to(q: int) -> tuple[int, int]:
    """The leading 128 bits of 5**q, and the power of two that makes 10**q of (them / 2**128)."""
    if q >= 0:
        power = 5**q
        shift = power.bit_length() - 128
        return (power >> shift if shift >= 0 else power << -shift), shift + 128 + q
    power = 5**-q
    # 2**shift / power lies in [2**127, 2**128), because power is no power of two.
    shift = power.bit_length() + 127
    return (1 << shift) // power, 128 - shift + q
