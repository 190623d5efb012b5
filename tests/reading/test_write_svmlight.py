import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from linrank import DataFormatError, LinrankError, RankingDataset, read
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


@pytest.mark.parametrize("qid", ["", "a b", "a#b", "a\tb"])
def test_query_ids_that_text_cannot_hold_are_refused(qid, tmp_path):
    data = RankingDataset.from_arrays(np.ones((1, 1)), [1], qid=[qid])
    with pytest.raises(LinrankError, match="cannot be written as svmlight text"):
        write_svmlight(tmp_path / "data.txt", data)
    assert not list(tmp_path.iterdir())


@given(scores=hnp.arrays("float64", st.integers(0, 5), elements=st.floats(allow_nan=False)))
def test_scores_read_back_to_the_same_bits(scores, tmp_path):
    write_scores(tmp_path / "scores", scores)
    assert read_scores(tmp_path / "scores", len(scores)).tobytes() == scores.tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nx\n", "scores:2: 'x' is not a number"),
        ("1\n\n", "scores:2: '' is not a number"),
        ("nan\n2\n", "scores:1: the score is NaN"),
        ("1\n", "has 1 scores, but the data has 2 documents"),
    ],
)
def test_bad_scores_are_refused(text, message, tmp_path):
    (tmp_path / "scores").write_text(text)
    with pytest.raises(DataFormatError, match=message):
        read_scores(tmp_path / "scores", 2)
    with pytest.raises(DataFormatError, match="cannot be read"):
        read_scores(tmp_path / "none")
