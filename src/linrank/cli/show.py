"""linrank show: what is in a model file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, counted, dump_json, table, verb_parser
from linrank.cli.inputs import place_to_read
from linrank.cli.outputs import check_files
from linrank.errors import LinrankError
from linrank.showing import above_minimum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from linrank.model import LinearModel

_LARGEST = 5
_BLOCKS = "▁▂▃▄▅▆▇█"
_SPARKS = 16
_SHOWN = 20


def parser() -> ArgumentParser:
    made = verb_parser(
        "show",
        "Print a model: its weights, the most important first, the scaling and the rule for missing values that new\n"
        "data goes through, what was minimised, whether that ended well, when, and on what data.\n\n"
        "A weight is shown on the feature as it is given (raw) and on the feature as the model scales it; the latter\n"
        "can be compared with one another, and decides the order. A model with a transform has weights on what the\n"
        "feature's curve f makes of it: its values at its knots are drawn, from the first knot to the last.\n"
        "Products of two features, each through a line of its own, follow with their weights.",
        "  linrank show model.json\n  linrank show model.json --all\n  linrank show model.json --json | jq .weights",
    )
    made.add_argument("model", help="JSON file written by linrank train, tune, path or compare; - for standard input")
    add_how_many(made, "weights")
    made.add_argument("--json", action="store_true", help="print one JSON object, with everything")
    return made


def add_how_many(parser: ArgumentParser, what: str) -> None:
    """Add how much of a long table to show."""
    parser.add_argument("--top", type=int, default=_SHOWN, metavar="N", help=f"{what} to show ({_SHOWN})")
    parser.add_argument("--all", action="store_true", help="show every feature")


def check_how_many(arguments: Namespace) -> None:
    if arguments.top < 1:
        raise LinrankError(f"--top {arguments.top}: show at least 1.")


def run(arguments: Namespace) -> None:
    from linrank.model import LinearModel

    check_how_many(arguments)
    check_files([], [arguments.model])
    show_model(arguments.model, LinearModel.load(place_to_read(arguments.model)), arguments)


def show_model(path: str, model: LinearModel, arguments: Namespace) -> None:
    """Print a model, for people or as JSON."""
    if arguments.json:
        dump_json(_record(path, model))
        return
    print_ = console().print
    print_(path, style="bold")
    for name, words in _facts(model):
        print_(f"  {name:<15} {words}")
    ranked = _by_importance(model)
    shown = ranked if arguments.all else [row for row in ranked if row["weight"] != 0][: arguments.top]
    print_(_weights_table(model, shown))
    n_used = sum(row["weight"] != 0 for row in ranked)
    if n_used > len(shown):
        print_(f"  … and {n_used - len(shown)} more; --all shows every one.")
    if model.products is not None:
        of_products = model.products.shown(model.feature_names)
        print_(_products_table(of_products if arguments.all else of_products[: arguments.top]))
        if len(of_products) > arguments.top and not arguments.all:
            print_(f"  … and {len(of_products) - arguments.top} more products; --all shows every one.")
    if model.scaling is None and n_used > 1:
        print_("  Weights of features that are not scaled compare only where the features' ranges do.")


def is_model(path: str) -> bool:
    """Whether a file says of itself that it is a model."""
    file = Path(path)
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return b'"linrank-model"' in opened.read(200)


def largest_weights(model: LinearModel) -> str:
    """The few most important weights in one line: `bm25 +0.81, age -0.3 and 3 more`."""
    import numpy as np

    n_used = int(np.count_nonzero(model.weights))
    sign = _sign_of(model)
    largest = _by_importance(model, min(n_used, _LARGEST))
    named = ", ".join(f"{row['feature']} {row['weight']:{sign}.4g}" for row in largest)
    more = f" and {n_used - _LARGEST} more" if n_used > _LARGEST else ""
    return f"{named}{more}"


def _sign_of(model: LinearModel) -> str:
    """How a weight's sign is written: that of a learnt curve is its size, and no direction."""
    return "" if model.scaling is not None and model.scaling.kind == "additive" else "+"


