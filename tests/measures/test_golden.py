"""The official scripts of LETOR 3.0, LETOR 4.0 and MSLR, reproduced to the last digit they print."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from letor_like import REAL
from linrank import read
from linrank.measures import MAP, NDCG, Judgements, MeanNDCG, P, evaluate
from oracles_measures import of_query

GOLDEN = Path(__file__).parent / "golden"

pytestmark = pytest.mark.kernels


def read_golden(name):
    rows = [line.split(maxsplit=2) for line in (GOLDEN / f"{name}.txt").read_text().splitlines()]
    judged = Judgements.from_arrays([float(row[0]) for row in rows], qid=[row[1].removeprefix("qid:") for row in rows])
    return np.loadtxt(GOLDEN / f"{name}.pred"), judged


def ours(scores, judged, measures):
    """measure → one value a query, and the mean after them."""
    evaluation = evaluate(scores, judged, measures)
    return {measure: [*evaluation.per_query[measure], evaluation.mean[measure]] for measure in measures}


def by_oracle(scores, judged, measures):
    found = {}
    for measure in measures:
        each = [
            of_query(measure, scores[start:stop].tolist(), judged.labels[start:stop].tolist(), [""] * (stop - start))
            for start, stop in itertools.pairwise(judged.queries.starts.tolist())
        ]
        found[measure] = [*each, sum(each) / len(each)]
    return found


def tables_of_the_scripts(rel):
    """What the scripts of LETOR 4.0 (relevant from grade 1) and of MSLR (from grade 2) print."""
    return [
        [P(rel=rel) @ k for k in range(1, 11)] + [MAP(rel=rel)],
        [NDCG(definition="letor") @ k for k in range(1, 11)] + [MeanNDCG],
    ]


@pytest.mark.parametrize("values_of", [ours, by_oracle], ids=["ours", "oracle"])
@pytest.mark.parametrize(("name", "rel"), [("letor4", 1), ("mslr", 2)])
def test_letor_4_and_mslr_print_the_same(name, rel, values_of):
    scores, judged = read_golden(name)
    printed = []
    for measures in tables_of_the_scripts(rel):
        values = values_of(scores, judged, measures)
        printed.append("qid\t" + "\t".join([*(f"{m.written}@{m.cutoff}" for m in measures[:-1]), measures[-1].written]))
        for query, qid in enumerate([*judged.queries.ids, "Average"]):
            printed.append("\t".join([qid, *(f"{values[m][query]:.4f}" for m in measures)]))
        printed.append("")
    assert printed == (GOLDEN / f"{name}.eval").read_text().splitlines()


@pytest.mark.parametrize(
    ("name", "file"),
    [("OHSUMED", "Fold1/test.txt"), ("MQ2008", "Fold1/test.txt"), ("LightGBM-lambdarank", "rank.train")],
    ids=["OHSUMED", "MQ2008", "LightGBM"],
)
def test_letor_data_has_the_figures_of_the_scripts(made_letor, name, file):
    data = read(made_letor.path(name, file))
    # A feature of the text, coarse enough for ties.
    scores = np.round(data.features[:, [24]].toarray()[:, 0] if data.is_sparse else data.features[:, 24], 1)
    for measures in (*tables_of_the_scripts(rel=1), *tables_of_the_scripts(rel=2)):
        found, expected = ours(scores, data, measures), by_oracle(scores, data, measures)
        for measure in measures:
            np.testing.assert_allclose(found[measure], expected[measure], rtol=0, atol=1e-12, err_msg=str(measure))


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
    originals = REAL.folder.with_name("golden")
    if not originals.is_dir():
        pytest.skip("the originals of the golden files are not beside the project")
    for original in originals.iterdir():
        assert (GOLDEN / original.name).read_bytes() == original.read_bytes(), original.name
