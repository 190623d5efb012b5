"""In scikit-learn's searches: queries stay whole, scores know their queries, and what would not work says so."""

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import FitFailedWarning
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linrank import LinrankError, QueryKFold, RankingDataset, RankSVM, make_ranking, ranking_scorer
from linrank.measures import MAP

GRID = {"C": [1e-3, 1.0]}


@pytest.fixture(scope="module")
def data():
    """Queries interleaved, so that a split by rows cuts them."""
    made, _ = make_ranking(30, (4, 9), 5, noise=0.3)
    rows = np.random.default_rng(0).permutation(len(made))
    return RankingDataset.from_arrays(made.features[rows], made.labels[rows], qid=made.qid[rows])


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def mean_by_hand(data, C, scorer, n_splits=3):
    values = []
    for train, test in QueryKFold(n_splits).split(data.features, qid=data.qid):
        model = RankSVM(C=C).fit(data.features[train], data.labels[train], qid=data.qid[train])
        values.append(scorer.measure.mean(model.predict(data.features[test]), data.labels[test], data.qid[test]))
    return np.mean(values)


def test_a_search_with_routing_scores_whole_queries_by_the_measure(data, routing):
    scorer = ranking_scorer("map")
    search = GridSearchCV(RankSVM(), GRID, scoring=scorer, cv=QueryKFold(3))
    search.fit(data.features, data.labels, qid=data.qid)
    expected = [mean_by_hand(data, C, scorer) for C in GRID["C"]]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    piped = cross_validate(
        make_pipeline(StandardScaler(), RankSVM()), data.features, data.labels, params={"qid": data.qid},
        scoring={"map": scorer, "ndcg": ranking_scorer("ndcg@5")}, cv=QueryKFold(3), error_score="raise",
    )  # fmt: skip
    assert np.isfinite([piped["test_map"], piped["test_ndcg"]]).all()


def test_a_search_without_routing_finds_the_ids_of_a_frame_by_its_index(data):
    index = np.random.default_rng(0).permutation(len(data)) + 7
    frame = pd.DataFrame(data.features, index=index, columns=list("abcde"))
    scorer = ranking_scorer(MAP, qid=pd.Series(data.qid, index=index))
    search = GridSearchCV(RankSVM(), GRID, scoring=scorer, cv=QueryKFold(3), error_score="raise")
    search.fit(frame, data.labels, qid=data.qid, groups=data.qid)
    expected = [mean_by_hand(data, C, scorer) for C in GRID["C"]]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)


def test_permutation_importance_takes_the_ids_with_the_measure(data):
    model = RankSVM().fit(data)
    scorer = ranking_scorer("ndcg@10", qid=data.qid)
    assert scorer(model, data.features, data.labels) == scorer(model, data) == model.score(data)
    found = permutation_importance(model, data.features, data.labels, scoring=scorer, random_state=0)
    assert found.importances_mean.shape == (5,)
    assert found.importances_mean[np.abs(model.coef_).argmax()] > 0


def failure(act):
    with pytest.raises(ValueError, match="LinrankError") as error:
        act()
    return str(error.value)


def test_a_search_that_would_score_nan_fails_and_says_what_to_do(data):
    for ranker, given in ((RankSVM(), "qid"), (make_pipeline(StandardScaler(), RankSVM()), "ranksvm__qid")):
        grid = GRID if given == "qid" else {f"ranksvm__{name}": values for name, values in GRID.items()}
        for scoring in (None, ranking_scorer(), ranking_scorer(qid=data.qid), {"map": ranking_scorer("map")}):
            search = GridSearchCV(ranker, grid, cv=QueryKFold(3), scoring=scoring, refit=False)
            message = failure(
                lambda search=search, given=given: search.fit(
                    data.features, data.labels, groups=data.qid, **{given: data.qid}
                )
            )
            assert "every score would be NaN" in message
            assert "sklearn.set_config(enable_metadata_routing=True)" in message


@pytest.mark.parametrize("cv", [3, KFold(3, shuffle=True, random_state=0)], ids=["cv=3", "KFold"])
def test_a_split_that_cuts_queries_is_refused(data, routing, cv):
    given = {"params": {"qid": data.qid}, "cv": cv}
    for act in (
        lambda: GridSearchCV(RankSVM(), GRID, cv=cv).fit(data.features, data.labels, qid=data.qid),
        lambda: cross_validate(RankSVM(), data.features, data.labels, **given),
        lambda: cross_val_predict(RankSVM(), data.features, data.labels, **given),
        lambda: cross_validate(
            make_pipeline(StandardScaler(), RankSVM()), data.features, data.labels, **given, n_jobs=2
        ),
    ):
        with pytest.raises(ValueError, match=r"the split cuts queries: documents of query '\d+' are both .*QueryKFold"):
            act()


