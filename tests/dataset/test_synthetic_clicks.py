"""Generated clicks have the shape asked for, and labels that the known weights explain."""

import numpy as np
import pytest

from linrank import LinrankError
from linrank.dataset.synthetic_clicks import make_clicks
from linrank.measures import evaluate


def test_sizes_are_as_asked_and_every_value_is_one():
    data, weights = make_clicks(1001, 3000, n_queries=2, nonzero=12.0)
    assert (data.n_documents, data.n_features, data.n_queries) == (1001, 3000, 2)
    assert data.queries.sizes.tolist() == [501, 500]
    assert weights.shape == (3000,)
    assert set(data.features.data) == {1.0}
    assert data.features.nnz / 1001 == pytest.approx(12.0, rel=0.05)


def test_labels_are_shares_of_few_views_or_of_many():
    few, _ = make_clicks(5000, 100, nonzero=5.0, views=1.0, views_spread=0.0, click_rate=0.04, effect=0.0)
    assert set(few.labels) == {0.0, 1.0}
    assert few.labels.mean() == pytest.approx(0.04, abs=0.01)
    many, _ = make_clicks(5000, 100, nonzero=5.0, views=1e5, views_spread=1.0)
    assert len(np.unique(many.labels)) > 4500
    assert 0.0 < many.labels.min() < many.labels.max() < 1.0


def test_the_known_weights_rank_and_without_effect_nothing_does():
    for effect, least, most in ((1.0, 0.7, 1.0), (0.0, 0.45, 0.55)):
        data, weights = make_clicks(2000, 500, nonzero=8.0, effect=effect)
        (share,) = evaluate(data.features @ weights, data, ["pairwise_accuracy"]).mean.values()
        assert least < share < most


def test_a_seed_gives_the_same_data_again():
    one, two, other = (make_clicks(50, 100, nonzero=3.0, random_state=seed)[0] for seed in (1, 1, 2))
    assert one.fingerprint() == two.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    "wrong",
    [{"n_rows": 0}, {"n_queries": 11}, {"nonzero": 0.5}, {"nonzero": 21.0}, {"click_rate": 0.0}, {"views": 0.5}],
)
def test_what_cannot_be_made_is_refused(wrong):
    with pytest.raises(LinrankError, match=f"{next(iter(wrong))}="):
        make_clicks(**{"n_rows": 10, "n_features": 20, "nonzero": 3.0, **wrong})
