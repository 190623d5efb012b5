"""Kernels: numbers as the shortest decimals that read back to the same bits, as Python writes them."""

from __future__ import annotations

import math

import numpy as np

from linrank.compiled import kernel
from linrank.reading.decimals import LEAST_WRITTEN_EXPONENT
from linrank.reading.number_parser import leading_product

# A sign, seventeen digits, a point and an exponent such as e-308.
LONGEST_NUMBER = 24

_PLUS, _MINUS, _POINT, _ZERO, _E = 43, 45, 46, 48, 101
_N, _U, _L = 78, 85, 76

_NONE, _ONE, _TWO, _FOUR, _TEN, _FORTY = (np.uint64(number) for number in (0, 1, 2, 4, 10, 40))
_HUNDRED, _TEN_THOUSAND, _MILLION = (np.uint64(number) for number in (100, 10_000, 1_000_000))
# "00", "01" and so on up to "99": half as many divisions as digits.
_PAIRS = np.frombuffer("".join(f"{number:02}" for number in range(100)).encode(), dtype=np.uint8).copy()

# Whole numbers below are written without a point, and are exact as doubles.
_GREATEST_WHOLE = 1e15
# No two decimals of as many digits are one float64, or one float32: one that reads back is the shortest.
_SAFE_DECIMALS, _SAFE_SINGLE_DECIMALS = 1e15, 1e6
# What most data has at most: six digits behind the point.
_USUAL_SCALE = 1e6
_USUAL_EXPONENT = -6
# Smaller numbers are written in scientific form.
_LEAST_PLAIN = 1e-4


@kernel
def write_number(text, pos, value, is_single, fives_high, fives_low):  # type: ignore[no-untyped-def]
    """Write a number that is not infinite at `pos`, a missing one as NULL; return where it ends.

    `is_single` says that a float32 is to be read back, of which fewer digits will do.
    """
    if math.isnan(value):
        text[pos], text[pos + 1], text[pos + 2], text[pos + 3] = _N, _U, _L, _L
        return pos + 4
    size = abs(value)
    if math.copysign(1.0, value) < 0.0:
        text[pos] = _MINUS
        pos += 1
    if is_written_whole(value):
        return write_whole(text, pos, np.uint64(size))
    if size == 0.0:
        return _write_decimal(text, pos, _NONE, 0)
    if size < (_SAFE_SINGLE_DECIMALS if is_single else _SAFE_DECIMALS) / _USUAL_SCALE:
        usual = math.floor(size * _USUAL_SCALE + 0.5)
        nearest = usual / _USUAL_SCALE
        if nearest == size or (is_single and np.float32(nearest) == np.float32(size)):
            if size >= _LEAST_PLAIN:
                return _write_millionths(text, pos, np.uint64(usual))
            return _write_decimal(text, pos, np.uint64(usual), _USUAL_EXPONENT)
    digits, exponent = _shortest_decimal(size, is_single, fives_high, fives_low)
    return _write_decimal(text, pos, digits, exponent)


@kernel
def is_written_whole(value):  # type: ignore[no-untyped-def]
    """Whether a number is written without a point, where Python writes one: 0.5 and -0.0 are not."""
    size = abs(value)
    return size < _GREATEST_WHOLE and size == math.floor(size) and (size > 0.0 or math.copysign(1.0, value) > 0.0)


@kernel
def write_whole(text, pos, number):  # type: ignore[no-untyped-def]
    """Write an unsigned whole number; return where it ends."""
    stop = pos + _n_digits(number)
    _write_digits(text, pos, stop, number)
    return stop


@kernel
def _write_millionths(text, pos, number):  # type: ignore[no-untyped-def]
    """Write a number of millionths that is not whole, without the zeros at its end; return where that is."""
    whole = number // _MILLION
    pos = write_whole(text, pos, whole)
    text[pos] = _POINT
    rest = number - whole * _MILLION
    first = rest // _TEN_THOUSAND
    rest -= first * _TEN_THOUSAND
    second = rest // _HUNDRED
    _write_pair(text, pos + 1, first)
    _write_pair(text, pos + 3, second)
    _write_pair(text, pos + 5, rest - second * _HUNDRED)
    pos += 7
    while text[pos - 1] == _ZERO:
        pos -= 1
    return pos


