"""The report of a comparison says what the results say."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from linrank import make_ranking
from linrank.cli import main
from linrank.dataset.text_column import TextColumn
from linrank.experiments import comparison_page
from linrank.experiments.comparison import Contender, Protocol
from linrank.experiments.comparison_page import comparison_content
from linrank.experiments.folds import find_folds
from linrank.experiments.results import Plan, Results
from linrank.reading.write_svmlight import write_svmlight

RANKSVM = Contender("ranksvm", "linrank.estimators.rank_svm:RankSVM", {}, {"C": [1e-3, 1.0]}, "squared hinge")
SPARSE = Contender("sparse", "linrank.estimators.rank_svm:RankSVM", {"penalty": "l1"}, {"C": [3e-3]})
TREES = Contender("forest", "linrank.estimators.tree_rankers:RandomForest", {"n_trees": 5}, {})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made, _ = make_ranking(40, (6, 12), n_features=6, n_informative=2, noise=0.3)
    made = replace(made, comments=TextColumn.from_texts(f"docid = D{row}" for row in range(made.n_documents)))
    path = tmp_path_factory.mktemp("data") / "judged.txt"
    write_svmlight(path, made)
    return path


def compared(data, folder, *contenders, scaling="none"):
    plan = Plan(tuple(find_folds(data, n_folds=3)), contenders, Protocol(scaling=scaling), "ranksvm", "judged")
    results = Results(folder, plan)
    assert results.run(1, lambda *_: None) == {}
    return results


@pytest.fixture(scope="module")
def results(data, tmp_path_factory):
    return compared(data, tmp_path_factory.mktemp("out") / "results", RANKSVM, SPARSE)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(comparison_page, "_RESAMPLES", 5)


def test_the_leaderboard_is_that_of_the_results(results):
    board = comparison_content(results).leaderboard
    standings = results.standings()
    assert [row.name for row in board.rows] == [standing.method for standing in standings]
    assert board.rows[0].means == standings[0].means
    assert [row.name for row in board.rows if row.recommended] == [results.recommended()]
    assert "C = " in board.rows[0].settings


def test_every_test_query_is_there_once_and_its_scores_are_the_weights_times_the_features(results):
    queries = comparison_content(results).queries
    assert len(queries.rows) == len({row.qid for row in queries.rows}) == 40
    ours = {"sparse": queries.weights_ours, "ranksvm": queries.weights_baseline}
    for row in queries.rows:
        features = np.array(row.documents.features)
        np.testing.assert_allclose(features @ ours["sparse"][row.fold], row.documents.scores_ours, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(
            features @ ours["ranksvm"][row.fold], row.documents.scores_baseline, rtol=2e-3, atol=2e-3
        )
    assert row.documents.ids[0].startswith("D")


def test_the_weights_are_the_first_folds_with_an_interval_around_them(results):
    weights = comparison_content(results).weights
    first = results.of(weights.method)[0].weights
    assert {row.feature: row.raw for row in weights.rows if row.raw} == {
        str(j + 1): value for j, value in enumerate(first) if value
    }
    strongest = weights.rows[0]
    assert strongest.low <= strongest.high
    assert abs(strongest.scaled) == max(abs(row.scaled) for row in weights.rows)


def test_raw_weights_are_folded_where_the_protocol_scales(data, tmp_path):
    results = compared(data, tmp_path / "r", RANKSVM, SPARSE, scaling="standard")
    weights = comparison_content(results).weights
    train = results.plan.folds[0].train.load()
    spread = train.features.std(axis=0)
    for row in weights.rows:
        assert row.scaled == pytest.approx(row.raw * spread[int(row.feature) - 1], rel=1e-6, abs=1e-9)


def test_a_ranker_that_is_not_linear_has_orders_but_no_contributions(data, tmp_path, monkeypatch):
    results = compared(data, tmp_path / "r", RANKSVM, TREES)
    monkeypatch.setattr(Results, "recommended", lambda self: "forest")
    content = comparison_content(results)
    assert content.weights is None
    assert content.queries.weights_ours is None
    assert content.queries.weights_baseline is not None


def test_without_the_data_what_needs_it_is_left_out_and_said(data, tmp_path):
    moved = tmp_path / "moved.txt"
    shutil.copy(data, moved)
    compared(moved, tmp_path / "r", RANKSVM, SPARSE)
    moved.unlink()
    content = comparison_content(Results.open(tmp_path / "r"))
    assert content.feature_curve is None
    assert content.weights is None
    assert content.queries.rows[0].documents is None
    assert any("What needs the data is left out" in note for note in content.notes)
    assert content.leaderboard.rows


def test_the_verb_writes_the_page_and_its_pictures(results, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    words = [str(results.folder), "--out", str(tmp_path / "page.html"), "--pictures", str(tmp_path / "pictures")]
    assert main(["report", *words, "--baseline", "sparse"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "Ranking judged" in page
    assert len(page) < 2_000_000
    assert {path.name for path in (tmp_path / "pictures").iterdir()} >= {"leaderboard.svg", "features.png"}
    assert "page.html" in capsys.readouterr().out
    assert main(["report", *words, "--baseline", "listnet"]) == 1
    assert "'listnet' has not been run on every fold" in capsys.readouterr().err


def test_compare_ends_with_the_page(data, tmp_path, capsys):
    words = ["--methods", "ranksvm,ranksvm-l1", "--grid", "ranksvm.C=1", "--grid", "ranksvm-l1.C=0.01"]
    assert main(["compare", str(data), *words, "--folds", "3", "--jobs", "1", "--out", str(tmp_path / "r")]) == 0
    assert (tmp_path / "r" / "report.html").exists()
    assert "report.html" in capsys.readouterr().out
