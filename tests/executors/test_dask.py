"""Training on real Dask workers: the same bits, whoever dies."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from linrank import LinrankError, ListNet, PairwiseRidge, RankingDataset, RankSVM, make_ranking, save_dataset, scan
from linrank.errors import DataFormatError
from linrank.executors.dask import DaskExecutor, Round, _remove_silent, connect
from linrank.executors.local import Threads
from linrank.objective import remote_data
from linrank.objective.placement import PlacedData
from on_workers import CLOSED_LATER, OnSome

pytestmark = CLOSED_LATER


def test_workers_are_counted_whoever_else_asks(client):
    asked = threading.Event()

    def ask():
        # As the client itself does now and then: without the workers.
        while not asked.is_set():
            client.scheduler_info(n_workers=0)

    other = threading.Thread(target=ask)
    other.start()
    try:
        counts = {len(DaskExecutor(client).workers()) for _ in range(200)}
    finally:
        asked.set()
        other.join()
    assert counts == {2}


def test_other_computations_with_dask_go_on_as_they_did(client):
    import dask

    assert dask.delayed(os.getpid)().compute(scheduler="synchronous") == os.getpid()
    assert dask.base.get_scheduler() is None


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made, _ = make_ranking(900, 20, 12, skew=False)
    path = tmp_path_factory.mktemp("dask") / "train.linrank"
    save_dataset(made, path)
    return made, path


def pids(client):
    return client.run(os.getpid)


RANKERS = {
    "RankSVM": lambda **settings: RankSVM(C=0.01, **settings),
    "L1": lambda **settings: RankSVM(C=0.01, penalty="l1", **settings),
    "hinge": lambda **settings: RankSVM(C=1e-3, loss="hinge", tol=1e-2, **settings),
    "ListNet": ListNet,
    "PairwiseRidge": PairwiseRidge,
}


@pytest.mark.parametrize("n_workers", [1, 2])
@pytest.mark.parametrize("name", RANKERS)
def test_the_weights_are_those_of_one_process_to_the_last_bit(client, data, name, n_workers):
    expected = RANKERS[name]().fit(data[0])
    ranker = RANKERS[name](executor=OnSome(client, n_workers)).fit(data[1])
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    assert ranker.objective_ == expected.objective_
    assert ranker.gap_ == expected.gap_


@pytest.mark.parametrize("brought", [0, 1 << 26])
def test_a_start_from_samples_comes_to_the_same_where_it_is_computed_here(client, tmp_path, monkeypatch, brought):
    monkeypatch.setattr(remote_data, "_BROUGHT", brought)
    made, _ = make_ranking(2100, 20, 4)
    save_dataset(made, tmp_path / "large.linrank")
    rounds = []
    ranker = RankSVM(C=1e-4, executor=DaskExecutor(client, progress=rounds.append)).fit(tmp_path / "large.linrank")
    np.testing.assert_array_equal(ranker.coef_, RankSVM(C=1e-4).fit(made).coef_)
    # Of a part that is brought here the workers are asked no more.
    assert ("part of shard" in {one.task for one in rounds}) == bool(brought)


def test_a_query_that_is_spread_and_sparse_features_come_to_the_same(client, tmp_path, monkeypatch):
    made, _ = make_ranking(1, 3000, 30, density=0.2)
    one = RankingDataset.from_arrays(made.features, made.labels, group=[20] * 50 + [2000])
    save_dataset(one, tmp_path / "one.linrank")
    expected = RankSVM(C=1e-4).fit(one)
    ranker = RankSVM(C=1e-4, executor=DaskExecutor(client)).fit(tmp_path / "one.linrank")
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)


@pytest.mark.parametrize("when", ["during load", "during a Hessian product"])
def test_a_worker_that_is_killed_changes_nothing_but_the_time(client, data, when):
    expected = RankSVM(C=0.01).fit(data[0])
    victim = next(iter(pids(client).values()))

    def kill(round_):
        if when != "during load" and round_.task.startswith("hessian product") and not killed:
            killed.append(round_)
            # In the midst of the next one.
            threading.Timer(0.003, os.kill, (victim, signal.SIGKILL)).start()

    killed = []
    if when == "during load":
        threading.Timer(0.01, os.kill, (victim, signal.SIGKILL)).start()
    ranker = RankSVM(C=0.01, executor=DaskExecutor(client, progress=kill)).fit(data[1])
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    assert killed or when == "during load"
    client.wait_for_workers(2, timeout=60)
    assert victim not in pids(client).values()


def test_a_worker_that_hangs_is_removed_and_others_do_its_part(client, data):
    expected = RankSVM(C=0.01).fit(data[0])
    client.wait_for_workers(2, timeout=60)
    victim = list(pids(client).values())[-1]

    def stop(round_):
        if round_.number == 3:
            os.kill(victim, signal.SIGSTOP)

    try:
        ranker = RankSVM(C=0.01, executor=DaskExecutor(client, progress=stop, silence=3.0)).fit(data[1])
    finally:
        os.kill(victim, signal.SIGKILL)
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)


@pytest.mark.parametrize(
    ("ages", "removed"),
    [
        ((100.0, 100.5), []),
        ((100.0,), []),
        ((), []),
        ((0.0, 2.9), []),
        ((100.0, 104.0, 101.0), ["b"]),
        ((9.0, 0.0), ["a"]),
    ],
)
def test_who_is_silent_is_so_beside_others(ages, removed):
    """Where all are silent, the machine is busy: who is removed ends itself, and nobody would be left to wait for."""
    now, gone = time.time(), []

    class Scheduler:
        workers = {name: SimpleNamespace(last_seen=now - age) for name, age in zip("abc", ages, strict=False)}

        async def remove_worker(self, address, **_):
            gone.append(address)

    asyncio.run(_remove_silent(Scheduler(), silence=3.0))
    assert gone == removed


def test_a_driver_that_is_killed_goes_on_where_it_was(client, data, tmp_path):
    expected = RankSVM(C=0.01).fit(data[0])
    script = f"""
