"""Training on data larger than memory, and on a cluster: the options, what they refuse, and what is said of it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.cluster import connected
from linrank.cli.console import console, counted
from linrank.cli.data_arguments import read_complete, reading_options
from linrank.cli.outputs import ROUNDS, STANDARD, check_files
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS
from linrank.memory import size_in_words

if TYPE_CHECKING:
    from linrank.dataset.stored_dataset import StoredDataset
    from linrank.executors.dask import DaskExecutor


def add_larger_data_options(parser: ArgumentParser, *, training: bool = True) -> None:
    """Add the budget, and the cluster; and what only a training of one model can."""
    group = parser.add_argument_group("data larger than memory; the weights are the same")
    group.add_argument(
        "--memory",
        metavar="SIZE",
        help="train without loading the data, within so much memory, such as 2GB; what is no .linrank file becomes one "
        "first, in a temporary folder (TMPDIR)",
    )
    group.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="train on the workers of a Dask cluster, such as tcp://10.0.0.1:8786, or local:N for N processes here; "
        "--memory is then that of each worker"
        + (", and the data may be Parquet: a file or a folder" if training else ""),
    )
    if not training:
        parser.set_defaults(regroup=False, resume=False)
        return
    group.add_argument(
        "--regroup",
        action="store_true",
        help="bring together queries whose rows are in several Parquet files of the folder",
    )
    group.add_argument(
        "--resume", action="store_true", help="go on with a training on a cluster that ended before its time"
    )


def is_left_on_disk(arguments: Namespace) -> bool:
    """Whether the data is not to be loaded."""
    return arguments.memory is not None or arguments.dask is not None


def check_larger_data(arguments: Namespace, out: Path) -> None:
    """Refuse what cannot be trained so, before any work."""
    if arguments.regroup and arguments.dask is None:
        raise LinrankError("--regroup is for Parquet on a cluster. Give --dask; linrank convert regroups text.")
    if arguments.resume and arguments.dask is None:
        raise LinrankError("--resume goes on with a training on a cluster. Give --dask, as in the run that ended.")
    if not is_left_on_disk(arguments):
        return
    option = "--memory" if arguments.dask is None else "--dask"
    method = METHODS[arguments.method].load()
    if not method.reads_files:
        raise LinrankError(
            f"{option}: {arguments.method} needs all of its data in memory. Leave {option} out, or use another method."
        )
    if arguments.dask is None:
        return
    from linrank.estimators.settings import settings_of

    if "executor" not in settings_of(method):
        raise LinrankError(
            f"--dask: {arguments.method} learns in one process, each step from where the last one ended. Give --memory "
            "in place of --dask, or use another method."
        )
    check_shared_data(arguments)
    rounds = rounds_file(out)
    if rounds is None:
        if arguments.resume:
            raise LinrankError("--resume goes by a file beside the model. Name a file for the model, not -.")
        return
    check_files([(rounds, ROUNDS)])
    if rounds.exists() and rounds.stat().st_size and not arguments.resume:
        raise LinrankError(
            f"{rounds}: holds the rounds of a training that ended before its time. Go on with it (--resume), or "
            "remove the file."
        )


def check_shared_data(arguments: Namespace) -> None:
    """Refuse data that the workers of a cluster, where there is one, cannot read themselves."""
    if arguments.dask is None:
        return
    from linrank.reading.convert import form_of

    form = form_of(arguments.data, arguments.format)
    if form == "parquet":
        _check_parquet(arguments)
    elif arguments.regroup:
        raise LinrankError(
            f"{arguments.data}: --regroup is for Parquet. Of other data linrank convert brings queries together."
        )
    elif arguments.data != STANDARD and form != "linrank":
        raise LinrankError(
            f"{arguments.data}: is read as {form}, and workers share a .linrank file or Parquet. Convert it: linrank "
            f"convert {arguments.data} train.linrank --memory 2GB"
        )


def read_to_train(arguments: Namespace) -> Any:
    """The training data: a RankingDataset, or a StoredDataset where it is to be left on disk."""
    if not is_left_on_disk(arguments):
        return read_complete(arguments.data, arguments)
    from linrank.dataset.stored_dataset import StoredDataset
    from linrank.reading.convert import form_of

    if arguments.data == STANDARD:
        raise LinrankError(
            "standard input is read once, and data that is not loaded is read again and again. Save it to a file, and "
            "convert that: linrank convert train.txt train.linrank"
        )
    if arguments.dask is not None and form_of(arguments.data, arguments.format) == "parquet":
        return _partitions(arguments)
    options = reading_options(arguments)
    form = form_of(arguments.data, options.pop("format", None))
    if form != "linrank":
        return _converted(arguments, form, options)
    n_features = options.pop("n_features", None)
    stored = StoredDataset.open(arguments.data, memory=arguments.memory, n_features=n_features)
    # As everywhere, said for --validate it says nothing of a .linrank file.
    if options and arguments.validate is None:
        said = ", ".join(f"--{word.replace('_', '-')}" for word in options)
        raise LinrankError(f"{arguments.data}: {said} says how other files are read. Give it to linrank convert.")
    stored.require_labels()
    return stored


def _converted(arguments: Namespace, form: str, options: dict[str, Any]) -> StoredDataset:
    """Other data, as a .linrank file for the time of the training."""
    from linrank.cli.console import progress_bar
    from linrank.reading.scan import scan_converted

    with progress_bar("converting") as progress:
        stored = scan_converted(arguments.data, memory=arguments.memory, format=form, progress=progress, **options)
    stored.require_labels()
    if not arguments.json:
        size = size_in_words(Path(stored.source).stat().st_size)
        console().print(
            f"{arguments.data}: trained on as {stored.source}, {size}, which is removed at the end. linrank convert "
            "makes one that stays."
        )
    return stored


def _partitions(arguments: Namespace) -> Any:
    """Parquet, of which every worker loads its share."""
    from linrank.reading.partitions import PartitionedDataset

    data = PartitionedDataset.open(arguments.data, regroup=arguments.regroup, **_roles(arguments))
    data.require_labels()
    return data


def _roles(arguments: Namespace) -> dict[str, Any]:
    return {name: value for name, value in reading_options(arguments).items() if name != "format"}


def _check_parquet(arguments: Namespace) -> None:
    from linrank.reading.partitions import parquet_files
    from linrank.reading.read import check_options

    if arguments.memory is not None:
        raise LinrankError(
            f"{arguments.data}: workers load their share of Parquet as a whole. Leave --memory out, or convert it "
            "first: linrank convert"
        )
    check_options("parquet", _roles(arguments))
    if Path(arguments.data).is_dir():
        parquet_files(arguments.data)


def rounds_file(out: Path) -> Path | None:
    """Where the rounds of a training are kept until its end: beside the model."""
    return None if str(out) == STANDARD else out.with_name(out.name + ".rounds")


@contextmanager
def cluster_of(
    arguments: Namespace, out: Path | None, *, quiet: bool
) -> Iterator[tuple[DaskExecutor | None, Callable[[Any], object]]]:
    """Who trains on a cluster, connected, or None where none is asked for; and what shows the lines of a solver."""
    if arguments.dask is None:
        yield None, lambda line: console().print(str(line))
        return
    from linrank.cli.live_rounds import IterationLines, live_rounds
    from linrank.executors.dask import DaskExecutor

    rounds = None if out is None else rounds_file(out)
    with connected(arguments.dask) as client:
        if rounds is not None and not quiet:
            console().print(f"{rounds}: {_beginning(rounds, arguments)}every round is written here, for --resume.")
        with live_rounds(quiet=quiet) as (told, show):
            resume = rounds is not None and arguments.resume
            cluster = DaskExecutor(client, checkpoint=rounds, resume=resume, progress=told)
            yield cluster, IterationLines(cluster, show)


def _beginning(rounds: Path, arguments: Namespace) -> str:
    if not arguments.resume:
        return ""
    return "the training goes on with what it holds; " if rounds.exists() else "there is none, so it begins anew; "


def said_of_data(stored: Any, cluster: DaskExecutor | None) -> dict[str, Any]:
    """What a model remembers of how it came by data that was not loaded."""
    known: dict[str, Any] = {"feature_bytes": stored.n_bytes, "memory": stored.memory}
    if cluster is not None:
        known |= {
            "workers": len(cluster.workers()),
            "rounds": cluster.rounds,
            "bytes_sent": cluster.sent,
            "bytes_received": cluster.received,
            "round_seconds": round(cluster.seconds, 4),
        }
    return {name: value for name, value in known.items() if value is not None}


def larger_data_in_words(summary: dict[str, Any]) -> str | None:
    """The same for people; None where the data was loaded."""
    if "feature_bytes" not in summary:
        return None
    words = f"{size_in_words(summary['feature_bytes'])} of features"
    words += f", on {counted(summary['workers'], 'worker')}" if "workers" in summary else ", not loaded"
    words += f", within {size_in_words(summary['memory'])}" if "memory" in summary else ""
    words += " each" if {"memory", "workers"} <= set(summary) else ""
    if "rounds" not in summary:
        return words
    sent, received = size_in_words(summary["bytes_sent"]), size_in_words(summary["bytes_received"])
    rounds = counted(summary["rounds"], "round")
    return f"{words}, in {rounds} of {summary['round_seconds']:.2f} s: {sent} out, {received} back"
