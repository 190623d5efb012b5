"""Folds and splits go by the queries' ids: not by the order of rows, the kind of the ids or the process."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank import QueryKFold, RankingDataset, make_ranking
from linrank.dataset.queries import Queries
from linrank.experiments.folds import Part, dealt_folds
from linrank.experiments.weight_intervals import weight_resamples


def shuffled(data, seed=0):
    """The same documents, all rows in another order."""
    order = np.random.default_rng(seed).permutation(data.n_documents)
    return RankingDataset.from_arrays(data.features[order], data.labels[order], qid=data.qid[order])


def part_by_id(ids, n_parts=3, seed=0):
    queries = Queries.from_ids(ids)
    return dict(zip(map(str, queries.ids.tolist()), queries.dealt(n_parts, seed).tolist(), strict=True))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=60, unique=True), st.integers(1, 9), st.integers(0, 5))
def test_parts_differ_by_one_query_at_most_and_follow_the_ids(ids, n_parts, seed):
    sizes = np.bincount(Queries.from_ids(ids).dealt(n_parts, seed), minlength=n_parts)
    assert sizes.sum() == len(ids)
    assert sizes.max() - sizes.min() <= 1
    assert part_by_id(ids, n_parts, seed) == part_by_id(ids[::-1], n_parts, seed)


@pytest.mark.parametrize(
    "as_kind",
    [str, float, np.int32, np.uint64, np.float32, lambda i: str(i).encode(), np.str_],
    ids=["text", "float", "int32", "uint64", "float32", "bytes", "numpy text"],
)
def test_a_number_is_dealt_as_its_text_is(as_kind):
    plain = Queries.from_ids(list(range(20))).dealt(4, 0)
    assert np.array_equal(Queries.from_ids([as_kind(i) for i in range(20)]).dealt(4, 0), plain)
    assert np.array_equal(Queries.from_ids(np.array([as_kind(i) for i in range(20)], dtype=object)).dealt(4, 0), plain)


def test_the_same_on_every_machine():
    assert Queries.from_ids(list("abcdefgh")).drawn(0).tolist() == [3, 4, 7, 5, 6, 1, 0, 2]


def test_another_seed_deals_otherwise():
    ids = [f"q{i}" for i in range(50)]
    assert part_by_id(ids, seed=0) != part_by_id(ids, seed=1)


def test_one_more_query_moves_few_of_the_others():
    few, more = (part_by_id(range(n), 5) for n in (100, 101))
    assert sum(few[name] != more[name] for name in few) <= 4


def sets_of(parts):
    return [frozenset(part.queries.ids.tolist()) for part in parts]


@pytest.mark.parametrize(
    "parts",
    [
        lambda data: sets_of(data.split(0.6, 0.2, 0.2)),
        lambda data: [sets_of(pair) for pair in data.folds(4, 1)],
        lambda data: [
            sets_of(part.load() for part in fold.parts().values()) for fold in dealt_folds(Part("", data=data))
        ],
        lambda data: [
            frozenset(data.qid[test].tolist()) for _, test in QueryKFold(3).split(data.features, qid=data.qid)
        ],
        lambda data: weight_resamples(lambda part: np.sort(part.labels), data, 3, 0).tolist(),
    ],
    ids=["split", "folds", "compare", "QueryKFold", "weight_intervals"],
)
def test_whatever_is_drawn_is_drawn_by_id(parts):
    data, _ = make_ranking(23, 5, 2)
    assert parts(data) == parts(shuffled(data))
