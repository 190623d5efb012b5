"""The training methods the command line offers, and their options."""

from __future__ import annotations

import inspect
import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from typing import Any

from linrank.cli.settings_given import each_once, setting_given
from linrank.cli.wanted import add_wanted_options
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS
from linrank.objective.registry import ranking_losses
from linrank.solvers.registry import SOLVERS

# What can be trained to a model file; the variants of a method are trained by its own name and settings.
NAMES = tuple(name for name, method in METHODS.items() if method.linear and not method.variant)
# As `linrank.dataset.scaling` has them, which is not loaded for a help text.
SCALINGS = ("auto", "none", "standard", "min-max", "max-abs", "query")
# As `linrank.dataset.transform_choice` has them.
TRANSFORMS = ("none", "rank-gauss", "signed-log", "auto")

# Options that are parameters of the estimator, by the same name or another.
_SAME_NAME = ("C", "loss", "penalty", "pairs", "weighting", "solver", "tol", "max_iter", "patience", "max_seconds")
# What a command line has no words for.
_NOT_BY_HAND = ("progress", "executor")
_OPTIONS = {**{name: name for name in _SAME_NAME}, "threads": "n_threads"}


def add_method_options(parser: ArgumentParser) -> None:
    """Add what to minimise and how, with each default in parentheses."""
    ranksvm = parser.add_argument_group("what ranksvm minimises")
    ranksvm.add_argument(
        "--loss",
        choices=ranking_losses(),
        help="of pairs: max(0, 1 - margin)^2, without the square, RankNet's; ListNet's; squares (squared_hinge)",
    )
    ranksvm.add_argument("--penalty", choices=("l2", "l1", "elasticnet"), help="w.w/2, |w|_1, or half of each (l2)")
    ranksvm.add_argument("--pairs", choices=("all", "adjacent"), help="all pairs, or of neighbouring labels only (all)")
    ranksvm.add_argument(
        "--weighting",
        choices=("pairs", "queries", "ndcg"),
        help="what counts alike: pairs; or queries, C then weighing a sum of means over pairs; ndcg: queries, with "
        "pairs weighed for the top of the list in a few rounds, with --validate until it gains no more (pairs)",
    )
    ranksvm.add_argument(
        "--solver", choices=tuple(SOLVERS), help="(newton, proximal with corners; smoothed for the hinge)"
    )
    add_wanted_options(parser)
    how = parser.add_argument_group("how")
    add_scaling_option(how)
    add_transform_option(how, unless=", unless --validate is ranked better by another")
    how.add_argument(
        "--tol",
        type=float,
        metavar="T",
        help="relative gap; for tron, the paper's gradient rule (1e-6; 1e-3; hinge 1e-3)",
    )
    how.add_argument("--max-iter", type=int, metavar="N", help="(the solver's own)")
    how.add_argument("--threads", type=int, metavar="N", help="the result is the same for any number (all)")


def add_scaling_option(parser: Any, default: str = "auto") -> None:
    """Add --scaling: fitted on the training data, said in the output, kept in the model."""
    auto = "auto: standard where features' ranges differ more than 1,000 times (max-abs if sparse), else none"
    parser.add_argument(
        "--scaling", choices=SCALINGS, default=default, help=f"of the features, kept in the model; {auto} ({default})"
    )


def add_transform_option(parser: Any, unless: str = "") -> None:
    """Add --transform: fitted on the training data, said in the output, kept in the model."""
    parser.add_argument(
        "--transform",
        default="none",
        metavar="NAME",
        help="each feature through a curve first, kept in the model: rank-gauss (its rank in the training data as a "
        "normal score; rank-gauss:32 for 32 knots), signed-log, auto (rank-gauss if many features have long tails"
        f"{unless}) or none; --scaling then follows it (none)",
    )


def check_transform(arguments: Namespace, ranker: Any = None) -> None:
    """Refuse a transform that there is not, or that its scaling cannot follow, before the data is read.

    A ranker that does with features what suits it takes neither.
    """
    kind, colon, _ = arguments.transform.partition(":")
    if kind not in TRANSFORMS or (colon and kind != "rank-gauss"):
        raise LinrankError(
            f"--transform {arguments.transform}: use one of {', '.join(TRANSFORMS)}, or rank-gauss:KNOTS."
        )
    if kind not in ("none", "auto") and arguments.scaling == "query":
        raise LinrankError(
            f"--scaling query and --transform {kind} are both given: a transform is of all queries together. Leave out "
            "one of them."
        )
    if ranker is not None and ranker.shapes_features:
        for name, silent in (("scaling", ("auto", "none")), ("transform", ("none",))):
            if (value := getattr(arguments, name)) not in silent:
                raise LinrankError(
                    f"--{name} {value}: {arguments.method} does with the features what suits it. Leave --{name} out."
                )


