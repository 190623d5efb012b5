"""Kernel: words that are no short decimals become the nearest double, where 128 bits suffice to know it."""

from __future__ import annotations

import math

import numpy as np

from linrank.compiled import kernel
from linrank.reading.byte_parser import WORD_ENTRY, WORD_START, WORD_STOP
from linrank.reading.decimals import GREATEST_EXPONENT, LEAST_EXPONENT

# What a word is.
_NUMBER, _UNSETTLED, _MISSING, _NO_NUMBER = 0, 1, 2, 3

_PLUS, _MINUS, _POINT, _ZERO = 43, 45, 46, 48
_A, _E, _L, _N, _U = 97, 101, 108, 110, 117
_LOWER_CASE = 32

# The most digits that surely fit in an unsigned integer of 64 bits.
_MOST_DIGITS = 19
# More than the digits of any line: an exponent need not be counted further.
_ENDLESS_EXPONENT = 10**12

_ONE, _TEN, _HALF_WORD = np.uint64(1), np.uint64(10), np.uint64(32)
_TOP_BIT = np.uint64(1 << 63)
_LOW_HALF = np.uint64(2**32 - 1)
_ALL_BITS = np.uint64(2**64 - 1)


@kernel
def settle_words(  # type: ignore[no-untyped-def]
    text, words, n_words, reads_missing, missing_value, value_limit,
    powers, fives_high, fives_low, twos, labels, values,
):  # fmt: skip
    """Put the number each word stands for in its place; words that need exact arithmetic move to the front of `words`.

    Returns how many those are, how many values were missing, and the first word that is no number, or -1.
    """
    n_left = n_missing = 0
    for place in range(n_words):
        entry = words[place, WORD_ENTRY]
        kind, value = _number(
            text, words[place, WORD_START], words[place, WORD_STOP], powers, fives_high, fives_low, twos
        )
        if kind == _UNSETTLED:
            words[n_left] = words[place]
            n_left += 1
        elif kind == _MISSING and reads_missing and entry >= 0:
            n_missing += 1
            value = missing_value
        elif kind != _NUMBER or abs(value) >= (value_limit if entry >= 0 else math.inf):
            return n_left, n_missing, place
        if entry >= 0:
            values[entry] = value
        else:
            labels[-1 - entry] = value
    return n_left, n_missing, -1


@kernel
def drop_zeros(values, columns, row_starts, vanishing):  # type: ignore[no-untyped-def]
    """Leave out the entries up to `vanishing`, which become zero in the array they are for; -0.0 and less stay."""
    n_kept = entry = 0
    for row in range(len(row_starts) - 1):
        while entry < row_starts[row + 1]:
            value = values[entry]
            if value > vanishing or math.copysign(1.0, value) < 0.0 or math.isnan(value):
                values[n_kept] = value
                columns[n_kept] = columns[entry]
                n_kept += 1
            entry += 1
        row_starts[row + 1] = n_kept


@kernel
def _number(text, start, stop, powers, fives_high, fives_low, twos):  # type: ignore[no-untyped-def]
    """What the word is, and its value: [+-] digits [. digits] [e [+-] digits], or `NULL`, or `nan`."""
    pos = start
    sign = _byte(text, pos, stop)
    if sign in (_MINUS, _PLUS):
        pos += 1
    if _is_missing(text, pos, stop):
        return _MISSING, math.nan
    mantissa = np.uint64(0)
    n_digits = n_kept = exponent = 0
    is_cut = past_point = False
    while pos < stop:
        digit = _byte(text, pos, stop) - _ZERO
        if digit == _POINT - _ZERO and not past_point:
            past_point = True
        elif digit < 0 or digit > 9:
            break
        else:
            n_digits += 1
            if n_kept < _MOST_DIGITS:
                mantissa = mantissa * _TEN + np.uint64(digit)
                if mantissa > 0:
                    n_kept += 1
                exponent -= past_point
            else:
                is_cut = is_cut or digit > 0
                exponent += not past_point
        pos += 1
    written, pos = _written_exponent(text, pos, stop)
    if n_digits == 0 or pos < stop:
        return _NO_NUMBER, 0.0
    is_certain, value = _nearest_double(mantissa, exponent + written, is_cut, powers, fives_high, fives_low, twos)
    if not is_certain:
        return _UNSETTLED, math.nan
    return _NUMBER, -value if sign == _MINUS else value