def _by_importance(model: LinearModel, most: int | None = None) -> list[dict[str, Any]]:
    """Each feature with its weight as the model scales it, and on the feature as it is given where there is one."""
    import numpy as np

    from linrank.dataset.applied_scaling import folds

    order = np.argsort(-np.abs(model.weights), kind="stable")[:most]
    raw: list[Any] = model.raw_weights()[order].tolist() if folds(model.scaling, model.weights) else [None] * len(order)
    rows: list[dict[str, Any]] = [
        {"feature": model.feature_names[j], "weight": weight, "raw_weight": raw_weight}
        for j, weight, raw_weight in zip(order.tolist(), model.weights[order].tolist(), raw, strict=True)
    ]
    if (curve_of := getattr(model.scaling, "shown", None)) is not None:
        for row, j in zip(rows, order.tolist(), strict=True):
            row["curve"] = curve_of(j)
    return rows


def _weights_table(model: LinearModel, rows: list[dict[str, Any]]) -> Any:
    if model.scaling is None:
        shown = table(None, "feature", "weight")
        for row in rows:
            shown.add_row(row["feature"], f"{row['weight']:+.6g}")
        return shown
    if hasattr(model.scaling, "shown"):
        shown = table(None, "feature", "weight", "f(x)", "from", "to")
        for row in rows:
            curve = row["curve"]
            shown.add_row(row["feature"], f"{row['weight']:{_sign_of(model)}.6g}", *curve_in_words(curve))
        return shown
    shown = table(None, "feature", "scaled weight", "raw weight")
    for row in rows:
        raw = "" if row["raw_weight"] is None else f"{row['raw_weight']:+.6g}"
        shown.add_row(row["feature"], f"{row['weight']:+.6g}", raw)
    return shown


def _products_table(rows: list[dict[str, Any]]) -> Any:
    """Each product with its weight, and where the lines of its features begin and end."""
    shown = table(None, "product", "weight", "line of the one", "line of the other")
    for row in rows:
        ends = [f"{line['knots'][0]:.4g} to {line['knots'][-1]:.4g}" for line in row["lines"]]
        shown.add_row(" * ".join(row["features"]), f"{row['weight']:+.6g}", *ends)
    return shown


def curve_in_words(curve: Mapping[str, Any]) -> tuple[str, str, str]:
    """A curve in a few characters, and where it begins and ends."""
    if "unit" in curve:
        return f"±ln(1 + |x| / {curve['unit']:.4g}) / {curve['scale']:.4g}", "", ""
    return _sparkline(curve["values"]), f"{curve['knots'][0]:.4g}", f"{curve['knots'][-1]:.4g}"


def _sparkline(values: list[float]) -> str:
    """The values at a curve's knots, thinned, as heights of blocks."""
    least, most = min(values), max(values)
    picked = [values[round(place * (len(values) - 1) / (_SPARKS - 1))] for place in range(_SPARKS)]
    if len(values) < _SPARKS:
        picked = values
    span = (most - least) or 1.0
    return "".join(_BLOCKS[round((value - least) / span * (len(_BLOCKS) - 1))] for value in picked)


def _facts(model: LinearModel) -> Iterator[tuple[str, str]]:
    n_used = int(model.used.sum())
    yield "method", model.method or "unknown"
    if model.objective:
        yield "minimises", model.objective
    settings = ", ".join(f"{name}={value}" for name, value in model.parameters.items() if value is not None)
    if settings:
        yield "settings", settings
    beside = "" if model.products is None else f", alone or in {counted(len(model.products), 'product')}"
    yield "features", f"{n_used} of {model.n_features} have a weight{beside}"
    yield "scaling", _scaling_in_words(model)
    yield "missing values", _missing_in_words(model)
    yield from _training_facts(model)
    yield "trained", f"{model.trained_at or 'at an unknown time'}, by linrank {model.linrank_version}"
    yield "data", model.data_fingerprint or "unknown"


def _scaling_in_words(model: LinearModel) -> str:
    # Where training kept it, with the reason.
    kind = "none: features as they are given" if model.scaling is None else model.scaling.kind
    return str(model.training.get("scaling", kind))


