"""The figures that are known of the LETOR-like data, found again in the slowest, plainest way from the text alone."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from letor_like import write_letor_like
from linrank import read
from linrank.dataset.scaling import fit_scaling

SETS = {"OHSUMED": "Fold1/train.txt", "MQ2008": "Fold1/train.txt", "LightGBM-lambdarank": "rank.train"}


def queries_of(path):
    """For each query, its documents as (label, {feature: value})."""
    sizes = path.with_name(f"{path.name}.query")
    ids = [i for i, size in enumerate(sizes.read_text().split()) for _ in range(int(size))] if sizes.exists() else None
    queries = {}
    for number, line in enumerate(path.read_text().splitlines()):
        label, *words = line.partition("#")[0].split()
        query = words.pop(0) if ids is None else ids[number]
        row = {int(word.partition(":")[0]): float(word.partition(":")[2]) for word in words}
        queries.setdefault(query, []).append((int(label), row))
    return list(queries.values())


def pairs_of(query):
    return [(above[1], below[1]) for above, below in itertools.product(query, query) if above[0] > below[0]]


@pytest.mark.parametrize("name", SETS)
def test_the_counts_are_those_of_the_text(letor, name):
    queries, known = queries_of(letor.path(name, SETS[name])), letor.known[name]
    documents = [row for query in queries for _, row in query]
    assert (len(queries), len(documents), max(map(max, documents))) == (
        known.n_queries,
        known.n_documents,
        known.n_features,
    )
    assert (
        sum(above > below for query in queries for (above, _), (below, _) in itertools.product(query, query))
        == known.n_pairs
    )


def least_value(differences):
    """The least of w.w / 2 + sum max(0, 1 - d.w) ** 2: Newton steps with the whole Hessian, halved until it falls."""

    def value(weights):
        return 0.5 * weights @ weights + (np.maximum(0.0, 1.0 - differences @ weights) ** 2).sum()

    weights = np.zeros(differences.shape[1])
    while True:
        short = np.maximum(0.0, 1.0 - differences @ weights)
        gradient = weights - 2.0 * differences.T @ short
        inside = differences[short > 0.0]
        step = np.linalg.solve(np.eye(len(weights)) + 2.0 * inside.T @ inside, gradient)
        while value(weights - step) > value(weights) and np.abs(step).max() > 1e-14:
            step *= 0.5
        if np.abs(step).max() <= 1e-12:
            return value(weights)
        weights = weights - step


@pytest.mark.parametrize("name", SETS)
def test_the_least_value_is_that_of_all_pairs_listed(made_letor, name):
    known, rows = made_letor.known[name], []
    for above, below in itertools.chain(*map(pairs_of, queries_of(made_letor.path(name, SETS[name])))):
        rows.append([above.get(j, 0.0) - below.get(j, 0.0) for j in range(1, known.n_features + 1)])
    # BLAS's own threads wait for each other where cores are few.
    with threadpool_limits(1):
        assert least_value(np.array(rows)) == pytest.approx(known.least_value, rel=1e-11)


def test_the_files_are_the_same_each_time(made_letor, tmp_path):
    again = write_letor_like(tmp_path / "again").folder
    files = sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert len(files) == 3 * 15 + 2
    for file in files:
        assert (again / file).read_bytes() == (made_letor.folder / file).read_bytes(), file


@pytest.mark.parametrize(
    ("name", "line_end", "of_query_alone", "empty", "short"),
    [
        ("OHSUMED", b"", ("5", "6", "7", "20", "21", "22", "35", "36", "37"), 0.0, 0.0),
        ("MQ2008", b"\r", ("6", "7", "8", "9", "10", "43"), 0.3, 0.5),
    ],
    ids=["OHSUMED", "MQ2008"],
)
def test_the_made_sets_have_the_oddities_of_the_real_ones(letor, name, line_end, of_query_alone, empty, short):
    for line in letor.path(name, "Fold1", "train.txt").read_bytes().removesuffix(b"\n").split(b"\n"):
        assert line.removesuffix(line_end) == line.rstrip()
        assert b" #docid = " in line
    train, vali, test = letor.parts(name, 1, "train", "vali", "test")
    summary = train.describe()
    assert summary.constant_features == of_query_alone
    assert sorted(summary.label_histogram) == [0.0, 1.0, 2.0]
    assert (train.features.min(), train.features.max()) == (0.0, 1.0)
    best = np.maximum.reduceat(train.labels, train.queries.starts[:-1])
    assert np.mean(best == 0.0) == pytest.approx(empty, abs=0.05)
    assert np.mean(train.queries.sizes < 10) == pytest.approx(short, abs=0.05)
    ids = [str(query) for part in (train, vali, test) for query in part.queries.ids]
    assert len(set(ids)) == len(ids)
    (after,) = letor.parts(name, 2, "test")
    assert set(map(str, after.queries.ids)) < set(map(str, train.queries.ids))


def test_letors_recipe_leads_from_the_null_set_to_the_scaled_one(made_letor):
    for fold in range(1, 6):
        path = made_letor.path("MQ2008-null", f"Fold{fold}", "vali.txt")
        (scaled,) = made_letor.parts("MQ2008", fold, "vali")
        assert b":NULL " in path.read_bytes()
        data = read(path, missing="query_min")
        np.testing.assert_array_equal(data.qid, scaled.qid)
        made = fit_scaling("query", data).apply(data.features, data.queries)
        np.testing.assert_allclose(made, scaled.features, rtol=0, atol=5.1e-7)


def test_nothing_else_here_reaches_outside_the_repository():
    tests = Path(__file__).parent
    outside = re.compile(r"""["']shared["']|\.\./shared/""")
    found = {str(path.relative_to(tests)) for path in tests.rglob("*.py") if outside.search(path.read_text())}
    assert found == {"letor_like.py"}
