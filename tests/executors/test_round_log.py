"""A log of rounds: exact, whole or not at all, and of one run only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linrank.errors import DataFormatError
from linrank.executors.round_log import NotPlainError, RoundLog, decoded, encoded

ARRAYS = hnp.arrays(st.sampled_from(["f8", "f4", "i8", "?"]), hnp.array_shapes(max_dims=2, min_side=0, max_side=4))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(one, other):
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return np.array(one).tobytes() == np.array(other).tobytes() or (np.isnan(one) and np.isnan(other))
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other


@given(PLAIN)
def test_what_is_read_is_what_was_written_to_the_last_bit(value):
    assert same(decoded(encoded(value)), value)


def test_what_is_not_plain_is_not_written():
    with pytest.raises(NotPlainError):
        encoded([object()])


def rounds_of(log, results, ran):
    def run(result):
        ran.append(result)
        return result

    return [log.round(f"task {number}", lambda result=result: run(result)) for number, result in enumerate(results)]


def test_rounds_that_are_known_are_not_run_again_and_what_no_record_holds_is(tmp_path):
    thing = object()
    results = [1.5, np.arange(3.0), thing, "four", 5]
    ran = []
    log = RoundLog(tmp_path / "log", {"run": 1})
    rounds_of(log, results[:4], ran)
    log.close(done=False)
    assert ran == results[:4]
    log, ran = RoundLog(tmp_path / "log", {"run": 1}, resume=True), []
    told = rounds_of(log, results, ran)
    assert ran == [thing, 5]
    assert all(same(one, other) for one, other in zip(told, results, strict=True) if one is not thing)
    log.close(done=True)
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_record_that_was_cut_short_counts_as_not_written(tmp_path, cut):
    path = tmp_path / "log"
    log = RoundLog(path, {})
    rounds_of(log, [1.0, np.arange(9.0)], [])
    log.close(done=False)
    path.write_bytes(path.read_bytes()[:-cut])
    ran = []
    log = RoundLog(path, {}, resume=True)
    told = rounds_of(log, [1.0, np.arange(9.0), 3], ran)
    log.close(done=False)
    assert [type(value).__name__ for value in ran] == ["ndarray", "int"]
    log, ran = RoundLog(path, {}, resume=True), []
    assert all(map(same, rounds_of(log, [1.0, np.arange(9.0), 3], ran), told))
    assert ran == []
    log.close(done=False)


def test_the_log_of_another_run_is_refused(tmp_path):
    RoundLog(tmp_path / "log", {"C": 1.0}).close(done=False)
    with pytest.raises(DataFormatError, match="is of another run"):
        RoundLog(tmp_path / "log", {"C": 2.0}, resume=True)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(DataFormatError, match="holds no rounds of a training"):
        RoundLog(tmp_path / "text", {}, resume=True)
    log = RoundLog(tmp_path / "log", {})
    log.round("one", lambda: 1)
    log.close(done=False)
    log = RoundLog(tmp_path / "log", {}, resume=True)
    with pytest.raises(DataFormatError, match="round 1 was one, and is now two"):
        log.round("two", lambda: 1)
    log.close(done=False)


@pytest.mark.parametrize(
    "record",
    [b"", b"\1\0\0\0", b"\2\0\0\0[]", b"\4\0\0\0[1,2", encoded([1, 2]), encoded(["x"]), encoded("x"),
     encoded(["x", np.arange(3)])[:-1], encoded(["x", np.arange(3)]).replace(b"<i8", b"|O8")],
)  # fmt: skip
def test_a_record_that_was_made_by_others_is_refused(record, tmp_path):
    path = tmp_path / "rounds"
    log = RoundLog(path, {"run": 1})
    log._append(record)
    log.close(done=False)
    with pytest.raises(DataFormatError, match=r"rounds: holds a round that cannot be understood"):
        RoundLog(path, {"run": 1}, resume=True)
