"""Adding a loss is one file: that of `examples/new_loss.py` is trained, tuned and certified from the command line."""

import json
import runpy

import numpy as np
import pytest

from contracts.products import EXAMPLES
from linrank import LinrankError, RankSVM, make_ranking
from linrank.cli import main
from linrank.estimators.list_net import ListNet
from linrank.estimators.pairwise_ridge import PairwiseRidge
from linrank.estimators.rank_net import RankNet
from linrank.objective.registry import LOSSES, ranking_losses, register_loss
from linrank.reading.write_svmlight import write_svmlight
from oracles import listed_pairs

DATA, _ = make_ranking(25, 10, 4, random_state=5)
PAIRS = listed_pairs(DATA)


@pytest.fixture
def ramp():
    """The example's loss, registered for the time of a test."""
    runpy.run_path(str(EXAMPLES / "new_loss.py"))
    yield LOSSES["ramp"].make
    del LOSSES["ramp"]


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "train.txt", DATA)

    def run(*words):
        code = main([*words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def ramp_of(weights, penalty):
    """The objective written out pair by pair."""
    scores, total = DATA.features @ weights, penalty(weights)
    for i, j, _ in PAIRS:
        u = 1.0 - (scores[i] - scores[j])
        total += 0.1 * (u + np.hypot(1.0, u)) / 2
    return total


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_it_is_trained_and_certified(ramp, call, tmp_path, penalty):
    code, out, err = call("train", "train.txt", "m.json", "--loss", "ramp", "-C", "0.1", "--penalty", penalty, "--json")
    assert code == 0, err
    summary, model = json.loads(out), json.loads((tmp_path / "m.json").read_text())
    assert model["parameters"]["loss"] == "ramp"
    assert model["objective"].endswith("C * sum over pairs of (u + sqrt(1 + u^2)) / 2, u = 1 - w.(x_i - x_j)")
    value = {"l2": lambda w: 0.5 * w @ w, "l1": lambda w: np.abs(w).sum()}[penalty]
    weights = np.array(model["weights"])
    assert summary["objective"] == pytest.approx(ramp_of(weights, value), rel=1e-9)
    assert summary["converged"]
    assert 0.0 <= summary["certified_gap"] <= 1e-5 * summary["objective"]
    # No weights nearby are better than the certificate allows.
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = weights + 0.1 * rng.standard_normal(len(weights))
        assert ramp_of(other, value) >= summary["objective"] - summary["certified_gap"]


def test_it_is_tuned(ramp, call):
    code, out, err = call("tune", "train.txt", "m.json", "--loss", "ramp", "--range", "0.01,0.1,1", "--cv", "3")
    assert code == 0, err
    assert "chosen" in out
    assert "certified" in out


def test_it_is_offered_by_its_name_and_the_name_is_taken(ramp, capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert f"{{{','.join(ranking_losses())}}}" in capsys.readouterr().out.replace("\n", "").replace(" ", "")
    with pytest.raises(LinrankError, match=r"there is a loss 'ramp' already: sum over pairs of .* Use another name"):
        register_loss("ramp", ramp, "another")


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize(("loss", "ranker"), [("logistic", RankNet), ("cross_entropy", ListNet)])
def test_a_loss_by_name_is_that_of_the_ranker_it_is_known_by(loss, ranker, penalty):
    one, other = RankSVM(0.1, loss=loss, penalty=penalty).fit(DATA), ranker(0.1, penalty=penalty).fit(DATA)
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert one.objective_ == other.objective_
    assert one.gap_ == other.gap_
    assert one.objective == other.objective


@pytest.mark.parametrize("weight", ["document", "pair"])
def test_least_squares_are_those_of_ridge(weight):
    loss = {"document": "least_squares", "pair": "least_squares_of_pairs"}[weight]
    one = RankSVM(0.1, loss=loss, tol=1e-12).fit(DATA)
    other = PairwiseRidge(gamma=10.0, pair_weight=weight).fit(DATA)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)


@pytest.mark.parametrize("settings", [{"pairs": "adjacent"}, {"sums": "tree"}, {"pairs": "adjacent", "sums": "direct"}])
def test_which_pairs_count_is_not_said_to_a_loss_that_does_not_listen(settings):
    said = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    with pytest.raises(LinrankError, match=f"loss='logistic' is summed in its own way; leave out {said}"):
        RankSVM(loss="logistic", **settings).fit(DATA)


@pytest.mark.parametrize("loss", ["ndcg_logistic", "epsilon_insensitive"])
def test_a_loss_that_is_not_convex_or_compares_no_documents_is_not_taken(loss):
    with pytest.raises(LinrankError, match=f"loss='{loss}'; use one of 'squared_hinge', 'hinge', 'logistic'"):
        RankSVM(loss=loss).fit(DATA)
