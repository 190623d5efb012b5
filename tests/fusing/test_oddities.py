"""Runs and judgements that are not what they seem are told of, or refused with the remedy."""

from dataclasses import replace

import numpy as np
import pytest

from fusing_cases import engine_of, made, problem_of
from linrank import LinrankError, fuse
from linrank.fusing.evaluation import LegWeight
from linrank.fusing.oddities import oddities
from linrank.fusing.verdict import verdict

RUNS, QRELS = made(n_queries=20)


def changed(name, score):
    """The runs, one leg's scores changed."""
    return RUNS | {name: {query: {d: score(s) for d, s in hits.items()} for query, hits in RUNS[name].items()}}


def said_of(runs, engine="opensearch", depth=25):
    return " | ".join(oddities(problem_of(runs, QRELS, engine_of(engine), depth)))


def test_nothing_is_said_of_legs_that_are_in_order():
    assert said_of(RUNS) == ""


@pytest.mark.parametrize("score", [lambda s: -s, lambda s: 1.0 / s], ids=["negated", "distances"])
def test_scores_of_which_the_lowest_is_best_are_told_of(score):
    assert "leg dense would be better upside down (ndcg@10 0." in said_of(changed("dense", score))
    assert "give them with the other sign" in said_of(changed("dense", score))


def test_legs_of_one_score_and_legs_that_are_alike_are_told_of():
    assert "leg dense gives all its hits of a query one score" in said_of(changed("dense", lambda _: 0.0))
    assert "legs dense and again bring the same documents" in said_of(RUNS | {"again": RUNS["dense"]})


def test_legs_that_lack_queries_or_whose_documents_nobody_judged_are_told_of():
    some = {query: hits for query, hits in RUNS["dense"].items() if query != "q3"}
    assert said_of(RUNS | {"dense": some}) == (
        "leg dense brings nothing for 1 of 20 judged queries, such as 'q3': if it would, give its whole run"
    )
    other = {query: {f"x{d}": s for d, s in hits.items()} for query, hits in RUNS["dense"].items()}
    assert "no document that leg dense brings is judged, such as 'xd0" in said_of(RUNS | {"dense": other})


def test_what_is_said_stands_in_the_notes():
    fusion = fuse(changed("dense", lambda s: -s), QRELS, method="equal", n_folds=2)
    assert any("upside down" in note for note in fusion.notes)
    assert "upside down" in str(fusion)


@pytest.mark.parametrize(
    ("runs", "qrels", "said"),
    [
        ({"bm25": RUNS["bm25"]}, QRELS, "there is one leg, 'bm25', and nothing to weigh. Give the runs of two"),
        ({name: {"q1": run["q1"]} for name, run in RUNS.items()}, QRELS, "one query of the runs is judged"),
        (RUNS, {query: {"x1": 1, "x2": 0} for query in QRELS}, "they bring such as 'd0.*judged are such as 'x1'"),
        (RUNS, {"other": {"d001": 1}}, "queries, such as 'q0', is judged; judged are 1, such as 'other'"),
        (RUNS | {"none": {"elsewhere": {"d001": 1.0}}}, QRELS, "leg 'none' brings nothing for the judged queries"),
        ({"a": {}, "b": {"q1": {}}}, QRELS, r"the runs \(a, b\) have no hits"),
        (RUNS, {q: dict.fromkeys(of, -1) for q, of in QRELS.items()}, "is relevant: the highest label is -1, and only"),
    ],
)
def test_what_nothing_can_be_learnt_from_is_refused(runs, qrels, said):
    with pytest.raises(LinrankError, match=said):
        fuse(runs, qrels)


def test_one_leg_and_a_signal_are_weighed():
    signal = {"document": [f"d{number:03d}" for number in range(60)], "age": np.arange(60.0)}
    one = {"bm25": RUNS["bm25"]}
    fusion = fuse(one, QRELS, "qdrant", signals=signal, method="pairwise", n_folds=2, n_resamples=2)
    assert set(fusion.weight_of) == {"bm25", "age"}


@pytest.mark.parametrize("method", ["pairwise", "ndcg", "search"])
@pytest.mark.parametrize("number", [0.1, -1e9 / 3])
def test_a_signal_that_is_the_same_for_all_weighs_nothing(method, number):
    """The spread of equal numbers is the rounding of their mean, and no unit of anything."""
    signal = {"document": [f"d{number:03d}" for number in range(60)], "same": [number] * 60}
    fusion = fuse(RUNS, QRELS, "qdrant", signals=signal, method=method, n_folds=2, n_resamples=2)
    assert fusion.weight_of["same"] == 0.0
    assert "same" not in fusion.configuration.content
    assert any(note.startswith("same weigh") for note in fusion.notes)


