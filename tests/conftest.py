import os
import signal
import warnings
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from letor_like import REAL, Letor, write_letor_like

# Deterministic, so that a failure repeats; without deadlines, since the first example may compile a kernel.
settings.register_profile(
    "linrank",
    deadline=None,
    derandomize=True,
    max_examples=20 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("linrank")

# Ctrl-C is tested by raising it, and a process that was begun in the background ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def client():
    """Two Dask workers, which the tests of one module may kill."""
    from linrank.executors.dask import connect

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = connect("local:2")
    yield made
    made.cluster.close(timeout=20)
    made.close()


@pytest.fixture(scope="session")
def made_letor(tmp_path_factory) -> Letor:
    """LETOR-like data that is made here, the same in every clone."""
    return write_letor_like(tmp_path_factory.mktemp("letor"))


@pytest.fixture(scope="session")
def real_letor() -> Letor:
    """LETOR's own data: a test that asks for a set of it is skipped where that is not to be had."""
    return REAL


@pytest.fixture(scope="session", params=["made", "real"])
def letor(request) -> Letor:
    """Both, one after the other."""
    return request.getfixturevalue(f"{request.param}_letor")


# Files of few tests that take long: what compiles all kernels first of all, since others then find them compiled, and
# beside it what compiles kernels of its own.
SLOW = (
    "test_compiled.py", "test_kernel_cache.py", "test_docs.py", "test_cli.py", "test_layouts.py", "test_kills.py",
    "test_first_second.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """The files that take longest begin first: else one process works on them alone at the end.

    (xdist would take those with the most tests first, and has to be told not to: --no-loadscope-reorder.)
    """
    n_tests = Counter(item.path for item in items)
    slow = {name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: (slow.get(item.path.name, len(SLOW)), -n_tests[item.path], str(item.path)))
