"""What real Dask workers do beside training on sums: averaged states, scores, measures, and jobs of a comparison."""

import json
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from linrank import (
    LinearModel,
    LinrankError,
    MinBatSRank,
    RankSVM,
    compare,
    evaluate,
    make_ranking,
    save_dataset,
    scan,
)
from linrank.cli import main
from linrank.dataset import stored_dataset
from linrank.dataset.scaling import choose_scaling, fit_scaling
from linrank.errors import DataFormatError
from linrank.executors.dask import DaskExecutor
from linrank.executors.pieces import Pieces, through
from linrank.experiments.results import differences
from on_workers import CLOSED_LATER, OnSome

pytestmark = CLOSED_LATER


MEASURES = "ndcg@10 map pairwiseaccuracy"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made, _ = make_ranking(600, 15, 10, skew=False)
    path = tmp_path_factory.mktemp("pieces") / "train.linrank"
    save_dataset(made, path)
    return made, path


@pytest.fixture
def many_chunks(monkeypatch):
    # In this process alone: the pieces are cut here.
    monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", 100_000)


@pytest.mark.parametrize("n_workers", [1, 2])
@pytest.mark.parametrize(
    "settings",
    [{}, {"l1": 300.0, "batch_pairs": 10}, {"feature_rates": False, "learning_rate": 1e-4, "parts": 5}],
    ids=str,
)
def test_averaged_states_are_those_of_threads_to_the_last_bit(client, data, many_chunks, settings, n_workers):
    here = MinBatSRank(**{"parts": 8, **settings}).fit(data[1])
    there = MinBatSRank(executor=OnSome(client, n_workers), **settings).fit(data[1])
    for known in ("z", "squares", "weights"):
        np.testing.assert_array_equal(getattr(there.state_, known), getattr(here.state_, known))
    assert (there.objective_, there.n_iter_, there.n_parts_) == (
        here.objective_,
        here.n_iter_,
        settings.get("parts", 8),
    )
    assert [line.loss for line in there.history_] == [line.loss for line in here.history_]


def test_averaged_states_of_parquet_files_are_those_of_threads(client, folder):
    parquet = scan(folder, label="grade", qid="query")
    here = MinBatSRank(parts=3).fit(parquet)
    there = MinBatSRank(parts=3, executor=DaskExecutor(client)).fit(parquet)
    np.testing.assert_array_equal(there.coef_, here.coef_)
    assert there.n_parts_ == 3


@pytest.mark.parametrize("n_workers", [1, 2])
def test_scores_and_measures_are_those_of_one_process_to_the_last_bit(client, data, many_chunks, n_workers):
    ranker = RankSVM(C=0.01).fit(data[0])
    executor = OnSome(client, n_workers)
    # What it was trained by stays here.
    ranker.set_params(executor=executor, progress=lambda line: None)
    for scorer in (ranker, ranker.to_model(scaling=fit_scaling("query", data[0]))):
        expected = scorer.predict(data[0])
        np.testing.assert_array_equal(
            scorer.predict(data[1] if scorer is ranker else scan(data[1]), executor=executor), expected
        )
        measured = evaluate(scorer, data[1], MEASURES, executor=executor)
        loaded = evaluate(expected, data[0], MEASURES)
        assert measured.to_dict() == loaded.to_dict() == evaluate(scorer, data[1], MEASURES).to_dict()
    assert executor.rounds == 4


@pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])
def test_transforms_are_fitted_and_applied_by_workers_as_here(client, data, folder, many_chunks, kind):
    here = RankSVM(C=0.01, transforms=kind).fit(scan(data[1]))
    there = RankSVM(C=0.01, transforms=kind, executor=DaskExecutor(client)).fit(data[1])
    np.testing.assert_array_equal(there.coef_, here.coef_)
    np.testing.assert_array_equal(there.predict(data[0]), here.predict(data[1], executor=DaskExecutor(client)))
    parquet = scan(folder, label="grade", qid="query")
    here, there = (RankSVM(C=0.01, transforms=kind, executor=who).fit(parquet) for who in (None, DaskExecutor(client)))
    np.testing.assert_array_equal(there.coef_, here.coef_)


def test_scores_and_measures_of_parquet_files(client, folder, tmp_path):
    parquet = scan(folder, label="grade", qid="query")
    ranker = RankSVM(C=0.01).fit(parquet)
    np.testing.assert_array_equal(ranker.predict(parquet, executor=DaskExecutor(client)), ranker.predict(parquet))
    there = evaluate(ranker, parquet, MEASURES, executor=DaskExecutor(client))
    assert there.to_dict() == evaluate(ranker, parquet, MEASURES).to_dict()
    assert ranker.score(parquet) == there.mean[there.measures[0]]
    (tmp_path / "a.parquet").write_bytes((folder / "part-0.parquet").read_bytes())
    (tmp_path / "b.parquet").write_bytes((folder / "part-0.parquet").read_bytes())
    twice = scan(tmp_path, label="grade", qid="query")
    with pytest.raises(DataFormatError, match=r"b\.parquet: query 0 is also in .*a\.parquet"):
        evaluate(ranker, twice, MEASURES)


