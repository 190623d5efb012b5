"""A ranker that another version of linrank pickled says so, and what has changed since."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from linrank import LinrankError, RankSVM, make_ranking
from linrank.estimators import pickling
from linrank.estimators.catalogue import METHODS
from linrank.estimators.pickling import PickledByAnotherVersionWarning

DATA, _ = make_ranking(12, 10, 5, random_state=3)
METHODS_ONCE = [name for name, method in METHODS.items() if not method.variant and method.is_installed]


def pickled_by(version, ranker, monkeypatch, **changes):
    """The bytes that another version would have written, its settings being others; None takes one away."""
    ranker = copy.copy(ranker)
    for setting, value in changes.items():
        if value is None:
            del ranker.__dict__[setting]
        else:
            ranker.__dict__[setting] = value
    with monkeypatch.context() as patch:
        patch.setattr(pickling, "__version__", version)
        return pickle.dumps(ranker)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:the penalty compares")
@pytest.mark.parametrize("name", METHODS_ONCE)
def test_every_ranker_survives_and_says_which_version_it_is_of(name, monkeypatch):
    settings = {key: value for key, value in METHODS[name].settings.items() if key != "patience"}
    ranker = METHODS[name].load()(**settings).fit(DATA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(DATA), ranker.predict(DATA))
    assert "_linrank_version" not in vars(again)
    said = f"^{type(ranker).__name__} was pickled by linrank 0.0.7, and this is .*: its settings are the same"
    with pytest.warns(PickledByAnotherVersionWarning, match=said):
        pickle.loads(pickled_by("0.0.7", ranker, monkeypatch))


def test_settings_that_are_new_or_gone_are_named(monkeypatch):
    ranker = RankSVM(C=0.5).fit(DATA)
    text = pickled_by("0.0.7", ranker, monkeypatch, pairs=None, margin=2.0)
    with pytest.warns(PickledByAnotherVersionWarning, match=r"pairs is new, and 'all'; margin=2\.0 is no longer a set"):
        again = pickle.loads(text)
    assert (again.pairs, again.C) == ("all", 0.5)
    assert not hasattr(again, "margin")
    np.testing.assert_array_equal(again.predict(DATA), ranker.predict(DATA))


def test_what_was_pickled_before_versions_were_written_says_so():
    ranker = RankSVM()
    with pytest.warns(PickledByAnotherVersionWarning, match="by a linrank that did not yet note its version, and this"):
        ranker.__setstate__({name: value for name, value in vars(ranker).items() if name != "_linrank_version"})


class Needs(RankSVM):
    def __init__(self, strength):
        super().__init__()
        self.strength = strength


def test_a_setting_without_a_default_cannot_be_made_up(monkeypatch):
    text = pickled_by("0.0.7", Needs(2.0), monkeypatch, strength=None)
    with pytest.raises(
        LinrankError, match=r"by linrank 0\.0\.7, without strength, which it needs in .* Unpickle it th"
    ):
        pickle.loads(text)
