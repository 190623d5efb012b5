"""Real Dask workers, for the tests that need them; they are skipped where Dask is not installed."""

import pytest

from linrank.executors.dask import DaskExecutor

pytest.importorskip("distributed")

# Sockets and processes of Dask are closed by its own threads, after the tests.
CLOSED_LATER = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


class OnSome(DaskExecutor):
    """As if the cluster had fewer workers."""

    def __init__(self, client, n_workers):
        super().__init__(client)
        self.n_workers = n_workers

    def workers(self):
        return super().workers()[: self.n_workers]
