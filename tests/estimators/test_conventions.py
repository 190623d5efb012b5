"""scikit-learn's conventions before its import: settings by name; and after it rankers are its estimators."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state

from linrank.estimators import conventions
from linrank.estimators.catalogue import METHODS
from linrank.estimators.conventions import PlainEstimator, check_trained, drawn_seed

RANKERS = {method.class_name: method.load() for method in METHODS.values() if method.is_installed}


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)
def test_settings_are_those_of_scikit_learn(ranker):
    made = ranker()
    some = list(made.get_params())[:2]
    for settings in ({}, dict.fromkeys(some, 0.25)):
        made.set_params(**settings)
        assert PlainEstimator.get_params(made) == BaseEstimator.get_params(made)
        assert PlainEstimator.__repr__(made).split() == BaseEstimator.__repr__(made).split()


def test_settings_of_an_estimator_within_are_seen_and_set():
    class Outer(PlainEstimator):
        def __init__(self, inner=None, size=1):
            self.inner, self.size = inner, size

    made = Outer(Outer())
    made.set_params(inner__size=3, size=2)
    assert (made.inner.size, made.size) == (3, 2)
    assert made.get_params() == BaseEstimator.get_params(made)
    assert repr(made) == "Outer(inner=Outer(size=3), size=2)"


# Everything is asked of rankers and instances that were there before scikit-learn was.
BEFORE_AND_AFTER = """
import pickle, sys
from linrank import RankSVM, make_ranking
from linrank.estimators.conventions import ConvergenceWarning as ours

class Mine(RankSVM):
    def fit(self, X, y=None, qid=None, *, note=None):
        return super().fit(X, y, qid)

data, _ = make_ranking(8, 6, 3)
trained, mine = RankSVM(C=0.5).fit(data), Mine(C=2.0)
there = pickle.dumps(trained)
assert "sklearn" not in sys.modules and not hasattr(RankSVM, "set_fit_request")

import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from linrank import QueryKFold

class Later(RankSVM):
    def fit(self, X, y=None, qid=None, *, note=None):
        return super().fit(X, y, qid)

assert isinstance(mine, BaseEstimator) and issubclass(ours, ConvergenceWarning)
assert clone(mine).C == 2.0 and repr(mine) == "Mine(C=2.0)"
assert get_tags(trained).input_tags.sparse and get_tags(trained).target_tags.required
sklearn.set_config(enable_metadata_routing=True)
for early, late in ((Mine, Later),):
    assert str(early().get_metadata_routing()) == str(late().get_metadata_routing()).replace("Later", "Mine")
assert mine.set_fit_request(note=True).get_metadata_routing().fit.requests["note"] is True
found = GridSearchCV(RankSVM(), {"C": [0.5, 1.0]}, cv=QueryKFold(2)).fit(data.features, data.labels, qid=data.qid)
again = pickle.loads(there)
assert (again.coef_ == trained.coef_).all() and (again.predict(data.features) == trained.predict(data)).all()
"""


def test_rankers_that_were_there_before_scikit_learn_become_its_estimators():
    done = subprocess.run([sys.executable, "-c", BEFORE_AND_AFTER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_where_scikit_learn_is_rankers_and_warnings_are_its_own():
    assert all(issubclass(ranker, BaseEstimator) for ranker in RANKERS.values())
    assert issubclass(conventions.ConvergenceWarning, ConvergenceWarning)


def test_an_untrained_ranker_is_refused_in_scikit_learns_words():
    ranker = RANKERS["RankSVM"]()
    with pytest.raises(NotFittedError, match="This RankSVM instance is not fitted yet"):
        check_trained(ranker)
    ranker.coef_ = np.zeros(2)
    check_trained(ranker)


@pytest.mark.parametrize("random_state", [0, 7, np.int64(3), np.random.RandomState(5)], ids=str)
def test_seeds_are_drawn_as_scikit_learn_draws(random_state):
    again = np.random.RandomState(5) if isinstance(random_state, np.random.RandomState) else random_state
    assert drawn_seed(random_state) == check_random_state(again).randint(2**31 - 1)
