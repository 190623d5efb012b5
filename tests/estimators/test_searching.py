"""Where a search ended, in words, and where it goes on: by the values and the means alone."""

import numpy as np
import pytest

from linrank import RankSVMCV, make_ranking
from linrank.estimators import rank_svm_cv
from linrank.estimators.searching import MOST_STEPS, Edge, Tried, beyond, edges_of, widens
from linrank.solvers.regularization_path import DEFAULT_CS


def along(means):
    return [Tried({"C": C}, mean) for C, mean in means.items()]


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({0.1: 1.0, 1.0: 2.0, 10.0: 3.0}, [Edge("C", 10.0, True)]),
        ({10.0: 1.0, 1.0: 2.0, 0.1: 3.0}, [Edge("C", 0.1, False)]),
        ({0.1: 1.0, 1.0: 3.0, 10.0: 2.0}, []),
        # Just as good inside: nothing is cut off.
        ({0.1: 3.0, 1.0: 3.0, 10.0: 2.0}, []),
        # One value is no choice, and none lies below zero.
        ({1.0: 3.0}, []),
        ({0.0: 3.0, 1.0: 2.0}, []),
        # No order, no ends.
        ({"a": 3.0, "b": 2.0}, []),
        ({True: 3.0, False: 2.0}, []),
    ],
)
def test_a_choice_is_at_an_edge_where_more_might_lie_beyond(means, expected):
    best = max(means, key=means.get)
    assert list(edges_of({"C": best}, along(means))) == expected


def test_of_several_settings_each_has_its_own_edge():
    tried = [Tried({"a": a, "b": b}, a * b) for a in (1.0, 2.0) for b in (-2.0, -1.0)]
    assert list(edges_of({"a": 2.0, "b": -1.0}, tried)) == [Edge("a", 2.0, True), Edge("b", -1.0, True)]


def test_counts_switches_and_what_holds_zero_do_not_go_on():
    assert widens((0.5, 1.0))
    assert not any(map(widens, [(50, 100), (0.0, 0.1), (True, False), ("a", "b"), (1.0,), (1.0, 1.0)]))


def test_it_goes_on_in_the_ratio_of_the_last_two_and_not_for_ever():
    grid, asked = (1.0, 4.0, 40.0), [1.0, 4.0, 40.0]
    values = []
    while (value := beyond(Edge("C", asked[-1], True), grid, asked)) is not None:
        asked.append(value)
        values.append(value)
    assert values == [40.0 * 10.0**step for step in range(1, MOST_STEPS + 1)]
    assert beyond(Edge("C", 1.0, False), grid, asked) == 0.25


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, 8, n_features=4, noise=0.1, random_state=2)[0]


class TestRankSVMCV:
    def test_it_goes_on_beyond_the_paper_s_range_and_says_where_it_stopped(self, data, monkeypatch):
        def rising(self, dataset, validation, Cs, executor):
            return np.log(Cs)[:, None] * np.ones((len(Cs), 5))

        monkeypatch.setattr(RankSVMCV, "_measured", rising)
        model = RankSVMCV().fit(data)
        assert DEFAULT_CS[-1] * 2.0**MOST_STEPS == model.C_
        assert model.Cs_.tolist() == [2.0**power for power in range(-15, 11 + MOST_STEPS)]
        assert model.remarks_ == (f"C = {model.C_:g} is the largest value tried",)
        given = RankSVMCV(Cs=[0.1, 1.0]).fit(data)
        assert given.Cs_.tolist() == [0.1, 1.0]
        assert given.remarks_ == ("C = 1 is the largest value tried",)

    def test_what_is_tried_later_is_measured_as_if_it_had_been_listed(self, data, monkeypatch):
        monkeypatch.setattr(rank_svm_cv, "DEFAULT_CS", (2.0**-10, 2.0**-9))
        model = RankSVMCV().fit(data)
        assert len(model.Cs_) > 4
        listed = RankSVMCV(Cs=model.Cs_).fit(data)
        np.testing.assert_allclose(listed.measures_, model.measures_, atol=1e-9)
        assert (listed.C_, listed.remarks_) == (model.C_, model.remarks_)

    @pytest.mark.parametrize("changed", ["transforms", "eval_set"])
    def test_a_fit_that_was_interrupted_leaves_nothing_to_the_next(self, data, monkeypatch, changed):
        other = make_ranking(30, 8, n_features=4, noise=3.0, random_state=5)[0]
        settings = {} if changed == "transforms" else {"transforms": "rank-gauss"}
        eval_set = None if changed == "transforms" else data
        expected = RankSVMCV([0.01, 1.0], cv=3, **settings).fit(other, eval_set=eval_set)

        def interrupted(self):
            raise KeyboardInterrupt

        model = RankSVMCV([0.01, 1.0], cv=3, transforms="rank-gauss")
        with monkeypatch.context() as patched:
            patched.setattr(RankSVMCV, "_compares_weights", interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.fit(data)
        again = model.set_params(**{"transforms": None, **settings}).fit(other, eval_set=eval_set)
        np.testing.assert_array_equal(again.measures_, expected.measures_)

    def test_trainings_that_stop_too_early_are_counted(self, data):
        with pytest.warns(match="not converged"):
            model = RankSVMCV(Cs=[1e9, 1e10], cv=3, max_iter=1).fit(data)
        assert model.remarks_[-1] == "while choosing, 6 of 6 trainings stopped before convergence"
