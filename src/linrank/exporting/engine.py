"""Engine: what a target accepts, how it computes a score, and what it is given."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

import numpy as np

from linrank.errors import LinrankError
from linrank.exporting.arithmetic import Arithmetic
from linrank.exporting.curves import Logarithm, Piecewise
from linrank.exporting.weighted_sum import WeightedSum

# What is wrong with a feature's name, and the remedy; None where nothing is.
ProblemWithName: TypeAlias = Callable[[str], str | None]


def printable(name: str) -> str | None:
    """Of a name that a target takes as text: it must say something, in characters that can be seen."""
    if not name or name != name.strip():
        return "is empty, or begins or ends with a blank"
    return None if name.isprintable() else "has characters that cannot be printed"


@dataclass(frozen=True)
class Accepts:
    """What a target takes.

    Attributes
    ----------
    negative_scores : whether a document's score may be negative
    shift : whether a constant can be added to the score
    most_features : how many features a model may have
    curves : whether it can compute the curves of a model that transforms features
    products : whether it can compute products of two features' lines, beside the curves
    lines : whether it can weigh features as they are; where not, only curves that end are taken, as trees
    problem_with_name : what is wrong with a name, or None
    why : where the limit of features comes from, and what to do
    """

    negative_scores: bool = True
    shift: bool = True
    most_features: int | None = None
    curves: bool = False
    products: bool = False
    lines: bool = True
    problem_with_name: ProblemWithName = printable
    why: str = "Train a sparser model: linrank path."


class Engine(Protocol):
    """A target, as a value: a frozen dataclass whose fields are what a user may set of it.

    The class says what every model for the target has in common: the name it is asked for by, its title, the ending of
    its file, what it accepts, its arithmetic, whether its file has every feature of the model, those of weight 0 too,
    and what `tests/engines` runs its exports in ("" where that is only the documented arithmetic).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    ending: ClassVar[str]
    accepts: ClassVar[Accepts]
    arithmetic: ClassVar[Arithmetic]
    has_every_feature: ClassVar[bool]
    run_by: ClassVar[str]

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        """The sum as the target computes it, such as with a constant feature in the place of the shift."""
        ...

    def write(self, ranking: WeightedSum) -> str | bytes:
        """The file."""
        ...

    def commands(self, ranking: WeightedSum, file: str) -> str:
        """What to type to install the file and to use it; empty where a file is all there is."""
        ...

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        """What was assumed of the target."""
        ...


