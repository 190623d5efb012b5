"""A column that is no numbers is named, with what to do about it."""

import numpy as np
import pytest

import linrank
from linrank import LinrankError, RankingDataset, RankSVM

pandas = pytest.importorskip("pandas")

LABELS, QID = [2, 0, 1], [1, 1, 1]
BAD = {
    "category": (pandas.Categorical(["x", "y", "x"]), "Encode it as numbers, such as one column of 0 and 1"),
    "datetime64": (pandas.to_datetime(["2026-01-01", "2026-01-02", None]), "Turn it into a number, such as an age in"),
    "timedelta64": (pandas.to_timedelta([1, 2, 3], unit="D"), "Turn it into a number, such as an age in days"),
}


def frame(values):
    return pandas.DataFrame({"bm25": [1.0, 2.0, 3.0], "brand": values})


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize(
    "use",
    [
        lambda X: RankingDataset.from_arrays(X, LABELS, qid=QID),
        lambda X: RankSVM().fit(X, LABELS, qid=QID),
        lambda X: RankSVM().fit(frame([1.0, 2.0, 0.0]), LABELS, qid=QID).predict(X),
        lambda X: linrank.read(X.assign(label=LABELS, qid=QID)),
    ],
    ids=["from_arrays", "fit", "predict", "read"],
)
def test_a_column_that_is_no_numbers_is_named(kind, use):
    values, remedy = BAD[kind]
    with pytest.raises(LinrankError, match=rf"column 'brand' is of type {kind}.*, not numbers\. {remedy}"):
        use(frame(values))


def test_polars_and_arrow_columns_are_named_too():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for table in (
        polars.DataFrame(
            {"bm25": [1.0, 2.0, 3.0], "brand": ["a", "b", "a"]}, schema_overrides={"brand": polars.Enum(["a", "b"])}
        ),
        pyarrow.table({"bm25": [1.0, 2.0, 3.0], "brand": pyarrow.array(["a", "b", "a"]).dictionary_encode()}),
    ):
        with pytest.raises(LinrankError, match=r"column 'brand' is of type .*, not numbers\. Encode it as numbers"):
            RankingDataset.from_arrays(table, LABELS, qid=QID)
    good = pyarrow.table({"bm25": [1.0, 2.0, 3.0], "age": [4, 5, 6]})
    assert RankingDataset.from_arrays(good, LABELS, qid=QID).feature_names == ("bm25", "age")


def test_a_text_among_numbers_is_named():
    with pytest.raises(LinrankError, match="column 'brand' holds 'x' in row 1, which is no number"):
        RankingDataset.from_arrays(frame([1, "x", 2]), LABELS, qid=QID)
    with pytest.raises(
        LinrankError, match=r"features are of type datetime64\[D\], not numbers\. Turn it into a number"
    ):
        RankingDataset.from_arrays(np.array([["2026-01-01"]], dtype="datetime64[D]"), [1], qid=[1])


def test_nullable_and_boolean_columns_are_numbers():
    values = pandas.array([4, None, 6], dtype="Int64")
    given = frame(values).assign(sale=[True, False, True])
    data = RankingDataset.from_arrays(given, LABELS, qid=QID)
    np.testing.assert_array_equal(data.features, [[1, 4, 1], [2, np.nan, 0], [3, 6, 1]])
    assert given["brand"].isna().tolist() == [False, True, False]
    with pytest.raises(LinrankError, match=r"feature 'brand' is NaN in 1 of 3 documents\. Fill such values"):
        RankSVM().fit(data)
