"""The candidates are the union of what the legs bring at a depth, whatever order the hits are given in."""

import json

import numpy as np
import pytest

from fusing_cases import awkward, engine_of, made, problem_of
from linrank import LinrankError
from linrank.fusing.candidates import Candidates, Leg
from linrank.fusing.legs import read_legs


def union_of(runs, depth):
    """{query: {document: {leg: (rank, score)}}}, in the plainest way."""
    found = {}
    for name, run in runs.items():
        for query, hits in run.items():
            best = sorted(hits.items(), key=lambda hit: -hit[1])[:depth]
            for rank, (document, score) in enumerate(best, start=1):
                found.setdefault(query, {}).setdefault(document, {})[name] = (rank, score)
    return found


@pytest.mark.kernels
@pytest.mark.parametrize("depth", [1, 3, 100])
@pytest.mark.parametrize("seed", range(4))
def test_they_are_the_union_of_the_legs(depth, seed):
    names = ("a", "b", "c")
    runs, _ = awkward(np.random.default_rng(seed), names)
    legs = read_legs(runs)
    candidates = Candidates.of(legs.legs, legs.query_ids, legs.document_ids, depth)
    oracle, ranks = union_of(runs, depth), candidates.ranks()
    for query, qid in enumerate(legs.query_ids):
        rows = range(candidates.starts[query], candidates.starts[query + 1])
        documents = [legs.document_ids[candidates.documents[row]] for row in rows]
        assert documents == sorted(oracle.get(qid, {}))
        for row, document in zip(rows, documents, strict=True):
            wanted = [oracle[qid][document].get(name, (0, 0.0))[0] for name in names]
            assert ranks[row].tolist() == wanted


@pytest.mark.parametrize("engine", ["opensearch", "sql", "vespa"])
def test_the_order_of_hits_and_of_legs_makes_no_difference(engine):
    runs, qrels = made(n_queries=6)
    target = engine_of(engine)
    straight = problem_of(runs, qrels, target, depth=10)
    rng = np.random.default_rng(0)

    def shuffled(hits):
        keys = list(hits)
        return {keys[place]: hits[keys[place]] for place in rng.permutation(len(keys))}

    turned = {name: {q: shuffled(hits) for q, hits in shuffled(run).items()} for name, run in reversed(runs.items())}
    other = problem_of(turned, qrels, target, depth=10)
    np.testing.assert_array_equal(straight.matrix, other.matrix[:, ::-1])
    np.testing.assert_array_equal(straight.labels, other.labels)


def test_a_document_twice_in_a_leg_is_refused():
    leg = Leg.of("a", [0, 0, 0], [1, 0, 1], [3.0, 2.0, 1.0], 1)
    other = Leg.of("b", [0], [1], [3.0], 1)
    for legs in ((leg,), (other, leg)):
        with pytest.raises(LinrankError, match=r"leg 'a' brings document 'y' twice for query 'q'"):
            Candidates.of(legs, ["q"], ["x", "y"], 10)


def test_runs_tables_and_responses_say_the_same(tmp_path):
    runs, _ = made(n_queries=3)
    rows = [(q, d, leg, s) for leg, run in runs.items() for q, hits in run.items() for d, s in hits.items()]
    (tmp_path / "hits.csv").write_text(
        "query,document,leg,score\n" + "".join(f"{q},{d},{g},{s!r}\n" for q, d, g, s in rows)
    )
    files = []
    for name, run in runs.items():
        files.append(tmp_path / f"{name}.run")
        lines = (f"{q} Q0 {d} 1 {s!r} {name}\n" for q, hits in run.items() for d, s in hits.items())
        files[-1].write_text("".join(lines))
    responses = {}
    for name, run in runs.items():
        responses[name] = tmp_path / f"{name}.jsonl"
        answers = (
            {"qid": q, "response": {"hits": {"hits": [{"_id": d, "_score": s} for d, s in hits.items()]}}}
            for q, hits in run.items()
        )
        responses[name].write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    columns = dict(zip(("query", "document", "leg", "score"), map(list, zip(*rows, strict=True)), strict=True))
    wanted = read_legs(runs)
    for given in (tmp_path / "hits.csv", [tmp_path / "hits.csv"], files, responses, columns):
        legs = read_legs(given)
        assert legs.query_ids == wanted.query_ids
        assert legs.document_ids == wanted.document_ids
        for leg, other in zip(legs.legs, wanted.legs, strict=True):
            assert leg.name == other.name
            np.testing.assert_array_equal(leg.documents, other.documents)
            np.testing.assert_array_equal(leg.scores, other.scores)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("query,document,score\nq1,d1,2\n", "has the columns query, document, leg and score"),
        ("query,document,leg,score\nq1,d1,a,high\n", "hits.csv:2: score is 'high', and no finite number"),
        ("query,document,leg,score\nq1,d1,a\n", "3 fields instead of 4"),
        ("query,leg,score\nq1,a,2\n", "there is no column document"),
    ],
)
def test_tables_that_cannot_be_read_say_why(tmp_path, text, said):
    (tmp_path / "hits.csv").write_text(text)
    with pytest.raises(LinrankError, match=said):
        read_legs(tmp_path / "hits.csv")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"response": {"hits": {"hits": []}}}', "there is no query or no list of hits"),
        ('{"qid": "q1", "response": {}}', "there is no query or no list of hits"),
        (
            '{"qid": "q1", "response": {"hits": {"hits": [{"_id": "a"}]}}}',
            "is no hit with an id of its own and a score",
        ),
        ('{"qid": 1, "points": []}\n{"qid": "1", "points": []}', "was answered before"),
    ],
)
def test_responses_that_cannot_be_read_say_why(tmp_path, line, said):
    (tmp_path / "a.jsonl").write_text(line + "\n")
    with pytest.raises(LinrankError, match=said):
        read_legs([tmp_path / "a.jsonl"])
