"""Rankers and models in PyTerrier's learning to rank: the way it calls them, and itself where it is installed."""

import warnings

import numpy as np
import pandas as pd
import pytest

import linrank
from linrank import GDM, LinrankError, RankSVM, RankSVMCV, WithoutValidation, make_ranking
from linrank.estimators.catalogue import METHODS

LINEAR = sorted({method.class_name for method in METHODS.values() if method.linear})
SETTINGS = {"FacRankSVM": {"max_iter": 5}, "RegRankSVM": {"max_iter": 5}}


# PyTerrier's own calls of pandas, which has come to dislike them.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture(scope="module")
def data():
    return make_ranking(12, 8, 5, random_state=0)[0]


def as_pyterrier_calls(learner, data):
    """`fit` with the arguments of `LTRTransformer.fit` of PyTerrier 1.1."""
    sizes = data.queries.sizes
    learner.fit(
        data.features,
        data.labels.astype(np.int64),
        group=sizes,
        eval_set=[(data.features, data.labels.astype(np.int64))],
        eval_group=[sizes],
    )
    return learner


@pytest.mark.parametrize("name", LINEAR)
def test_every_linear_ranker_is_trained_the_way_pyterrier_calls(name, data):
    make = lambda: getattr(linrank, name)(**SETTINGS.get(name, {}))  # noqa: E731
    with warnings.catch_warnings():
        # Few rounds need not converge.
        warnings.simplefilter("ignore")
        by_hand = make().fit(data, eval_set=data) if make().watches else make().fit(data)
        learner = as_pyterrier_calls(make() if make().watches else WithoutValidation(make()), data)
    np.testing.assert_array_equal(learner.predict(data.features), by_hand.predict(data.features))
    assert not hasattr(learner, "feature_importances_")


def test_without_the_wrapper_a_ranker_that_watches_nothing_says_so(data):
    with pytest.raises(LinrankError, match="watches no eval_set"):
        as_pyterrier_calls(GDM(), data)
    assert repr(WithoutValidation(GDM())) == "WithoutValidation(GDM())"


def test_a_choice_is_made_on_pyterriers_validation_topics(data):
    chosen = as_pyterrier_calls(RankSVMCV(Cs=[0.01, 1.0]), data)
    by_hand = RankSVMCV(Cs=[0.01, 1.0]).fit(data, eval_set=data)
    assert chosen.C_ == by_hand.C_


@pytest.fixture(scope="module")
def frames(data):
    """Topics, their results with features, and qrels, as PyTerrier has them."""
    qid = [f"q{int(query):02}" for query in data.qid]
    docno = [f"d{row}" for row in range(len(qid))]
    results = pd.DataFrame({"qid": qid, "query": qid, "docno": docno, "score": 0.0, "rank": 0})
    results["features"] = list(data.features)
    qrels = pd.DataFrame({"qid": qid, "docno": docno, "label": data.labels.astype(int)})
    # Documents that nobody judged are of label 0 to PyTerrier.
    return results.sample(frac=1, random_state=0), qrels[qrels["label"] > 0]


@pytest.fixture(scope="module")
def pt():
    return pytest.importorskip("pyterrier", reason="PyTerrier is not installed: pip install python-terrier")


@pytest.mark.parametrize("learner", [RankSVM(), WithoutValidation(GDM()), RankSVMCV(Cs=[0.01, 1.0])], ids=str)
def test_pyterrier_trains_and_ranks(pt, learner, data, frames):
    results, qrels = frames
    topics = results[["qid", "query"]].drop_duplicates()
    pipeline = pt.Transformer.from_df(results) >> pt.ltr.apply_learned_model(learner, form="ltr")
    pipeline.fit(topics, qrels, topics, qrels)
    ranked = pipeline.transform(topics).set_index("docno").loc[[f"d{row}" for row in range(data.n_documents)]]
    np.testing.assert_array_equal(ranked["score"], learner.predict(data.features))
    assert np.corrcoef(ranked["score"], data.labels)[0, 1] > 0.3


def test_pyterrier_ranks_by_a_model_that_was_loaded(pt, data, frames, tmp_path):
    RankSVM().fit(data).to_model().save(tmp_path / "model.json")
    model = linrank.load(tmp_path / "model.json")
    ranked = pt.ltr.apply_learned_model(model).transform(frames[0]).sort_values(["qid", "rank"])
    best_first = [f"d{row}" for row in model.rank(data)]
    assert ranked["docno"].tolist() == best_first
