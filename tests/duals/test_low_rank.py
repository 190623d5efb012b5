"""The analysis of a RankSVM's dual variables, against matrices of all documents by all documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank import LinearModel, LinrankError, NDCGReduction, RankingDataset, RankSVM, make_ranking
from linrank.duals.low_rank import low_rank
from linrank.estimators.reg_rank_svm import RegRankSVM
from oracles import dense, listed_pairs
from strategies import datasets

DATA, WEIGHTS = make_ranking(12, 30, 6, levels=(0.5, 0.3, 0.2))
MODEL = RankSVM(0.1).fit(DATA.features, DATA.labels, qid=DATA.qid)


def whole_matrices(data, scores, dual):
    """Per query with a pair: a documents x documents matrix, each pair visited (Xu et al., 2018, eq. 7)."""
    matrices = {}
    for i, j, weight in listed_pairs(data):
        if weight > 0.0:
            matrix = matrices.setdefault(data.qid[i], np.zeros((data.n_documents, data.n_documents)))
            matrix[i, j] = weight * dual(scores[i] - scores[j])
    return matrices


@given(datasets(weighted=True), st.sampled_from(["squared_hinge", "hinge"]), st.integers(0, 2**32 - 1))
def test_the_matrices_are_those_of_all_documents(data, loss, seed):
    C = 0.25
    weights = np.random.default_rng(seed).standard_normal(data.n_features)
    model = LinearModel(weights, data.names, parameters={"C": C, "loss": loss}, method="ranksvm")
    scores = dense(data.features) @ weights

    def dual(margin):
        return 2 * C * max(0.0, 1.0 - margin) if loss == "squared_hinge" else C * (margin < 1.0)

    expected = whole_matrices(data, scores, dual)
    if not expected:
        with pytest.raises(LinrankError, match="no query has two documents"):
            low_rank(model, data)
        return
    found = low_rank(model, data)
    assert set(found.query_ids) == set(expected)
    for q, query in enumerate(found.query_ids):
        made = found.matrix(q)
        whole = np.zeros_like(expected[query])
        whole[np.ix_(made.rows, made.columns)] = made.values
        np.testing.assert_allclose(whole, expected[query], atol=1e-6)
        sizes = np.linalg.svd(expected[query], compute_uv=False)[: found.sides[q]]
        np.testing.assert_allclose(found.singular_values[q], sizes, atol=1e-6)


def test_dimensions_are_the_least_that_hold_the_energy():
    found = low_rank(MODEL, DATA)
    for energy in (30.0, 90.0, 99.9):
        for q, k in enumerate(found.dimensions(energy)):
            squares = found.singular_values[q] ** 2
            assert squares[:k].sum() >= energy / 100 * squares.sum()
            assert squares[: k - 1].sum() < energy / 100 * squares.sum()
    np.testing.assert_array_equal(found.dimensions(100.0), found.ranks)
    np.testing.assert_array_equal(found.ranks, [np.linalg.matrix_rank(found.matrix(q).values) for q in range(12)])
    np.testing.assert_array_equal(found.shares(90.0), found.dimensions(90.0) / 30)
    np.testing.assert_array_equal(found.shares(90.0, "side"), found.dimensions(90.0) / found.sides)


def test_the_tables_say_the_same_as_the_numbers():
    found = low_rank(MODEL, DATA)
    table = {row["energy"]: row for row in found.energy_table((90.0, 100.0))}
    assert table[90.0]["dimensions"] == found.dimensions(90.0).mean()
    assert table[100.0]["most_of_side"] == found.shares(100.0, "side").max()
    bars = found.histogram(100.0, "side")
    shares = 100 * found.shares(100.0, "side")
    assert [bar["queries"] for bar in bars] == [
        sum(bar["above"] < share <= bar["up_to"] for share in shares.round(9)) for bar in bars
    ]
    assert sum(bar["queries"] for bar in bars) == 12
    ranks = found.rank_table()
    assert [row["rank"] for row in ranks] == found.ranks.tolist()
    assert [row["pairs"] for row in ranks] == [
        sum(1 for i, _, _ in listed_pairs(DATA) if DATA.qid[i] == query) for query in DATA.queries.ids
    ]
    assert ranks[0]["query"] == str(DATA.queries.ids[0])


def test_a_rank_two_matrix_is_seen_as_one():
    # With tiny weights no pair is beyond the margin, and 1 - s_i + s_j is a sum of two matrices of rank one.
    two_levels, weights = make_ranking(5, 20, 4, levels=(0.6, 0.4))
    found = low_rank(LinearModel(1e-6 * weights, two_levels.names), two_levels)
    assert set(found.ranks) == {2}
    # The hinge then gives C to every pair.
    assert set(low_rank(LinearModel(1e-6 * weights, two_levels.names), two_levels, loss="hinge").ranks) == {1}


def test_the_model_says_which_dual_variables_it_has():
    assert low_rank(MODEL, DATA).source == "squared_hinge: 2 C max(0, 1 - margin), C = 0.1"
    hinge = RankSVM(0.5, loss="hinge").fit(DATA.features, DATA.labels, qid=DATA.qid)
    assert low_rank(hinge, DATA).source == "hinge: C where the margin is below 1, C = 0.5"
    assert low_rank(hinge.to_model(), DATA).source == low_rank(hinge, DATA).source
    assert low_rank(hinge, DATA, loss="squared_hinge").source.startswith("squared_hinge")
    kept = RegRankSVM(0.01, 2.0, keep_dual=True).fit(DATA.features, DATA.labels, qid=DATA.qid)
    found = low_rank(kept, DATA)
    assert found.source == "the dual variables kept in training"
    for q, matrix in enumerate(kept.dual_):
        np.testing.assert_array_equal(found.matrix(q).values, matrix)
    with pytest.raises(LinrankError, match="of other data"):
        low_rank(kept, make_ranking(12, 30, 6, random_state=1)[0])


def test_kept_dual_variables_make_the_weights_whatever_the_order_of_rows():
    order = np.random.default_rng(0).permutation(DATA.n_documents)
    mixed = RankingDataset.from_arrays(DATA.features[order], DATA.labels[order], qid=DATA.qid[order])
    kept = RegRankSVM(0.01, 2.0, keep_dual=True).fit(mixed.features, mixed.labels, qid=mixed.qid)
    found = low_rank(kept, mixed)
    weights = np.zeros(6)
    for q in range(12):
        of_query = found.matrix(q)
        weights += of_query.values.sum(axis=1) @ mixed.features[of_query.rows]
        weights -= of_query.values.sum(axis=0) @ mixed.features[of_query.columns]
    np.testing.assert_allclose(kept.coef_, weights, rtol=1e-9)


def test_columns_are_found_by_name():
    named = RankingDataset.from_arrays(DATA.features, DATA.labels, qid=DATA.qid, feature_names=list("abcdef"))
    model = LinearModel(MODEL.coef_, tuple("abcdef"), parameters={"C": 0.1})
    turned = RankingDataset.from_arrays(DATA.features[:, ::-1], DATA.labels, qid=DATA.qid, feature_names=list("fedcba"))
    for q, sizes in enumerate(low_rank(model, turned).singular_values):
        np.testing.assert_allclose(sizes, low_rank(model, named).singular_values[q], rtol=1e-9, atol=1e-12)


def test_threads_change_nothing():
    one, three = (low_rank(MODEL, DATA, n_threads=n).singular_values for n in (1, 3))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, three, strict=True))


def test_the_picture_is_the_same_every_time(tmp_path):
    pytest.importorskip("matplotlib")
    found = low_rank(MODEL, DATA)
    found.save_picture(tmp_path / "a.svg")
    found.save_picture(tmp_path / "b.svg", energies=(90.0, 100.0))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    found.save_picture(tmp_path / "c.svg", relative_to="side")
    assert (tmp_path / "c.svg").read_bytes() != (tmp_path / "a.svg").read_bytes()
    found.save_picture(tmp_path / "a.png", energies=(50.0,))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(LinrankError, match=r"cannot draw a '.bmp' file; use one of .png, .svg"):
        found.save_picture(tmp_path / "a.bmp")


def test_what_cannot_be_analysed_is_refused():
    with pytest.raises(LinrankError, match="loss='log'"):
        low_rank(MODEL, DATA, loss="log")
    with pytest.raises(LinrankError, match="NDCGReduction has no weights"):
        low_rank(NDCGReduction(), DATA)
    with pytest.raises(LinrankError, match="energy=0"):
        low_rank(MODEL, DATA).dimensions(0)
    with pytest.raises(LinrankError, match="relative_to='rows'"):
        low_rank(MODEL, DATA).shares(90.0, "rows")


def test_documents_pairs_and_sides_are_as_counted(made_letor):
    for name in ("OHSUMED", "MQ2008"):
        (train,) = made_letor.parts(name, 1, "train")
        model = RankSVM(0.001).fit(train)
        expected = []
        for query in train.queries.ids:
            labels = train.labels[train.qid == query]
            pairs = [(i, j) for i, a in enumerate(labels) for j, b in enumerate(labels) if a > b]
            if pairs:
                side = min(len({i for i, _ in pairs}), len({j for _, j in pairs}))
                expected.append((query, len(labels), len(pairs), side))
        columns = ("query", "documents", "pairs", "side")
        assert [tuple(row[column] for column in columns) for row in low_rank(model, train).rank_table()] == expected


def test_the_papers_queries_have_the_papers_documents_and_pairs(real_letor):
    # Table 6: its ranks of RankSVM, 8, 92 and 234, are twice the shorter sides here: it counts both triangles.
    (train,) = real_letor.parts("OHSUMED", 1, "train")
    model = RankSVM(0.001).fit(train.features, train.labels, qid=train.qid)
    rows = {row["query"]: row for row in low_rank(model, train).rank_table()}
    paper = {"49": (109, 420, 8), "45": (205, 7482, 92), "35": (320, 27153, 234)}
    for query, (documents, pairs, rank) in paper.items():
        assert (rows[query]["documents"], rows[query]["pairs"]) == (documents, pairs)
        assert 2 * rows[query]["side"] == rank
