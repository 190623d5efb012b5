"""Beside LightGBM's and XGBoost's Dask rankers: the same Parquet partitions, workers and held-out queries.

Time to train, NDCG@10, and what happens when a worker is killed in the middle of a training. A run that has not ended
after five times what it takes undisturbed, and at least two minutes, counts as hung.

    python benchmarks/dask_rivals.py
    python benchmarks/dask_rivals.py --documents 100000 --workers 4
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from made_data import mslr_like

from linrank import DaskExecutor, RankSVM, evaluate
from linrank.executors.dask import connect

ROUNDS = 100


def write_partitions(data, folder, n_parts):
    """Whole queries, in so many Parquet files."""
    import pandas as pd

    folder.mkdir()
    rows = np.asarray(data.features)
    for number in range(n_parts):
        queries = range(number * data.queries.n_queries // n_parts, (number + 1) * data.queries.n_queries // n_parts)
        first, last = data.queries.starts[queries.start], data.queries.starts[queries.stop]
        frame = pd.DataFrame(rows[first:last], columns=[f"f{j}" for j in range(rows.shape[1])])
        frame["label"] = data.labels[first:last].astype(np.int32)
        frame["qid"] = np.repeat(list(queries), np.diff(data.queries.starts)[queries.start : queries.stop])
        frame.to_parquet(folder / f"part-{number:03d}.parquet")


def frame_of(folder):
    """The partitions as a frame in the workers' memory, and its columns of features."""
    import dask.dataframe as dd
    from distributed import wait

    frame = dd.read_parquet(sorted(map(str, folder.glob("*.parquet")))).persist()
    wait(frame)
    return frame, [name for name in frame.columns if name not in ("label", "qid")]


def linrank(client, folder):
    ranker = RankSVM(C=1e-4, executor=DaskExecutor(client, silence=15.0)).fit(folder)
    return ranker.predict


def lightgbm(client, folder):
    import dask.array as da
    from lightgbm import DaskLGBMRanker

    frame, names = frame_of(folder)
    sizes = [part["qid"].groupby(part["qid"], sort=False).size().compute().to_numpy() for part in frame.partitions]
    group = da.concatenate([da.from_array(part, chunks=-1) for part in sizes])
    ranker = DaskLGBMRanker(client=client, n_estimators=ROUNDS, verbose=-1)
    features = frame[names].to_dask_array(lengths=True)
    ranker.fit(features, frame["label"].to_dask_array(lengths=True), group=group)
    return ranker.to_local().predict


def xgboost(client, folder):
    from xgboost import XGBRanker
    from xgboost.dask import DaskXGBRanker

    frame, names = frame_of(folder)
    ranker = DaskXGBRanker(n_estimators=ROUNDS, objective="rank:ndcg", tree_method="hist")
    ranker.client = client
    ranker.fit(frame[names], frame["label"], qid=frame["qid"])
    local = XGBRanker()
    local.load_model(ranker.get_booster().save_raw())
    return local.predict


def ended(task, seconds):
    """What a task returned or raised within some seconds; None where it did neither."""
    outcome = []

    def work():
        try:
            outcome.append(task())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else None


def pids_of(client):
    return [worker["id"] for worker in client.run(lambda: {"id": os.getpid()}).values()]


def trial(name, train, folder, test, n_workers):
    client = connect(f"local:{n_workers}")
    try:
        train(client, folder)
        started = time.perf_counter()
        predict = train(client, folder)
        seconds = time.perf_counter() - started
        scores = predict(np.asarray(test.features))
        quality = evaluate(scores, test, "ndcg@10").to_dict()["mean"]["ndcg@10"]
        victim = pids_of(client)[0]
        threading.Timer(seconds / 2, os.kill, (victim, signal.SIGKILL)).start()
        started = time.perf_counter()
        after = ended(lambda: train(client, folder), max(120.0, 5 * seconds))
        waited = time.perf_counter() - started
        if after is None:
            fate = f"hung: no end after {waited:.0f} s"
        elif isinstance(after, Exception):
            reason = [*str(after).splitlines(), type(after).__name__][0][:80]
            fate = f"failed after {waited:.0f} s: {reason}"
        else:
            same = np.array_equal(after(np.asarray(test.features)), scores)
            fate = f"trained in {waited:.1f} s, {'the same' if same else 'another'} model"
        print(f"{name}: {seconds:.2f} s, NDCG@10 {quality:.4f}; a worker killed halfway: {fate}", flush=True)
    finally:
        client.cluster.close(timeout=20)
        client.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=716_770)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=["linrank", "lightgbm", "xgboost"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rankers = {"linrank": linrank, "lightgbm": lightgbm, "xgboost": xgboost}
    with tempfile.TemporaryDirectory() as place:
        data = mslr_like(given.documents, max(10, given.documents // 119))
        n_train = int(0.8 * data.queries.n_queries)
        train, test = data.subset(np.arange(n_train)), data.subset(np.arange(n_train, data.queries.n_queries))
        folder = Path(place) / "parts"
        write_partitions(train, folder, 8)
        for name in given.only:
            trial(name, rankers[name], folder, test, given.workers)


if __name__ == "__main__":
    main()
