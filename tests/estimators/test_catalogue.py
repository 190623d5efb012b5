"""Every method by its name: what is said of it is true."""

import pytest

from linrank import EGDM, GDM, LinearSVRRanker, ListNet, PairwiseRidge, RankNet, RankSVM, SparseRank
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS, contender_names

NAMES = [pytest.param(name, marks=() if method.is_installed else pytest.mark.skip(reason=f"{method.needs} is absent"))
         for name, method in METHODS.items()]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_estimator_is_there_and_has_the_settings_that_are_tried(name):
    method = METHODS[name]
    made = method.load()(**method.settings)
    assert {*method.settings, *method.grid} <= set(made.get_params())
    assert method.variant or made.method == name
    assert hasattr(made, "to_model") == method.linear


@pytest.mark.parametrize("name", NAMES)
def test_the_formula_is_written_once_and_said_everywhere(name):
    method = METHODS[name]
    kind = method.load()
    assert "{formula}" not in kind.__doc__
    if not method.variant:
        assert kind().objective == method.formula.replace("penalty(w)", "w.w / 2").replace(
            "p(w_j)", "l1 * |w_j| - w_j^2 / (2 * shape) up to |w_j| = shape * l1, constant beyond"
        )
    if "{formula}" in kind._written:
        assert method.variant or f"`{method.formula}`" in " ".join(kind.__doc__.split())


def test_settings_say_where_they_change_the_formula():
    assert RankSVM(loss="hinge", penalty="l1").objective == "|w|_1 + C * sum over pairs of max(0, 1 - w.(x_i - x_j))"
    assert PairwiseRidge(pair_weight="pair").objective == (
        "sum over all pairs of (w.(x_i - x_j) - (y_i - y_j))^2 / 2 + gamma * w.w / 2"
    )
    for ranker in (RankSVM, SparseRank, PairwiseRidge, LinearSVRRanker, ListNet):
        assert ranker(bounds="non-negative").objective == f"{ranker().objective}, within bounds"
    for ranker in (RankNet, PairwiseRidge, GDM, EGDM, LinearSVRRanker):
        assert ranker(prior=[1.0]).objective == f"{ranker().objective}, w meaning w - prior in the penalty"


def test_groups_are_what_they_say():
    assert set(contender_names("linear")) <= set(contender_names("all"))
    assert "lightgbm" not in contender_names("linear")
    assert {"ranksvm-l1", "minbatsrank"} <= set(contender_names("sparse"))
    assert "ranksvm" not in contender_names("sparse")
    assert contender_names("ranksvm, sparse")[0] == "ranksvm"


def test_a_name_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(LinrankError, match="there is no method 'svmrank'; there are all, linear, sparse"):
        contender_names("svmrank")
