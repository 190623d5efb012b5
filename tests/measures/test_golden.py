"""The official scripts of LETOR 3.0, LETOR 4.0 and MSLR, reproduced to the last digit they print."""

from pathlib import Path

import numpy as np
import pytest

from linrank.measures import MAP, NDCG, Judgements, MeanNDCG, P, evaluate

GOLDEN = Path(__file__).parent / "golden"

pytestmark = pytest.mark.kernels


def read_golden(name):
    rows = [line.split(maxsplit=2) for line in (GOLDEN / f"{name}.txt").read_text().splitlines()]
    judged = Judgements.from_arrays([float(row[0]) for row in rows], qid=[row[1].removeprefix("qid:") for row in rows])
    return np.loadtxt(GOLDEN / f"{name}.pred"), judged


@pytest.mark.parametrize(("name", "rel"), [("letor4", 1), ("mslr", 2)])
def test_letor_4_and_mslr_print_the_same(name, rel):
    scores, judged = read_golden(name)
    tables = [
        [P(rel=rel) @ k for k in range(1, 11)] + [MAP(rel=rel)],
        [NDCG(definition="letor") @ k for k in range(1, 11)] + [MeanNDCG],
    ]
    printed = []
    for measures in tables:
        evaluation = evaluate(scores, judged, measures)
        printed.append("qid\t" + "\t".join([*(f"{m.written}@{m.cutoff}" for m in measures[:-1]), measures[-1].written]))
        for query, qid in enumerate(judged.queries.ids):
            printed.append("\t".join([qid, *(f"{evaluation.per_query[m][query]:.4f}" for m in measures)]))
        printed += ["\t".join(["Average", *(f"{evaluation.mean[m]:.4f}" for m in measures)]), ""]
    assert printed == (GOLDEN / f"{name}.eval").read_text().splitlines()


def test_letor_3_prints_the_same_fifteen_digits():
    scores, judged = read_golden("letor3")
    n_positions = 16
    families = [("precision", P(definition="letor3")), ("NDCG", NDCG(definition="letor"))]
    lines = {}
    for title, family in families:
        evaluation = evaluate(scores, judged, [family @ k for k in range(1, n_positions + 1)])
        for query, size in enumerate(judged.queries.sizes):
            values = [evaluation.per_query[family @ k][query] for k in range(1, min(size, n_positions) + 1)]
            lines[f"{title} of query{query}"] = [f"{value:.15g}" for value in values]
        lines[title] = [f"{mean:.15g}" for mean in evaluation.mean.values()]
    for query, value in enumerate(MAP.per_query(scores, judged)):
        lines[f"Map of query{query}"] = [f"{value:.15g}"]
    lines["MAP"] = [f"{MAP.mean(scores, judged):.15g}"]
    official = [line.split(":") for line in (GOLDEN / "letor3.eval").read_text().splitlines() if line]
    assert lines == {title: values.split() for title, values in official}


def test_the_copies_are_the_originals():
    originals = Path(__file__).resolve().parents[2].parent / "shared" / "golden"
    if not originals.is_dir():
        pytest.skip("the originals of the golden files are not beside the project")
    for original in originals.iterdir():
        assert (GOLDEN / original.name).read_bytes() == original.read_bytes(), original.name
