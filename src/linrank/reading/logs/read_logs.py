"""read_logs: feature logs of a search engine, joined with judgements."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Offsets
from linrank.dataset.missing_rule import MissingRule, check_missing_rule
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import LinrankError
from linrank.reading.feature_rows import is_dense
from linrank.reading.logs.account import LogAccount, Pair
from linrank.reading.logs.gathering import GatheredLogs, log_files
from linrank.reading.logs.joining import Joined, join
from linrank.reading.logs.judgments import Judgments, read_judgments
from linrank.reading.logs.query_naming import way_of_naming
from linrank.reading.logs.responses import FORMS, Responses
from linrank.reading.missing import fill_missing

PathLike: TypeAlias = str | os.PathLike[str]


def read_logs(
    logs: PathLike | Sequence[PathLike],
    judgments: Any,
    *,
    form: str | None = None,
    log: str | None = None,
    query_from: str | None = None,
    docid: str | None = None,
    judgment_columns: Sequence[str] | None = None,
    unjudged: Literal["drop", "zero"] = "drop",
    missing: MissingRule = 0.0,
    progress: Callable[[int, int | None], None] | None = None,
) -> tuple[RankingDataset, LogAccount]:
    """Make a dataset of the features that a search engine logged and of judgements; and an account of both.

    Parameters
    ----------
    logs : file, folder, or list of them
        Solr's `[features]`, dense or sparse, `_ltrlog` of Elasticsearch and OpenSearch, Vespa's `matchfeatures`: saved
        responses, or JSON lines with a response or a document each, plain, gzip or zstd.
    judgments : file, table, or `{query: {docid: rating}}`
        CSV as Quepid exports it, JSON of RRE, TREC qrels, or any table with columns for the three.
    form : "solr", "elasticsearch", "opensearch" or "vespa"; by what is there unless told
    log : the log that is meant, where there are several or it is called otherwise
        Solr: the field, `[features]` unless told. Elasticsearch, OpenSearch: the name in `log_specs`. Vespa:
        `matchfeatures`, `summaryfeatures` or `rankfeatures`, the first that a hit has unless told.
    query_from : what names the query of a response
        A field beside the response or the document, `params.NAME` of Solr's header, or "file". Unless told, whichever
        of the fields qid, query_id, queryId, query and q, of `params.q` and of the names of files with one response
        all responses have, and most judgements know.
    docid : the field with the document's id; unless told `id` (Solr), `_id` or the id of the hit
        A judgement may name a document of Vespa by its whole id or by what the user chose of it.
    judgment_columns : the columns of the query, the document's id and the rating; by usual names unless told
    unjudged : "drop" or "zero": documents that nobody judged are left out, or have the label 0
        Queries that nobody judged are left out either way.
    missing : a number, "query_min", "keep" or "error"
        What stands for a feature that is not in a document's log. 0 is what the engines' models score there, and what
        Solr's sparse form leaves out; features with a default value of their own are better logged densely.
    progress : called with the bytes of a file that are read and its size

    Returns
    -------
    dataset : RankingDataset
        Features have the engine's names, in the order in which they first appear in the logs; queries and their
        documents stand in the order of the logs, document ids are kept as comments. Judged documents that are in no
        log are no rows, but measures count them as missed (`dataset.unretrieved`).
    account : LogAccount
        What was counted and, in full, which documents and queries: logged twice, without features, not judged, judged
        and not logged. `print(account)` is short.
    """
    check_missing_rule(missing)
    if form is not None and form not in FORMS:
        raise LinrankError(f"form={form!r} is none of {', '.join(FORMS)}.")
    if unjudged not in ("drop", "zero"):
        raise LinrankError(f'unjudged={unjudged!r}; use "drop" or "zero".')
    files, not_read = log_files(logs, judgments)
    judged = read_judgments(judgments, judgment_columns)
    gathered = GatheredLogs(Responses(form, log, query_from), docid)
    for file in files:
        gathered.add_file(file, progress)
    if not gathered.features:
        raise LinrankError(
            f"{', '.join(files[:3])}: no document has a feature. Check what the engine was asked to log."
        )
    way = way_of_naming(gathered.responses, judged.labels, query_from, judged.source)
    names = [response.names[way] for response in gathered.responses]
    joined = join(gathered, names, judged, keep_all=unjudged == "zero")
    if not joined.rows:
        raise LinrankError(
            f"{judged.source}: no logged document is judged: {_some_documents(joined.unjudged)} … are logged. "
            "Use judgements with the same document ids, or say which field has them with docid=…."
        )
    dataset, lacking = _dataset(gathered, joined, missing)
    return dataset, LogAccount(
        files=len(files),
        not_read=tuple(not_read),
        named_by=way,
        missing=lacking,
        missing_rule=missing,
        unjudged_rule=unjudged,
        **_of_dataset(dataset),
        **_of_logs(gathered, names),
        **_of_judgments(judged),
        **_of_joining(joined),
    )


def _of_dataset(dataset: RankingDataset) -> dict[str, Any]:
    return {
        "queries": dataset.n_queries,
        "documents": dataset.n_documents,
        "features": dataset.n_features,
        "constant_features": _constant(dataset),
    }


def _of_logs(gathered: GatheredLogs, query_of: Sequence[str]) -> dict[str, Any]:
    return {
        "forms": dict(gathered.forms),
        "logged_documents": len(gathered.docids),
        "without_log": tuple((query_of[response], docid) for response, docid in gathered.without_log),
        "empty": tuple(query_of[response] for response in gathered.empty),
        "failed": tuple(gathered.failed),
    }


def _of_judgments(judged: Judgments) -> dict[str, Any]:
    return {
        "judged_queries": len(judged.labels),
        "judged_documents": sum(map(len, judged.labels.values())),
        "unrated": tuple(judged.unrated),
        "repeated_judgments": judged.repeated,
        "contradicting_judgments": tuple(judged.contradicting),
    }


def _of_joining(joined: Joined) -> dict[str, Any]:
    return {
        "logged_queries": joined.logged_queries,
        "repeated": joined.repeated,
        "contradicting": tuple(joined.contradicting),
        "unjudged": tuple(joined.unjudged),
        "unjudged_queries": tuple(joined.unjudged_queries),
        "no_judged_document": tuple(joined.no_judged_document),
        "judged_not_logged": tuple(joined.judged_not_logged),
        "queries_not_logged": tuple(joined.queries_not_logged),
    }


def _dataset(gathered: GatheredLogs, joined: Joined, missing: MissingRule) -> tuple[RankingDataset, dict[str, int]]:
    """The dataset of the rows that are kept, and how many of them lack each feature."""
    names = list(gathered.features)
    entries = _entries_of(gathered, np.array(joined.rows, dtype=np.int64))
    n_there = np.bincount(entries.indices, minlength=len(names))
    lacking = {
        name: n_rows for name, n_rows in zip(names, (len(joined.rows) - n_there).tolist(), strict=True) if n_rows
    }
    ids = np.empty(len(joined.rows), dtype=object)
    ids[:] = joined.queries
    dataset = RankingDataset.from_arrays(
        entries if missing == 0 and not is_dense(None, entries.shape, entries.nnz, entries.dtype) else _dense(entries),
        joined.labels,
        qid=ids,
        feature_names=names,
        comments=[f"docid = {docid}" for docid in joined.docids],
    )
    fill_missing(dataset.features, dataset.queries, missing, names)
    missed = Unretrieved.of(joined.unretrieved) if any(joined.unretrieved) else None
    return replace(dataset, missing=missing, unretrieved=missed), lacking


def _entries_of(gathered: GatheredLogs, rows: Offsets) -> scipy.sparse.csr_array:
    """The entries of some rows, zeros among them, by ascending feature."""
    all_rows = (
        np.frombuffer(gathered.values, dtype=np.float64),
        np.frombuffer(gathered.columns, dtype=np.int32),
        np.frombuffer(gathered.starts, dtype=np.int64),
    )
    made = scipy.sparse.csr_array(all_rows, shape=(len(gathered.docids), len(gathered.features)))[rows]
    made.sort_indices()
    return made


def _dense(entries: scipy.sparse.csr_array) -> NDArray[np.float64]:
    values = np.full(entries.shape, np.nan)
    values[np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr)), entries.indices] = entries.data
    return values


def _constant(dataset: RankingDataset) -> tuple[str, ...]:
    features = dataset.features
    least, most = features.min(axis=0), features.max(axis=0)
    if dataset.is_sparse:
        least, most = least.toarray(), most.toarray()
    return tuple(name for name, same in zip(dataset.names, (least == most).tolist(), strict=True) if same)


def _some_documents(pairs: Sequence[Pair]) -> str:
    return ", ".join(repr(docid) for _, docid in pairs[:3])