def test_a_split_that_cuts_queries_is_refused_without_routing_too(data):
    frame, ids = pd.DataFrame(data.features), pd.Series(data.qid)
    for scoring in (ranking_scorer(qid=ids), lambda ranker, X, y: 0.0):
        search = GridSearchCV(RankSVM(), GRID, scoring=scoring, cv=3)
        assert "the split cuts queries" in failure(lambda search=search: search.fit(frame, data.labels, qid=ids))
    search = GridSearchCV(RankSVM(), GRID, scoring=ranking_scorer(qid=ids), cv=3, n_jobs=2)
    assert "the split cuts queries" in failure(lambda: search.fit(frame, data.labels, qid=ids))


def test_a_fold_that_cuts_no_query_does_not_hide_those_that_do(routing):
    """Rows of a query together, and one fold's bounds are by chance those of queries: the others are not scored."""
    data = RankingDataset.from_arrays(np.arange(9.0)[:, None], [0, 1, 2] * 3, group=[3, 2, 4])
    with pytest.warns(FitFailedWarning, match="the split cuts queries: documents of query 2 are"):
        found = cross_validate(RankSVM(), data.features, data.labels, params={"qid": data.qid}, cv=3)
    assert np.isnan(found["test_score"]).tolist() == [False, True, True]


def test_splits_that_keep_queries_whole_are_welcome(data, routing):
    for cv in (GroupKFold(3).split(data.features, groups=data.qid), QueryKFold(3)):
        found = cross_validate(RankSVM(), data.features, data.labels, params={"qid": data.qid}, cv=cv)
        assert np.isfinite(found["test_score"]).all()


@pytest.mark.parametrize(
    ("scorer", "rows", "message"),
    [
        (ranking_scorer(), slice(None), r"ranking_scorer('ndcg@10') was given no query ids. Enable metadata routing"),
        (ranking_scorer(qid=[1, 1, 2]), slice(2), "has the query ids of 3 rows, and 2 are to be scored"),
        (ranking_scorer(qid=pd.Series([1, 1, 2], [0, 0, 1])), slice(None), "the index of qid has an entry twice"),
        (ranking_scorer(qid=pd.Series([1, 1, 2], [0, 1, 3])), slice(None), "qid has no entry 2, which is in the index"),
    ],
)
def test_ids_that_do_not_fit_are_refused(scorer, rows, message):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    ranker = RankSVM().fit(frame, [0, 1, 2], qid=[1, 1, 1])
    with pytest.raises(LinrankError, match=re.escape(message)):
        scorer(ranker, frame.iloc[rows], [0, 1, 2][rows])


def test_tools_that_read_linear_models_find_what_they_look_for(data):
    model = RankSVM().fit(data)
    assert not hasattr(RankSVM(), "intercept_")
    assert model.intercept_ == 0.0
    np.testing.assert_allclose(data.features @ model.coef_ + model.intercept_, model.predict(data.features))


def test_a_score_that_is_not_of_orders_is_warned_of(data, routing):
    search = GridSearchCV(RankSVM(), GRID, scoring="r2", cv=QueryKFold(3))
    with pytest.warns(UserWarning, match=r"r2_score compares the scores with the labels as numbers.*ranking_scorer"):
        search.fit(data.features, data.labels, qid=data.qid)
    GridSearchCV(RankSVM(), GRID, scoring=ranking_scorer(), cv=QueryKFold(3)).fit(
        data.features, data.labels, qid=data.qid
    )


def test_columns_in_another_order_are_named_with_the_remedy():
    frame = pd.DataFrame({"bm25": [1.0, 2.0, 3.0], "age": [0.0, 5.0, 1.0]})
    ranker = RankSVM().fit(frame, [0, 1, 2], qid=[1, 1, 1])
    other = frame[["age", "bm25"]]
    for call in (ranker.predict, lambda X: ranker.score(X, [0, 1, 2], qid=[1, 1, 1])):
        with pytest.raises(LinrankError) as refused:
            call(other)
        assert "RankSVM was trained on 'bm25', 'age', and is given 'age', 'bm25'. X[list(ranker.f" in str(refused.value)
    for same in (ranker.predict(other[list(ranker.feature_names_in_)]), ranker.to_model().predict(other)):
        np.testing.assert_array_equal(same, ranker.predict(frame))
    with pytest.raises(LinrankError, match=r"given 'age'\. Name the columns as for training\."):
        ranker.predict(frame[["age"]])
