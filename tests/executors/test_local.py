from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from linrank import LinrankError
from linrank.executors.local import Threads


def add(first, second=0, *, more=0):
    return np.array([first + second + more])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_order_and_totals_add_up(n_threads):
    with Threads(n_threads) as executor:
        assert executor.map(add, [1, 2, 3], [10, 20, 30], more=100) == [111, 122, 133]
        assert executor.total(add, [1, 2, 3]).tolist() == [6]
        assert executor.both(lambda: 1, lambda: 2) == (1, 2)


def test_an_error_in_a_task_reaches_the_caller():
    def fail(part):
        raise ValueError(part)

    with Threads(2) as executor, pytest.raises(ValueError, match="7"):
        executor.map(fail, [7, 8])


def test_blas_gets_its_threads_back_when_the_last_executor_leaves():
    def blas():
        return [entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"]

    before = blas()
    first, second = Threads(1), Threads(1)
    first.__enter__()
    second.__enter__()
    assert set(blas()) <= {1}
    first.__exit__(None, None, None)
    assert set(blas()) <= {1}
    second.__exit__(None, None, None)
    assert blas() == before


def test_no_threads_are_refused():
    with pytest.raises(LinrankError, match="n_threads=0"):
        Threads(0)


def test_blas_has_one_thread_whichever_thread_trains():
    def inside():
        with Threads(1):
            return [entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"]

    with ThreadPoolExecutor(1) as other:
        for _ in range(2):
            assert set(inside()) <= {1}
            assert set(other.submit(inside).result()) <= {1}
