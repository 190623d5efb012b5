"""Decimal numbers: every form of them becomes the double that Python's float() makes of it."""

import math
import random
import struct
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linrank.reading.decimals import GREATEST_EXPONENT, LEAST_EXPONENT, decimal_tables
from linrank.reading.line_chunk import LineChunk, LineRules

pytestmark = pytest.mark.kernels

RULES = LineRules(zero_based=False, n_features=None, missing_value=None, dtype=np.dtype(np.float64))
digits = st.text("0123456789", min_size=1, max_size=40)


def doubles_read(words):
    """The doubles our parser makes of words, each in a line of its own, as label and as value."""
    chunk = LineChunk(0)
    chunk.text = bytearray("".join(f"{word} 7:{word}\n" for word in words).encode())
    chunk.n_bytes = len(chunk.text)
    chunk.parse(RULES)
    assert chunk.bad_line is None, chunk.bad_line_text
    part = chunk.features(share_done=1.0)
    values = np.zeros(len(words))
    values[np.diff(part.starts) == 1] = part.values
    return chunk.labels.tolist(), values.tolist()


def bits(numbers):
    return [struct.pack(">d", number).hex() for number in numbers]


def assert_read_as_float_reads(*words):
    expected = bits(float(word) for word in words)
    for found in doubles_read(words):
        wrong = [word for word, a, b in zip(words, bits(found), expected, strict=True) if a != b]
        assert not wrong


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
@settings(deadline=None)
def test_what_python_writes_reads_back_to_the_bit(numbers):
    assert_read_as_float_reads(*(repr(number) for number in numbers))
    assert_read_as_float_reads(*(f"{number:.6f}" for number in numbers))
    assert_read_as_float_reads(*(f"{number:.25e}" for number in numbers))


@given(
    sign=st.sampled_from(["", "+", "-"]),
    whole=digits,
    point=st.sampled_from([None, ".", ".5", ".000"]),
    decimals=st.one_of(st.just(""), digits),
    exponent=st.one_of(st.none(), st.integers(-400, 400)),
    letter=st.sampled_from(["e", "E", "e+", "E-", "e0"]),
)
@example("", "0", None, "", 999, "e")
@example("-", "0", ".", "", -999, "e")
@settings(deadline=None, max_examples=300)
def test_digits_point_and_exponent_in_any_number(sign, whole, point, decimals, exponent, letter):
    word = sign + whole + ("" if point is None else point + decimals)
    if exponent is not None:
        word += letter + str(abs(exponent) if letter[-1] in "+-0" else exponent)
    if abs(float(word)) < math.inf:
        assert_read_as_float_reads(word)


@given(st.floats(0, math.nextafter(math.nextafter(math.inf, 0), 0)), st.integers(-3, 3), st.integers(0, 30))
@example(5e-324, 0, 0)
@example(0.0, 0, 0)
@example(2.2250738585072014e-308, 0, 0)
@settings(deadline=None, max_examples=200)
def test_the_middle_between_two_doubles_and_its_neighbours(number, steps, n_zeros):
    above = math.nextafter(number, math.inf)
    with localcontext() as context:
        context.prec = 1200
        middle = (Decimal(number) + Decimal(above)) / 2
        # A digit far behind the last one decides.
        nudged = middle + steps * Decimal(10) ** (middle.as_tuple().exponent - n_zeros)
    assert_read_as_float_reads(str(middle), str(nudged), f"{middle:.18e}", f"{middle:.19e}", f"{middle:.20e}")


def test_random_bit_patterns_in_seventeen_and_more_digits():
    generator = random.Random(0)
    patterns = [struct.unpack(">d", generator.randbytes(8))[0] for _ in range(300)]
    numbers = [number for number in patterns if abs(number) < math.inf]
    assert_read_as_float_reads(*map(repr, numbers))
    assert_read_as_float_reads(*(f"{Decimal(number):.{generator.randint(15, 40)}e}" for number in numbers))


@pytest.mark.parametrize(
    "word",
    [
        "0", "-0", "+0", "0.0", "-0.0e5", "1.", ".5", "-.5", "00012", "1e0", "1E+05", "1e-05", "1e22", "1e23", "1e-22",
        "1e-23", "123456789012345678", "1234567890123456789", "9007199254740992", "9007199254740993",
        "9007199254740993.0", "9007199254740993.00000000000000000000000001", "9223372036854775807",
        "9999999999999999999", "18446744073709551615", "18446744073709551616", "99999999999999999999999999",
        "0.000000000000000001", "0.1234567890123456789", "1.7976931348623157e308", "1.7976931348623158e308",
        "179769313486231570000000000000000000000e270", "2.2250738585072014e-308", "2.2250738585072011e-308",
        "4.9e-324", "2.5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400",
        "1e-99999999999999999999",
        "0e99999999999999999999", "0." + "0" * 500 + "1e501", "1" + "0" * 400 + "e-400", "0." + "1" * 1000,
        "6.631236846766476e-316", "3.2378839133029012895883524125015321748630094231e-319",
    ],
)  # fmt: skip
def test_cases_that_readers_of_numbers_have_stumbled_over(word):
    assert_read_as_float_reads(word)


def test_the_powers_of_five_are_cut_after_128_bits():
    tables = decimal_tables()
    for place, q in enumerate(range(LEAST_EXPONENT, GREATEST_EXPONENT + 1)):
        cut = int(tables.fives_high[place]) * 2**64 + int(tables.fives_low[place])
        unit = Fraction(2) ** (int(tables.twos[place]) - 128)
        assert 2**127 <= cut < 2**128
        assert cut * unit <= Fraction(10) ** q < (cut + 1) * unit
