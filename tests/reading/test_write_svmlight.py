from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from linrank import DataFormatError, LinrankError, RankingDataset, read
from linrank.reading.decimals import fives_rounded_up
from linrank.reading.number_writer import LONGEST_NUMBER, write_number
from linrank.reading.scores import read_scores, write_scores
from linrank.reading.write_svmlight import write_svmlight


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@given(data=st.data())
def test_what_is_written_reads_back_to_the_same_bits(dtype, layout, data, tmp_path):
    width = 32 if dtype == "float32" else 64
    values = st.floats(allow_nan=False, allow_infinity=False, width=width)
    X = data.draw(hnp.arrays(dtype, (3, 4), elements=values))
    X[0, 3] = 1.0
    y = data.draw(hnp.arrays("float64", 3, elements=st.floats(allow_nan=False, allow_infinity=False)))
    given_ = RankingDataset.from_arrays(
        X if layout == "dense" else sparse.csr_array(X), y, qid=["a", "ü", "a"], comments=["docid = 1", "", "x"]
    )
    write_svmlight(tmp_path / "data.txt", given_)
    again = read(tmp_path / "data.txt", dtype=dtype, layout=layout)
    dense = again.features if layout == "dense" else again.features.toarray()
    np.testing.assert_array_equal(dense, X)
    assert again.labels.tolist() == y.tolist()
    assert again.qid.tolist() == ["a", "ü", "a"]
    assert list(again.comments) == ["docid = 1", "", "x"]


def test_missing_values_are_written_as_null_and_ids_may_start_at_zero(tmp_path):
    data = RankingDataset.from_arrays(np.array([[np.nan, -0.0, 2.5]]), [1], qid=[7])
    write_svmlight(tmp_path / "data.txt", data, zero_based=True)
    assert (tmp_path / "data.txt").read_text() == "1 qid:7 0:NULL 1:-0.0 2:2.5\n"


def written(value, is_single=False):
    text = np.zeros(LONGEST_NUMBER, dtype=np.uint8)
    return text[: write_number(text, 0, float(value), is_single, *fives_rounded_up())].tobytes().decode()


def slowly(value):
    """As Python writes it, but whole numbers without a point."""
    if abs(value) < 1e15 and value == int(value) and (value or not np.signbit(value)):
        return str(int(value))
    return repr(value)


def doubles_of_any_bits(width):
    kind = np.dtype(f"u{width // 8}")
    numbers = st.integers(0, 2**width - 1).map(lambda bits: kind.type(bits).view(f"f{width // 8}"))
    return numbers.filter(np.isfinite)


@pytest.mark.kernels
@given(value=st.one_of(doubles_of_any_bits(64).map(float), st.decimals(-(10**9), 10**9, places=6).map(float)))
@example(value=5e-324)
@example(value=2.0**-1022)
@example(value=2.0**1023)
@example(value=1e-4)
@example(value=9.999e-5)
@example(value=1e15)
@example(value=9007199254740993.0)
@example(value=1e16)
@example(value=1e23)
@example(value=-0.0)
def test_a_number_is_written_as_python_writes_it(value):
    assert written(value) == slowly(value)


@pytest.mark.kernels
@given(value=st.one_of(doubles_of_any_bits(32), st.decimals(-100, 100, places=6).map(np.float32)))
@example(value=np.float32(2.0**-149))
@example(value=np.float32(2.0**-126))
@example(value=np.float32(1e-4))
@example(value=np.float32(33554432.0))
def test_a_float32_is_written_by_its_own_shortest_digits(value):
    whole = abs(value) < 1e15 and value == int(value)
    expected = Decimal(int(value)) if whole else Decimal(np.format_float_scientific(value))
    assert Decimal(written(value, is_single=True)) == expected


def test_two_to_every_power_is_written_as_python_writes_it():
    for value in (2.0 ** np.arange(-1074, 1024)).tolist():
        assert written(value) == slowly(value)


def test_lines_are_the_same_for_rows_of_any_length_and_for_any_piece(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(40, 7)) / 4
    X[3:9] = 0.0
    data = RankingDataset.from_arrays(
        X,
        np.arange(40) % 3,
        qid=[f"q{row % 4}" for row in range(40)],
        comments=[f"é{row}" * (row % 2) for row in range(40)],
    )
    expected = "".join(
        f"{row % 3} qid:q{row % 4} {' '.join(f'{j + 1}:{slowly(x)}' for j, x in enumerate(X[row].tolist()))}"
        f"{f' # é{row}' if row % 2 else ''}\n"
        for row in range(40)
    )
    sparse_expected = "".join(
        f"{row % 3} qid:q{row % 4} {' '.join(f'{j + 1}:{slowly(x)}' for j, x in enumerate(X[row].tolist()) if x)}"
        f"{f' # é{row}' if row % 2 else ''}\n"
        for row in range(40)
    )
    for entries, rows in ((1 << 15, 1 << 13), (1, 5), (30, 3)):
        monkeypatch.setattr("linrank.reading.write_svmlight._ENTRIES_AT_A_TIME", entries)
        monkeypatch.setattr("linrank.reading.write_svmlight._ROWS_AT_A_TIME", rows)
        write_svmlight(tmp_path / "data.txt", data)
        assert (tmp_path / "data.txt").read_text() == expected
        write_svmlight(tmp_path / "data.txt", replace(data, features=sparse.csr_array(X)))
        assert (tmp_path / "data.txt").read_text() == sparse_expected