@dataclass(frozen=True)
class Target:
    """What most engines share: the sum is taken as it is, nothing is to be typed and nothing was assumed."""

    has_every_feature: ClassVar[bool] = False

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        return ranking

    def commands(self, ranking: WeightedSum, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        return ""

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:  # noqa: ARG002
        return ()


def check(engine: Engine, ranking: WeightedSum) -> None:
    """Refuse what the engine cannot express, with the remedy."""
    accepts, arithmetic = engine.accepts, engine.arithmetic
    if ranking.curves and not accepts.curves:
        raise LinrankError(_no_curves(engine.title, ranking))
    if ranking.products and not accepts.products:
        raise LinrankError(_no_products(engine, ranking))
    if not accepts.lines and not (ranking.curves and isinstance(ranking.curves[0], Piecewise)):
        raise LinrankError(_no_trees(engine.name, ranking))
    if ranking.shift and not accepts.shift:
        raise LinrankError(f"{engine.title} has no place for a constant. Leave the shift out: it changes no order.")
    if abs(ranking.shift) > arithmetic.largest:
        raise LinrankError(f"shift {ranking.shift:g}: {engine.title} cannot hold it. Choose a smaller one.")
    if accepts.most_features is not None and len(ranking) > accepts.most_features:
        raise LinrankError(
            f"{engine.title} takes at most {accepts.most_features:,} features, and {len(ranking):,} have a weight. "
            f"{accepts.why}"
        )
    for name in ranking.names:
        problem = accepts.problem_with_name(name)
        if problem is not None:
            raise unusable_name(engine.title, name, problem)
    for weight, factors in ranking.terms():
        for name, curve in factors:
            if curve is not None and not curve.fits(arithmetic.smallest, arithmetic.largest):
                raise LinrankError(
                    f"the curve of feature {name!r} has steps or slopes that {engine.title} cannot hold: it computes "
                    f"{arithmetic.says}. Give the feature in other units, and train again."
                )
        if not arithmetic.smallest <= abs(weight) <= arithmetic.largest:
            of = " * ".join(repr(name) for name, _ in factors)
            raise LinrankError(
                f"the weight of feature {of} on unscaled values is {weight:g}, which {engine.title} cannot hold"
                f": it computes {arithmetic.says}. Give the feature in other units, and train again."
            )


def _no_curves(title: str, ranking: WeightedSum) -> str:
    """Why a model that transforms features is refused, and what to do, with the formula of the largest weight."""
    if ranking.products:
        return (
            f"{title} weighs features as they are, and cannot compute the curves and products that the model makes of "
            f"them first. {_CAN_MULTIPLY}."
        )
    j = int(np.argmax(np.abs(ranking.weights)))
    curve, name = ranking.curves[j], ranking.names[j]
    own, as_trees = "", "; or as trees: solr-trees, elasticsearch-trees, opensearch-trees"
    if isinstance(curve, Logarithm):
        as_trees = ""
    if isinstance(curve, Logarithm) and title == "Solr":
        own = f" In Solr a feature may be that function itself: {solr_function(curve, name)}."
    return (
        f"{title} weighs features as they are, and cannot compute what the model makes of them first. Compute it when "
        "documents are indexed, store it in the features' place, and export with --transformed (in Python "
        f"replace(model, scaling=None)): {curve.said(name)}. All are in linrank show --json.{own} Or export to a "
        "target that computes "
        f"{'curves' if as_trees else 'logarithms'}: {_CAN_COMPUTE}{as_trees}."
    )


_CAN_COMPUTE = "vespa, elasticsearch-script, qdrant, sql, onnx, python, json"
_CAN_MULTIPLY = f"Export to a target that computes both: {_CAN_COMPUTE}; or train without products: interactions=0"


def _no_products(engine: Engine, ranking: WeightedSum) -> str:
    """Why a model with products is refused where curves are taken, and what to do."""
    one, other = (ranking.names[place] for place in ranking.products[0].places)
    why = "" if engine.accepts.lines else ": each of its trees is of one feature"
    return f"{engine.name} has no product of two features, such as {one!r} and {other!r}{why}. {_CAN_MULTIPLY}."


def _no_trees(target: str, ranking: WeightedSum) -> str:
    """Why a model without curves that end is refused where curves become trees, and what to do."""
    if ranking.curves:
        return (
            f"{target} has curves as steps, of which logarithms would need more and more. Train with --transform "
            f"rank-gauss, or export to a target that computes logarithms: {_CAN_COMPUTE}."
        )
    return (
        f"{target} has curves as trees, and this model weighs features as they are. Export it to "
        f"{target.removesuffix('-trees')}, or train a model with curves: --method additive, or --transform rank-gauss."
    )


def solr_function(curve: Logarithm, field: str) -> str:
    """A signed logarithm as a function query of Solr's, for a SolrFeature."""
    # A name such as 134 would be that number there.
    x = field if field.isidentifier() else f"field({json.dumps(field, ensure_ascii=False)})"
    logged = f"ln(sum(1,div(abs({x}),{curve.unit!r})))"
    signed = f"if(lt({x},0),product(-1,{logged}),{logged})"
    return f"{{!func}}div({signed},{curve.scale!r})"


def unusable_name(title: str, name: str, problem: str) -> LinrankError:
    """What to raise where a feature's name is of no use to an engine."""
    return LinrankError(
        f"{title} cannot take the feature name {name!r}: it {problem}. Say what the engine calls it, names=…, such "
        f'as {{{json.dumps(name, ensure_ascii=False)}: "its name there"}}.'
    )


def curl(*words: str) -> str:
    """A command line that fails where the server refuses, its words written as a shell needs them."""
    return shlex.join(["curl", "-fsS", *words])