@pytest.mark.parametrize("kind", ["standard", "min-max", "max-abs"])
@pytest.mark.parametrize("density", [1.0, 0.1])
def test_a_scaling_is_fitted_to_the_same_bits(client, tmp_path, monkeypatch, kind, density):
    from linrank.dataset import scaling

    monkeypatch.setattr(scaling, "_ROWS_AT_A_TIME", 70)
    made, _ = make_ranking(30, 10, 8, density=density)
    save_dataset(replace(made, features=made.features * 1000.0), tmp_path / "d.linrank")
    stored, executor = scan(tmp_path / "d.linrank"), DaskExecutor(client)
    expected, fitted = fit_scaling(kind, stored), fit_scaling(kind, stored, through(executor))
    np.testing.assert_array_equal(fitted.scale, expected.scale)
    np.testing.assert_array_equal(fitted.shift, expected.shift)
    # Ranges are found in one; means, and spreads about them, in one each more.
    assert executor.rounds == (3 if kind == "standard" else 1)
    assert str(choose_scaling("auto", stored, through(executor))) == str(choose_scaling("auto", stored))


def test_what_a_cluster_cannot_score_or_learn_is_said(client, data):
    executor = DaskExecutor(client)
    ranker = RankSVM(C=0.01).fit(data[0])
    for work in (
        lambda: ranker.predict(data[0], executor=executor),
        lambda: ranker.to_model().predict(data[0], executor=executor),
        lambda: ranker.to_model().predict(data[0].features, executor=executor),
        lambda: evaluate(ranker, data[0], MEASURES, executor=executor),
        lambda: MinBatSRank(executor=executor).fit(data[0]),
    ):
        with pytest.raises(LinrankError, match="a cluster reads its data from files"):
            work()
    with pytest.raises(LinrankError, match="Pass that in place of scores"):
        evaluate(ranker.predict(data[0]), data[0], MEASURES, executor=executor)
    with pytest.raises(LinrankError, match="partial_fit learns query after query in this process"):
        MinBatSRank(executor=executor).partial_fit(data[0])
    with pytest.raises(LinrankError, match=r"in memory\. Save it"):
        compare(data[0], ["ridge"], executor=executor)
    assert executor.rounds == 0


RANKERS = {"svm": (RankSVM(), {"C": [0.01, 0.1]}), "sparse": ("minbatsrank", {"l1": [1.0]})}


def compared(data, **settings):
    return compare(data, RANKERS, n_folds=3, measures="ndcg@10 map", **settings)


@pytest.fixture(scope="module")
def comparison(data):
    return compared(data[1])


def same(first, second):
    return [
        said
        for name in first.results.complete()
        for ours, theirs in zip(first.results.of(name), second.results.of(name), strict=True)
        for said in differences(ours, theirs)
    ]


