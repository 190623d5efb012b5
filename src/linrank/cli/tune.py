"""linrank tune: choose C, then train."""

from __future__ import annotations

import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from linrank.cli.console import console, table, verb_parser
from linrank.cli.data_arguments import add_data_options, read_complete
from linrank.cli.methods import add_method_options, check_transform, given_parameters
from linrank.cli.outputs import place_of
from linrank.cli.train import model_path, show_training, to_model, training_summary
from linrank.cli.wanted import files_of, said_of, wanted_settings
from linrank.errors import naming

if TYPE_CHECKING:
    from linrank.estimators.rank_svm_cv import RankSVMCV


def parser() -> ArgumentParser:
    made = verb_parser(
        "tune",
        "Train for every C of a range, each start warm from the last, and keep the C with the best measure on a\n"
        "validation set, or by cross-validation that never cuts a query. Then train on all the data with that C.",
        "  linrank tune train.txt model.json --validate vali.txt\n"
        "  linrank tune train.txt model.json --cv 5 --measure map --one-se\n"
        "  linrank tune train.txt model.json --range 0.001,0.01,0.1,1",
    )
    made.add_argument("data", help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input")
    made.add_argument(
        "model", nargs="?", help="file to write, - for standard output (the data's name with .model.json)"
    )
    made.add_argument(
        "--range",
        type=_range,
        metavar="Cs",
        help="2^a..2^b, or values by commas (2^-15..2^10, and on while the best is at an end)",
    )
    made.add_argument("--validate", metavar="DATA", help="choose on this data, in place of cross-validation")
    made.add_argument("--cv", type=int, default=5, metavar="N", help="folds of whole queries (5)")
    made.add_argument("--measure", default="ndcg@10", help="what to choose by (ndcg@10); see linrank evaluate --help")
    made.add_argument("--one-se", action="store_true", help="the smallest C within one standard error of the best")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of the folds (0)")
    made.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    add_method_options(made)
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    from linrank.dataset.feature_shapes import FeatureShapes
    from linrank.dataset.queries import check_folds
    from linrank.dataset.scaling import scaled
    from linrank.dataset.signed_log import SignedLog
    from linrank.dataset.transform_choice import choose_transform
    from linrank.estimators.auto_transform import choose_on_validation
    from linrank.estimators.rank_svm_cv import RankSVMCV
    from linrank.measures import parse_measure
    from linrank.measures.evaluation import check_measures

    out = model_path(arguments.data, arguments.model, arguments.validate, *files_of(arguments))
    check_transform(arguments)
    measure = parse_measure(arguments.measure)
    started = time.perf_counter()
    train = read_complete(arguments.data, arguments)
    vali = None
    if arguments.validate:
        vali = read_complete(arguments.validate, arguments).with_columns(train.names, arguments.validate)
        with naming(arguments.validate):
            check_measures([measure], vali)
    else:
        check_folds(f"{arguments.data}: --cv {arguments.cv},", arguments.cv, train.n_queries)
    reading = time.perf_counter() - started
    with naming(arguments.data):
        if arguments.transform == "auto":
            choice = choose_on_validation(lambda _: arguments.scaling, train, vali, arguments.measure)
        else:
            choice = choose_transform(arguments.transform, arguments.scaling, train)
        train_scaled = scaled(train, scaling := choice.scaling)
        train_scaled.check_trainable()
        if vali is None:
            check_measures([measure], train)
    vali_scaled = None if vali is None else scaled(vali, scaling)
    ranker = RankSVMCV(
        arguments.range,
        cv=arguments.cv,
        one_se=arguments.one_se,
        random_state=arguments.seed,
        measure=arguments.measure,
        progress=None if arguments.json else lambda line: console().print(str(line)),
        **given_parameters(arguments),
        **wanted_settings(arguments, train.names, scaling),
    )
    if vali is None and isinstance(scaling, FeatureShapes | SignedLog):
        # A curve that knows the ranks of held-out documents would flatter C.
        kind = scaling.kind if arguments.transform == "auto" else arguments.transform
        ranker.cut(train, lambda part: choose_transform(kind, arguments.scaling, part).scaling)
    started = time.perf_counter()
    ranker.fit(train_scaled, eval_set=vali_scaled)
    summary = training_summary(ranker, train, str(choice), time.perf_counter() - started, reading)
    summary |= {"remarks": list(ranker.remarks_)} if ranker.remarks_ else {}
    summary |= {} if (wanted := said_of(arguments)) is None else {"weights": wanted}
    model = to_model(ranker, train, scaling, summary, C=ranker.C_)
    with place_of(out) as place:
        model.save(place)
    if not arguments.json:
        _show_choice(ranker, arguments)
    show_training(out, model, summary, {arguments.data: train, arguments.validate: vali}, as_json=arguments.json)


def _show_choice(ranker: RankSVMCV, arguments: Namespace) -> None:
    where = (
        f"on {arguments.validate}" if arguments.validate else f"by {arguments.cv}-fold cross-validation over queries"
    )
    shown = table(f"{arguments.measure} {where}", "C", arguments.measure, "standard error", "")
    for C, mean, error in zip(ranker.Cs_, ranker.mean_measure_, ranker.standard_error_, strict=True):
        shown.add_row(f"{C:g}", f"{mean:.4f}", f"{error:.4f}", "chosen" if ranker.C_ == C else "")
    console().print(shown)
    for remark in ranker.remarks_:
        console().print(f"{remark[:1].upper()}{remark[1:]}.", markup=False)


def _range(text: str) -> list[float]:
    try:
        if ".." in text:
            low, high = (int(end[2:]) if end.startswith("2^") else int("not a power") for end in text.split(".."))
            values = [2.0**power for power in range(low, high + 1)]
        else:
            values = [_number(word) for word in text.split(",")]
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"{text!r} is neither 2^a..2^b nor numbers separated by commas") from None
    if not values:
        raise ArgumentTypeError(f"{text!r} is empty: put the smaller power first")
    if min(values) <= 0 or max(values) == float("inf"):
        raise ArgumentTypeError(f"{text!r}: every C must be positive and finite")
    return values


def _number(word: str) -> float:
    return 2.0 ** int(word[2:]) if word.startswith("2^") else float(word)
