"""What rankers do with features before these have weights: what "auto" stands for, and what is fitted to which data."""

import re
from dataclasses import replace

import numpy as np
import pytest

from linrank import (
    AdditiveRanker,
    BestLinear,
    RankingDataset,
    RankSVM,
    RankSVMCV,
    make_ranking,
    save_dataset,
    scan,
)
from linrank.cli import main
from linrank.dataset.transform_choice import choose_transform
from linrank.errors import UnusableNumberError
from linrank.estimators import auto_transform, rank_svm_cv
from linrank.executors.dask import DaskExecutor


@pytest.fixture(scope="module")
def data():
    """Features whose logarithms rank the documents."""
    made, _ = make_ranking(40, 15, 5, skew=False, random_state=4)
    return replace(made, features=np.exp(2.0 * made.features), feature_names=("a", "b", "c", "d", "e"))


@pytest.fixture(scope="module")
def logarithmic():
    """Features of which signed logarithms rank validation queries best."""
    # The logarithms have long tails themselves, which ranks would lose.
    logs = np.clip(4.0 * np.random.default_rng(1).standard_t(1.5, size=(1200, 2)), -60.0, 60.0)
    features = np.sign(logs) * np.expm1(np.abs(logs))
    labels = np.digitize(logs @ [1.0, -1.0], [-20.0, -4.0, 4.0, 20.0])
    return RankingDataset.from_arrays(features, labels, group=[20] * 60).split(0.7, 0.3)


def test_auto_looks_at_validation_queries_where_there_are_some_and_says_so(data):
    train, vali = data.split(0.7, 0.3)
    ranker = RankSVM(C=0.1, transforms="auto").fit(train, eval_set=vali)
    assert ranker.transform_.kind == "rank-gauss"
    assert re.search(
        r"ndcg@10 on validation queries: none 0\.\d+, rank-gauss 0\.\d+, signed-log", ranker.transform_reason_
    )
    # Long tails suggest ranks; where the tails themselves decide, validation takes that back.
    rng = np.random.default_rng(0)
    features = np.exp(3.0 * rng.normal(size=(3000, 2)))
    labels = np.digitize(features @ [1.0, -1.0], [-20.0, 0.0, 20.0])
    tails = RankingDataset.from_arrays(features, labels, group=[30] * 100)
    train, vali = tails.split(0.7, 0.3)
    by_features = RankSVM(C=1e-4, transforms="auto").fit(train)
    assert by_features.transform_.kind == "rank-gauss"
    by_validation = RankSVM(C=1e-4, transforms="auto").fit(train, eval_set=vali)
    assert by_validation.transform_ is None or by_validation.transform_.kind != "rank-gauss"
    said = by_validation.transform_reason_
    assert "was taken" in said
    # What is said of the curves that were suggested is not said of what was taken.
    assert "the features alone suggest rank-gauss (curves of 64 knots at most; auto: 2 of 2" in said
    assert said.index("curves of") > said.index("suggest")


def test_signed_logarithms_that_auto_takes_are_those_that_are_named(logarithmic):
    train, vali = logarithmic
    taken = RankSVM(C=1e-3, transforms="auto").fit(train, eval_set=vali)
    named = RankSVM(C=1e-3, transforms="signed-log").fit(train, eval_set=vali)
    assert taken.transform_.kind == "signed-log"
    np.testing.assert_array_equal(taken.transform_.scale, named.transform_.scale)
    np.testing.assert_array_equal(taken.coef_, named.coef_)


@pytest.mark.parametrize("most", [50_000, 400])
def test_validation_decides_of_a_file_and_on_workers_as_in_memory(logarithmic, client, tmp_path, monkeypatch, most):
    train, vali = logarithmic
    monkeypatch.setattr(auto_transform, "_MOST_DOCUMENTS", most)
    save_dataset(train, tmp_path / "d.linrank")
    here = RankSVM(C=1e-3, transforms="auto").fit(train, eval_set=vali)
    assert "on validation queries" in here.transform_reason_
    for executor in (None, DaskExecutor(client)):
        there = RankSVM(C=1e-3, transforms="auto", executor=executor).fit(tmp_path / "d.linrank", eval_set=vali)
        assert there.transform_reason_ == here.transform_reason_
        np.testing.assert_array_equal(there.coef_, here.coef_)


