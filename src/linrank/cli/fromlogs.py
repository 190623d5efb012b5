"""linrank fromlogs: a search engine's feature logs and judgements become training data."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from typing import TYPE_CHECKING

from linrank.cli.console import console, counted, dump_json, progress_bar, verb_parser
from linrank.cli.data_arguments import missing_rule
from linrank.cli.data_outputs import TEXT_ENDINGS, ending_of, kind_of, write_data
from linrank.cli.inputs import file_to_read, place_to_read
from linrank.cli.outputs import STANDARD, Kind, check_files

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.reading.logs.account import LogAccount

_FORMAT = "linrank-log-account"
_ACCOUNT = Kind("an account of logs", lambda start, _: f'"{_FORMAT}"'.encode() in start)


def parser() -> ArgumentParser:
    made = verb_parser(
        "fromlogs",
        "Make training data of the features that a search engine logged and of judgements, and say what became of\n"
        "every document and judgement: logged twice, without features, not judged, judged and not logged.\n\n"
        "Logs are saved responses with Solr's [features] (dense or sparse), _ltrlog of Elasticsearch and OpenSearch,\n"
        "or Vespa's match features; or JSON lines with a response or a document each. A folder is all logs in it.\n"
        "Judgements are Quepid's CSV (query, docid, rating), RRE's JSON, TREC qrels (qid 0 docid label) or a table.\n"
        "Features keep the engine's names, in the order in which they first appear; a document logged again counts\n"
        "as it was logged last.",
        "  linrank fromlogs responses/ --judgments quepid.csv --out train.linrank\n"
        "  linrank fromlogs log.jsonl.gz --judgments qrels.txt --out train.parquet --account account.json\n"
        "  linrank fromlogs solr/*.json --judgments judged.csv --query-from params.user_query --docid sku\n"
        "  linrank fromlogs log.jsonl --judgments judged.csv              # only says what there is",
    )
    made.add_argument(
        "logs", nargs="+", help="files or folders of responses, plain, gzip or zstd; - for standard input"
    )
    made.add_argument(
        "--judgments", metavar="FILE", required=True, help="CSV, JSON, TREC qrels, Parquet or Arrow; - too"
    )
    made.add_argument(
        "--out", metavar="DATA", help=".linrank, .parquet, or .txt, which has no place for names; - prints text (none)"
    )
    made.add_argument(
        "--unjudged",
        choices=("drop", "zero"),
        default="drop",
        help="documents that nobody judged are left out, or have the label 0; queries that nobody judged are left out "
        "either way (drop)",
    )
    made.add_argument(
        "--missing",
        type=missing_rule,
        default=0.0,
        metavar="RULE",
        help="a feature that is not in a document's log: a number, query_min, keep or error (0, as engines score it)",
    )
    made.add_argument("--account", metavar="FILE", help="write all that was counted, every document named, as JSON")
    made.add_argument("--json", action="store_true", help="print all of it instead of the first few")
    reading = made.add_argument_group("how logs and judgements are read")
    reading.add_argument(
        "--form",
        choices=("solr", "elasticsearch", "opensearch", "vespa"),
        help="whose logs they are (by what is there)",
    )
    reading.add_argument(
        "--query-from",
        metavar="WHERE",
        help="what names the query of a response: a field beside it, params.NAME of Solr's header, or file (whichever "
        "of qid, query_id, queryId, query, q, params.q and file all have, and most judgements know)",
    )
    reading.add_argument("--docid", metavar="FIELD", help="the field with the document's id (id, _id, the hit's own)")
    reading.add_argument(
        "--log",
        metavar="NAME",
        help="which log: Solr's field, the name in log_specs, Vespa's summaryfeatures ([features], the only one, "
        "matchfeatures)",
    )
    reading.add_argument(
        "--judgment-columns",
        metavar="QUERY,DOCID,RATING",
        type=lambda text: [name.strip() for name in text.split(",")],
        help="columns of the judgements, separated by commas (by their usual names)",
    )
    made.checks.append(_what_is_wrong)
    return made


def _what_is_wrong(arguments: Namespace) -> str | None:
    if arguments.json and STANDARD in (arguments.out, arguments.account):
        return "--json prints the account: give --out and --account files, or leave --json out"
    return None


def run(arguments: Namespace) -> None:
    from linrank.reading.logs.read_logs import read_logs

    outputs = [(arguments.account, _ACCOUNT)]
    if arguments.out is not None:
        outputs.append((arguments.out, kind_of(arguments.out)))
    check_files(outputs, [*arguments.logs, arguments.judgments])
    with ExitStack() as stack:
        judgments = stack.enter_context(file_to_read(arguments.judgments))
        progress = stack.enter_context(progress_bar("reading"))
        dataset, account = read_logs(
            [place_to_read(log) for log in arguments.logs],
            judgments,
            form=arguments.form,
            log=arguments.log,
            query_from=arguments.query_from,
            docid=arguments.docid,
            judgment_columns=arguments.judgment_columns,
            unjudged=arguments.unjudged,
            missing=arguments.missing,
            progress=progress,
        )
    written, renamed = dataset, False
    if arguments.out is not None:
        if ending_of(arguments.out) in TEXT_ENDINGS:
            written, renamed = _with_ids_for_text(dataset)
        write_data(written, arguments.out)
    record = {"format": _FORMAT, **account.as_dict()}
    if arguments.account is not None:
        _write_account(arguments.account, record)
    if arguments.json:
        dump_json(record)
        return
    _say(arguments, dataset, account, renamed=renamed)


def _say(arguments: Namespace, dataset: RankingDataset, account: LogAccount, *, renamed: bool) -> None:
    out = console()
    out.print(str(account))
    kept = (
        f"{counted(dataset.n_queries, 'query', 'queries')}, {counted(dataset.n_documents, 'document')}, "
        f"{counted(dataset.n_features, 'feature')}"
    )
    if arguments.out is None:
        out.print(f"would keep {kept}; --out DATA writes them")
        return
    out.print(f"{arguments.out}: {kept}")
    ending = ending_of(arguments.out)
    if ending in TEXT_ENDINGS:
        out.print(
            "text has no place for the features' names: they are numbered in this order: " + ", ".join(dataset.names)
        )
    if renamed:
        out.print("queries whose names text cannot hold are numbered in it; their names stand in the comments")
    if arguments.out != STANDARD:
        options = " --docid docid" if ending == ".parquet" else ""
        options += " --missing 0" if dataset.missing == "keep" else ""
        out.print(f"next: linrank train {arguments.out} model.json{options}")


def _with_ids_for_text(dataset: RankingDataset) -> tuple[RankingDataset, bool]:
    """The dataset with queries that text can name: where any has a blank, they are numbered, and named in comments."""
    from dataclasses import replace

    import numpy as np

    from linrank.dataset.text_column import TextColumn

    ids = dataset.queries.ids.tolist()
    if not any("#" in name or any(map(str.isspace, name)) for name in ids):
        return dataset, False
    comments = [
        f"{comment} query = {' '.join(qid.split())}"
        for comment, qid in zip(dataset.comments or (), dataset.qid, strict=True)
    ]
    queries = replace(dataset.queries, ids=np.arange(1, len(ids) + 1))
    return replace(dataset, queries=queries, comments=TextColumn.from_texts(comments)), True


def _write_account(place: str, record: dict[str, object]) -> None:
    from linrank.cli.outputs import place_of
    from linrank.files import replacing

    with place_of(place) as path, replacing(path) as file:
        file.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
