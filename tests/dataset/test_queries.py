"""Query ids of every kind group rows, and a missing one is refused by its row."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import linrank
from linrank.dataset.queries import Queries
from linrank.errors import LinrankError

TEXTS = ["a", None, "b"]
MISSING = {
    "list with NaN": ["a", float("nan"), "b"],
    "list with None": TEXTS,
    "list with pandas.NA": ["a", pd.NA, "b"],
    "list with NaT": ["a", pd.NaT, "b"],
    "objects with NaN": np.array(["a", np.nan, "b"], dtype=object),
    "floats": np.array([1.0, np.nan]),
    "complex": np.array([1.0, complex("nan")]),
    "dates": np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
    "masked": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
    "decimals": [decimal.Decimal(1), decimal.Decimal("nan")],
    "pandas": pd.Series(TEXTS),
    "pandas objects": pd.Series(TEXTS, dtype=object),
    "pandas string": pd.Series(TEXTS, dtype="string"),
    "pandas string[pyarrow]": pd.Series(TEXTS, dtype="string[pyarrow]"),
    "pandas category": pd.Series(TEXTS, dtype="category"),
    "pandas Int64": pd.Series([1, None, 2], dtype="Int64"),
    "pandas int64[pyarrow]": pd.Series([1, None, 2], dtype="int64[pyarrow]"),
    "pandas boolean": pd.Series([True, None, False], dtype="boolean"),
    "pandas dates": pd.Series(pd.to_datetime(["2020-01-01", None])),
    "polars text": pl.Series(TEXTS),
    "polars categories": pl.Series(TEXTS, dtype=pl.Categorical),
    "polars numbers": pl.Series([1, None, 2]),
    "polars dates": pl.Series([dt.date(2020, 1, 1), None]),
    "Arrow": pa.array(TEXTS),
    "Arrow, in chunks": pa.chunked_array([["a"], [None, "b"]]),
    "Arrow dictionary": pa.array(TEXTS).dictionary_encode(),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_id_is_refused_by_its_row(kind):
    with pytest.raises(LinrankError, match=r"^qid is \S+ in row 1; every row belongs to a query\. Drop or name such"):
        Queries.from_ids(MISSING[kind])


@pytest.mark.parametrize(
    "qid",
    [
        pd.Series(["a", "b", "a"], dtype="string", index=[7, 7, 7]),
        pd.Series(["a", "b", "a"], dtype="string[pyarrow]"),
        pd.Series(["a", "b", "a"], dtype="category"),
        pd.Index(["a", "b", "a"]),
        pl.Series(["a", "b", "a"]),
        pl.Series(["a", "b", "a"], dtype=pl.Categorical),
        pa.array(["a", "b", "a"]),
        pa.chunked_array([["a", "b"], ["a"]]),
        np.ma.array(["a", "b", "a"]),
        ("a", "b", "a"),
    ],
    ids=lambda qid: type(qid).__name__,
)
def test_columns_of_every_library_are_ids(qid):
    queries = Queries.from_ids(qid)
    assert queries.ids.tolist() == ["a", "b"]
    assert queries.of_rows().tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]"])
def test_nullable_whole_numbers_stay_whole_numbers(dtype):
    ids = Queries.from_ids(pd.Series([2**53 + 1, 2**53 + 1, 2], dtype=dtype)).ids
    assert ids.dtype == np.int64
    assert ids.tolist() == [2**53 + 1, 2]


def test_a_number_and_the_text_that_shows_it_are_two_ids():
    assert Queries.from_ids([1, "1", 1]).ids.tolist() == [1, "1"]


@pytest.mark.parametrize("dtype", ["string", "string[pyarrow]", "category", object])
def test_a_table_without_some_id_is_refused_by_its_row(dtype):
    frame = pd.DataFrame({"qid": pd.Series(TEXTS, dtype=dtype), "label": [1, 0, 1], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(LinrankError, match="row 1: the qid column 'qid' has no value"):
        linrank.read(frame)
    assert linrank.read(frame.dropna()).n_queries == 2


def test_sizes_that_come_round_to_the_right_sum_are_refused():
    with pytest.raises(LinrankError, match=r"the sizes in group add up to 18446744073709551618, but there are 2 rows"):
        Queries.from_sizes([2**63 - 1, 2**63 - 1, 4], 2)


def test_an_id_or_a_name_that_no_file_can_hold_is_refused_before_anything_is_written():
    with pytest.raises(LinrankError, match=r"the query id 'a\\ud800' is no text: no file can hold it\. Replace"):
        linrank.RankingDataset.from_arrays(np.eye(2), [0, 1], qid=["b", "a\ud800"])
    with pytest.raises(LinrankError, match=r"the feature name 'f\\udfff' is no text"):
        linrank.RankingDataset.from_arrays(np.eye(2), [0, 1], group=[2], feature_names=["e", "f\udfff"])