@kernel
def _written_exponent(text, pos, stop):  # type: ignore[no-untyped-def]
    """The exponent that follows, 0 if there is none, and where it ends; an `e` without digits is left standing."""
    if _byte(text, pos, stop) | _LOWER_CASE != _E:
        return 0, pos
    sign = _byte(text, pos + 1, stop)
    first_digit = end = pos + 2 if sign in (_MINUS, _PLUS) else pos + 1
    exponent = 0
    while end < stop:
        digit = _byte(text, end, stop) - _ZERO
        if digit < 0 or digit > 9:
            break
        exponent = min(exponent * 10 + digit, _ENDLESS_EXPONENT)
        end += 1
    if end == first_digit:
        return 0, pos
    return -exponent if sign == _MINUS else exponent, end


@kernel
def _is_missing(text, pos, stop):  # type: ignore[no-untyped-def]
    first = _byte(text, pos, stop) | _LOWER_CASE
    second = _byte(text, pos + 1, stop) | _LOWER_CASE
    third = _byte(text, pos + 2, stop) | _LOWER_CASE
    if stop - pos == 3:
        return first == _N and second == _A and third == _N
    fourth = _byte(text, pos + 3, stop) | _LOWER_CASE
    return stop - pos == 4 and first == _N and second == _U and third == _L and fourth == _L


@kernel
def _byte(text, pos, stop):  # type: ignore[no-untyped-def]
    return np.int64(text[pos]) if pos < stop else 0


@kernel
def _nearest_double(mantissa, exponent, is_cut, powers, fives_high, fives_low, twos):  # type: ignore[no-untyped-def]
    """Whether the double nearest to mantissa * 10**exponent is certain, and that double.

    `is_cut` says that digits were dropped: the true mantissa lies between `mantissa`, of 19 digits, and `mantissa` + 1.
    The idea is Eisel's and Lemire's (Number parsing at a gigabyte per second, 2021): multiply by 128 bits of the power
    of five and see whether the error of the product could change the rounding. Here an exact tie counts as uncertain.
    """
    if mantissa == 0 or exponent < LEAST_EXPONENT:
        return True, 0.0
    if exponent > GREATEST_EXPONENT:
        return True, math.inf
    if not is_cut and mantissa <= 2**53 and -22 <= exponent <= 22:
        # Both are exact as doubles, so one operation rounds once.
        if exponent < 0:
            return True, np.int64(mantissa) / powers[-exponent]
        return True, np.int64(mantissa) * powers[exponent]

    n_shifted = 0
    while mantissa < _TOP_BIT:
        mantissa <<= _ONE
        n_shifted += 1
    high, low = leading_product(mantissa, fives_high[exponent - LEAST_EXPONENT], fives_low[exponent - LEAST_EXPONENT])
    # The true product lies between (high, low) and (high + reach, low).
    reach = 1 if low >= _ALL_BITS - _ONE else 0
    if is_cut:
        reach = (1 << n_shifted) + 1

    n_spare = 11 if high >= _TOP_BIT else 10
    rest = np.int64(high & np.uint64((1 << n_spare) - 1))
    half = 1 << (n_spare - 1)
    rounded = np.int64(high >> np.uint64(n_spare))
    if rest > half or (rest == half and low > 0):
        rounded += 1
    elif rest + reach >= half:
        return False, math.nan
    power = twos[exponent - LEAST_EXPONENT] - n_shifted + n_spare
    if power > 971 or (power == 971 and rounded == 2**53):
        return True, math.inf
    if power < -1074:
        # Below the normal doubles there are fewer bits to round to.
        return False, math.nan
    return True, math.ldexp(np.float64(rounded), int(power))


@kernel
def leading_product(a, b_high, b_low):  # type: ignore[no-untyped-def]
    """The leading 128 of the 192 bits of a * (b_high, b_low)."""
    high, low = _product(a, b_high)
    carried, _ = _product(a, b_low)
    # Written so that nothing wraps around, which numpy warns of where nothing is compiled.
    if low > _ALL_BITS - carried:
        return high + _ONE, low - (_ALL_BITS - carried) - _ONE
    return high, low + carried


@kernel
def _product(a, b):  # type: ignore[no-untyped-def]
    """The high and the low 64 bits of a * b."""
    a_high, a_low = a >> _HALF_WORD, a & _LOW_HALF
    b_high, b_low = b >> _HALF_WORD, b & _LOW_HALF
    lowest = a_low * b_low
    middle = a_high * b_low + (lowest >> _HALF_WORD)
    other_middle = a_low * b_high + (middle & _LOW_HALF)
    high = a_high * b_high + (middle >> _HALF_WORD) + (other_middle >> _HALF_WORD)
    return high, ((other_middle & _LOW_HALF) << _HALF_WORD) | (lowest & _LOW_HALF)
