"""linrank path: quality against the number of features."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, dump_json, table, verb_parser
from linrank.cli.data_arguments import add_data_options, read_complete
from linrank.cli.inputs import lines_of, words_of
from linrank.cli.larger_data import add_larger_data_options, check_shared_data, cluster_of, read_to_train
from linrank.cli.methods import add_scaling_option
from linrank.cli.outputs import MODEL, PAGE, PICTURE, check_files, place_of
from linrank.cli.train import of_data, without_endings
from linrank.cli.wanted import add_wanted_options, files_of, wanted_settings
from linrank.drawing import require_matplotlib
from linrank.errors import DataFormatError, LinrankError, fault_of_size, naming
from linrank.strict_json import finite_from_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linrank.experiments.feature_path import FeaturePath, FeatureStep


_MOST_NAMED = 12


def parser() -> ArgumentParser:
    made = verb_parser(
        "path",
        "Show quality against number of features, and write the model at the knee. In a search engine every feature\n"
        "is a query run for every request, so each one should earn its keep.\n\n"
        "Minimises  sum over pairs of max(0, 1 - w.(x_i - x_j))^2 + l1 * sum_j cost_j |w_j|  for many values of l1,\n"
        "and refits each set of features without shrinkage.",
        "  linrank path train.txt --cv 5\n"
        "  linrank path train.txt --validate vali.txt --max-features 12 --model model.json --picture curve.svg\n"
        "  linrank path train.txt --cv 5 --costs milliseconds.txt --one-se --picture report.html\n"
        "  linrank path train.linrank --validate vali.txt --memory 2GB    # larger than memory; or --dask local:4",
    )
    made.add_argument("data", help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input")
    made.add_argument("--cv", type=int, metavar="N", help="folds of whole queries to measure on (measured on training)")
    made.add_argument("--validate", metavar="DATA", help="measure on this data, in place of cross-validation")
    made.add_argument("--max-features", type=int, metavar="N", help="no model with more (all)")
    made.add_argument("--max-cost", type=float, metavar="C", help="choose among models that cost no more (any)")
    made.add_argument("--one-se", action="store_true", help="choose the cheapest within one standard error of the best")
    made.add_argument("--costs", metavar="FILE", help="lines of 'feature cost'; features not named cost 1 (all 1)")
    made.add_argument("--measure", default="ndcg@10", help="(ndcg@10); see linrank evaluate --help")
    made.add_argument("--steps", type=int, default=50, metavar="N", help="values of l1 (50)")
    made.add_argument(
        "--smallest", type=float, default=1e-3, metavar="S", help="last l1, as a share of the first (1e-3)"
    )
    made.add_argument("--shrunk", action="store_true", help="keep the penalised weights: do not refit")
    add_scaling_option(made, "standard")
    # Known so that its refusal can say why.
    made.add_argument("--transform", help=SUPPRESS)
    add_wanted_options(made, prior=False)
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of the folds (0)")
    made.add_argument("--model", metavar="FILE", help="write the chosen model; - for standard output")
    made.add_argument("--picture", metavar="FILE", help="draw the curve: .svg, .png, .pdf, or an .html page")
    made.add_argument(
        "--report",
        metavar="FILE",
        help="the page to explore it on (the data's name with .features.html, in this folder)",
    )
    made.add_argument("--no-report", action="store_true", help="do not write the page (nor does --json)")
    made.add_argument("--threads", type=int, metavar="N", help="the result is the same for any number (all)")
    made.add_argument("--json", action="store_true", help="print the curve as one JSON object")
    add_larger_data_options(made, training=False)
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    from linrank.dataset.scaling import column_deviations
    from linrank.experiments.curve import PICTURES, save_curve, text_curve
    from linrank.experiments.feature_path import feature_path
    from linrank.measures import parse_measure
    from linrank.measures.evaluation import check_measures

    if arguments.transform not in (None, "none"):
        raise LinrankError(
            f"--transform {arguments.transform}: the path is one of weights of raw features, and a feature that goes "
            "through a curve has none. Leave it out; or have few features by linrank train --penalty l1 --transform …"
        )
    measure = parse_measure(arguments.measure)
    if arguments.report and Path(arguments.report).suffix.lower() != ".html":
        raise LinrankError(f"{arguments.report}: the page is an .html file; --picture draws others.")
    if arguments.picture and Path(arguments.picture).suffix.lower() not in PICTURES:
        raise LinrankError(f"{arguments.picture}: cannot draw that; use one of {', '.join(PICTURES)}.")
    page = arguments.report
    if page is None and not (arguments.no_report or arguments.json):
        page = f"{without_endings(Path(arguments.data))}.features.html"
    drawn = PAGE if arguments.picture and Path(arguments.picture).suffix.lower() == ".html" else PICTURE
    if arguments.picture and drawn is PICTURE:
        require_matplotlib()
    check_files(
        [(arguments.model, MODEL), (arguments.picture, drawn), (page, PAGE)],
        [arguments.data, arguments.validate, arguments.costs, *files_of(arguments)],
    )
    check_shared_data(arguments)
    dataset = read_to_train(arguments)
    held_out: dict[str, Any] = {"cv": arguments.cv}
    if arguments.validate:
        vali = read_complete(arguments.validate, arguments).with_columns(dataset.names, arguments.validate)
        with naming(arguments.validate):
            check_measures([measure], vali)
        held_out = {"eval_set": (vali.features, vali.labels), "eval_qid": vali.qid}
    with cluster_of(arguments, None, quiet=arguments.json) as (cluster, _), naming(arguments.data):
        path = feature_path(
            dataset,
            None,
            max_features=arguments.max_features,
            costs=None if arguments.costs is None else read_costs(arguments.costs, dataset.names),
            relaxed=not arguments.shrunk,
            measure=arguments.measure,
            n_steps=arguments.steps,
            smallest=arguments.smallest,
            scaling=arguments.scaling,
            **wanted_settings(arguments, dataset.names),
            random_state=arguments.seed,
            n_threads=arguments.threads,
            executor=cluster,
            **held_out,
        )
    chosen = path.select_features(arguments.max_features, max_cost=arguments.max_cost, one_se=arguments.one_se)
    if arguments.model:
        with place_of(arguments.model) as place:
            of_data(path.to_model(chosen), dataset).save(place)
    for picture in filter(None, (arguments.picture, page)):
        save_curve(path, chosen, picture, title=Path(arguments.data).name, spreads=column_deviations(dataset))
    if arguments.json:
        dump_json(_record(path, chosen))
        return
    show_path(path, chosen)
    console().print(text_curve(path, chosen), markup=False)
    for out in (arguments.model, arguments.picture, page):
        if out:
            console().print(f"wrote {out}", markup=False)


def show_path(path: FeaturePath, chosen: FeatureStep) -> None:
    """Print one line for each number of features."""
    held_out = path.steps[0].held_out is not None
    shown = table(None, "features", "cost", f"{path.measure}", "95 % interval", "on training", "")
    for step in path.by_size():
        band = step.interval()
        interval = "" if band is None else f"{band[0]:.4f} to {band[1]:.4f}"
        mark = "chosen" if step is chosen else ""
        shown.add_row(str(step.n_features), f"{step.cost:g}", f"{step.mean:.4f}", interval, f"{step.train:.4f}", mark)
    console().print(shown)
    console().print(f"scaling while choosing: {path.scaling}; weights are of the raw features")
    if path.repeated:
        told = ", ".join(f"{name} (as {of})" for name, of in list(path.repeated.items())[:_MOST_NAMED])
        more = f" and {len(path.repeated) - _MOST_NAMED} more" if len(path.repeated) > _MOST_NAMED else ""
        console().print(f"no weight, since another feature says the same: {told}{more}")
    if not held_out:
        console().print("measured on the training queries themselves: pass --cv or --validate for an honest curve")


def _record(path: FeaturePath, chosen: FeatureStep) -> dict[str, Any]:
    steps = [
        {
            "l1": step.l1,
            "n_features": step.n_features,
            "cost": step.cost,
            "mean": step.mean,
            "interval": step.interval(),
            "train": step.train,
            "chosen": step is chosen,
        }
        for step in path.by_size()
    ]
    return {
        "measure": str(path.measure),
        "scaling": str(path.scaling),
        "repeated_features": dict(path.repeated),
        "steps": steps,
    }


def read_costs(file: str, names: Sequence[str]) -> list[float]:
    """The cost of each feature, 1 where the file does not name it."""
    known = frozenset(names)
    costs: dict[str, float] = {}
    for number, line in enumerate(lines_of(file, "a feature and its cost"), start=1):
        words = words_of(line)
        if not words:
            continue
        if len(words) != 2 or words[0] not in known:
            raise DataFormatError(file, number, f"{line[:40]!r} is not a feature of the data and its cost.")
        if words[0] in costs:
            raise DataFormatError(file, number, f"{words[0]!r} is there twice. Keep one line a feature.")
        cost = finite_from_text(words[1])
        if cost is None:
            raise DataFormatError(file, number, f"{words[1][:40]!r} is not a number; a cost is one, such as 1.5.")
        if remedy := fault_of_size(cost):
            raise DataFormatError(file, number, f"a cost of {cost:g}; {remedy}")
        costs[words[0]] = cost
    return [costs.get(name, 1.0) for name in names]
