"""fuse: from runs and judgements to weights that an engine takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.queries import check_folds
from linrank.errors import LinrankError
from linrank.fusing.candidates import Candidates, Leg, refuse_too_large
from linrank.fusing.columns import columns_of
from linrank.fusing.engine import FusionEngine
from linrank.fusing.enough import learning_curve, smallest_gain, to_judge
from linrank.fusing.evaluation import drawn_weights, leg_weights, standings
from linrank.fusing.fusers import Fuser, WeightedLegs
from linrank.fusing.fusion import Facts, Fusion, deployed_as, fused_runs
from linrank.fusing.legs import Legs, read_legs
from linrank.fusing.methods import Chosen, Fixed, methods_for, n_grid_points
from linrank.fusing.oddities import oddities
from linrank.fusing.problem import UNJUDGED, FusionProblem, JudgedDocuments
from linrank.fusing.query_classes import ByClass, classes_of, learn_by_class, read_classes
from linrank.fusing.registry import engine_named
from linrank.fusing.trained_weights import check_pairs
from linrank.fusing.verdict import verdict
from linrank.measures import parse_measures
from linrank.reading.logs.judgments import Judgments, read_judgments

_DOCUMENT = ("document", "docid", "doc_id", "document_id", "doc", "id")
# Beyond so many candidates times weights of the grid, these are not gone through: no grid and no search from its best.
_MOST_ORDERED = 50_000_000
_BY_MANY_ORDERS = ("grid", "search")
_TO_JUDGE = 5
# Methods that learn no weights, and can be asked for.
_ASKED_FOR = ("rrf", "rrf60", "equal")


def fuse(
    runs: Any,
    qrels: Any,
    engine: str | FusionEngine = "opensearch",
    *,
    method: str = "auto",
    depth: int = 100,
    unjudged: str = "irrelevant",
    measure: Any = "ndcg@10",
    signals: Any = None,
    by: str | None = None,
    queries: Any = None,
    n_folds: int = 5,
    n_resamples: int = 100,
    random_state: int = 0,
    **settings: Any,
) -> Fusion:
    """The weights of hybrid search, learnt under the engine's own rules, with what they are worth.

    Parameters
    ----------
    runs : mapping from names to legs, a list of files, or one table
        A leg is a TREC run, a table of query, document and score, saved responses of an engine (JSON lines), or
        {query: {document: score}}. One table for all legs has a column `leg`.
    qrels : judgements: TREC qrels, Quepid's CSV, a table, or {query: {document: label}}
    engine : "opensearch", "elasticsearch", "qdrant", "milvus", "weaviate", "sql", "vespa", or such an engine as a value
    method : "auto", "pairwise", "ndcg", "search", "grid", "rrf", "equal" …
        "auto" is the best of "pairwise", "ndcg" and "search" on held-out queries of those that are learnt from.
    depth : how many hits of each leg are fused; what the engine fetches
    unjudged : "irrelevant", "left-out" (not trained on) or "condensed" (nor measured)
        What is done with candidates that nobody judged.
    measure : what decides, such as "ndcg@10"
    signals : a table with a column of documents and further ones of numbers, such as popularity; for engines that
        can add them
    by : a column of `queries`, such as intent or language
        Weights for each class of queries are learnt too, and taken only where they are better by more than chance.
    queries : a table of queries that has the column of `by`
    n_folds : of whole queries; what is measured was learnt of the other folds
    n_resamples : of the queries, for the weights' intervals; 0 for none
    random_state : of folds and resamples; the same gives the same
    **settings : of the engine, such as `normaliser="l2"` or `index="shop"`

    Returns
    -------
    Fusion
        With `weight_of`, `verdict`, `standings`, `configuration`; prints as text. What the engine cannot do is refused.
    """
    if (by is None) != (queries is None):
        raise LinrankError("by names a column of queries: pass both, such as by='language', queries=table.")
    if not isinstance(engine, str) and settings:
        raise LinrankError(f"{', '.join(settings)}: set it where the engine is made, {type(engine).__name__}(…).")
    target = engine_named(engine, **settings) if isinstance(engine, str) else engine
    if n_resamples < 0 or n_resamples == 1:
        raise LinrankError(f"n_resamples={n_resamples}; intervals are of 2 or more. Use 100, or 0 for no intervals.")
    (decides,) = parse_measures(measure)
    class_of = {} if by is None else read_classes(queries, by)
    legs = read_legs(runs)
    judgments = read_judgments(qrels)
    values, said = signals_of(signals, legs)
    brought = replace(legs, legs=tuple(target.brings(leg) for leg in legs.legs))
    judged, rest, also = _split(brought, judgments.labels, depth, values)
    if len(judged.names) < 2:
        raise LinrankError(
            f"there is one leg, {judged.names[0]!r}, and nothing to weigh. Give the runs of two or more."
        )
    if judged.n_queries < 2:
        raise LinrankError("one query of the runs is judged, and none is left to measure on. Judge more queries.")
    check_folds(str(n_folds), n_folds, judged.n_queries)
    documents = JudgedDocuments.of(judgments.labels, judged.query_ids, judged.document_ids)
    problem = FusionProblem.of(target, judged, documents, decides, unjudged)
    _check_known(problem, judgments.labels)
    _check_relevant(problem)
    _check_brought(problem)
    check_pairs(problem)
    classes = [] if by is None else classes_of(judged.query_ids, class_of, by)
    lost = _left_out(target, legs.legs, brought.legs)
    notes = (*oddities(problem), *said, *lost, *also, *_of_judgments(judgments), *_of_classes(classes, by))
    made = _learnt(problem, rest, method, n_folds, n_resamples, random_state, notes)
    if by is None:
        return made
    by_class = learn_by_class(problem, classes, by, made.standing(made.used), n_folds, random_state)
    return with_classes(made, problem, by_class)


def with_classes(fusion: Fusion, problem: FusionProblem, by_class: ByClass) -> Fusion:
    """The fusion with weights for classes of queries, and a configuration for each where they differ.

    A class that searches other legs than all queries has files of its own for the user to fill in.
    """
    beside, files = dict(fusion.configuration.beside), {}
    if by_class.differ:
        for place, each in enumerate(by_class.classes, start=1):
            deployed = deployed_as(fusion.engine, problem.candidates, WeightedLegs(each.weights))
            name = re.sub(r"[^A-Za-z0-9]+", "-", each.name).strip("-") or str(place)
            ending, written = f".{place}-{name}.{fusion.engine.ending}", fusion.engine.write(deployed)
            files[ending] = written.content
            if deployed.legs != fusion.deployed.legs:
                beside |= {ending + further: text for further, text in written.beside.items()}
    configuration = replace(fusion.configuration, beside=beside, classes=files)
    return replace(fusion, by_class=by_class, configuration=configuration)


def _learnt(
    problem: FusionProblem,
    rest: Candidates,
    method: str,
    n_folds: int,
    n_resamples: int,
    seed: int,
    said: tuple[str, ...],
) -> Fusion:
    engine, candidates = problem.engine, problem.candidates
    n_points = n_grid_points(len(candidates.legs))
    quick = candidates.n_rows * n_points > _MOST_ORDERED
    too_many = f"{candidates.n_rows:,} candidates are too many to be ordered by each of the grid's {n_points} weights"
    methods = methods_for(problem, quick=quick)
    if quick and method in _BY_MANY_ORDERS:
        raise LinrankError(
            f"method {method!r}: {too_many}; at most {_MOST_ORDERED // n_points:,} are. Use pairwise or ndcg, a "
            "smaller depth or fewer judged queries."
        )
    if method not in methods:
        raise LinrankError(f"there is no method {method!r}; there are {', '.join(methods)}.")
    ones = np.ones(problem.n_queries)
    asked = methods[method]
    used = asked.chosen(problem, ones) if isinstance(asked, Chosen) else asked
    fuser = used.learn(problem, ones)
    reason = engine.refuses_fuser(fuser)
    if reason is not None:
        raise LinrankError(reason)
    compared = standings(problem, methods, method, n_folds, seed)
    simple = tuple(name for name, each in methods.items() if isinstance(each, Fixed) or name == "rrf")
    written = tuple(name for name in _ASKED_FOR if name in simple and (engine.has_rrf or name == "equal"))
    decided = verdict(compared, method, simple, str(problem.measure), written)
    by_name = {standing.method: standing.per_query for standing in compared}
    rival = by_name.get(decided.rival, by_name[method])
    drawn: Sequence[Vector] = ()
    if isinstance(fuser, WeightedLegs) and used.learns:
        drawn = drawn_weights(problem, used, n_resamples, seed)
    deployed = deployed_as(engine, candidates, fuser)
    facts = _facts(problem, fuser, n_folds, seed)
    configuration = engine.write(deployed)
    idle = [name for name in candidates.names if name not in (*deployed.legs, *deployed.signals)]
    notes = (
        f"{UNJUDGED[problem.unjudged]}; of the first ten by what is deployed {facts.judged_at_top:.0%} are judged",
        *((_rules(engine, candidates),) if isinstance(fuser, WeightedLegs) else ()),
        *((f"{too_many}: the grid, and the search from its best, are left out",) if quick else ()),
        *((f"{', '.join(idle)} weigh nothing and are left out of the configuration",) if idle else ()),
        *said,
        *configuration.notes,
    )
    return Fusion(
        engine,
        problem.measure,
        method,
        used.name,
        fuser,
        leg_weights(problem, used, fuser, drawn, n_folds, seed) if isinstance(fuser, WeightedLegs) else (),
        compared,
        decided,
        learning_curve(problem, used, n_folds, seed) if used.learns else (),
        smallest_gain(by_name[method] - rival),
        to_judge(problem, rest, engine, drawn, np.array(fuser.weights), _TO_JUDGE)
        if isinstance(fuser, WeightedLegs)
        else (),
        None,
        facts,
        notes,
        deployed,
        configuration,
        _vectors(engine, fuser, facts, candidates),
    )


def signals_of(table: Any, legs: Legs) -> tuple[dict[str, Vector], tuple[str, ...]]:
    """Each signal as one number a document, 0 where the table has none; and what to say of that."""
    if table is None:
        return {}, ()
    columns = columns_of(table)
    ids, key = columns.ids(_DOCUMENT), columns.find(_DOCUMENT)
    place = {name: number for number, name in enumerate(legs.document_ids)}
    rows = np.array([place.get(str(name), -1) for name in ids.tolist()], dtype=np.int64)
    numbers, counts = np.unique(rows[rows >= 0], return_counts=True)
    if (counts > 1).any():
        twice = legs.document_ids[int(numbers[np.argmax(counts)])]
        raise LinrankError(f"{columns.source}: document {twice!r} has signals in more than one row. Keep one of them.")
    made = {}
    for name in columns.names:
        if name == key or name in columns.index:
            continue
        if name in [leg.name for leg in legs.legs]:
            raise LinrankError(f"{columns.source}: {name!r} is a signal and a leg. Name one of them otherwise.")
        values, given = np.zeros(len(legs.document_ids)), columns.numbers_of(name)
        refuse_too_large(given, partial(columns.told, f"signal {name!r}"))
        values[rows[rows >= 0]] = given[rows >= 0]
        made[name] = values
    lacking = len(legs.document_ids) - len(numbers)
    return made, ((f"{lacking:,} documents have no signals: they count as 0",) if lacking else ())


def _left_out(engine: FusionEngine, legs: Sequence[Leg], brought: Sequence[Leg]) -> tuple[str, ...]:
    """What to say of hits that the engine does not fuse."""
    lost = sum(len(leg.scores) for leg in legs) - sum(len(leg.scores) for leg in brought)
    return (f"{lost:,} hits of score 0 are left out: {engine.title} does not fuse them",) if lost else ()


def _rules(engine: FusionEngine, candidates: Candidates) -> str:
    """By what the legs are normalised, in words."""
    says = [engine.rule(place).says for place in range(len(candidates.legs))]
    if len(set(says)) > 1:
        each = ", ".join(f"{name} {said}" for name, said in zip(candidates.leg_names, says, strict=True))
        return f"legs are normalised by {engine.normaliser_name}: {each}"
    if engine.is_raw:
        return "scores are weighed as the legs give them, not normalised"
    return f"legs are normalised by {engine.normaliser_name}: {says[0]}"


def _split(
    legs: Legs, labels: Mapping[str, Any], depth: int, signals: Mapping[str, Vector]
) -> tuple[Candidates, Candidates, tuple[str, ...]]:
    """The candidates of judged queries, those of others, and what to say of queries that are left out."""
    there = np.sum([np.diff(leg.starts) for leg in legs.legs], axis=0) > 0
    is_judged = np.array([query in labels for query in legs.query_ids], dtype=bool)
    if not (is_judged & there).any():
        raise LinrankError(
            f"none of the runs' {len(legs.query_ids)} queries, such as {legs.query_ids[0]!r}, is judged; judged are "
            f"{len(labels)}, such as {next(iter(labels))!r}. Use runs and judgements of the same queries."
        )
    said = []
    known = set(legs.query_ids)
    lost = [query for query in labels if query not in known]
    if lost:
        said.append(f"{len(lost):,} judged queries are in no run and are left out, such as {lost[0]!r}")
    n_rest = int((there & ~is_judged).sum())
    if n_rest:
        said.append(f"{n_rest:,} queries of the runs are not judged: nothing is learnt from them")

    def those(chosen: NDArray[np.bool_]) -> Candidates:
        queries = np.flatnonzero(chosen)
        ids = [legs.query_ids[query] for query in queries.tolist()]
        return Candidates.of([leg.take(queries) for leg in legs.legs], ids, legs.document_ids, depth, signals)

    return those(is_judged & there), those(~is_judged & there), tuple(said)


def _check_known(problem: FusionProblem, labels: Mapping[str, Any]) -> None:
    """Refuse judgements of other documents than the runs have."""
    if not problem.is_judged.any():
        query = problem.candidates.query_ids[0]
        brought = problem.candidates.document_ids[int(problem.candidates.documents[0])]
        raise LinrankError(
            f"none of the documents that the legs bring is judged: for query {query!r} they bring such as {brought!r}, "
            f"and judged are such as {next(iter(labels[query]), None)!r}. Use the same ids in runs and judgements."
        )


def _check_relevant(problem: FusionProblem) -> None:
    """Refuse judgements by which nothing is worth finding: every order would be as good."""
    highest, least = problem.labels[problem.is_judged].max(), problem.measure.rel
    if highest <= 0.0 and not (least is not None and least <= highest):
        raise LinrankError(
            f"no judged document that the legs bring is relevant: the highest label is {highest:g}, and only labels "
            "above 0 are. Judge more, or map ratings to numbers from 0 on."
        )


def _check_brought(problem: FusionProblem) -> None:
    """Refuse legs of which nothing can be learnt."""
    for leg in problem.candidates.legs:
        if len(leg.scores) == 0:
            raise LinrankError(
                f"leg {leg.name!r} brings nothing for the judged queries, such as {problem.candidates.query_ids[0]!r}, "
                "that could be fused: nothing is known of its weight. Leave it out, or give its hits of these queries."
            )


def _of_judgments(judgments: Judgments) -> tuple[str, ...]:
    """What became of judgements that are there again or have no rating."""
    said = []
    if judgments.contradicting:
        query, document = judgments.contradicting[0]
        many = f"{len(judgments.contradicting):,} judgements are there again with another rating"
        said.append(f"{many}, the last one counts, such as that of {document!r} for {query!r}")
    if judgments.unrated:
        said.append(f"{len(judgments.unrated):,} judgements have no rating and are left out")
    return tuple(said)


def _of_classes(classes: Sequence[str], by: str | None) -> tuple[str, ...]:
    """That queries without a class are one."""
    n_without = classes.count("")
    return (f"{n_without:,} judged queries have no {by}: they are a class of their own",) if n_without else ()


def _facts(problem: FusionProblem, fuser: Fuser, n_folds: int, seed: int) -> Facts:
    candidates = problem.candidates
    known, scores = problem.is_judged, problem.scores(fuser)
    order = candidates.queries.best_first(scores)
    places = np.arange(len(order)) - np.repeat(candidates.starts[:-1], np.diff(candidates.starts))
    return Facts(
        problem.n_queries,
        candidates.n_rows,
        int(known.sum()),
        float(known[order][(places < 10) & ~np.isneginf(scores[order])].mean()),
        candidates.leg_names,
        tuple(candidates.signals),
        candidates.depth,
        problem.unjudged,
        n_folds,
        seed,
    )


def _vectors(engine: FusionEngine, fuser: Fuser, facts: Facts, candidates: Candidates) -> dict[str, Any]:
    """A query's first hits, and the order and scores that the engine must give them."""
    query = int(np.argmax(np.diff(candidates.starts)))
    legs = {}
    for leg in candidates.legs:
        hits = slice(int(leg.starts[query]), min(int(leg.starts[query]) + 5, int(leg.starts[query + 1])))
        documents = [candidates.document_ids[number] for number in leg.documents[hits].tolist()]
        # Numbers that float32 holds exactly.
        scores = leg.scores[hits].astype(np.float32).astype(np.float64).tolist()
        legs[leg.name] = dict(zip(documents, scores, strict=True))
    names = {name for hits in legs.values() for name in hits}
    place = {name: number for number, name in enumerate(candidates.document_ids) if name in names}
    signals = {
        signal: {name: float(values[number]) for name, number in place.items()}
        for signal, values in candidates.signals.items()
    }
    deployed = deployed_as(engine, candidates, fuser)
    fused = fused_runs(engine, facts.legs, deployed, {name: {"query": hits} for name, hits in legs.items()}, signals)
    return {"target": engine.name, "fused_by": fuser.says, "hits": legs, "signals": signals, "fused": fused["query"]}
