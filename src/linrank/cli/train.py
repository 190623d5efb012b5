"""linrank train: from data to a model file."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, counted, dump_json, table, verb_parser
from linrank.cli.data_arguments import add_data_options, read_complete
from linrank.cli.larger_data import (
    add_larger_data_options,
    check_larger_data,
    cluster_of,
    is_left_on_disk,
    larger_data_in_words,
    read_to_train,
    said_of_data,
)
from linrank.cli.methods import (
    add_method_choice,
    add_method_options,
    check_transform,
    feature_choice,
    make_ranker,
)
from linrank.cli.outputs import MODEL, STANDARD, check_files, place_of
from linrank.cli.show import certificate_in_words, largest_weights, recipe_in_words
from linrank.cli.wanted import files_of, said_of, wanted_settings
from linrank.errors import LinrankError, UnusableNumberError, naming
from linrank.threads import begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from linrank.arrays import Vector
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.executors.dask import DaskExecutor
    from linrank.model import LinearModel

MEASURES = "ndcg@1,3,5,10 map"


def parser() -> ArgumentParser:
    made = verb_parser(
        "train",
        "Train a linear ranker on all preference pairs and write it as a JSON model.\n\n"
        "ranksvm minimises  w.w/2 + C * sum over pairs (i above j) of max(0, 1 - w.(x_i - x_j))^2",
        "  linrank train train.txt                                   # writes train.model.json\n"
        "  linrank train train.txt model.json -C 0.1 --validate vali.txt --scaling standard\n"
        "  linrank train train.parquet model.json --label grade --qid query --loss hinge\n"
        "  linrank train train.txt model.json --best                 # the best that a linear ranker can do here\n"
        "  linrank train train.txt sparse.json --method sparserank --set l1=50\n"
        "  cat part-*.txt | linrank train - model.json               # several files of text as one\n"
        "  linrank train train.linrank model.json --memory 2GB       # larger than memory; or a folder of Parquet\n"
        "  linrank train train.linrank model.json --dask local:4     # or tcp://HOST:8786, on a cluster\n"
        "  linrank train folder model.json --dask local:4 --regroup  # Parquet files, in any order of rows",
    )
    made.add_argument("data", help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input")
    made.add_argument(
        "model", nargs="?", help="file to write, - for standard output (the data's name with .model.json)"
    )
    made.add_argument("-C", type=float, metavar="C", help="weight of ranksvm's loss, a sum over pairs (1)")
    made.add_argument(
        "--validate",
        metavar="DATA",
        help="judged data to measure the model on; --best, --transform auto and --weighting ndcg choose by it",
    )
    made.add_argument(
        "--patience", type=int, metavar="N", help="stop after N iterations without a better NDCG@10 on --validate"
    )
    made.add_argument(
        "--max-seconds",
        type=float,
        metavar="S",
        help="stop training after this time, with what there is; --best tries no more then, and trains what it chose",
    )
    made.add_argument("--quiet", action="store_true", help="do not print a line an iteration, nor count rounds")
    made.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    add_method_choice(made)
    add_method_options(made)
    add_larger_data_options(made)
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    out = model_path(arguments.data, arguments.model, arguments.validate, *files_of(arguments))
    # Refused before the data is read.
    check_transform(arguments, make_ranker(arguments, None))
    check_larger_data(arguments, out)
    if arguments.patience is not None and arguments.validate is None:
        raise LinrankError("--patience needs --validate, the data to be patient on.")
    with cluster_of(arguments, out, quiet=arguments.quiet or arguments.json) as (cluster, show):
        _train(arguments, out, cluster, show)


def _train(arguments: Namespace, out: Path, cluster: DaskExecutor | None, show: Callable[[Any], object]) -> None:
    from linrank.dataset.feature_shapes import FeatureShapes
    from linrank.dataset.features import scores_of
    from linrank.dataset.scaling import scaled
    from linrank.dataset.signed_log import SignedLog

    ranker = make_ranker(arguments, None if arguments.quiet or arguments.json else show)
    started = time.perf_counter()
    train = read_to_train(arguments)
    vali = None
    if arguments.validate:
        vali = read_complete(arguments.validate, arguments).with_columns(train.names, arguments.validate)
    reading = time.perf_counter() - started
    # Of data in memory while it is trained on, which keeps no processor busy all the time; a file is read once more.
    fingerprint = train.fingerprint if is_left_on_disk(arguments) else begun(train.fingerprint)
    with naming(arguments.data):
        choice = feature_choice(arguments, ranker, train, vali, cluster)
        scaling = choice.scaling
        # What was read here alone need not be held beside what a transform makes of it.
        is_over = isinstance(scaling, FeatureShapes | SignedLog) and not (is_left_on_disk(arguments) or train.is_sparse)
        if is_over:
            fingerprint()
        train_scaled = scaled(train, scaling, in_place=is_over)
        if not is_left_on_disk(arguments):
            train_scaled.check_trainable(shaped=ranker.shapes_features)
    vali_scaled = None if vali is None else scaled(vali, scaling)
    ranker.set_params(**wanted_settings(arguments, train.names, scaling))
    watched = [vali_scaled] if vali_scaled is not None and ranker.watches else None
    if cluster is not None:
        ranker.set_params(executor=cluster)
    seconds, interrupted = _fit(ranker, train_scaled, watched)
    if ranker.shapes_features:
        choice = replace(choice, scaling=ranker.to_model().scaling)
    summary = training_summary(ranker, train, str(choice), seconds, reading)
    summary |= said_of_data(train, cluster) if is_left_on_disk(arguments) else {}
    summary |= {} if (wanted := said_of(arguments)) is None else {"weights": wanted}
    model = to_model(ranker, train, scaling, summary, fingerprint())
    with place_of(out) as place:
        model.save(place)
    scores = {arguments.data: scores_of(train_scaled.features, ranker.coef_)} if is_over else {}
    sets = {arguments.data: train, arguments.validate: vali}
    show_training(out, model, summary, sets, as_json=arguments.json, cluster=cluster, scores=scores)
    if interrupted:
        # The last point is saved above; the exit code says that it is not the end of the training.
        raise KeyboardInterrupt


def _fit(ranker: Any, train: Any, watched: Any) -> tuple[float, bool]:
    """Train; how long it took, and whether Ctrl-C ended it, with what there was by then."""
    started = time.perf_counter()
    interrupted = False
    try:
        ranker.fit(train, eval_set=watched)
    except KeyboardInterrupt:
        if not hasattr(ranker, "coef_"):
            raise
        interrupted = True
    return time.perf_counter() - started, interrupted


def model_path(data: str, model: str | None, *others: str | None) -> Path:
    """Where the model goes; refused before any work if it cannot go there, or would replace something else."""
    out = Path(model or without_endings(Path(data)) + ".model.json")
    check_files([(out, MODEL)], [data, *others])
    return out


def without_endings(path: Path) -> str:
    """The name of a data file alone, for naming what is made from it."""
    name = "stdin" if str(path) == STANDARD else path.name
    for ending in (".gz", ".zst", ".txt", ".svm", ".svmlight", ".letor", ".dat", ".parquet", ".csv", ".tsv", ".arrow",
                   ".feather", ".linrank"):  # fmt: skip
        name = name.removesuffix(ending)
    return name


def training_summary(
    ranker: Any, train: RankingDataset, scaling: str, seconds: float, reading: float
) -> dict[str, Any]:
    """What a model remembers of its training; what a method does not know is left out."""
    import numpy as np

    from linrank.dataset.summary import count_pairs

    solution = getattr(ranker, "solution_", None)
    known = {
        "objective": getattr(ranker, "objective_", None),
        "certified_gap": getattr(ranker, "gap_", None),
        "estimated_gap": getattr(solution, "estimated_gap", None),
        "gradient_norm": getattr(solution, "gradient_norm", None),
        "iterations": int(ranker.n_iter_),
        "cg_steps": getattr(solution, "inner_iterations", None),
        "converged": getattr(solution, "converged", None),
        "message": getattr(solution, "message", None),
        "averaged_parts": n_parts if (n_parts := getattr(ranker, "n_parts_", 1)) > 1 else None,
        "scaling": scaling,
        "tried": [tried.record() for tried in getattr(ranker, "tried_", ())] or None,
        "expected": getattr(ranker, "expected_", None),
        "remarks": list(getattr(ranker, "remarks_", ())) or None,
        "features_used": int(np.count_nonzero(ranker.used_)),
        "queries": train.n_queries,
        "documents": train.n_documents,
        "pairs": int(count_pairs(train).sum()),
        "training_seconds": round(seconds, 4),
        "reading_seconds": round(reading, 4),
    }
    return {name: value for name, value in known.items() if value is not None and value != np.inf}


def to_model(
    ranker: Any,
    train: RankingDataset,
    scaling: Any,
    summary: dict[str, Any],
    fingerprint: str | None = None,
    **parameters: Any,
) -> LinearModel:
    """The model with everything it should remember."""
    plain = {**ranker.to_model().parameters, **parameters}
    made: LinearModel = ranker.to_model(
        feature_names=train.names,
        scaling=scaling,
        training=summary,
        parameters=plain,
    )
    return of_data(made, train, fingerprint)


def of_data(model: LinearModel, train: RankingDataset, fingerprint: str | None = None) -> LinearModel:
    """The model, with what it should remember of the data it was trained on."""
    from linrank.dataset.missing_rule import rule_to_remember

    return replace(model, data_fingerprint=fingerprint or train.fingerprint(), missing=rule_to_remember(train.missing))


def chosen_in_words(model: LinearModel, summary: dict[str, Any]) -> Iterator[str]:
    """What was chosen among recipes, what it is better by than plain RankSVM, and what to expect of it."""
    names = ("transform", "loss", "weighting", "penalty", "smoothing")
    wanted = [model.parameters.get(name) for name in names]
    chosen = next(one for one in summary["tried"] if [one.get(name) for name in names] == wanted)
    measure = model.parameters.get("measure", "")
    of = counted(len(summary["tried"]), "recipe")
    yield f"  chosen        {recipe_in_words(chosen)}, C = {chosen['C']:.4g}, of {of}"
    gain = f"{chosen['gain']:+.4f} ± {chosen['standard_error_of_gain']:.4f} beside RankSVM on standardised features"
    yield f"  held out      {measure} {chosen['mean']:.4f} over this C and those next to it, {gain}"
    if "expected" in summary:
        yield f"  expected      {measure} {summary['expected']:.4f} of new queries: for each fold the others chose"
    else:
        yield "  expected      less: it was chosen for what it has held out; measure it on queries that did not choose"


def show_training(
    out: Path,
    model: LinearModel,
    summary: dict[str, Any],
    sets: dict[str, RankingDataset | None],
    *,
    as_json: bool,
    cluster: DaskExecutor | None = None,
    scores: Mapping[str, Vector] | None = None,
) -> None:
    """Print the summary and the measures of the model on each set; a cluster measures what is not loaded.

    `scores` are those of sets whose features are no longer there as they were.
    """
    from linrank.measures import evaluate, parse_measures

    measures = parse_measures(MEASURES)
    measured, unmeasured = {}, {}
    for name, data in sets.items():
        if data is not None:
            try:
                is_loaded = hasattr(data, "queries")
                ranked: Any = (scores or {}).get(name, model)
                measured[name] = evaluate(ranked, data, measures, executor=None if is_loaded else cluster)
            except UnusableNumberError as error:
                # Labels too large for NDCG are no reason to end in an error: the model is trained and saved.
                unmeasured[name] = str(error)
    if as_json:
        means = {name: {str(m): e.mean[m] for m in measures} for name, e in measured.items()}
        dump_json({"model": str(out), **summary, "measures": means, "not_measured": unmeasured})
        return
    print_ = console().print
    print_(f"\n{out}", style="bold")
    print_(f"  {model.method:<13} {model.objective}")
    if "objective" in summary:
        print_(f"  objective     {summary['objective']:.10g}    {summary.get('message', '')}".rstrip())
        if "certified_gap" in summary:
            print_(f"  certified     {certificate_in_words(summary)}")
    if "averaged_parts" in summary:
        parts = f"the states of {summary['averaged_parts']} parts of the data, averaged after each pass"
        print_(f"  averaged      {parts}: not the weights of one learner")
    if "gradient_norm" in summary:
        print_(f"  |gradient|    {summary['gradient_norm']:.3e}")
    print_(f"  features      {summary['features_used']} of {model.n_features} have a weight")
    if summary["features_used"]:
        print_(f"  largest       {largest_weights(model)}")
    if "weights" in summary:
        print_(f"  weights       {summary['weights']}")
    print_(f"  scaling       {summary['scaling']}")
    if "tried" in summary:
        for line in chosen_in_words(model, summary):
            print_(line)
    for remark in summary.get("remarks", ()):
        print_(f"  remark        {remark}")
    print_(f"  trained on    {counted(summary['pairs'], 'pair')} of {counted(summary['documents'], 'document')}")
    if (larger := larger_data_in_words(summary)) is not None:
        print_(f"  data          {larger}")
    print_(f"  seconds       {summary['training_seconds']:.2f} training, {summary['reading_seconds']:.2f} reading")
    shown = table(None, "data", *map(str, measures))
    for name, evaluation in measured.items():
        shown.add_row(name, *(f"{evaluation.mean[measure]:.4f}" for measure in measures))
    if measured:
        print_(shown)
    for name, reason in unmeasured.items():
        print_(f"  {name}: not measured, since {reason}")
