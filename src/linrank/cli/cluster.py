"""--dask for verbs whose work is read from files: the option, and who is connected."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linrank.executors.dask import DaskExecutor


def add_dask_option(parser: ArgumentParser, what: str) -> None:
    """Add the option; `what` is what the workers do."""
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help=f"{what} the workers of a Dask cluster, such as tcp://10.0.0.1:8786, or local:N for N processes here; "
        "they read the data by the same path",
    )


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client of the cluster at an address."""
    from linrank.executors.dask import connect

    client = connect(address)
    try:
        yield client
    finally:
        # First the client, or the scheduler warns of every result that is lost with its worker.
        cluster = client.cluster
        client.close()
        # One that was started here ends here; another stays.
        if address.startswith("local:"):
            cluster.close()


@contextmanager
def executor_at(address: str | None) -> Iterator[DaskExecutor | None]:
    """Yield who computes on the cluster at an address; None where there is none."""
    if address is None:
        yield None
        return
    from linrank.executors.dask import DaskExecutor

    with connected(address) as client:
        yield DaskExecutor(client)