def _missing_in_words(model: LinearModel) -> str:
    """What becomes of a missing value."""
    if model.missing == "query_min":
        return "filled with the feature's least value in the query (query_min)"
    return "refused" if model.missing in ("error", "keep") else f"filled with {model.missing:g}"


_NUMBERS = ("objective", "certified_gap", "estimated_gap", "pairs", "documents", "queries")


def _is_number(value: Any) -> bool:
    # (A whole number may be too large for a float.)
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def _training_facts(model: LinearModel) -> Iterator[tuple[str, str]]:
    # A file may hold anything of any name.
    training = {name: value for name, value in model.training.items() if name not in _NUMBERS or _is_number(value)}
    if "converged" in training:
        ended = "converged" if training["converged"] else "not converged"
        message = training.get("message")
        yield "training", f"{ended}: {message}" if message else ended
    value, gap = training.get("objective"), training.get("certified_gap")
    if value is not None:
        yield "objective", f"{value:.10g}"
    if value is not None and gap is not None:
        yield "certified", certificate_in_words(training)
    if {"pairs", "documents", "queries"} <= training.keys():
        counts = counted(training["pairs"], "pair"), counted(training["documents"], "document")
        queries = counted(training["queries"], "query", "queries")
        yield "trained on", f"{counts[0]} of {counts[1]}, {queries}"
    told = {"converged", "message", "objective", "certified_gap", "pairs", "documents", "queries", "features_used"}
    told |= {"scaling", "tried"}
    yield from _recipes_tried(training.get("tried"))
    # What must be known of a choice is more than an entry of a list.
    if isinstance(remarks := training.get("remarks"), list):
        told.add("remarks")
        for remark in remarks:
            yield "remark", _short(remark)
    others = {name: value for name, value in training.items() if name not in told}
    if others:
        yield "record", ", ".join(f"{name}={_short(value)}" for name, value in others.items())


def _recipes_tried(tried: Any) -> Iterator[tuple[str, str]]:
    """What each recipe came to that was tried before this model; nothing where the record is of another kind."""
    for one in tried if isinstance(tried, list) else ():
        known = one if isinstance(one, dict) else {}
        numbers = [known.get(name) for name in ("C", "mean", "gain", "standard_error_of_gain")]
        if all(isinstance(number, float) for number in numbers):
            C, mean, gain, error = numbers
            yield (
                "tried",
                f"{recipe_in_words(known)}, C = {C:.4g}: {mean:.4f}, {gain:+.4f} ± {error:.4f} beside the first",
            )


def recipe_in_words(known: Mapping[str, Any]) -> str:
    """A recipe of BestLinear by its record: a loss that is not of pairs in the place of their weighting."""
    # As `linrank.estimators.recipes` has it, which is not loaded to show a model.
    what = "weighting" if known.get("loss", "squared_hinge") == "squared_hinge" else "loss"
    smoothed = f" {known['smoothing']:g}" if isinstance(known.get("smoothing"), float) else ""
    return f"{known.get('transform')}{smoothed}, {known.get(what)}, {known.get('penalty')}"


def certificate_in_words(training: Mapping[str, Any]) -> str:
    """What a model's `certified_gap` proves of its objective, and where it proves nothing, what the solver thinks."""
    value, gap = training["objective"], training["certified_gap"]
    proved = above_minimum(value, gap)
    if proved is not None:
        return f"the objective is {proved}"
    estimate = above_minimum(value, training.get("estimated_gap"))
    thought = "" if estimate is None else f"; by the solver's estimate it is {estimate}"
    return f"not certified: the bound that is known is larger than the objective itself{thought}"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _record(path: str, model: LinearModel) -> dict[str, Any]:
    ranked = _by_importance(model)
    return {
        "model": path,
        "method": model.method,
        "objective": model.objective,
        "parameters": dict(model.parameters),
        "n_features": model.n_features,
        "features_used": int(model.used.sum()),
        "scaling": None if model.scaling is None else model.scaling.kind,
        "missing": model.missing,
        "training": dict(model.training),
        "trained_at": model.trained_at,
        "data_fingerprint": model.data_fingerprint,
        "linrank_version": model.linrank_version,
        "weights": ranked,
        "products": [] if model.products is None else model.products.shown(model.feature_names),
    }
