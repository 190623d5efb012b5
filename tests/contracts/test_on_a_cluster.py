"""What every method owes a cluster: the bits of one process on any number of workers, or a reason why not."""

import re

import numpy as np
import pytest

from linrank import LinrankError, RankSVM, make_ranking, save_dataset
from linrank.cli import main
from linrank.estimators.catalogue import METHODS
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import settings_of
from linrank.executors.dask import DaskExecutor
from on_workers import CLOSED_LATER, OnSome

pytestmark = [*CLOSED_LATER, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]


TRAINED = {name: method for name, method in METHODS.items() if not method.variant and method.is_installed}


def runs_there(name):
    """Whether a method computes with an executor, and reads files."""
    made = TRAINED[name].load()
    return "executor" in settings_of(made) and made.reads_files


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made, _ = make_ranking(80, 10, 6, skew=False)
    path = tmp_path_factory.mktemp("cluster") / "train.linrank"
    save_dataset(made, path)
    return made, path


def assert_same_bits(make, data, client):
    try:
        # Averaged states are another algorithm, whoever computes them.
        averages = "parts" in settings_of(type(make()))
        expected = make(parts=8).fit(data[1]) if averages else make().fit(data[0])
    except LinrankError as refusal:
        with pytest.raises(LinrankError, match=re.escape(str(refusal))):
            make(executor=OnSome(client, 1)).fit(data[1])
        return
    for n_workers in (1, 2):
        there = make(executor=OnSome(client, n_workers)).fit(data[1])
        np.testing.assert_array_equal(there.coef_, expected.coef_)
        assert there.objective_ == expected.objective_


WANTED = {
    "free": {},
    "bounds": {"bounds": "non-negative"},
    "prior": {"prior": np.array([0.5, -0.5, 0.0, 0.2, 0.0, 1.0])},
}


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("penalty", RankSVM.penalties)
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_every_penalty_of_both_hinges_has_the_bits_of_one_process(client, data, loss, penalty, wanted):
    def make(**more):
        return RankSVM(C=0.01, loss=loss, penalty=penalty, max_iter=3, **WANTED[wanted], **more)

    assert_same_bits(make, data, client)


@pytest.mark.parametrize(
    "settings", [{"weighting": "queries"}, {"weighting": "ndcg"}, {"weighting": "ndcg", "loss": "hinge"}]
)
def test_weights_that_are_found_there_stay_there(client, data, settings):
    def make(**more):
        return RankSVM(max_iter=3, **settings, **more)

    assert_same_bits(make, data, client)


@pytest.mark.parametrize("name", [name for name in TRAINED if runs_there(name)])
def test_every_method_that_runs_there_has_the_bits_of_one_process(client, data, name):
    made = TRAINED[name].load()
    limits = {"max_iter": 3} if issubclass(made, MinimizingRanker) else {}

    def make(**more):
        # Without patience, which wants other data to be patient on.
        settings = {key: value for key, value in TRAINED[name].settings.items() if key != "patience"}
        return made(**settings, **limits, **more)

    assert_same_bits(make, data, client)


@pytest.mark.parametrize("name", [name for name in TRAINED if not runs_there(name)])
def test_every_other_method_says_why_not(client, data, name, tmp_path, capsys):
    made = TRAINED[name].load()
    with pytest.raises((LinrankError, TypeError), match=r"in memory|one process") as refusal:
        made(executor=DaskExecutor(client)).fit(data[1])
    assert str(refusal.value).rstrip().endswith((".", ")"))
    if TRAINED[name].linear:
        words = ["train", str(data[1]), str(tmp_path / "model.json"), "--method", name, "--dask", "local:1"]
        assert main(words) == 1
        assert "--dask: " in capsys.readouterr().err
