"""Fusion: weights for an engine, how good they are, and what the engine is given."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.exporting.export import save_with_vectors, vectors_path
from linrank.files import replacing
from linrank.fusing.candidates import LARGEST_SCORE, Candidates
from linrank.fusing.engine import Configuration, Deployed, FusionEngine
from linrank.fusing.enough import CurvePoint, ToJudge
from linrank.fusing.evaluation import MOST_LOST, LegWeight, Standing
from linrank.fusing.fusers import Fuser, WeightedLegs
from linrank.fusing.legs import read_legs
from linrank.fusing.query_classes import ByClass
from linrank.fusing.scored import EngineCandidates
from linrank.fusing.verdict import Verdict
from linrank.measures import Measure
from linrank.showing import Rows, text_table

# How the name of a class's file ends, which leads to no other folder, whoever wrote it down.
_OF_CLASS = re.compile(r"\.\d+-[A-Za-z0-9-]+\.[a-z.]+")


@dataclass(frozen=True)
class Facts:
    """What was learnt from.

    Attributes
    ----------
    queries, candidates, judged : how many judged queries, their candidates, and how many of those somebody judged
    judged_at_top : the share of the first ten of the fused order that somebody judged
    legs, signals : their names
    depth : how many hits a leg brings, at most
    unjudged : what was done with documents that nobody judged
    folds, seed : how queries were held out
    """

    queries: int
    candidates: int
    judged: int
    judged_at_top: float
    legs: tuple[str, ...]
    signals: tuple[str, ...]
    depth: int
    unjudged: str
    folds: int
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class Fusion:
    """Weights of hybrid search, learnt under an engine's own rules.

    Attributes
    ----------
    engine : whose rules
    measure : what decides
    method : that was asked for, and `used`, the one it came to
    fuser : how legs are fused
    weights : one a leg and signal, with intervals; empty where ranks are fused
    standings : every method on held-out queries, the best first
    verdict : whether it is worth deploying
    curve : the measure on held-out queries against the number of judged ones; empty where nothing is learnt
    smallest_gain : that these many queries find, 4 times of 5, against the rival
    to_judge : what to judge next
    by_class : weights for classes of queries, where they were asked for
    facts, notes : what it was learnt from, and what was assumed
    configuration : what the engine is given
    """

    engine: FusionEngine
    measure: Measure
    method: str
    used: str
    fuser: Fuser
    weights: tuple[LegWeight, ...]
    standings: tuple[Standing, ...]
    verdict: Verdict
    curve: tuple[CurvePoint, ...]
    smallest_gain: float
    to_judge: tuple[ToJudge, ...]
    by_class: ByClass | None
    facts: Facts
    notes: tuple[str, ...]
    deployed: Deployed
    configuration: Configuration
    vectors: Mapping[str, Any]

    @property
    def weight_of(self) -> dict[str, float]:
        """The weights by the names of legs and signals; empty where ranks are fused."""
        return {weight.name: weight.weight for weight in self.weights}

    @property
    def learnt_by(self) -> str:
        """The method, and what it came to, in words."""
        return f"{self.method}, which came to {self.used}" if self.method != self.used else self.used

    def standing(self, method: str) -> Standing:
        """One of the methods on held-out queries."""
        for standing in self.standings:
            if standing.method == method:
                return standing
        raise LinrankError(f"there is no method {method!r}; there are {', '.join(s.method for s in self.standings)}.")

    def rank(self, runs: Any, signals: Mapping[str, Mapping[str, float]] | None = None) -> dict[str, dict[str, float]]:
        """{query: {document: fused score}} of other runs of the same legs, the highest score first.

        Parameters
        ----------
        runs : as for `fuse`; legs are found by name
        signals : {signal: {document: number}}, where there are any
        """
        return fused_runs(self.engine, self.facts.legs, self.deployed, runs, signals)

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write what the engine is given, with what goes beside it and test vectors; return the files.

        What goes beside it and somebody changed since it was written, as those who fill it in do, is left as it is;
        where it was made for other legs, classes or another depth, the new one is written beside it, `.new`. Files of
        classes of queries that are no part of this fusion are removed unless they were changed: see `outdated`.
        """
        name, configuration = os.fspath(path), self.configuration
        written, outdated = _hashes_beside(name), self.outdated(path)
        texts = {**configuration.beside, **configuration.classes}
        made = {_place_of(name + ending, text, written.get(ending)): text for ending, text in texts.items()}
        new = [place for place in made if place is not None]
        # Before the vectors, which say how they were written: if the process is killed between, nothing is out of date.
        for place in new:
            with replacing(place, "wb") as beside:
                beside.write(made[place].encode())
        content = configuration.content.encode()
        vectors = {
            "format": "linrank-vectors",
            "schema_version": 1,
            "file_sha256": _digest(content),
            "beside_sha256": {ending: _digest(text.encode()) for ending, text in texts.items()},
            **self.vectors,
        }
        save_with_vectors(name, content, json.dumps(vectors, indent=1, ensure_ascii=False) + "\n")
        for file in outdated:
            if _digest(Path(file).read_bytes()) == written[file.removeprefix(name)]:
                Path(file).unlink()
        return [str(vectors_path(name)), *new, name]

    def outdated(self, path: str | os.PathLike[str]) -> list[str]:
        """Files of classes of queries that were saved with the path before, and are no part of this fusion."""
        name, kept = os.fspath(path), {*self.configuration.beside, *self.configuration.classes}
        before = (
            name + ending for ending in _hashes_beside(name) if _OF_CLASS.fullmatch(ending) and ending not in kept
        )
        return [file for file in before if Path(file).is_file()]

    def files(self, path: str | os.PathLike[str]) -> list[str]:
        """The files that `save` writes: test vectors, what goes beside, and the file itself."""
        name = os.fspath(path)
        further = (*self.configuration.beside, *self.configuration.classes)
        return [str(vectors_path(name)), *(name + ending for ending in further), name]

    def commands(self, path: str | os.PathLike[str]) -> str:
        """What to type to install the file and to use it, and what classes of queries have in its place."""
        name, lines = os.fspath(path), [self.engine.commands(self.deployed, os.fspath(path))]
        if self.by_class is not None and self.configuration.classes:
            column = self.by_class.column
            lines += [
                f"# where {column} is {each.name or 'not known'}: {name}{ending} in its place, by another name"
                for each, ending in zip(self.by_class.classes, self.configuration.classes, strict=True)
            ]
        return "\n".join(filter(None, lines))

    def page(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML page that needs no network: whether it is worth deploying, and why."""
        from linrank.fusing.page import render

        page = render(self)
        with replacing(path) as file:
            file.write(page)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, for JSON."""
        return {
            "engine": self.engine.name,
            "normaliser": self.engine.normaliser_name,
            "measure": str(self.measure),
            "method": self.method,
            "used": self.used,
            "fused_by": self.fuser.says,
            "weights": [asdict(weight) | {"can_go": weight.can_go} for weight in self.weights],
            "verdict": asdict(self.verdict),
            "methods": [
                {
                    "method": standing.method,
                    "says": standing.says,
                    "fused_by": standing.fuser.says,
                    "mean": standing.mean,
                    "interval": list(standing.interval),
                    "gain": standing.gain,
                    "gain_interval": list(standing.gain_interval),
                    "p_value": None if np.isnan(standing.p_value) else standing.p_value,
                }
                for standing in self.standings
            ],
            "curve": [asdict(point) for point in self.curve],
            "smallest_gain": self.smallest_gain if np.isfinite(self.smallest_gain) else None,
            "to_judge": [asdict(each) for each in self.to_judge],
            "by_class": None if self.by_class is None else self.by_class.to_dict(),
            "facts": asdict(self.facts),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [self.verdict.headline, *self.verdict.reasons, "", self._weights_in_words(), ""]
        lines += [f"{self.measure} on held-out queries, {self.facts.folds} folds", _indented(text_table(self._table()))]
        if self.curve:
            points = ", ".join(f"{point.mean:.4f} by {point.n_queries}" for point in self.curve)
            lines += ["", f"by the number of judged queries: {points}"]
        if self.by_class is not None:
            lines += ["", str(self.by_class)]
        if self.to_judge:
            lines += ["", "to judge next"]
            lines += [
                f"  {each.query}: {each.why}" + (f" ({', '.join(each.documents[:3])} …)" if each.documents else "")
                for each in self.to_judge
            ]
        return "\n".join([*lines, "", *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _weights_in_words(self) -> str:
        if not self.weights:
            return f"fused by {self.fuser.says}, for {self.engine.title}"
        where = f"for {self.engine.title}, {self.engine.normaliser_name}"
        head = ("leg", "weight", "95 % interval", "lost without it", "")
        rows: list[tuple[str, ...]] = [head]
        for weight in self.weights:
            lost = ""
            if weight.loss is not None and weight.loss_interval is not None:
                low, high = weight.loss_interval
                lost = f"{weight.loss:+.4f} ({low:+.4f} to {high:+.4f})"
            rows.append((weight.name, f"{weight.weight:.6g}", weight.interval, lost, "can go" if weight.can_go else ""))
        said = f"weights by {self.learnt_by}, {where}\n{_indented(text_table(rows))}"
        if any(weight.can_go for weight in self.weights):
            said += f"\n  can go: without it, no more than {MOST_LOST} {self.measure} is lost, by the interval"
        return said

    def _table(self) -> Rows:
        head = ("method", "mean", "95 % interval", f"{self.method} minus it", "95 % interval", "p (Holm)")
        rows: list[tuple[str, ...]] = [head]
        for each in self.standings:
            low, high = each.interval
            row = (each.method, f"{each.mean:.4f}", f"{low:.4f} to {high:.4f}")
            if each.method == self.method:
                rows.append((*row, "", "", ""))
                continue
            low, high = each.gain_interval
            p = f"{each.p_value:.4f}" + (" *" if each.is_real else "")
            rows.append((*row, f"{each.gain:+.4f}", f"{low:+.4f} to {high:+.4f}", p))
        return rows


def fused_runs(
    engine: FusionEngine,
    names: Sequence[str],
    deployed: Deployed,
    runs: Any,
    signals: Mapping[str, Mapping[str, float]] | None,
) -> dict[str, dict[str, float]]:
    """{query: {document: fused score}} by those of the named legs that are deployed; equal scores by document."""
    for place, name in reversed(list(enumerate(names))):
        if name not in deployed.legs:
            engine = engine.without(place)
    legs = read_legs(runs)
    by_name = {leg.name: leg for leg in legs.legs}
    absent = [name for name in deployed.legs if name not in by_name]
    if absent:
        raise LinrankError(f"there is no leg {absent[0]!r}; there are {', '.join(by_name)}. Name runs as in training.")
    known = {name: _signal(name, signals or {}, legs.document_ids) for name in deployed.signals}
    brought = [engine.brings(by_name[name]) for name in deployed.legs]
    candidates = Candidates.of(brought, legs.query_ids, legs.document_ids, deployed.depth, known)
    scores = EngineCandidates(engine, candidates).scores(deployed.fuser)
    made: dict[str, dict[str, float]] = {}
    for query, qid in enumerate(candidates.query_ids):
        rows = np.arange(candidates.starts[query], candidates.starts[query + 1])
        order = rows[np.argsort(-scores[rows], kind="stable")]
        documents = candidates.documents[order].tolist()
        made[qid] = {
            candidates.document_ids[document]: score
            for document, score in zip(documents, scores[order].tolist(), strict=True)
        }
    return made


def _signal(name: str, signals: Any, document_ids: Sequence[str]) -> Vector:
    """One number a document, 0 where the signal has none."""
    if not isinstance(signals, Mapping) or not isinstance(signals.get(name), Mapping):
        raise LinrankError(f"there is no signal {name!r}, which has a weight. Give {{{name!r}: {{document: number}}}}.")
    given = signals[name]
    values = np.zeros(len(document_ids))
    for place, document in enumerate(document_ids):
        number: Any = given.get(document, 0.0)
        if not _can_be_fused(number):
            raise LinrankError(
                f"signal {name!r} of document {document!r} is {number!r}; only finite numbers of at most "
                f"{LARGEST_SCORE:g} can be fused. Mend it, or leave it out: it counts as 0."
            )
        values[place] = number
    return values


def _can_be_fused(number: Any) -> bool:
    is_number = isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool)
    # (A NaN is not at most anything.)
    return is_number and bool(abs(number) <= LARGEST_SCORE)


def deployed_as(engine: FusionEngine, candidates: Candidates, fuser: Fuser) -> Deployed:
    """A fusion by the legs that the engine searches and the signals that weigh."""
    if not isinstance(fuser, WeightedLegs):
        return Deployed(candidates.leg_names, (), fuser, candidates.depth)
    n_legs = len(candidates.legs)
    used = [*engine.asked(np.array(fuser.weights[:n_legs])), *(weight != 0.0 for weight in fuser.weights[n_legs:])]
    legs = tuple(name for name, is_used in zip(candidates.leg_names, used, strict=False) if is_used)
    signals = tuple(name for name, is_used in zip(candidates.signals, used[n_legs:], strict=True) if is_used)
    weights = tuple(weight for weight, is_used in zip(fuser.weights, used, strict=True) if is_used)
    return Deployed(legs, signals, WeightedLegs(weights), candidates.depth)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hashes_beside(name: str) -> Mapping[str, str]:
    """Those that the test vectors of a file have of what was written beside it, by ending."""
    try:
        recorded = json.loads(vectors_path(name).read_text(encoding="utf-8"))["beside_sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return recorded if isinstance(recorded, dict) else {}


def _place_of(place: str, text: str, written: str | None) -> str | None:
    """Where a text goes: to its place, beside what somebody made of another one there, or nowhere if that is of it."""
    new = _digest(text.encode())
    there = _digest(Path(place).read_bytes()) if Path(place).exists() else None
    if there in (None, new, written):
        return place
    return None if written == new else place + ".new"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
