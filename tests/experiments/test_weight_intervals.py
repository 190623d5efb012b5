"""Intervals of weights from queries drawn again: those of the report's page, for any linear ranker."""

import pandas as pd
import pytest

from linrank import LinrankError, RandomForest, RankSVM, make_ranking, weight_intervals


def test_an_interval_shrinks_with_the_data_and_holds_the_weight():
    few, _ = make_ranking(30, 10, 3)
    many, _ = make_ranking(300, 10, 3)
    narrow, wide = (weight_intervals(RankSVM(C=0.01), data) for data in (many, few))
    for row in narrow.rows:
        assert row.low < row.weight < row.high
        assert row.high - row.low < wide[row.feature].high - wide[row.feature].low
    assert weight_intervals(RankSVM(C=0.01), many, level=0.5)["1"].high < narrow["1"].high


def test_arrays_and_datasets_and_repeats_give_the_same():
    data, _ = make_ranking(20, 8, 3)
    ranker = RankSVM()
    one = weight_intervals(ranker, data, n_resamples=5)
    other = weight_intervals(ranker, data.features, data.labels, qid=data.qid, n_resamples=5)
    assert one == other
    assert weight_intervals(ranker, data, n_resamples=5, random_state=1) != one
    assert not hasattr(ranker, "coef_")
    frame = one.to_frame()
    assert frame.loc["2", "low"] == one["2"].low
    assert isinstance(frame, pd.DataFrame)
    assert repr(one).startswith("feature  ")
    assert "<table>" in one._repr_html_()


def test_what_has_no_weights_is_refused():
    data, _ = make_ranking(10, 5, 3)
    with pytest.raises(LinrankError, match="a RandomForest has no weights"):
        weight_intervals(RandomForest(), data)
    with pytest.raises(LinrankError, match=r"level=95, n_resamples=50: use a level between 0 and 1"):
        weight_intervals(RankSVM(), data, level=95)
