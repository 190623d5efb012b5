"""A constant added to a feature within a query changes no order: so it changes no weight, however large it is."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linrank import RankingDataset, RankSVM, make_ranking, save_dataset
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.dataset.query_offsets import without_offsets
from linrank.dataset.varying import variation_of
from linrank.estimators.catalogue import METHODS
from linrank.estimators.linear_svr import LinearSVRRanker
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from on_workers import CLOSED_LATER, OnSome

MADE, _ = make_ranking(30, 20, 5)
# Digits enough for offsets up to 1e9 to be added without rounding.
X, Y, QID = np.round(MADE.features * 4096) / 4096, MADE.labels, MADE.qid
BY_QUERY = np.random.default_rng(0).integers(1, 2**30, 30)[np.unique(QID, return_inverse=True)[1]]
OFFSETS = {
    "one column": np.array([0, 0, 2.0**30, 0, 0]),
    "all columns": np.full(5, -(2.0**29)),
    "by query": np.outer(BY_QUERY, [0, 1.0, 0, 0, 0]),
}
FORMS = {"dense": np.asarray, "float32": np.float32, "sparse": sparse.csr_array}


def quiet(ranker, features):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "the penalty compares weights")
        return ranker.fit(features, Y, qid=QID)


def block_of(features, **more):
    (block,) = cut_into_blocks(RankingDataset.from_arrays(features, Y, qid=QID, **more))
    return block


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_hardly_vary_are_found_and_taken_less_a_document_of_their_query(form):
    whole = np.round(16 * X) % 64
    columns = np.column_stack([whole[:, 0], whole[:, 1] + 2**20, np.full(600, 7.0), whole[:, 2] - 2**21])
    block = block_of(FORMS[form](columns))
    found = variation_of([block], 4, ties=True)
    assert found.idle.tolist() == [2]
    assert found.far.tolist() == [1, 3]
    taken = np.asarray(without_offsets(block, found.far).features.to_dense())
    first = np.repeat(columns[::20], 20, axis=0)
    np.testing.assert_array_equal(taken, columns - first * [0, 1, 0, 1])


def test_a_query_in_which_some_documents_lack_the_feature_is_left_alone():
    rows = sparse.csr_array([[1e9, 1.0], [1e9 + 1, 0.0], [0.0, 1.0], [1e9, 1.0]])
    (block,) = cut_into_blocks(RankingDataset.from_arrays(rows, [1, 0, 1, 0], qid=[1, 1, 2, 2]))
    taken = without_offsets(block, np.array([0])).features
    np.testing.assert_array_equal(taken.to_dense(), [[0, 1], [1, 0], [0, 1], [1e9, 1]])
    assert variation_of([block], 2, ties=True).far.tolist() == []


def test_what_is_taken_off_is_of_a_document_that_counts():
    rows = np.array([[5.0], [1e9], [1e9 + 2]])
    data = RankingDataset.from_arrays(rows, [0, 1, 2], qid=[1, 1, 1], document_weights=[0.0, 1.0, 1.0])
    (block,) = cut_into_blocks(data)
    assert variation_of([block], 1, ties=True).far.tolist() == [0]
    assert without_offsets(block, np.array([0])).features.to_dense().ravel().tolist() == [5 - 1e9, 0, 2]


def test_data_without_such_columns_is_not_touched():
    with Threads(1) as executor:
        data = PlacedData.of(MADE, executor)
        assert RankingObjective(SquaredHinge(), L2(), 1.0, data).data is data


COMPARING = [
    name
    for name, method in METHODS.items()
    if method.linear
    and method.is_installed
    and not issubclass(method.load(), LinearSVRRanker)
    and "trees" not in name
    # What a curve makes of a value goes by the values of all queries.
    and not method.load()().shapes_features
]


@pytest.mark.parametrize("offsets", OFFSETS)
@pytest.mark.parametrize("name", COMPARING)
def test_no_ranker_that_compares_documents_minds(name, offsets):
    settings = {key: value for key, value in METHODS[name].settings.items() if key != "patience"}
    short = {"max_iter": 20, "steps": 2000, "passes": 1, "learning_rate": 1e-4}
    one, other = (METHODS[name].load()(**settings) for _ in range(2))
    for ranker in (one, other):
        ranker.set_params(**{key: value for key, value in short.items() if key in ranker.get_params()})
    quiet(one, X)
    quiet(other, X + OFFSETS[offsets])
    if name == "fac-ranksvm":
        # Its vectors are drawn by what is in the rows.
        assert np.abs(other.coef_ - one.coef_).max() <= 0.2 * np.abs(one.coef_).max()
        assert other.gap_ == pytest.approx(one.gap_, rel=0.3)
        return
    if name in ("sparserank", "mcprank"):
        # How far the first step goes depends on which document of a query is at zero.
        assert other.objective_ == pytest.approx(one.objective_, rel=1e-3)
        return
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-3 * np.abs(one.coef_).max())


def test_the_minimum_is_found_whatever_the_solver():
    plain = RankSVM(tol=1e-9).fit(X, Y, qid=QID)
    for solver in ("newton", "tron", "proximal-newton", "proximal-gradient"):
        for offsets in OFFSETS.values():
            ranker = RankSVM(solver=solver).fit(X + offsets, Y, qid=QID)
            assert ranker.solution_.converged
            assert ranker.objective_ == pytest.approx(plain.objective_, rel=1e-4)
            assert ranker.objective_ - ranker.gap_ <= plain.objective_


@pytest.mark.usefixtures("client")
class TestOnWorkers:
    pytestmark = CLOSED_LATER

    def test_they_have_the_bits_of_one_process(self, client, tmp_path):
        far = X + np.array([0, 0, 2.0**20, 0, 0])
        for form, made in FORMS.items():
            data = RankingDataset.from_arrays(made(far), Y, qid=QID)
            save_dataset(data, tmp_path / f"{form}.linrank")
            here = RankSVM(tol=1e-9).fit(data)
            for n_workers in (1, 2):
                there = RankSVM(tol=1e-9, executor=OnSome(client, n_workers)).fit(tmp_path / f"{form}.linrank")
                np.testing.assert_array_equal(there.coef_, here.coef_)