def test_the_command_line_asks_validation_whether_data_is_loaded_or_not(logarithmic, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, part in zip(("train", "vali"), logarithmic, strict=True):
        save_dataset(part, f"{name}.linrank")
    weights = []
    for memory in ([], ["--memory", "8GB"]):
        words = ["train", "train.linrank", "m.json", "-C", "0.001", "--transform", "auto", "--validate", "vali.linrank"]
        assert main([*words, *memory]) == 0
        assert "so signed-log was taken" in re.sub(r"\s+", " ", capsys.readouterr().out)
        weights.append((tmp_path / "m.json").read_text().split('"weights"')[1].split("]")[0])
    assert weights[0] == weights[1]


def test_labels_that_nobody_can_train_on_are_said_where_auto_asks_validation(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save_dataset(replace(data, labels=np.where(np.arange(600) == 2, 1e31, data.labels)), "train.linrank")
    save_dataset(data, "vali.linrank")
    words = ["train", "train.linrank", "m.json", "--transform", "auto", "--validate", "vali.linrank"]
    assert main(words) == 1
    assert "the label in row 2 is 1e+31" in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_one_query_with_more_documents_than_are_tried_is_tried_whole(data, monkeypatch):
    monkeypatch.setattr(auto_transform, "_MOST_DOCUMENTS", 10)
    one = RankingDataset.from_arrays(data.features, data.labels, group=[data.n_documents])
    assert "on validation queries" in RankSVM(C=0.01, transforms="auto").fit(one, eval_set=data).transform_reason_


def test_all_folds_that_choose_C_have_the_kind_that_auto_stands_for(data, monkeypatch):
    asked = []

    def noted(kind, *arguments):
        asked.append(kind)
        return choose_transform(kind, *arguments)

    monkeypatch.setattr(rank_svm_cv, "choose_transform", noted)
    auto = RankSVMCV([0.01, 1.0], cv=3, transforms="auto").fit(data)
    assert asked == ["rank-gauss"] * 3
    named = RankSVMCV([0.01, 1.0], cv=3, transforms="rank-gauss").fit(data)
    np.testing.assert_array_equal(auto.measures_, named.measures_)


HUGE = {
    "rank-gauss": RankSVM(C=0.01, transforms="rank-gauss"),
    "signed-log": RankSVM(C=0.01, transforms="signed-log"),
    "auto": RankSVM(C=0.01, transforms="auto"),
    "folds": RankSVMCV([0.01, 1.0], cv=3, transforms="rank-gauss"),
    "additive": AdditiveRanker(C=0.01, smoothing=1.0),
    "best": BestLinear(Cs=[0.01, 1.0], cv=3, losses=["squared_hinge"], weightings=["queries"], penalties=["l2"]),
}


@pytest.mark.parametrize("name", HUGE)
def test_numbers_that_a_transform_makes_small_are_learnt_from(data, name, tmp_path):
    features = data.features * [1.0, 1e40, 1.0, 1.0, 1e-40]
    features[3, 2] = -1e200
    huge = replace(data, features=features)
    ranker = HUGE[name].fit(huge)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.score(huge) > 0.8
    if ranker.reads_files and name != "folds":
        save_dataset(huge, tmp_path / "d.linrank")
        np.testing.assert_array_equal(HUGE[name].fit(scan(tmp_path / "d.linrank")).coef_, ranker.coef_)


def test_those_that_stay_large_are_refused_and_labels_always_are(data):
    even = replace(data, features=np.log(data.features) * 1e35)
    with pytest.raises(UnusableNumberError, match=r"feature 'a' is .*e\+3"):
        RankSVM(transforms="auto").fit(even)
    with pytest.raises(UnusableNumberError, match="the label in row 2"):
        RankSVM(transforms="rank-gauss").fit(replace(data, labels=np.where(np.arange(600) == 2, 1e31, data.labels)))


def test_features_as_they_are_are_not_tried_on_validation_where_they_cannot_be_learnt_from(data):
    train, vali = replace(data, features=data.features * 1e40).split(0.7, 0.3)
    said = RankSVM(C=0.01, transforms="auto").fit(train, eval_set=vali).transform_reason_
    assert re.search(r"on validation queries: rank-gauss 0\.\d+, signed-log 0\.\d+", said)


@pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])
def test_a_transform_counts_all_documents_alike_and_says_so(data, kind):
    weights = np.where(np.arange(data.n_documents) % 3, 1.0, 0.0)
    weighted = RankSVM(C=0.01, transforms=kind).fit(replace(data, document_weights=weights))
    plain = RankSVM(C=0.01, transforms=kind).fit(data)
    np.testing.assert_array_equal(weighted.transform_.apply(data.features), plain.transform_.apply(data.features))
    assert "fitted to all documents alike, whatever they weigh" in weighted.transform_reason_
    assert "alike" not in plain.transform_reason_
