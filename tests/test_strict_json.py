"""JSON that is written piece by piece: the same text as Python's own, whatever the pieces."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank import strict_json
from linrank.strict_json import written_json

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers()
PLAIN = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


def indented(value):
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


@pytest.mark.parametrize("at_a_time", [1, 3, 1 << 14])
@given(value=VALUES)
def test_the_text_is_that_of_python(at_a_time, value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_json, "_ITEMS_AT_A_TIME", at_a_time)
        assert "".join(written_json(value, indented=True)) == indented(value)
        assert "".join(written_json(value, indented=False)) == canonical(value)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_arrays_and_tuples_are_lists(n):
    numbers = np.random.default_rng(0).standard_normal(n)
    given_, listed = {"a": numbers, "b": tuple("xyzuv"[:n])}, {"a": numbers.tolist(), "b": list("xyzuv"[:n])}
    assert "".join(written_json(given_, indented=True)) == indented(listed)
    assert "".join(written_json(given_, indented=False)) == canonical(listed)


@pytest.mark.parametrize("value", [np.nan, [1.0, np.inf], {"a": np.array([np.nan])}])
def test_what_json_has_no_number_for_is_refused(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        "".join(written_json(value, indented=True))