def feature_choice(arguments: Namespace, ranker: Any, train: Any, vali: Any, cluster: Any) -> Any:
    """What features go through before the ranker sees them: --transform and --scaling, or what is its own affair."""
    from linrank.dataset.scaling import ScalingChoice, one_after_the_other
    from linrank.dataset.transform_choice import choose_transform
    from linrank.estimators.auto_transform import choose_on_validation
    from linrank.executors.pieces import through

    if ranker.shapes_features:
        return ScalingChoice(None, f"what {arguments.method} does with the features is its own")
    if arguments.transform == "auto":
        return choose_on_validation(lambda _: arguments.scaling, train, vali, executor=cluster)
    by = one_after_the_other if cluster is None else through(cluster)
    return choose_transform(arguments.transform, arguments.scaling, train, by)


class _OneMethod(Action):
    """Takes one method, by its name or by an option of its own, and refuses a second."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        method = self.const or values
        if (before := getattr(namespace, "_method_by", None)) is not None and namespace.method != method:
            parser.error(f"{before} and {option} ask for two methods, {namespace.method} and {method}. Leave one out.")
        namespace.method, namespace._method_by = method, option  # noqa: SLF001


def add_method_choice(parser: ArgumentParser) -> None:
    """Add the choice of a method and the settings of those that are not ranksvm."""
    width = max(map(len, NAMES))
    says = "\n".join(f"  {name:<{width}}  {METHODS[name].says}" for name in NAMES)
    parser.epilog = f"{parser.epilog}\n\nmethods:\n{says}"
    parser.add_argument("--method", action=_OneMethod, choices=NAMES, default="ranksvm", help="(ranksvm)")
    parser.add_argument(
        "--best",
        dest="method",
        nargs=0,
        action=_OneMethod,
        const="best",
        help="the method best: transform, loss, weighting, penalty and C by --validate or folds, each with its gain",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the method, such as l1=10, radius=5 or passes=3; may be given several times",
    )
    parser.add_argument(
        "--settings", choices=NAMES, action=_SaySettings, help="say what a method does and can be set of it, and end"
    )


class _SaySettings(Action):
    """What the method's own text says, and what each setting is unless set."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:  # noqa: ARG002
        from linrank.estimators.settings import settings_of

        kind = METHODS[values].load()
        says = inspect.cleandoc(kind.__doc__ or "").partition("\nExamples\n")[0].strip()
        known = settings_of(kind)
        defaults = ", ".join(f"{name}={one.default}" for name, one in known.items() if name not in _NOT_BY_HAND)
        sys.stdout.write(f"{values}: {says}\n\nunless set: {defaults}\n")
        parser.exit()


def given_parameters(arguments: Namespace) -> dict[str, Any]:
    """The options that were given, as parameters of an estimator."""
    return {
        parameter: value
        for option, parameter in _OPTIONS.items()
        if (value := getattr(arguments, option, None)) is not None
    }


def make_ranker(arguments: Namespace, progress: Callable[[Any], object] | None) -> Any:
    """The estimator that was asked for, with what was set; what it does not have is refused."""
    from linrank.estimators.settings import settings_of

    estimator = METHODS[arguments.method].load()
    known = settings_of(estimator)
    given = given_parameters(arguments)
    settings = each_once((_setting(text, known) for text in arguments.set), given)
    for parameter in settings:
        if parameter not in known:
            names = ", ".join(repr(word) for word in known if word not in _NOT_BY_HAND)
            unknown = f"{parameter}=" if parameter in given else f"setting {parameter} (--set)"
            raise LinrankError(f"{arguments.method} has no {unknown}; its settings are {names}.")
    if "progress" in known:
        settings["progress"] = progress
    return estimator(**settings)


def _setting(text: str, known: Mapping[str, Any]) -> tuple[str, Any]:
    name = text.partition("=")[0]
    if name in ("bounds", "prior") and name in known:
        raise LinrankError(f"--set {text}: use --non-negative, --bounds FILE or --prior MODEL.")
    # (Of "best" it is a list of what to try.)
    if name == "transforms" and name in known and not str(known[name].type).startswith("Sequence"):
        raise LinrankError(f"--set {text}: use --transform {text.partition('=')[2] or 'NAME'}.")
    if name == "executor" and name in known:
        raise LinrankError(f"--set {text}: use --dask ADDRESS.")
    return setting_given(text, known)
