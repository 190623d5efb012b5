"""Classes of queries have weights of their own where they need them, and files that are theirs alone."""

import hashlib
import json
import re
from dataclasses import replace

import numpy as np

from fusing_cases import engine_of, made, problem_of
from linrank import fuse
from linrank.fusing.evaluation import standings
from linrank.fusing.fuse import with_classes
from linrank.fusing.query_classes import learn_by_class
from linrank.fusing.trained_weights import Pairwise

QUICK = {"n_resamples": 5, "n_folds": 3}


def by_language(seed, *, differ):
    """Two classes of queries, for which different legs are good, or the same."""
    one, qrels = made(n_queries=40, names=("bm25", "dense"), strengths=(0.3, 3.0), seed=seed)
    two, more = made(
        n_queries=40, names=("bm25", "dense"), strengths=(3.0, 0.3) if differ else (0.3, 3.0), seed=seed + 100
    )
    runs = {leg: one[leg] | {f"x{query}": hits for query, hits in two[leg].items()} for leg in one}
    qrels |= {f"x{query}": labels for query, labels in more.items()}
    table = {"query": list(qrels), "language": ["fi" if query.startswith("x") else "en" for query in qrels]}
    return runs, qrels, table


def test_classes_have_weights_of_their_own_where_they_need_them():
    runs, qrels, table = by_language(0, differ=True)
    fusion = fuse(runs, qrels, by="language", queries=table, method="pairwise", **QUICK)
    assert fusion.by_class.differ
    english, finnish = fusion.by_class.classes
    assert english.weights[1] > 0.6 > 0.4 > finnish.weights[1]
    assert sum(re.search(r"(en|fi)\.opensearch", name) is not None for name in fusion.configuration.classes) == 2


def classes_taken(seeds, *, differ):
    """Of how many random problems weights for classes are taken."""
    taken = 0
    for seed in seeds:
        runs, qrels, table = by_language(seed, differ=differ)
        problem = problem_of(runs, qrels, engine_of("opensearch"))
        class_of = dict(zip(table["query"], table["language"], strict=True))
        classes = [class_of[query] for query in problem.candidates.query_ids]
        (deployed,) = standings(problem, {"pairwise": Pairwise()}, "pairwise", 3, seed)
        by_class = learn_by_class(problem, classes, "language", deployed, n_folds=3, seed=seed)
        taken += by_class.differ
        assert (len({each.weights for each in by_class.classes}) > 1) == by_class.differ
    return taken


def test_classes_are_taken_where_they_differ_and_hardly_ever_elsewhere():
    """At the level of 5 % one problem of 20 without any difference may be taken for one with."""
    assert classes_taken(range(20), differ=False) <= 1
    assert classes_taken(range(5), differ=True) == 5


def test_classes_are_held_against_what_is_deployed():
    """Weights for classes that are better than those of all, and worse than what is deployed, are not taken."""
    runs, qrels, table = by_language(0, differ=True)
    problem = problem_of(runs, qrels, engine_of("opensearch"))
    class_of = dict(zip(table["query"], table["language"], strict=True))
    classes = [class_of[query] for query in problem.candidates.query_ids]
    (deployed,) = standings(problem, {"pairwise": Pairwise()}, "pairwise", 3, 0)
    better = replace(deployed, per_query=np.ones(problem.n_queries))
    assert learn_by_class(problem, classes, "language", deployed, n_folds=3, seed=0).differ
    against = learn_by_class(problem, classes, "language", better, n_folds=3, seed=0)
    assert not against.differ
    assert against.gain < 0.0
    assert {each.weights for each in against.classes} == {deployed.fuser.weights}
    # That to weigh is better than not to is no difference of classes.
    runs, qrels, table = by_language(0, differ=False)
    fusion = fuse(runs, qrels, by="language", queries=table, method="rrf60", **QUICK)
    assert not fusion.by_class.differ
    assert fusion.standing("pairwise").mean > fusion.standing("rrf60").mean


def test_files_of_classes_are_written_again_unless_somebody_changed_them(tmp_path):
    runs, qrels, table = by_language(0, differ=True)
    fusion = fuse(runs, qrels, by="language", queries=table, method="pairwise", **QUICK)
    place = tmp_path / "pipeline.json"
    first, second = (tmp_path / f"pipeline.json.{name}.opensearch.json" for name in ("1-en", "2-fi"))
    assert {str(first), str(second)} < set(fusion.save(place))
    other = replace(fusion, configuration=replace(fusion.configuration, classes=dict.fromkeys(
        fusion.configuration.classes, "{}\n")))  # fmt: skip
    second.write_text("mine")
    assert str(second) not in (saved := other.save(place))
    assert f"{second}.new" in saved
    assert first.read_text() == "{}\n"
    assert second.read_text() == "mine"
    # Where classes no longer differ, what they had is not taken for what is deployed.
    alone = replace(fusion, configuration=replace(fusion.configuration, classes={}))
    assert alone.outdated(place) == [str(first), str(second)]
    alone.save(place)
    assert not first.exists()
    assert second.read_text() == "mine"
    assert alone.outdated(place) == []


def test_hashes_of_a_stranger_lead_to_no_other_file(tmp_path):
    runs, qrels = made(n_queries=12)
    fusion, place = fuse(runs, qrels, method="equal", **QUICK), tmp_path / "in" / "fusion.json"
    place.parent.mkdir()
    mine = tmp_path / "mine.json"
    mine.write_text("mine")
    fusion.save(place)
    vectors = tmp_path / "in" / "fusion.json.vectors.json"
    digest = hashlib.sha256(b"mine").hexdigest()
    for ending in ("/../../mine.json", "/../mine.json", ".1-a/../../mine.json", "", 5, "\n"):
        vectors.write_text(json.dumps(json.loads(vectors.read_text()) | {"beside_sha256": {ending: digest}}))
        assert fusion.outdated(place) == []
        fusion.save(place)
    assert mine.read_text() == "mine"


def test_a_class_that_searches_other_legs_has_a_query_of_its_own():
    """The weights of a pipeline stand for the clauses of its query, one each."""
    runs, qrels, table = by_language(0, differ=True)
    problem = problem_of(runs, qrels, engine_of("opensearch"))
    fusion = fuse(runs, qrels, by="language", queries=table, method="pairwise", **QUICK)
    english, finnish = fusion.by_class.classes
    classes = (replace(english, weights=(0.0, 1.0)), finnish)
    made_of = with_classes(fusion, problem, replace(fusion.by_class, classes=classes)).configuration
    for ending, content in made_of.classes.items():
        query = json.loads(made_of.beside.get(f"{ending}.query.json", made_of.beside[".query.json"]))
        (processor,) = json.loads(content)["phase_results_processors"]
        weights = processor["normalization-processor"]["combination"]["parameters"]["weights"]
        assert len(query["query"]["hybrid"]["queries"]) == len(weights)


def test_commands_name_the_file_of_each_class():
    runs, qrels, table = by_language(0, differ=True)
    fusion = fuse(runs, qrels, by="language", queries=table, method="pairwise", **QUICK)
    assert "# where language is en: p.json.1-en.opensearch.json in its place" in fusion.commands("p.json")