@kernel
def _shortest_decimal(size, is_single, fives_high, fives_low):  # type: ignore[no-untyped-def]
    """Digits and exponent of the decimal nearest to `size` among the shortest of those that are rounded to it.

    Giulietti (The Schubfach way to render doubles, 2020): with 10**k just below the width of the interval that is
    rounded to c * 2**q, it holds a multiple of 10**k, and at most one of 10**(k + 1). Its two ends and its middle are
    multiplied by 126 bits or more of 10**-k; that the result is odd tells that it was cut.
    """
    n_bits, least_power = (24, -149) if is_single else (53, -1074)
    fraction, power = math.frexp(size)
    q = max(power - n_bits, least_power)
    c = np.uint64(math.ldexp(fraction, power - q))
    # Below a power of two, numbers are twice as dense.
    is_closer_below = c == (_ONE << np.uint64(n_bits - 1)) and q > least_power
    # floor(q * log10(2)), or of 3/4 of it; and below, floor(-k * log2(10)).
    k = (q * 1262611 - (524031 if is_closer_below else 0)) >> 22
    shift = np.uint64(q + ((-k * 1741647) >> 19) + 1)
    high, low = fives_high[-k - LEAST_WRITTEN_EXPONENT], fives_low[-k - LEAST_WRITTEN_EXPONENT]
    four_c = _FOUR * c
    first = _scaled_to_odd((four_c - (_ONE if is_closer_below else _TWO)) << shift, high, low)
    middle = _scaled_to_odd(four_c << shift, high, low)
    last = _scaled_to_odd((four_c + _TWO) << shift, high, low)
    # The ends themselves are rounded to an even number.
    if c & _ONE:
        first += _ONE
        last -= _ONE
    digits = middle // _FOUR
    if digits >= _TEN:
        tens = digits // _TEN
        below_is_inside, above_is_inside = first <= _FORTY * tens, _FORTY * tens + _FORTY <= last
        if below_is_inside != above_is_inside:
            return tens + (_ONE if above_is_inside else _NONE), k + 1
    below_is_inside, above_is_inside = first <= _FOUR * digits, _FOUR * digits + _FOUR <= last
    if below_is_inside != above_is_inside:
        return digits + (_ONE if above_is_inside else _NONE), k
    half = _FOUR * digits + _TWO
    goes_up = middle > half or (middle == half and digits & _ONE == _ONE)
    return digits + (_ONE if goes_up else _NONE), k


@kernel
def _scaled_to_odd(number, fives_high, fives_low):  # type: ignore[no-untyped-def]
    high, low = leading_product(number, fives_high, fives_low)
    return high | (_ONE if low > _ONE else _NONE)


@kernel
def _write_decimal(text, pos, digits, exponent):  # type: ignore[no-untyped-def]
    """Write digits * 10**exponent with a point, or in scientific form where that would take many zeros."""
    while digits > _NONE and digits % _TEN == _NONE:
        digits //= _TEN
        exponent += 1
    n_digits = _n_digits(digits)
    # How many digits stand before the point.
    n_before = n_digits + exponent
    if not -4 < n_before <= 16:
        return _write_scientific(text, pos, digits, n_digits, n_before - 1)
    if n_before <= 0:
        text[pos], text[pos + 1] = _ZERO, _POINT
        pos += 2
        for _ in range(-n_before):
            text[pos] = _ZERO
            pos += 1
        _write_digits(text, pos, pos + n_digits, digits)
        return pos + n_digits
    if n_before < n_digits:
        _write_digits(text, pos + 1, pos + 1 + n_digits, digits)
        for place in range(pos, pos + n_before):
            text[place] = text[place + 1]
        text[pos + n_before] = _POINT
        return pos + n_digits + 1
    _write_digits(text, pos, pos + n_digits, digits)
    for place in range(pos + n_digits, pos + n_before):
        text[place] = _ZERO
    pos += n_before
    text[pos], text[pos + 1] = _POINT, _ZERO
    return pos + 2


@kernel
def _write_scientific(text, pos, digits, n_digits, exponent):  # type: ignore[no-untyped-def]
    _write_digits(text, pos + 1, pos + 1 + n_digits, digits)
    text[pos] = text[pos + 1]
    if n_digits > 1:
        text[pos + 1] = _POINT
        pos += 1
    pos += n_digits
    text[pos] = _E
    text[pos + 1] = _MINUS if exponent < 0 else _PLUS
    size = np.uint64(abs(exponent))
    stop = pos + 2 + max(2, _n_digits(size))
    _write_digits(text, pos + 2, stop, size)
    return stop


@kernel
def _n_digits(number):  # type: ignore[no-untyped-def]
    n_digits, bound = 1, _TEN
    while number >= bound:
        bound *= _TEN
        n_digits += 1
    return n_digits


@kernel
def _write_digits(text, start, stop, number):  # type: ignore[no-untyped-def]
    """The last digits of a number, as many as there is room for."""
    while stop - start >= 2:
        rest = number // _HUNDRED
        stop -= 2
        _write_pair(text, stop, number - rest * _HUNDRED)
        number = rest
    if stop > start:
        text[start] = _ZERO + np.int64(number % _TEN)


@kernel
def _write_pair(text, pos, number):  # type: ignore[no-untyped-def]
    place = 2 * np.int64(number)
    text[pos], text[pos + 1] = _PAIRS[place], _PAIRS[place + 1]
