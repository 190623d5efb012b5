"""The `linrank` command: one file a verb, and only the verb that is asked for is loaded."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from linrank._version import __version__
from linrank.cli.option_names import in_words_of
from linrank.cli.signals import ended_by_signals
from linrank.cli.streams import steady_streams

# Each verb, and the sentence `linrank --help` says about it.
VERBS = {
    "info": "say what is in a data file: queries, documents, labels, repeated rows, each feature's worth",
    "fromlogs": "make training data of a search engine's feature logs and judgements, and say what became of each",
    "convert": "write data in another form, such as the memory-mapped one that opens in milliseconds",
    "evaluate": "measure a file of scores: NDCG, MAP, P, ERR and more, by the definition you name",
    "train": "train a linear ranker exactly on all preference pairs, and write it as a JSON model",
    "tune": "choose C on a validation set or by cross-validation over queries, then train",
    "path": "show quality against number of features, and write the model at the knee",
    "compare": "compare methods over folds: settings chosen on validation, tested once, with significance",
    "report": "make a comparison one page to look at: leaderboard, features, weights, queries, why",
    "reproduce": "run five papers' tables and figures on the data you have, ours beside theirs",
    "show": "print a model: its weights by importance, its scaling, how and on what it was trained",
    "predict": "score documents with a model",
    "export": "write a model as Solr, OpenSearch, Vespa, SQL, ONNX and others take it, with commands and tests",
    "import": "read a linear model of Solr, Elasticsearch, OpenSearch, RankLib or LIBLINEAR",
    "fuse": "learn the weights of hybrid search under the engine's own rules, and write its configuration",
    "check": "say what changes if a new model goes live: quality with interval, movers, features; an exit code",
    "explain": "say why documents stand where a model puts them, feature by feature",
    "demo": "make sample data, train and compare rankers on it, and write the report",
    "completion": "print a script by which the shell completes verbs, options and files",
    "warmup": "compile every kernel now, so that the first real job does not wait",
}

_INTRODUCTION = f"""\
linrank {__version__}: linear learning to rank.

usage: linrank VERB [options]        linrank VERB --help   says everything about a verb

verbs:
{{verbs}}

three commands to start with:
  linrank demo                                             # sample data in ./demo, rankers, and a report
  linrank info demo/train.txt
  linrank train demo/train.txt model.json --validate demo/vali.txt

Data is LETOR / svmlight text (.gz and .zst too), Parquet, CSV, Arrow, or linrank's own .linrank files.
Exit codes: 0 done; 1 a file, what is in it, or what an option asks for cannot be used; 2 the command line
cannot be understood; 3 the new model is worse (linrank check); 130 interrupted (Ctrl-C); 143 ended (SIGTERM).
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code, whatever becomes of what it prints."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    with steady_streams() as out, ended_by_signals() as ending:
        try:
            code = _obey(words)
        except KeyboardInterrupt:
            verb = f" {words[0]}" if words[:1] and words[0] in VERBS else ""
            sys.stderr.write(f"linrank{verb}: {ending}\n")
            code = ending.code
        out.flush()
        # A reader that has gone, as with `| head`, has seen enough.
        if out.failure is None or isinstance(out.failure, BrokenPipeError):
            return code
        sys.stderr.write(
            f"linrank: standard output: {out.failure.strerror}. All else is done; what it says is not whole.\n"
        )
        return code or 1


def _obey(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(_introduction())
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"linrank {__version__}\n")
        return 0
    verb = words[0]
    if verb not in VERBS:
        from difflib import get_close_matches

        near = get_close_matches(verb, VERBS, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else " 'linrank --help' lists the verbs."
        sys.stderr.write(f"linrank: there is no verb '{verb}'.{hint}\n")
        return 2
    return _run(verb, words[1:])


def _introduction() -> str:
    width = max(map(len, VERBS))
    return _INTRODUCTION.format(verbs="\n".join(f"  {verb:<{width}}  {says}" for verb, says in VERBS.items()))


def _run(verb: str, words: Sequence[str]) -> int:
    from linrank.errors import LinrankError
    from linrank.files import FULL
    from linrank.kernel_news import COMPILED, DAMAGED, NOT_KEPT, telling

    module = import_module(f"linrank.cli.{verb}")
    parser = module.parser()

    def say(message: object) -> None:
        # A file's name may hold anything, and says nothing on a line of its own, or to the terminal.
        line = "".join(one if one.isprintable() else repr(one)[1:-1] for one in str(message))
        sys.stderr.write(f"linrank {verb}: {in_words_of(parser, line, words)}\n")

    def show_warning(message: Warning | str, *_: object) -> None:
        say(message)

    try:
        arguments = parser.parse(words)
        silent = verb == "warmup" or any(getattr(arguments, option, False) for option in ("quiet", "json"))
        news = [DAMAGED, NOT_KEPT] if silent else [COMPILED, DAMAGED, NOT_KEPT]
        with telling(say, *news), warnings.catch_warnings():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            code: int | None = module.run(arguments)
    except LinrankError as error:
        say(error)
        return 1
    except ValueError as error:
        # What a library underneath refuses, such as a table with no rows: its first line says what.
        say(str(error).splitlines()[0])
        return 1
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        remedy = "Make room, or name another file." if error.errno in FULL else "Check the path and its permissions."
        say(f"{place}{error.strerror or error}. {remedy}")
        return 1
    # Most verbs are done or fail; what else there is to tell a script is theirs.
    return code or 0
