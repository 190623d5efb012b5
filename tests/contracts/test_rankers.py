"""What every ranker of the catalogue owes, whatever it minimises: one `fit`, for arrays and for datasets."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from linrank import FacRankSVM, LinearSVRRanker, LinrankError, RankingDataset, RankSVM, RegRankSVM, make_ranking
from linrank.estimators.catalogue import METHODS

DATA, _ = make_ranking(12, 10, 5, random_state=3)
NAMED = replace(DATA, feature_names=("bm25", "title", "clicks", "age", "length"))
METHODS_ONCE = {name: method for name, method in METHODS.items() if not method.variant and method.is_installed}
RANKERS = pytest.mark.parametrize("name", METHODS_ONCE)


def ranker(name):
    method = METHODS_ONCE[name]
    return method.load()(**method.settings)


def fitted(one, *arguments, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return one.fit(*arguments, **more)


def watching(one):
    return {"eval_set": DATA} if getattr(one, "patience", None) is not None else {}


@RANKERS
def test_a_dataset_is_the_same_as_its_arrays(name):
    one, other = ranker(name), ranker(name)
    fitted(one, NAMED, **watching(one))
    pairs = {"eval_set": [(DATA.features, DATA.labels)], "eval_qid": [DATA.qid]} if watching(other) else {}
    fitted(other, DATA.features, DATA.labels, qid=DATA.qid, **pairs)
    np.testing.assert_array_equal(one.predict(NAMED), other.predict(DATA.features))
    assert one.score(NAMED) == other.score(DATA.features, DATA.labels, qid=DATA.qid)
    assert list(one.feature_names_in_) == list(NAMED.feature_names)


@RANKERS
def test_columns_of_a_dataset_are_found_by_name(name):
    one = ranker(name)
    fitted(one, NAMED, **watching(one))
    order = [3, 1, 4, 0, 2]
    mixed = replace(
        NAMED, features=NAMED.features[:, order], feature_names=tuple(NAMED.feature_names[column] for column in order)
    )
    np.testing.assert_array_equal(one.predict(mixed), one.predict(NAMED))
    renamed = replace(NAMED, feature_names=("bm25", "title", "clicks", "age", "width"))
    with pytest.raises(LinrankError, match="no column 'length'"):
        one.predict(renamed)


@RANKERS
def test_a_missing_value_names_its_column(name):
    features = NAMED.features.copy()
    features[[2, 5], 1] = np.nan
    holed = replace(NAMED, features=features)
    for make in (lambda: holed, lambda: replace(holed, features=sparse.csr_array(features))):
        with pytest.raises(LinrankError, match=r"feature 'title' is NaN in 2 of 120 documents\. Fill"):
            fitted(ranker(name), make())
    with pytest.raises(LinrankError, match="feature '2' is NaN in 2"):
        fitted(ranker(name), features, DATA.labels, qid=DATA.qid)
    trained = ranker(name)
    fitted(trained, NAMED, **watching(trained))
    with pytest.raises(LinrankError, match="feature 'title' is NaN"):
        trained.predict(holed)


@RANKERS
def test_text_for_a_number_is_refused_by_name(name):
    one = ranker(name)
    for setting, value in one.get_params().items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            with pytest.raises(LinrankError, match=f"{setting}='1' is text; use a number"):
                ranker(name).set_params(**{setting: "1"}).fit(NAMED)


@RANKERS
def test_nothing_stands_beside_a_dataset(name):
    with pytest.raises(LinrankError, match="brings its own labels"):
        ranker(name).fit(NAMED, DATA.labels)
    with pytest.raises(LinrankError, match="nothing to learn from"):
        ranker(name).fit(RankingDataset.from_arrays(np.zeros((0, 3)), [], qid=[]))


@RANKERS
def test_what_is_not_watched_is_not_taken(name):
    one = ranker(name)
    if not one.watches and "eval_set" in type(one).fit.__annotations__:
        with pytest.raises(LinrankError, match="watches no eval_set"):
            fitted(one, NAMED, eval_set=NAMED)


def test_infinity_is_called_so():
    features = DATA.features.copy()
    features[7, 0] = -np.inf
    with pytest.raises(LinrankError, match="feature '1' is infinity in 1 of 120"):
        ranker("ranksvm").fit(features, DATA.labels, qid=DATA.qid)


def test_large_finite_numbers_are_not_taken_for_infinity():
    large = np.where(DATA.features > 0, 1e308, 0.9e308)
    with pytest.raises(LinrankError, match=r"feature 1 is 1e\+308 in row 0; products of numbers beyond 1e\+30"):
        ranker("fixed-weights").fit(replace(DATA, features=large))


SPARSE = [name for name, method in METHODS.items() if method.sparse and name != "minbatsrank-nonfea"]


# Truncated gradients do not come to an end on such units, and say that too.
@pytest.mark.filterwarnings("ignore:not converged")
@pytest.mark.parametrize("name", SPARSE)
def test_a_penalty_that_depends_on_units_says_so(name):
    method = METHODS[name]
    settings = {**method.settings, **{setting: values[0] for setting, values in method.grid.items()}}
    mixed = replace(NAMED, features=NAMED.features * [1.0, 1.0, 1e4, 1.0, 1.0])
    with pytest.warns(UserWarning, match=r"the range of 'clicks' is .* times that of 'age': features in large units"):
        method.load()(**settings).fit(mixed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        method.load()(**settings).fit(NAMED)
    assert not [str(one.message) for one in said if "units" in str(one.message)]


@pytest.mark.parametrize(
    "ranker", [RankSVM(C=1e101), RegRankSVM(C=1e300), FacRankSVM(C=1e200), LinearSVRRanker(C=1e150)], ids=repr
)
def test_a_C_with_which_nothing_can_be_computed_is_refused(ranker):
    with pytest.raises(LinrankError, match=r"C=1e\+\d+; use at most 1e\+100: beyond, numbers leave float64"):
        ranker.fit(make_ranking(5, 5, 2)[0])
