"""Every normaliser is its engine's arithmetic, to the bit, with lone hits, ties and legs that bring nothing."""

import math
from itertools import pairwise

import numpy as np
import pytest

from fusing_cases import engine_of
from linrank.fusing.normalisers import L2, AsGiven, Bounded, MinMax, ZScore

F = np.float32


def queries(rng):
    """Hits of several queries: many, one, none, all equal, a tie for the least, hardly different and tiny ones."""
    lists = [rng.gamma(2.0, 3.0, 30), [7.25], [], [2.5, 2.5, 2.5], [9.0, 4.0, 1.0, 1.0], [1.0, 1.0 - 1e-7], [0.0, 0.0]]
    # Whose squares are 0 in float32.
    lists += [[3e-25, 1e-25]]
    return [np.sort(np.asarray(each, dtype=np.float32))[::-1] for each in lists]


def normalised(normaliser, lists, dtype=np.float32):
    starts = np.append(0, np.cumsum([len(each) for each in lists])).astype(np.int64)
    flat = np.concatenate(lists).astype(dtype)
    before = flat.copy()
    made = normaliser.of(flat, starts)
    np.testing.assert_array_equal(flat, before)
    assert made.dtype == dtype
    return [made[a:b] for a, b in pairwise(starts)]


def opensearch_min_max(scores):
    least, most = min(scores), max(scores)
    if least == most:
        return [F(1.0)] * len(scores)
    made = [(score - least) / (most - least) for score in scores]
    return [F(0.001) if score == 0 else score for score in made]


def elasticsearch_minmax(scores):
    least, most = min(scores), max(scores)
    if abs(least - most) < F(1e-6):
        return [F(1.0)] * len(scores)
    return [(score - least) / (most - least) for score in scores]


def weaviate_relative(scores):
    least, most = min(scores), max(scores)
    return [F(1.0) if least == most else (score - least) / (most - least) for score in scores]


def opensearch_l2(scores):
    total = F(0.0)
    for score in scores:
        total = total + score * score
    length = F(math.sqrt(total))
    return [F(0.0) if length == 0 else score / length for score in scores]


def elasticsearch_l2(scores):
    length = math.sqrt(sum(float(score * score) for score in scores))
    return [score if length < 1e-6 else F(float(score) / length) for score in scores]


def opensearch_z_score(scores):
    n = len(scores)
    rough = sum(map(float, scores)) / n
    mean = rough + sum(float(score) - rough for score in scores) / n
    squares = sum((float(score) - mean) ** 2 for score in scores) - sum(float(s) - mean for s in scores) ** 2 / n
    spread = F(math.sqrt(squares / (n - 1))) if n > 1 else F(0.0)
    mean, made = F(mean), []
    for score in scores:
        if score == mean:
            made.append(max(scores))
        elif spread == 0:
            made.append(min(scores))
        else:
            z = (score - mean) / spread
            made.append(F(0.001) if z <= 0 else z)
    return made


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("engine", "normaliser", "oracle"),
    [
        ("opensearch", "min_max", opensearch_min_max),
        ("opensearch", "l2", opensearch_l2),
        ("opensearch", "z_score", opensearch_z_score),
        ("elasticsearch", "minmax", elasticsearch_minmax),
        ("elasticsearch", "l2_norm", elasticsearch_l2),
        ("weaviate", "relative", weaviate_relative),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_engines_arithmetic_to_the_bit(engine, normaliser, oracle, seed):
    lists = queries(np.random.default_rng(seed))
    rule = engine_of(engine, normaliser).rule(0)
    for scores, made in zip(lists, normalised(rule, lists), strict=True):
        wanted = np.array(oracle(list(scores)) if len(scores) else [], dtype=np.float32)
        np.testing.assert_array_equal(made, wanted, err_msg=f"{normaliser} of {scores}")


def test_a_lone_hit_is_one_unless_by_its_z_score():
    """A lone hit of BM25 beside legs between 0 and 1: by z_score alone, it outweighs everything."""
    lone = [np.array([12.5], dtype=np.float32)]
    assert normalised(MinMax(floor=0.001), lone)[0] == 1.0
    assert normalised(MinMax("minmax", closeness=1e-6), lone)[0] == 1.0
    assert normalised(ZScore(), lone)[0] == 12.5
    assert normalised(L2(), lone)[0] == 1.0


def test_scores_whose_squares_underflow_are_0_in_opensearch_and_raw_in_elasticsearch():
    tiny = [np.array([3e-25, 1e-25], dtype=np.float32)]
    np.testing.assert_array_equal(normalised(engine_of("opensearch", "l2").rule(0), tiny)[0], [0.0, 0.0])
    np.testing.assert_array_equal(normalised(engine_of("elasticsearch", "l2_norm").rule(0), tiny)[0], tiny[0])


def test_the_least_hit_is_told_from_a_document_that_is_missing_in_opensearch_alone():
    hits = [np.array([3.0, 2.0, 1.0], dtype=np.float32)]
    assert normalised(MinMax(floor=0.001), hits)[0][-1] == F(0.001)
    assert normalised(MinMax(), hits)[0][-1] == 0.0


@pytest.mark.parametrize(
    ("metric", "score", "wanted"),
    [
        ("BM25", 3.0, 2.0 * math.atan(3.0) / math.pi),
        ("IP", -0.5, 0.5 + math.atan(-0.5) / math.pi),
        ("COSINE", 0.25, 0.625),
        ("L2", -2.0, 1.0 - 2.0 * math.atan(2.0) / math.pi),
    ],
)
def test_milvus_bounds_scores_by_their_metric(metric, score, wanted):
    assert normalised(Bounded(metric), [np.array([score])], np.float64)[0][0] == pytest.approx(wanted, rel=1e-15)


@pytest.mark.kernels
@pytest.mark.parametrize("normaliser", [MinMax(floor=0.001), MinMax(), L2(), ZScore(), AsGiven()], ids=str)
def test_queries_do_not_touch_each_other(normaliser):
    lists = queries(np.random.default_rng(3))
    together = normalised(normaliser, lists)
    for scores, made in zip(lists, together, strict=True):
        np.testing.assert_array_equal(normalised(normaliser, [scores])[0], made)
