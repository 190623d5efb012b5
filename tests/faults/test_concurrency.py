"""Fits and predictions from anywhere at once have the same bits, and leave a process as they found it."""

import gc
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from fits_anywhere import fitted_and_scored, rankers
from fusing_cases import made as legs_and_judgements
from linrank import evaluate, fuse, make_ranking

# Short trainings may say that they did not converge.
pytestmark = pytest.mark.filterwarnings("ignore")
N_TASKS = 6


@pytest.fixture(scope="module")
def expected():
    return fitted_and_scored(0)


def are_equal(found, expected):
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_threads_fit_and_predict_at_once(expected):
    with ThreadPoolExecutor(N_TASKS) as pool:
        assert all(are_equal(found, expected) for found in pool.map(fitted_and_scored, [0] * N_TASKS))


def test_threads_predict_with_one_model(expected):
    data, _ = make_ranking(40, 15, 8, random_state=0)
    for ranker in rankers():
        ranker.fit(data)
        alone = ranker.predict(data)
        with ThreadPoolExecutor(N_TASKS) as pool:
            for scores in pool.map(lambda _, ranker=ranker: ranker.predict(data), range(3 * N_TASKS)):
                assert np.array_equal(scores, alone)


def test_spawned_processes_come_to_the_same(expected):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert all(are_equal(found, expected) for found in pool.map(fitted_and_scored, [0] * 2))


def test_forked_processes_come_to_the_same(expected):
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    with warnings.catch_warnings():
        # Python warns of forking a process that has threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        with ProcessPoolExecutor(2, get_context("fork")) as pool:
            assert all(are_equal(found, expected) for found in pool.map(fitted_and_scored, [0] * 2))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_comes_to_the_same(expected, backend):
    found = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(fitted_and_scored)(0) for _ in range(2))
    assert all(are_equal(one, expected) for one in found)


def test_workers_of_dask_come_to_the_same(expected):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(1, processes=False, threads_per_worker=2, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        futures = [client.submit(fitted_and_scored, 0, pure=False) for _ in range(3)]
        assert all(are_equal(found, expected) for found in client.gather(futures))


def state_of_the_process():
    """What else in a process depends on, by what it is about."""
    root = logging.getLogger()
    return {
        "threads of BLAS": [(one["filepath"], one["num_threads"]) for one in threadpool_info()],
        "warning filters": list(warnings.filters),
        "who shows warnings": warnings.showwarning,
        "logging": (root.level, list(root.handlers), logging.root.manager.disable),
        "floating-point errors": (np.geterr(), np.geterrcall()),
        "NumPy's printing": {name: value for name, value in np.get_printoptions().items() if name != "override_repr"},
        "NumPy's random state": np.random.get_state()[1].tolist(),
        "random state": random.getstate(),
        "signal handlers": {one: signal.getsignal(one) for one in signal.valid_signals()},
        "environment": dict(os.environ),
        "streams and hooks": (sys.stdout, sys.stderr, sys.excepthook, threading.excepthook, sys.getrecursionlimit()),
        "folder": os.getcwd(),  # noqa: PTH109
        "locale": locale.setlocale(locale.LC_ALL),
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "umask": _umask(),
    }


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_nothing_in_the_process_changes(tmp_path):
    data, _ = make_ranking(40, 15, 8, random_state=0)
    fitted_and_scored(0)
    before = state_of_the_process()
    for ranker in rankers():
        evaluate(ranker.fit(data).predict(data), data, ["ndcg@10"])
        after = state_of_the_process()
        for what, state in before.items():
            assert after[what] == state, f"{type(ranker).__name__} changes: {what}"


def fused(_):
    runs, qrels = legs_and_judgements(n_queries=10)
    made = fuse(runs, qrels, "qdrant", n_folds=2, n_resamples=3, method="pairwise")
    return [np.array([weight.weight, weight.low, weight.high]) for weight in made.weights]


def test_fusing_in_threads_comes_to_the_same_and_nothing_in_the_process_changes():
    alone = fused(0)
    before = state_of_the_process()
    with ThreadPoolExecutor(4) as pool:
        assert all(are_equal(found, alone) for found in pool.map(fused, range(4)))
    after = state_of_the_process()
    for what, state in before.items():
        assert after[what] == state, what


@pytest.mark.parametrize("fails", [True, False])
def test_nothing_changes_where_a_fit_is_broken_off(fails):
    data, _ = make_ranking(40, 15, 8, random_state=0)
    before = state_of_the_process()

    def stop(_):
        raise RuntimeError if fails else KeyboardInterrupt

    for ranker in rankers():
        if "progress" not in ranker.get_params():
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ranker.set_params(progress=stop).fit(data)
        except (RuntimeError, KeyboardInterrupt):
            pass
        after = state_of_the_process()
        for what, state in before.items():
            if what != "threads":
                assert after[what] == state, f"{type(ranker).__name__} changes: {what}"