def test_jobs_on_workers_have_the_same_results_and_go_on_after_a_stop(client, data, comparison, tmp_path, monkeypatch):
    monkeypatch.chdir(data[1].parent)
    told = []

    def stop(job, outcome):
        told.append((job.name, outcome is None))
        if sum(not begins for _, begins in told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compared("train.linrank", out=tmp_path / "kept", executor=DaskExecutor(client), progress=stop)
    before = {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*/*.json")}
    assert len(before) == 3
    again = compared("train.linrank", out=tmp_path / "kept", executor=DaskExecutor(client))
    assert same(again, comparison) == []
    assert all(path.read_bytes() == kept for path, kept in before.items())
    assert [result.key for result in again.results.of("svm")] == [result.key for result in comparison.results.of("svm")]
    assert again.replay(executor=DaskExecutor(client)) == []


def test_a_job_that_fails_says_the_same_as_here(client, data):
    rankers = {"good": "ridge", "bad": RankSVM(C=-1.0)}
    said = []
    for executor in (None, DaskExecutor(client)):
        with pytest.warns(UserWarning, match="rankers that failed"):
            said.append(compare(data[1], rankers, n_folds=3, executor=executor).failures)
    assert said[0] == said[1]
    assert len(said[0]) == 3


def test_the_command_line_does_all_of_it(client, data, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    address = client.scheduler.address
    printed = []
    words = ["--method", "minbatsrank", "--scaling", "standard", "--json"]
    for name, more in (("here.json", ["--memory", "2GB", "--set", "parts=8"]), ("there.json", ["--dask", address])):
        assert main(["train", str(data[1]), name, *words, *more]) == 0
        printed.append(json.loads(capsys.readouterr().out))
    assert printed[0]["measures"] == printed[1]["measures"]
    assert printed[1]["averaged_parts"] == 8
    here, there = (LinearModel.load(name) for name in ("here.json", "there.json"))
    np.testing.assert_array_equal(here.raw_weights(), there.raw_weights())
    assert main(["train", str(data[1]), "shown.json", "--method", "minbatsrank", "--dask", address, "--quiet"]) == 0
    assert "states of 8 parts of the data, averaged after each pass: not the weights of one" in capsys.readouterr().out

    assert main(["predict", "here.json", str(data[1]), "here.scores"]) == 0
    assert main(["predict", "here.json", str(data[1]), "there.scores", "--dask", address]) == 0
    assert (tmp_path / "here.scores").read_text() == (tmp_path / "there.scores").read_text()
    RankSVM(C=0.01).fit(scan(folder, label="grade", qid="query")).to_model().save("parquet.json")
    # As for one file: a table needs no labels and no query ids to be scored.
    for given in (folder, folder / "part-0.parquet"):
        assert main(["predict", "parquet.json", str(given), "there.scores", "--dask", address]) == 0
        expected = LinearModel.load("parquet.json").predict(scan(given, label="grade", qid="query"))
        np.testing.assert_array_equal(np.loadtxt("there.scores"), expected)

    asked = ["compare", str(data[1]), "--methods", "ridge", "--folds", "3", "--no-report"]
    assert main([*asked, "--out", "results", "--dask", address, "--print", "csv"]) == 0
    assert main(["compare", "--replay", "results", "--dask", address]) == 0
    assert "All 3 results are the same to the bit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "m.json", "-", "--dask", "local:1"], "workers read files by their path, and not standard input"),
        (["predict", "m.json", "d.linrank", "--dask", "local:1", "--trec"], "a TREC run names documents by their ids"),
        (["predict", "m.json", "d.txt", "--dask", "local:1"], "Convert it first: linrank convert"),
        (["predict", "m.json", "d.linrank", "--dask", "local:1", "--missing", "0"], "Give it to linrank convert"),
        (["compare", "d.linrank", "--dask", "local:1", "--jobs", "2"], "Leave one of them out"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_command_line_refuses_what_cannot_be_done_there(data, tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    save_dataset(data[0], "d.linrank")
    (tmp_path / "d.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    RankSVM(C=0.01).fit(data[0]).to_model().save("m.json")
    assert main(words) == 1
    assert message in capsys.readouterr().err


def test_parts_are_of_whole_queries_and_cover_the_data(data, many_chunks):
    stored = scan(data[1])
    for n_parts in (1, 7, 600, 5000):
        parts = list(Pieces.of(stored, n_pieces=n_parts))
        queries = [query for part in parts for first, stop in part.places for query in range(first, stop)]
        assert queries == list(range(600))
        assert len(parts) == min(n_parts, 600)
        assert [part.number for part in parts] == list(range(len(parts)))


# Last, since workers that are new begin with importing.


def test_a_worker_killed_in_a_pass_and_a_driver_that_ended_change_nothing(client, data, tmp_path):
    expected = MinBatSRank(parts=8).fit(data[1])
    victim = next(iter(client.run(os.getpid).values()))

    def kill_and_end(round_):
        if round_.number == 1:
            threading.Timer(0.003, os.kill, (victim, signal.SIGKILL)).start()
        if round_.number == 3:
            raise OSError("the machine went away")

    rounds = tmp_path / "rounds"
    with pytest.raises(OSError, match="the machine went away"):
        MinBatSRank(executor=DaskExecutor(client, checkpoint=rounds, progress=kill_and_end)).fit(data[1])
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()
    with pytest.raises(DataFormatError, match="is of another run"):
        MinBatSRank(l1=2.0, executor=DaskExecutor(client, checkpoint=rounds, resume=True)).fit(data[1])
    again = DaskExecutor(client, checkpoint=rounds, resume=True)
    np.testing.assert_array_equal(MinBatSRank(executor=again).fit(data[1]).coef_, expected.coef_)
    # Two of the five passes are known; what the third told was lost.
    assert again.rounds == 3
    assert not rounds.exists()


def test_a_job_whose_worker_is_killed_is_run_again(client, data, comparison):
    victim = list(client.run(os.getpid).values())[-1]
    begun = []

    def kill(job, outcome):
        begun.append(job.name)
        if outcome is None and len(begun) == 2:
            threading.Timer(0.05, os.kill, (victim, signal.SIGKILL)).start()

    assert same(compared(data[1], executor=DaskExecutor(client), progress=kill), comparison) == []
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()
