"""--dask for verbs whose work is read from files: the option, and who is connected."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from linrank.threads import uninterrupted

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
    client = _started(address) if _is_local(address) else _connect(address)
    try:
        yield client
    except KeyboardInterrupt:
        _say_no_more()
        raise
    finally:
        _close(client, address)


def _is_local(address: str) -> bool:
    return address.startswith("local:")


def _started(address: str) -> Any:
    """The client of a cluster that is started here."""
    made: list[Any] = []
    try:
        uninterrupted(lambda: made.append(_connect(address)))
    except KeyboardInterrupt:
        for client in made:
            _close(client, address)
        raise
    return made[0]


def _connect(address: str) -> Any:
    from linrank.executors.dask import connect

    return connect(address)


def _close(client: Any, address: str) -> None:
    # First the client, or the scheduler warns of every result that is lost with its worker.
    cluster = client.cluster
    client.close()
    # One that was started here ends here; another stays.
    if _is_local(address):
        cluster.close()


def _say_no_more() -> None:
    """What Dask says of work that is broken off, at length, is what was asked for, and this process is about to end."""
    import logging

    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)


@contextmanager
def executor_at(address: str | None) -> Iterator[DaskExecutor | None]:
    """Yield who computes on the cluster at an address; None where there is none."""
    if address is None:
        yield None
        return
    from linrank.executors.dask import DaskExecutor

    with connected(address) as client:
        yield DaskExecutor(client)
