"""linrank convert: data from one form to another."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from linrank.cli.console import console, counted, verb_parser
from linrank.cli.data_arguments import add_data_options, read_data
from linrank.cli.outputs import DATASET, STANDARD, TEXT, check_files, place_of
from linrank.errors import LinrankError

_TEXT = (".txt", ".svm", ".svmlight", ".letor", ".dat")


def parser() -> ArgumentParser:
    made = verb_parser(
        "convert",
        "Write ranking data in another form. OUT.linrank is memory-mapped: it opens in milliseconds, reads only what\n"
        "is touched, and carries names, document ids and checksums. OUT.txt is svmlight / LETOR text.",
        "  linrank convert train.txt train.linrank\n"
        "  linrank convert train.parquet train.linrank --label grade --qid query --docid url --dtype float32\n"
        "  linrank convert train.linrank train.txt",
    )
    made.add_argument("data", help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input")
    made.add_argument("out", help="file to write, whole or not at all; its ending says the form; - prints text")
    made.add_argument("--verify", action="store_true", help="read a written .linrank file back and check every byte")
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    out = Path(arguments.out)
    to_output = arguments.out == STANDARD
    ending = ".txt" if to_output else out.suffix.lower()
    # Refused before any work: reading may take minutes.
    if ending not in (".linrank", *_TEXT):
        known = ", ".join((".linrank", *_TEXT))
        raise LinrankError(f"{out}: cannot tell the form from the ending {ending!r}; use one of {known}.")
    check_files([(out, DATASET if ending == ".linrank" else TEXT)], [arguments.data])
    dataset = read_data(arguments.data, arguments)
    if ending == ".linrank":
        from linrank.dataset.storage import save_dataset, verify_dataset

        save_dataset(dataset, out)
        if arguments.verify:
            verify_dataset(out)
    else:
        from linrank.reading.write_svmlight import write_svmlight

        with place_of(out) as place:
            write_svmlight(place, dataset)
    size = "" if to_output else f", {out.stat().st_size / 1e6:,.1f} MB"
    console().print(
        f"{out}: {counted(dataset.n_queries, 'query', 'queries')}, {counted(dataset.n_documents, 'document')}, "
        f"{counted(dataset.n_features, 'feature')}{size}"
    )
