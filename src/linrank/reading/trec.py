"""TREC files: judgements (qrels) and retrieval runs, and the dataset whose features are the scores of runs."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from linrank.dataset.missing_rule import MissingRule, check_missing_rule
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import DataFormatError, LinrankError
from linrank.files import replacing
from linrank.reading.byte_source import ByteSource
from linrank.reading.missing import fill_missing
from linrank.strict_json import finite_from_text

PathLike: TypeAlias = str | os.PathLike[str]
# For each query its documents, in the order of the file, each with its label or score.
ByDocument: TypeAlias = dict[str, dict[str, float]]
# What a line's fields hold for its document, or what to raise with a message.
_Value: TypeAlias = Callable[[list[str], Callable[[str], DataFormatError]], float]

_QRELS = "a line of qrels is: qid 0 docid label"
_RUN = "a line of a run is: qid Q0 docid rank score tag"


def read_qrels(path: PathLike) -> ByDocument:
    """Read judgements, `qid 0 docid label` a line: `{qid: {docid: label}}`, as ir_measures and pytrec_eval take them.

    Labels are any finite numbers. The file may be compressed by gzip or zstd.
    """

    def label(fields: list[str], refuse: Callable[[str], DataFormatError]) -> float:
        return _number(fields[3], "label", _QRELS, refuse)

    return _read(path, 4, _QRELS, label)


def read_run(path: PathLike) -> ByDocument:
    """Read a run, `qid Q0 docid rank score tag` a line: `{qid: {docid: score}}`.

    As in trec_eval the score decides, and the rank does not matter. The file may be compressed by gzip or zstd.
    """

    def score(fields: list[str], refuse: Callable[[str], DataFormatError]) -> float:
        if not re.fullmatch(r"-?[0-9]+", fields[3]):
            raise refuse(f"the rank {fields[3][:40]!r} is not a whole number; {_RUN}. Check the order of the fields.")
        return _number(fields[4], "score", _RUN, refuse)

    return _read(path, 6, _RUN, score)


def read_trec(
    qrels: PathLike | None,
    runs: Mapping[str, PathLike] | Sequence[PathLike],
    *,
    missing: MissingRule = "query_min",
    judged_only: bool = False,
) -> RankingDataset:
    """Make a dataset whose features are the scores of runs: one feature a run, one row a document that any retrieved.

    Parameters
    ----------
    qrels : file of judgements
        A document that is not judged has the label 0; one that is judged and that no run retrieved is no row, but
        measures count it as missed, as trec_eval does (`RankingDataset.unretrieved`). None gives every document the
        label 0, for queries to be scored.
    runs : files of runs by the feature's name, or a list of files, whose names without endings name the features
    missing : "error", "keep" (NaN), "query_min" or a number
        What stands for the score of a run that did not retrieve the document. "query_min" is the run's least score
        for the query, 0 where the run does not know the query.
    judged_only : leave out documents that are not judged

    Returns
    -------
    RankingDataset
        Queries and their documents stand in the order of the first run that has them; document ids are kept
        as comments `docid = …`. Only queries that are both judged and in a run are there, as in trec_eval without -c;
        a warning says how many others there are.
    """
    check_missing_rule(missing)
    if judged_only and qrels is None:
        raise LinrankError("judged_only=True needs judgements. Pass qrels.")
    named = _named(runs)
    columns = {name: read_run(path) for name, path in named.items()}
    judged = {} if qrels is None else read_qrels(qrels)
    found: dict[str, dict[str, None]] = {}
    for run in columns.values():
        for qid, scores in run.items():
            found.setdefault(qid, {}).update(dict.fromkeys(scores))
    if qrels is not None and not judged.keys() & found.keys():
        raise LinrankError(
            f"{os.fspath(qrels)}: judges none of the queries of the runs: {_some(judged)} against {_some(found)}. "
            "Use runs and qrels of the same queries."
        )
    if qrels is not None:
        found = _judged_queries(found, judged, judged_only=judged_only)
    pairs = [(qid, docid) for qid, docids in found.items() for docid in docids]
    features = np.empty((len(pairs), len(columns)))
    for number, run in enumerate(columns.values()):
        features[:, number] = [run.get(qid, {}).get(docid, math.nan) for qid, docid in pairs]
    ids = np.empty(len(pairs), dtype=object)
    ids[:] = [qid for qid, _ in pairs]
    dataset = RankingDataset.from_arrays(
        features,
        [judged.get(qid, {}).get(docid, 0.0) for qid, docid in pairs],
        qid=ids,
        feature_names=list(named),
        comments=[f"docid = {docid}" for _, docid in pairs],
    )
    fill_missing(features, dataset.queries, missing, list(named))
    dataset = replace(dataset, missing=missing)
    if qrels is None:
        return dataset
    missed = [
        [label for docid, label in judged[qid].items() if docid not in found[qid]]
        for qid in dataset.queries.ids.tolist()
    ]
    return replace(dataset, unretrieved=Unretrieved.of(missed)) if any(missed) else dataset


def _judged_queries(
    found: dict[str, dict[str, None]], judged: ByDocument, *, judged_only: bool
) -> dict[str, dict[str, None]]:
    """The queries that a mean is over; those on one side only are named, since other tools may count them."""
    kept = {qid: docids for qid, docids in found.items() if qid in judged}
    if judged_only:
        kept = {qid: {docid: None for docid in docids if docid in judged[qid]} for qid, docids in kept.items()}
        kept = {qid: docids for qid, docids in kept.items() if docids}
    unjudged = [qid for qid in found if qid not in judged]
    unknown = [qid for qid in judged if qid not in kept]
    if unjudged:
        warnings.warn(
            f"{len(unjudged)} of the runs' {len(found)} queries are not judged and are left out: {_some(unjudged)}. "
            "To score them, read_trec(None, runs) reads all.",
            UserWarning,
            stacklevel=3,
        )
    if unknown:
        warnings.warn(
            f"{len(unknown)} of {len(judged)} judged queries have no document here and are left out: {_some(unknown)}. "
            "Means are over the others, as trec_eval's without -c; with -c, and in ir_measures, such queries count 0.",
            UserWarning,
            stacklevel=3,
        )
    return kept


def write_run(path: PathLike, dataset: RankingDataset, scores: Any, tag: str = "linrank") -> None:
    """Write scores as a TREC run: each query's documents by score, descending; ties keep the order of the data.

    Scores are written exact to the last bit.

    Parameters
    ----------
    path : where to; what stands there is replaced only when all is written
    dataset : with document ids, in comments such as `docid = GX004-93-7097963`
    scores : one finite number a document
    tag : one word that names the run
    """
    given = np.asarray(scores, dtype=np.float64)
    if given.shape != (dataset.n_documents,):
        raise LinrankError(
            f"scores have shape {given.shape}, but there are {dataset.n_documents} documents. Pass one a document."
        )
    if not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given))[0])
        raise LinrankError(f"the score in row {row} is {given[row]}; scores are finite numbers. Mend the scorer.")
    _require_word(tag, "the tag")
    docids = dataset.docids
    if docids is None:
        raise LinrankError("the data has no document ids, which a run needs. Read it with comments or docid=….")
    queries = dataset.queries
    order = np.lexsort((-given, queries.of_rows()))
    with replacing(path) as file:
        for query, qid in enumerate(queries.ids.tolist()):
            _require_word(str(qid), "the query id")
            rows = order[queries.starts[query] : queries.starts[query + 1]]
            written: set[str] = set()
            for rank, (row, score) in enumerate(zip(rows.tolist(), given[rows].tolist(), strict=True), start=1):
                docid = docids[row]
                _require_word(docid, f"the document id in row {row}")
                if docid in written:
                    raise LinrankError(
                        f"document {docid!r} is there twice for query {qid!r}; a run has it once. Drop one."
                    )
                written.add(docid)
                file.write(f"{qid} Q0 {docid} {rank} {score!r} {tag}\n")


def _read(path: PathLike, n_fields: int, form: str, value: _Value) -> ByDocument:
    source = os.fspath(path)
    read: ByDocument = {}
    with ByteSource(source, form="a TREC file") as opened:
        for number, line in enumerate(opened.lines(f"Check the file; {form}."), start=1):
            _read_line(read, line, n_fields, form, value, partial(DataFormatError, source, number))
    if not read:
        raise DataFormatError(source, None, f"is empty; {form}. Check the path.")
    return read


def _read_line(
    read: ByDocument, line: bytes, n_fields: int, form: str, value: _Value, refuse: Callable[[str], DataFormatError]
) -> None:
    try:
        # White space as ASCII has it: an id may hold any other.
        fields = [field.decode() for field in line.split()]
    except UnicodeDecodeError:
        raise refuse(f"{line[:40]!r} is not UTF-8 text. Convert the file to UTF-8.") from None
    if not fields:
        return
    if len(fields) != n_fields:
        raise refuse(f"{len(fields)} fields instead of {n_fields}; {form}. Ids cannot hold spaces.")
    qid, docid = fields[0], fields[2]
    documents = read.setdefault(qid, {})
    if docid in documents:
        raise refuse(f"document {docid!r} was given before for query {qid!r}; each is given once. Drop one line.")
    documents[docid] = value(fields, refuse)


def _number(text: str, what: str, form: str, refuse: Callable[[str], DataFormatError]) -> float:
    number = finite_from_text(text)
    if number is None:
        raise refuse(f"the {what} {text[:40]!r} is not a finite number; {form}. Mend or drop the line.")
    return number


def _named(runs: Mapping[str, PathLike] | Sequence[PathLike]) -> dict[str, PathLike]:
    if isinstance(runs, str | os.PathLike):
        raise LinrankError(
            f"runs={os.fspath(runs)!r} is one file; pass a list of files or a mapping from names to files."
        )
    if not runs:
        raise LinrankError("there are no runs; a dataset needs at least one for its features.")
    if isinstance(runs, Mapping):
        return dict(runs)
    named: dict[str, PathLike] = {}
    for path in runs:
        name = Path(os.fspath(path).removesuffix(".gz")).stem
        if name in named:
            raise LinrankError(
                f"{os.fspath(named[name])} and {os.fspath(path)} would both be named {name!r}. "
                f"Pass a mapping from names to files: {{'one': …, 'other': …}}."
            )
        named[name] = path
    return named


def _some(queries: Iterable[str]) -> str:
    first = [repr(qid) for qid, _ in zip(queries, range(4), strict=False)]
    return ", ".join(first if len(first) < 4 else [*first[:3], "…"])


def _require_word(text: str, what: str) -> None:
    if not re.fullmatch(r"\S+", text, re.ASCII):
        raise LinrankError(f"{what} is {text!r}; in a run it is one word. Give it a name without spaces.")
