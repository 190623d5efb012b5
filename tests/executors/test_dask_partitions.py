"""Partitions on real Dask workers: Parquet, Dask DataFrames and spread queries give the same bits, whoever dies."""

import os
import signal
import threading

import numpy as np
import pytest

from linrank import RankSVM, make_ranking, scan
from linrank.errors import DataFormatError
from linrank.executors.dask import DaskExecutor
from on_workers import CLOSED_LATER, OnSome

pandas = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
pytestmark = CLOSED_LATER


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same documents in five files, whole queries in each; and in any order, all over them."""
    made, _ = make_ranking(150, 12, 6, skew=False)
    frame = pandas.DataFrame(made.features, columns=list("abcdef")).assign(
        label=made.labels, qid=[f"q{query}" for query in made.queries.of_rows()]
    )
    whole, spread = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("spread")
    mixed = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 5)):
        frame.iloc[rows].to_parquet(whole / f"{number}.parquet")
        mixed.iloc[rows].to_parquet(spread / f"{number}.parquet")
    return {"whole": whole, "spread": spread}


def fitted(data, executor=None):
    return RankSVM(C=0.01, executor=executor).fit(data).coef_


@pytest.mark.parametrize("rows", ["whole", "spread"])
def test_a_folder_and_a_dask_frame_give_the_same_bits_here_and_on_any_number_of_workers(client, folders, rows):
    expected = fitted(scan(folders[rows], regroup=rows == "spread"))
    lazy = dd.read_parquet(folders[rows])
    assert lazy.npartitions == 5
    for data, executor in (
        (lazy, OnSome(client, 1)),
        (lazy, DaskExecutor(client)),
        (folders[rows], DaskExecutor(client)),
    ):
        np.testing.assert_array_equal(fitted(scan(data, regroup=rows == "spread"), executor), expected)


def test_fit_takes_a_dask_frame_and_the_names_of_its_columns(client, folders):
    lazy = dd.read_parquet(folders["whole"]).rename(columns={"label": "grade", "qid": "query"})
    ranker = RankSVM(C=0.01, executor=DaskExecutor(client)).fit(lazy, "grade", qid="query")
    np.testing.assert_array_equal(ranker.coef_, fitted(folders["whole"]))
    assert ranker.feature_names_in_.tolist() == list("abcdef")


def test_row_groups_of_one_file_are_partitions_for_workers(client, folders, tmp_path):
    pandas.read_parquet(folders["spread"]).to_parquet(tmp_path / "one.parquet", row_group_size=200)
    data = scan(tmp_path / "one.parquet", partition=400 * 6 * 8)
    assert len(data.partitions) == 5
    np.testing.assert_array_equal(fitted(data, DaskExecutor(client)), fitted(data))


def test_errors_of_a_frame_name_its_partition(client, folders):
    lazy = dd.read_parquet(folders["spread"])
    message = r"partition \d of the Dask DataFrame: query 'q\d+' is also in partition \d .*regroup=True"
    with pytest.raises(DataFormatError, match=message):
        RankSVM(executor=DaskExecutor(client)).fit(lazy)
    holed = dd.read_parquet(folders["whole"]).map_partitions(_without_the_first_number)
    with pytest.raises(DataFormatError, match=r"partition \d of the Dask DataFrame: .*'a'"):
        RankSVM(executor=DaskExecutor(client)).fit(holed)


def _without_the_first_number(part):
    part = part.copy()
    part.iloc[0, 0] = np.nan
    return part


@pytest.mark.parametrize("when", ["query ids", "hessian product of shard"])
def test_a_worker_that_is_killed_changes_nothing_but_the_time(client, folders, when):
    expected = fitted(scan(folders["spread"], regroup=True))
    client.wait_for_workers(2, timeout=60)
    victim = next(iter(client.run(os.getpid).values()))
    killed = []

    def kill(round_):
        if round_.task == when and not killed:
            killed.append(round_)
            # In the midst of what comes next.
            threading.Timer(0.003, os.kill, (victim, signal.SIGKILL)).start()

    data = scan(dd.read_parquet(folders["spread"]), regroup=True)
    np.testing.assert_array_equal(fitted(data, DaskExecutor(client, progress=kill)), expected)
    assert killed
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()
