"""The page of a comparison: all of it is about the recommended ranker, on the same queries, in the same units."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from linrank import Comparison, RankSVM, compare, make_ranking
from linrank.cli import main
from linrank.dataset.text_column import TextColumn
from linrank.experiments import comparison_weights
from linrank.experiments.comparison_page import comparison_content
from linrank.experiments.final import described
from linrank.experiments.report import render
from linrank.experiments.results import Results
from linrank.measures import NDCG
from linrank.reading.write_svmlight import write_svmlight

RANKSVM = ("ranksvm", {"C": [1e-3, 1.0]})
SPARSE = (RankSVM(penalty="l1"), {"C": [3e-3]})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made, _ = make_ranking(40, (6, 12), n_features=6, n_informative=2, noise=0.3)
    # In raw units: what is chosen and shown must not depend on them.
    units = np.array([1.0, 100.0, 0.01, 1.0, 10.0, 1.0])
    comments = TextColumn.from_texts(f"docid = D{row}" for row in range(made.n_documents))
    path = tmp_path_factory.mktemp("data") / "judged.txt"
    write_svmlight(path, replace(made, features=made.features * units, comments=comments))
    return path


def compared(data, folder=None, scaling="standard", transform="none", **rankers):
    made = compare(data, rankers, baseline="ranksvm", n_folds=3, scaling=scaling, transform=transform, out=folder)
    assert made.failures == {}
    return made


@pytest.fixture(scope="module")
def comparison(data, tmp_path_factory):
    made = compared(data, tmp_path_factory.mktemp("out") / "results", ranksvm=RANKSVM, sparse=SPARSE)
    made.write()
    return made


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(comparison_weights, "RESAMPLES", 5)


@pytest.fixture(scope="module")
def content(comparison):
    return comparison_content(comparison)


def test_the_leaderboard_is_that_of_the_results(comparison, content):
    board = content.leaderboard
    assert [row.name for row in board.rows] == [standing.method for standing in comparison.leaderboard]
    assert board.rows[0].means == comparison.leaderboard[0].means
    assert [row.name for row in board.rows if row.recommended] == [comparison.recommended]
    assert all("C = " in row.settings for row in board.rows)


def test_every_test_query_is_there_once_and_its_scores_are_the_weights_times_the_features(comparison, content):
    queries = content.queries
    assert queries.ours == comparison.recommended
    assert len(queries.rows) == len({row.qid for row in queries.rows}) == 40
    for row in queries.rows:
        features = np.array(row.documents.features)
        for weights, scores in (
            (queries.weights_ours, row.documents.scores_ours),
            (queries.weights_baseline, row.documents.scores_baseline),
        ):
            np.testing.assert_allclose(features @ weights[row.fold], scores, rtol=2e-3, atol=2e-3)
    assert row.documents.ids[0].startswith("D")


def test_the_curve_is_measured_on_the_queries_of_the_leaderboard_and_scaled_as_they_are(comparison, content):
    curve, plan = content.feature_curve, comparison.results.plan
    assert curve.recommended.name == comparison.recommended
    assert curve.recommended.mean == pytest.approx(
        np.nanmean(comparison.results.per_query(comparison.recommended, "ndcg@10"))
    )
    # All features of RankSVM with C = 1, fold by fold on that fold's scale: the line, and the last point of the curve.
    values = []
    for fold in plan.folds:
        train, test = fold.train.load(), fold.test.load()
        mean, deviation = train.features.mean(axis=0), train.features.std(axis=0)
        ranker = RankSVM(C=1.0).fit((train.features - mean) / deviation, train.labels, qid=train.qid)
        values.append((NDCG @ 10).per_query(ranker.predict((test.features - mean) / deviation), test))
    assert curve.dense == pytest.approx(np.mean(np.concatenate(values)), abs=1e-9)
    assert curve.points[-1].n_features == 6
    assert curve.points[-1].mean == pytest.approx(curve.dense, abs=0.01)


def test_the_curve_does_not_depend_on_units(data, content, tmp_path):
    """The first features are the informative ones, though others have larger units."""
    from linrank import read

    whole = read(data)
    made, _ = make_ranking(40, (6, 12), n_features=6, n_informative=2, noise=0.3)
    np.testing.assert_array_equal(whole.labels, made.labels)
    write_svmlight(tmp_path / "plain.txt", made)
    plain = comparison_content(compared(tmp_path / "plain.txt", ranksvm=RANKSVM)).feature_curve
    assert [sorted(point.weights) for point in plain.points] == [
        sorted(point.weights) for point in content.feature_curve.points
    ]


def test_the_weights_are_those_of_the_recommended_model_in_one_unit_everywhere(comparison, content, data):
    from linrank import read

    model, spread = comparison.recommended_model(), read(data).features.std(axis=0)
    assert content.weights.method == comparison.recommended
    rows = {row.feature: row for row in content.weights.rows}
    for name, raw, unit in zip(model.feature_names, model.raw_weights(), spread, strict=True):
        if raw:
            assert rows[name].raw == pytest.approx(raw)
            assert rows[name].scaled == pytest.approx(raw * unit)
            assert rows[name].low <= rows[name].high
            assert content.feature_curve.spreads[name] == pytest.approx(unit)


def test_the_answer_the_model_and_the_curve_have_as_many_features(comparison, content):
    n_features = np.count_nonzero(comparison.recommended_model().weights)
    assert content.feature_curve.recommended.n_features == n_features
    assert content.feature_curve.points[content.feature_curve.chosen].n_features <= n_features
    assert content.feature_curve.one_standard_error is None
    assert f"Use {comparison.recommended} with {n_features} of 6 features." in render(content)
    assert sum(row.raw != 0 for row in content.weights.rows) == n_features


def test_a_baseline_that_wins_is_shown_and_held_against_the_best_other(data, monkeypatch):
    made = compared(data, ranksvm=RANKSVM, sparse=SPARSE)
    monkeypatch.setattr(made.results, "recommended", lambda: "ranksvm")
    content = comparison_content(made)
    assert content.weights.method == "ranksvm"
    assert (content.queries.ours, content.queries.baseline) == ("ranksvm", "sparse")


def test_where_trees_win_the_best_linear_ranker_is_weighed_and_named(data, monkeypatch):
    made = compared(data, ranksvm=RANKSVM, forest="random-forest")
    monkeypatch.setattr(made.results, "recommended", lambda: "forest")
    content = comparison_content(made)
    assert content.weights.method == "ranksvm"
    assert "forest, the recommended ranker, is no weighted sum of features" in content.weights.note
    assert content.feature_curve.recommended.is_best_linear
    assert content.queries.weights_ours is None
    assert content.queries.weights_baseline is not None
    assert f"the best linear ranker, {described('ranksvm', made.recommended_model())}, has" in render(content)


def test_where_no_ranker_is_linear_the_page_says_so(data):
    content = comparison_content(compare(data, {"forest": "random-forest"}, n_folds=3, measures="ndcg@10"))
    assert content.missing["weights"] == "None of these rankers is a weighted sum of features."
    assert "none to hold it against" in content.missing["queries"]
    assert "objective step by step" in content.missing["training"]
    for reason in content.missing.values():
        assert reason in render(content)


def test_a_ranker_of_one_feature_says_which(data):
    made = compare(data, {"best": "single-feature", "svm": RankSVM()}, n_folds=3, measures="ndcg@10")
    row = next(row for row in comparison_content(made).leaderboard.rows if row.name == "best")
    chosen = [result.strongest[0] for result in made.results.of("best")]
    assert all(name in row.uses for name in chosen)
    assert row.uses.startswith("feature ")


def test_names_of_columns_are_kept_and_nothing_is_warned_of(tmp_path):
    pd = pytest.importorskip("pandas")
    made, _ = make_ranking(24, 8, n_features=3)
    frame = pd.DataFrame(made.features, columns=["bm25", "clicks", "age"]).assign(qid=made.qid, label=made.labels)
    content = comparison_content(compare(frame, {"svm": RankSVM(), "one": "single-feature"}, n_folds=3))
    assert content.missing == {}
    assert {row.feature for row in content.weights.rows} <= {"bm25", "clicks", "age"}
    assert all(set(point.weights) <= {"bm25", "clicks", "age"} for point in content.feature_curve.points)


def test_features_scaled_within_their_query_have_no_raw_weights(data):
    content = comparison_content(compared(data, scaling="query", ranksvm=RANKSVM))
    assert all(row.raw is None for row in content.weights.rows)
    assert "scaled within their query" in content.feature_curve.note
    assert not content.feature_curve.is_raw
    assert content.weights.units.endswith("one standard deviation of what scaling by query makes of the feature")
    assert dict(content.facts)["scaling"] == "query"


@pytest.mark.parametrize("transform", ["rank-gauss", "signed-log"])
def test_what_is_said_of_weights_of_transformed_features_is_of_these(data, transform):
    content = comparison_content(compared(data, transform=transform, ranksvm=RANKSVM))
    assert content.weights.units.endswith(f"one standard deviation of what {transform} makes of the feature")
    assert not content.feature_curve.is_raw
    assert "transformed" in content.feature_curve.note


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_a_standard_deviation_is_of_the_feature_itself_where_weights_are(data, scaling):
    content = comparison_content(compared(data, scaling=scaling, ranksvm=RANKSVM))
    assert content.weights.units.endswith("one standard deviation of the feature")
    assert content.feature_curve.is_raw


def test_without_the_data_what_needs_it_says_so(data, tmp_path):
    moved = tmp_path / "moved.txt"
    shutil.copy(data, moved)
    compared(moved, tmp_path / "r", ranksvm=RANKSVM, sparse=SPARSE).write()
    moved.unlink()
    opened = Comparison.open(tmp_path / "r")
    content = comparison_content(opened)
    assert content.feature_curve is None
    assert content.weights is None
    assert {"feature_curve", "weights"} <= set(content.missing)
    assert content.queries.rows[0].documents is None
    assert any("Documents are left out" in note for note in content.notes)
    # The model is there: the answer still says how large it is.
    assert f"Use {opened.described()}." in render(content)


def test_the_verb_writes_the_page_and_its_pictures(comparison, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    folder = str(comparison.results.folder)
    words = [folder, "--out", str(tmp_path / "page.html"), "--pictures", str(tmp_path / "pictures")]
    assert main(["report", *words, "--baseline", "sparse"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "Ranking judged" in page
    assert len(page) < 2_000_000
    assert {path.name for path in (tmp_path / "pictures").iterdir()} >= {"leaderboard.svg", "features.png"}
    assert "page.html" in capsys.readouterr().out
    assert main(["report", *words, "--baseline", "listnet"]) == 1
    assert "'listnet' has not been run on every fold" in capsys.readouterr().err


def test_a_report_is_written_from_results_in_memory_too(data, tmp_path):
    made = compared(data, ranksvm=RANKSVM)
    assert isinstance(made.results, Results)
    assert made.report(tmp_path / "page.html").read_text().startswith("<!doctype html>")
