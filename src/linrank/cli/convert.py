"""linrank convert: data from one form to another."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from linrank.cli.console import console, counted, progress_bar, verb_parser
from linrank.cli.data_arguments import add_data_options, read_data, reading_options
from linrank.cli.data_outputs import ending_of, kind_of, write_data
from linrank.cli.inputs import file_to_read, place_to_read
from linrank.cli.outputs import STANDARD, check_files
from linrank.errors import LinrankError

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.dataset.storage_layout import Layout


def parser() -> ArgumentParser:
    made = verb_parser(
        "convert",
        "Write ranking data in another form. OUT.linrank is memory-mapped: it opens in milliseconds, reads only what\n"
        "is touched, and carries names, document ids and checksums. OUT.txt is svmlight / LETOR text,\n"
        "OUT.parquet a table with the columns qid, label, docid and the features.\n"
        "With --memory, data of any size becomes a .linrank file without being loaded, the rows of each query\n"
        "together; a folder of Parquet files, and a .linrank file whose queries are interleaved, always do.",
        "  linrank convert train.txt train.linrank\n"
        "  linrank convert train.parquet train.linrank --label grade --qid query --docid url --dtype float32\n"
        "  linrank convert huge.txt.gz huge.linrank --memory 2GB\n"
        "  linrank convert folder-of-parquet huge.linrank --memory 2GB --resume   # after the process was killed\n"
        "  linrank convert train.linrank train.txt",
    )
    made.add_argument(
        "data",
        help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank, or a folder of Parquet "
        "files; - for standard input",
    )
    made.add_argument("out", help="file to write, whole or not at all; its ending says the form; - prints text")
    made.add_argument("--verify", action="store_true", help="read a written .linrank file back and check every byte")
    made.add_argument(
        "--memory",
        metavar="SIZE",
        help="the most to use, such as 2GB: data of any size becomes .linrank, each query's rows together (a file is "
        "loaded and keeps its order; .linrank and folders take up to half of what the machine has)",
    )
    made.add_argument(
        "--resume", action="store_true", help="go on with the same command that was killed, from what is in OUT.parts"
    )
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    out = Path(arguments.out)
    to_output = arguments.out == STANDARD
    # Refused before any work: reading may take minutes.
    check_files([(out, kind_of(out))], [arguments.data])
    written: Layout | RankingDataset
    if ending_of(out) == ".linrank":
        from linrank.dataset.storage import verify_dataset

        written = _streamed(arguments, out) or _saved(arguments, out)
        if arguments.verify:
            verify_dataset(out)
    else:
        _refuse_memory(arguments)
        written = read_data(arguments.data, arguments)
        write_data(written, out)
    size = "" if to_output else f", {out.stat().st_size / 1e6:,.1f} MB"
    console().print(
        f"{out}: {counted(written.n_queries, 'query', 'queries')}, {counted(written.n_documents, 'document')}, "
        f"{counted(written.n_features, 'feature')}{size}"
    )


def _saved(arguments: Namespace, out: Path) -> RankingDataset:
    from linrank.dataset.storage import save_dataset

    dataset = read_data(arguments.data, arguments)
    save_dataset(dataset, out)
    return dataset


def _streamed(arguments: Namespace, out: Path) -> Layout | None:
    """Write what need not be loaded, and return what it holds; None for data that is to be loaded."""
    from linrank.reading.convert import convert, form_of

    form = form_of(arguments.data, arguments.format)
    # A .linrank file is copied with its missing values; to fill them, it is loaded.
    is_copied = form == "linrank" and arguments.missing is None
    if arguments.memory is None and not is_copied and not Path(arguments.data).is_dir():
        if arguments.resume:
            raise LinrankError("--resume goes on with a conversion within --memory. Give it, as in the run that ended.")
        return None
    if arguments.resume and arguments.data == STANDARD:
        raise LinrankError("--resume: standard input is read once. Save it to a file, and convert that.")
    options = reading_options(arguments) | {"format": form, "memory": arguments.memory, "resume": arguments.resume}
    if arguments.resume:
        _say_from_where(out)
    # Tables and .linrank files are read here and there.
    place = nullcontext(place_to_read(arguments.data)) if form == "svmlight" else file_to_read(arguments.data)
    with place as path, progress_bar("converting") as progress:
        return convert(path, out, progress=progress, **options)


def _say_from_where(out: Path) -> None:
    from linrank.dataset.work_folder import folder_of

    folder = folder_of(out)
    said = "the conversion goes on with what it holds." if folder.exists() else "there is none, so it begins anew."
    console().print(f"{folder}: {said}")


def _refuse_memory(arguments: Namespace) -> None:
    for option in ("memory", "resume"):
        if getattr(arguments, option):
            raise LinrankError(
                f"--{option} is for a .linrank file, which is written without loading the data. Leave it out, or "
                "convert in two steps."
            )
