import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank.dataset.queries import Queries
from linrank.errors import LinrankError
from linrank.reading import missing
from linrank.reading.missing import check_missing_rule, fill_missing

NAN = np.nan


def filled_by_hand(features, qid, rule):
    """The slow, obvious form: for each missing value, look at its query."""
    filled = features.copy()
    for row, column in np.argwhere(np.isnan(features)):
        if rule == "query_min":
            present = [features[other, column] for other in range(len(qid)) if qid[other] == qid[row]]
            present = [value for value in present if not np.isnan(value)]
            filled[row, column] = min(present, default=0.0)
        elif rule != "keep":
            filled[row, column] = rule
    return filled


def explicit(features):
    """A CSR matrix that holds NaN, and leaves zeros out."""
    return sparse.csr_array(features)


@st.composite
def tables_with_holes(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(0, 9)), draw(st.integers(1, 4))
    features = rng.choice([NAN, NAN, -1.5, 0.0, 0.0, 2.0, 3.0], size=shape)
    return features.astype(draw(st.sampled_from(["float32", "float64"]))), rng.integers(0, 3, size=shape[0])


@given(tables_with_holes(), st.sampled_from(["keep", "query_min", 0, -2.5, np.float32(7)]))
def test_each_rule_fills_as_by_hand_dense_and_sparse(table, rule):
    features, qid = table
    expected = filled_by_hand(features, qid, rule)
    names = [str(column) for column in range(features.shape[1])]
    matrix = explicit(features)
    fill_missing(features, Queries.from_ids(qid), rule, names)
    np.testing.assert_array_equal(features, expected)
    fill_missing(matrix, Queries.from_ids(qid), rule, names)
    np.testing.assert_array_equal(matrix.toarray(), expected)
    assert matrix.dtype == features.dtype


def test_in_a_sparse_matrix_a_document_without_an_entry_has_the_value_0():
    features = np.array([[NAN, NAN], [5.0, 0.0], [0.0, -3.0]])
    matrix = explicit(features)
    fill_missing(matrix, Queries.from_ids([1, 1, 1]), "query_min", ["a", "b"])
    assert matrix.toarray()[0].tolist() == [0.0, -3.0]


def test_what_one_query_holds_does_not_count_for_the_next():
    matrix = explicit(np.array([[4.0], [5.0], [0.0], [3.0], [NAN]]))
    fill_missing(matrix, Queries.from_ids([1, 1, 2, 2, 2]), "query_min", ["a"])
    assert matrix.toarray()[:, 0].tolist() == [4.0, 5.0, 0.0, 3.0, 0.0]


@pytest.mark.parametrize("form", [np.array, explicit], ids=["dense", "sparse"])
@pytest.mark.parametrize("at_a_time", [1, 1 << 18])
def test_error_names_the_first_feature_and_row(form, at_a_time, monkeypatch):
    monkeypatch.setattr(missing, "_VALUES_AT_A_TIME", at_a_time)
    features = form(np.array([[1.0, 2.0], [0.0, 3.0], [0.0, NAN], [NAN, NAN]]))
    with pytest.raises(LinrankError, match=r"feature 'age' has no value \(NaN\) in row 2; .* missing=0 .*\"keep\" l"):
        fill_missing(features, Queries.from_ids([1, 1, 2, 2]), "error", ["bm25", "age"])


@pytest.mark.parametrize("form", [np.array, explicit], ids=["dense", "sparse"])
def test_nothing_missing_is_no_error_and_changes_nothing(form):
    features = form(np.array([[1.0, 0.0], [0.0, np.inf]]))
    for rule in ("error", "keep", "query_min", 9.0):
        fill_missing(features, Queries.from_ids([1, 1]), rule, ["bm25", "age"])
    dense = features.toarray() if sparse.issparse(features) else features
    assert dense.tolist() == [[1.0, 0.0], [0.0, np.inf]]


@pytest.mark.parametrize("rule", ["nonsense", "", None, True, NAN, np.inf, [0]], ids=repr)
def test_a_rule_that_is_none_is_refused(rule):
    with pytest.raises(
        LinrankError, match=r"missing=.* is no rule; use \"error\", \"keep\" \(NaN\), \"query_min\", or"
    ):
        check_missing_rule(rule)


def test_a_number_beyond_the_type_is_refused():
    with pytest.raises(LinrankError, match=r"missing=1e\+300 does not fit float32\. Use a smaller number or float64\."):
        fill_missing(np.array([[NAN]], dtype=np.float32), Queries.from_ids([1]), 1e300, ["a"])
