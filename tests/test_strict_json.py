"""JSON that is written piece by piece: the same text as Python's own, whatever the pieces."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrank.model
from linrank import LinearModel, strict_json
from linrank.reading.listed_numbers import listed
from linrank.strict_json import written_json

pytestmark = pytest.mark.kernels

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


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60).map(float)))
def test_numbers_that_a_kernel_writes_are_as_python_writes_them(values):
    array = np.array(values, dtype=np.float64)
    assert listed(array, ", ") == ", ".join(map(repr, values))
    for form, plain in ((True, indented), (False, canonical)):
        text = "".join(written_json({"a": [array, {"b": array}]}, indented=form, listed=listed))
        assert text == plain({"a": [values, {"b": values}]})


def test_a_wide_model_is_written_the_same_with_and_without_a_compiler(tmp_path, monkeypatch):
    model = LinearModel(np.random.default_rng(0).standard_normal(30), tuple(map(str, range(30))))
    model.save(tmp_path / "plain.json")
    monkeypatch.setattr(linrank.model, "_MANY", 1)
    model.save(tmp_path / "compiled.json")
    assert (tmp_path / "plain.json").read_bytes() == (tmp_path / "compiled.json").read_bytes()
    assert (linrank.load(tmp_path / "compiled.json").weights == model.weights).all()


@pytest.mark.parametrize("value", [np.nan, [1.0, np.inf], {"a": np.array([np.nan])}])
def test_what_json_has_no_number_for_is_refused(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        "".join(written_json(value, indented=True))