def test_what_text_cannot_hold_is_refused_by_its_row(tmp_path):
    X = np.ones((3, 2))
    X[2, 1] = -np.inf
    with pytest.raises(LinrankError, match="row 2 has an infinite value"):
        write_svmlight(tmp_path / "data.txt", RankingDataset.from_arrays(X, [1, 2, 3], qid=[1, 1, 1]))
    two_lines = RankingDataset.from_arrays(np.ones((3, 2)), [1, 2, 3], qid=[1, 1, 1], comments=["a", "", "b\nc"])
    with pytest.raises(LinrankError, match="comment of row 2 has more than one line"):
        write_svmlight(tmp_path / "data.txt", two_lines)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("qid", ["", "a b", "a#b", "a\tb"])
def test_query_ids_that_text_cannot_hold_are_refused(qid, tmp_path):
    data = RankingDataset.from_arrays(np.ones((1, 1)), [1], qid=[qid])
    with pytest.raises(LinrankError, match="cannot be written as svmlight text"):
        write_svmlight(tmp_path / "data.txt", data)
    assert not list(tmp_path.iterdir())


LETTERS = [*map(chr, range(0x180)), "\u2028", "\ufeff", "\u3000", "\U0001f600", "\ud800", "qid:", "#", ":", "q" * 600]
WORDS = st.lists(st.sampled_from(LETTERS), max_size=4).map("".join)


@given(ids=st.lists(WORDS, min_size=2, max_size=2), comments=st.lists(WORDS, min_size=2, max_size=2))
def test_query_ids_and_comments_are_refused_or_read_back(ids, comments, tmp_path):
    path = tmp_path / "data.txt"
    path.unlink(missing_ok=True)
    qid = np.empty(2, dtype=object)
    qid[:] = ids
    try:
        data = RankingDataset.from_arrays(np.ones((2, 1)), [0, 1], qid=qid, comments=comments)
        write_svmlight(path, data)
    except LinrankError:
        assert not path.exists()
        return
    again = read(path)
    assert again.queries.ids.astype(str).tolist() == data.queries.ids.astype(str).tolist()
    # The blanks around a comment are no part of it.
    assert list(again.comments or ["", ""]) == [comment.strip(" \t") for comment in data.comments]


@pytest.mark.parametrize("mark", ["\x01", "\v", "\f", "\x1c", "\x1f", "\x7f"])
def test_control_characters_at_the_ends_of_a_comment_are_part_of_it(mark, tmp_path):
    comments = [f"{mark}docid = x{mark}", mark, f" \t{mark} \t"]
    data = RankingDataset.from_arrays(np.ones((3, 1)), [0, 1, 2], qid=[1, 1, 1], comments=comments)
    write_svmlight(tmp_path / "data.txt", data)
    again = read(tmp_path / "data.txt")
    assert list(again.comments) == [comments[0], mark, mark]
    assert again.docids == data.docids


@given(scores=hnp.arrays("float64", st.integers(0, 5), elements=st.floats(allow_nan=False)))
def test_scores_read_back_to_the_same_bits(scores, tmp_path):
    write_scores(tmp_path / "scores", scores)
    assert read_scores(tmp_path / "scores", len(scores)).tobytes() == scores.tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nx\n", "scores:2: the score is 'x', not a number"),
        ("1\n\n", "scores:2: the score is '', not a number"),
        ("nan\n2\n", "scores:1: the score is NaN"),
        ("1\n2\v\n", r"scores:2: the score is '2\\x0b', not a number"),
        ("1\f\n2\n", r"scores:1: the score is '1\\x0c', not a number"),
        ("1\n", "has 1 scores, but the data has 2 documents"),
    ],
)
def test_bad_scores_are_refused(text, message, tmp_path):
    (tmp_path / "scores").write_text(text)
    with pytest.raises(DataFormatError, match=message):
        read_scores(tmp_path / "scores", 2)
    with pytest.raises(DataFormatError, match="cannot be read"):
        read_scores(tmp_path / "none")