def test_methods_that_order_all_candidates_again_and_again_are_refused_where_there_are_many(monkeypatch):
    monkeypatch.setattr("linrank.fusing.fuse._MOST_ORDERED", 1000)
    with pytest.raises(LinrankError, match=r"method 'search': .* too many .* at most 15 are\. Use pairwise"):
        fuse(RUNS, QRELS, method="search")


def test_judgements_of_one_label_teach_nothing_where_others_are_left_out():
    relevant = {query: {d: 1.0 for d, label in labels.items() if label > 0} for query, labels in QRELS.items()}
    with pytest.raises(LinrankError, match=r"judged candidates of different labels.* \(--unjudged irrelevant\)"):
        fuse(RUNS, relevant, unjudged="left-out", method="pairwise", n_folds=2)


def test_the_page_says_what_auto_came_to(tmp_path):
    fusion = fuse(RUNS, QRELS, n_folds=2, n_resamples=2)
    fusion.page(tmp_path / "page.html")
    assert f"Weights by auto, which came to {fusion.used}." in (tmp_path / "page.html").read_text()


def test_a_leg_that_weighs_nothing_can_go_only_where_little_is_lost():
    assert not LegWeight("a", 0.0, 0.0, 0.0, 0.02, (0.0, 0.05)).can_go
    assert LegWeight("a", 0.0, 0.0, 0.0, 0.0, (-0.01, 0.01)).can_go
    assert not LegWeight("a", 0.0, 0.0, 0.0).can_go


def test_judgements_that_are_there_again_are_told_of(tmp_path):
    lines = [f"{query} 0 {d} {label:g}" for query, labels in QRELS.items() for d, label in labels.items()]
    (tmp_path / "qrels.csv").write_text(
        "query,docid,rating\n" + "".join(f"{line.replace(' 0 ', ',', 1).replace(' ', ',')}\n" for line in lines)
        + "q1,d000,0\nq2,d000,\n"
    )  # fmt: skip
    notes = fuse(RUNS, tmp_path / "qrels.csv", method="equal", n_folds=2).notes
    assert any("1 judgements are there again with another rating" in note for note in notes)
    assert any("1 judgements have no rating" in note for note in notes)


def test_a_leg_that_alone_brings_what_is_relevant_can_be_measured_without():
    runs = {leg: {str(q): {f"{leg}{place}": 9.0 - place for place in range(1, 6)} for q in range(3)} for leg in "ab"}
    made = fuse(runs, {str(q): {f"a{q + 1}": 1, "b1": 0} for q in range(3)}, "sql", n_folds=2, n_resamples=2)
    assert made.weight_of["a"] > made.weight_of["b"]


@pytest.mark.parametrize(("method", "other"), [("rrf", "rrf60"), ("rrf60", "rrf")])
def test_reciprocal_ranks_are_not_held_against_those_of_another_k(method, other):
    fusion = fuse(RUNS, QRELS, method=method, n_folds=2)
    # Were the other k the best of all that learn nothing.
    standings = tuple(replace(each, mean=9.0) if each.method == other else each for each in fusion.standings)
    simple = ("rrf", "rrf60", "equal")
    assert verdict(standings, method, simple, "ndcg@10").rival == "equal"
    assert verdict(standings, "equal", simple, "ndcg@10").rival == other
    # Nothing is normalised there.
    assert "min_max" not in str(fusion)


def test_what_is_judged_of_the_first_ten_and_queries_without_a_class_are_said():
    table = {"query": list(QRELS)[:10], "kind": ["a", "b"] * 5}
    fusion = fuse(RUNS, QRELS, method="equal", n_folds=2, by="kind", queries=table)
    share = f"{fusion.facts.judged_at_top:.0%} are judged"
    assert any(note.endswith(share) for note in fusion.notes)
    assert "note: 10 judged queries have no kind: they are a class of their own" in str(fusion)


def test_without_resamples_nothing_is_said_of_what_depends_on_weights():
    some = {query: QRELS[query] for query in list(QRELS)[:12]}
    fusion = fuse(RUNS, some, method="pairwise", n_folds=2, n_resamples=0)
    assert fusion.to_judge[0].why == "not judged"