import os, signal, sys
from distributed import Client
from linrank import RankSVM
from linrank.executors.dask import DaskExecutor

def end(round_):
    if round_.number == 9:
        os.kill(os.getpid(), signal.SIGKILL)

client = Client({client.scheduler.address!r})
executor = DaskExecutor(client, checkpoint={str(tmp_path / "rounds")!r}, progress=end)
RankSVM(C=0.01, executor=executor).fit({str(data[1])!r})
"""
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    again = DaskExecutor(client, checkpoint=tmp_path / "rounds", resume=True)
    ranker = RankSVM(C=0.01, executor=again).fit(data[1])
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    whole = DaskExecutor(client)
    RankSVM(C=0.01, executor=whole).fit(data[1])
    # (Samples of the data are taken again.)
    assert again.rounds < whole.rounds - 4
    assert not (tmp_path / "rounds").exists()


def test_rounds_of_weights_are_gone_on_with(client, data, tmp_path):
    expected = RankSVM(weighting="ndcg").fit(data[0])
    whole = DaskExecutor(client)
    RankSVM(weighting="ndcg", executor=whole).fit(data[1])

    def end(round_):
        if round_.number == whole.rounds - 3:
            raise RuntimeError("the end")

    with pytest.raises(RuntimeError, match="the end"):
        RankSVM(weighting="ndcg", executor=DaskExecutor(client, checkpoint=tmp_path / "rounds", progress=end)).fit(
            data[1]
        )
    again = DaskExecutor(client, checkpoint=tmp_path / "rounds", resume=True)
    ranker = RankSVM(weighting="ndcg", executor=again).fit(data[1])
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    assert ranker.gap_ == expected.gap_
    assert again.rounds < whole.rounds - 10


def test_a_log_of_other_settings_is_not_gone_on_with(client, data, tmp_path):
    def end(round_):
        if round_.number == 4:
            raise RuntimeError("the end")

    with pytest.raises(RuntimeError, match="the end"):
        RankSVM(C=0.01, executor=DaskExecutor(client, checkpoint=tmp_path / "rounds", progress=end)).fit(data[1])
    with pytest.raises(DataFormatError, match="is of another run"):
        RankSVM(C=0.02, executor=DaskExecutor(client, checkpoint=tmp_path / "rounds", resume=True)).fit(data[1])


def test_a_damaged_partition_is_named(client, tmp_path):
    made, _ = make_ranking(50, 20, 5)
    X = made.features.copy()
    X[700, 2] = np.nan
    save_dataset(RankingDataset.from_arrays(X, made.labels, qid=made.qid), tmp_path / "bad.linrank")
    with pytest.raises(DataFormatError, match=r"bad\.linrank: feature 3 is nan in row 700"):
        RankSVM(executor=DaskExecutor(client)).fit(tmp_path / "bad.linrank")


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_folder_of_parquet_files_gives_the_same_weights_here_and_there(client, folder, n_workers):
    data = scan(folder, label="grade", qid="query")
    assert (data.n_documents, data.n_features, len(data.partitions)) == (3000, 6, 5)
    here = RankSVM(C=0.01).fit(data)
    there = RankSVM(C=0.01, executor=OnSome(client, n_workers)).fit(data)
    np.testing.assert_array_equal(here.coef_, there.coef_)
    assert there.feature_names_in_.tolist() == list("abcdef")


def test_a_query_in_two_files_and_a_damaged_file_are_named(client, folder, tmp_path):
    import shutil

    for path in folder.iterdir():
        shutil.copy(path, tmp_path / path.name)
    shutil.copy(folder / "part-1.parquet", tmp_path / "part-7.parquet")
    data = scan(tmp_path, label="grade", qid="query")
    for executor in (None, DaskExecutor(client)):
        with pytest.raises(DataFormatError, match=r"part-7\.parquet: query 40 is also in .*part-1\.parquet"):
            RankSVM(executor=executor).fit(data)
    (tmp_path / "part-7.parquet").unlink()
    damaged = bytearray((tmp_path / "part-3.parquet").read_bytes())
    damaged[4:600] = bytes(596)
    (tmp_path / "part-3.parquet").write_bytes(bytes(damaged))
    data = scan(tmp_path, label="grade", qid="query")
    for executor in (None, DaskExecutor(client)):
        with pytest.raises(DataFormatError, match=r"part-3\.parquet"):
            RankSVM(executor=executor).fit(data)


def test_what_a_cluster_cannot_do_is_said(client, data):
    with pytest.raises(LinrankError, match="a cluster reads its data from files"):
        RankSVM(executor=DaskExecutor(client)).fit(data[0])
    with pytest.raises(LinrankError, match=r"pass a distributed\.Client"):
        DaskExecutor("tcp://10.0.0.1:8786")
    with pytest.raises(LinrankError, match="write local:N"):
        connect("local:many")


def test_rounds_are_told_as_they_come(client, data):
    rounds = []
    executor = DaskExecutor(client, progress=rounds.append)
    RankSVM(C=0.01, executor=executor).fit(data[1])
    assert [one.number for one in rounds] == list(range(1, executor.rounds + 1))
    line = "round    3  evaluate shard               10.0 ms  1.5 kB out, 20 B back"
    assert str(Round(3, "evaluate shard", 0.01, 1500, 20)) == line
    assert {"sizes", "evaluate shard", "hessian product of shard"} <= {one.task for one in rounds}
    # A product of the Hessian: one vector of weights a worker out, and one of sums a shard back.
    product = next(one for one in rounds if one.task == "hessian product of shard")
    n_shards = placed(data[0]).n_shards
    assert 2 * 8 * 12 <= product.sent < 2 * (8 * 12 + 1000)
    assert 8 * 12 * n_shards <= product.received < (8 * 12 + 300) * n_shards
    assert (executor.sent, executor.received) == (sum(one.sent for one in rounds), sum(one.received for one in rounds))
    assert executor.seconds == pytest.approx(sum(one.seconds for one in rounds))


def placed(data):
    return PlacedData.of(data, Threads(1))


def test_what_loading_sends_does_not_grow_with_the_queries(client, tmp_path):
    sent = []
    for n_queries in (100, 5000):
        made, _ = make_ranking(n_queries, 4, 3)
        save_dataset(made, tmp_path / f"{n_queries}.linrank")
        rounds, executor = [], OnSome(client, 1)
        executor.progress = rounds.append
        RankSVM(tol=0.1, executor=executor).fit(tmp_path / f"{n_queries}.linrank")
        assert rounds[0].task == "sizes"
        sent.append(rounds[0].sent)
    # (But for the digits of a longer name, and of more shards.)
    assert abs(sent[1] - sent[0]) < 20
