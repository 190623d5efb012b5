"""linrank.compare: rankers as objects, one leaderboard, one recommendation, and the model that it is."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from linrank import LinearModel, RankSVM, compare, make_ranking
from linrank.cli import main
from linrank.errors import LinrankError
from linrank.experiments import results as results_module
from linrank.experiments.compare import Comparison
from linrank.experiments.final import final_settings
from linrank.measures import SIGNIFICANT, evaluate, randomisation_test, within_one_standard_error
from linrank.reading.write_svmlight import write_svmlight

RANKERS = {
    "svm": (RankSVM(), {"C": [1e-3, 1.0]}),
    "sparse": (RankSVM(penalty="l1"), {"C": [1e-3, 1e-2]}),
    "one": "single-feature",
}


@pytest.fixture(scope="module")
def data():
    return make_ranking(45, 10, n_features=6, n_informative=3, noise=0.4)[0]


@pytest.fixture(scope="module")
def comparison(data):
    return compare(data, RANKERS, measures=["ndcg@3", "map"], n_folds=3)


def test_rankers_are_objects_names_and_either_with_a_grid(comparison):
    assert [c.name for c in comparison.results.plan.contenders] == ["svm", "sparse", "one"]
    assert comparison.failures == {}
    assert comparison.results.plan.baseline == "svm"
    assert {result.chosen["C"] for result in comparison.results.of("svm")} <= {1e-3, 1.0}
    assert {standing.n_features for standing in comparison.leaderboard if standing.method == "one"} == {1.0}


def test_names_alone_are_methods_of_the_catalogue(data):
    made = compare(data, ["single-feature", "fixed-weights"], n_folds=3, measures="map", select="map")
    assert sorted(made.results.complete()) == ["fixed-weights", "single-feature"]


@pytest.mark.parametrize(
    ("rankers", "message"),
    [
        ({"a": RankSVM}, "'a' is a class; pass an object"),
        ({"a": object()}, "has no fit"),
        ({"a": (RankSVM(), {"D": [1]})}, "a has no setting 'D'"),
        ({"a": (RankSVM(), {"C": 1.0})}, "choose C among a list"),
        ({"a": (RankSVM(), [1.0])}, "the grid as a dictionary"),
        ({"a": (RankSVM(), {"C": [RankSVM()]})}, "C cannot be chosen among RankSVMs"),
        ({"a": ("ranksvm", {"C": [1.0, "much"]})}, "a: C='much' is text; use a number"),
        ({"a": "nonsense"}, "there is no method 'nonsense'"),
        ({}, "nothing to compare"),
        ({"a/b": RankSVM()}, "'a/b' cannot name a ranker"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_any_work(data, rankers, message):
    with pytest.raises(LinrankError, match=re.escape(message)):
        compare(data, rankers, n_folds=3)


def test_the_object_is_left_as_it_was(data):
    ranker = RankSVM(C=0.5)
    compare(data, {"svm": (ranker, {"C": [1.0]})}, n_folds=3, measures="map", select="map")
    assert ranker.C == 0.5
    assert not hasattr(ranker, "coef_")


def test_the_leaderboard_is_worked_out_once(comparison, monkeypatch):
    again = Comparison(comparison.results)
    first = again.leaderboard
    monkeypatch.setattr(results_module, "standings", lambda *_: pytest.fail("worked out again"))
    assert again.leaderboard is first
    for text in (again.to_markdown(), again.to_latex(), again.to_csv(), again.to_json(), again._repr_html_()):
        assert str(first[0].means["ndcg@10"])[:5] in text
    assert again.recommended in repr(again)


def test_one_test_decides_wherever_significance_is_said(data):
    from linrank.experiments.comparison_page import comparison_content
    from linrank.experiments.tables import sign_of

    made = compare(data, {"svm": RankSVM(), "one": "single-feature"}, n_folds=3, measures="ndcg@10")
    (one,) = [standing for standing in made.leaderboard if standing.method == "one"]
    p = randomisation_test(made.results.per_query("one", "ndcg@10"), made.results.per_query("svm", "ndcg@10")).p_value
    assert one.p_of_measures == {"ndcg@10": p}
    marked = p <= SIGNIFICANT
    assert bool(sign_of(one, "ndcg@10")) == marked
    row = next(row for row in comparison_content(made).leaderboard.rows if row.name == "one")
    assert (row.p_value, row.differs) == (p, marked)
    assert json.loads(made.to_json())["leaderboard"][1]["p_of_measures"] == {"ndcg@10": p}
    assert "t-test" not in made.to_markdown() + made.to_latex()
    assert "randomisation test, Holm" in made.to_markdown()


def test_latex_keeps_the_deviation(comparison):
    standing = comparison.leaderboard[0]
    assert rf"\pm {standing.deviations['map']:.3f}" in comparison.to_latex()
    assert comparison.to_latex().count(r"\pm") == 3 * 3


def test_latex_takes_any_name(data):
    made = compare(data, {"a_b & 50% {x}$": RankSVM()}, n_folds=3, measures="map", select="map")
    assert r"a\_b \& 50\% \{x\}\$ &" in made.to_latex()


def test_the_leaderboard_is_a_frame(comparison):
    pytest.importorskip("pandas")
    frame = comparison.to_frame()
    assert list(frame.index) == [standing.method for standing in comparison.leaderboard]
    assert frame.loc["one", "features"] == 1


def test_a_frame_of_one_method_has_numbers_where_others_have(data):
    pytest.importorskip("pandas")
    one = compare(data, {"svm": RankSVM()}, n_folds=3, measures="map", select="map").to_frame()
    two = compare(
        data, {"svm": RankSVM(), "other": RankSVM(C=1e-4)}, n_folds=3, measures="map", select="map"
    ).to_frame()
    assert dict(one.dtypes) == dict(two.dtypes)
    assert np.isnan(one["map p"]).all()


def test_a_frame_has_names_as_they_are_and_a_spreadsheet_runs_none(data):
    pytest.importorskip("pandas")
    names = ["=1+1", "nan", "7"]
    made = compare(data, {name: RankSVM() for name in names}, n_folds=3, measures="map", select="map")
    assert set(made.to_frame().index) == set(names)
    assert {line.partition(",")[0] for line in made.to_csv().splitlines()[1:]} == {"'=1+1", "nan", "7"}


def test_the_settings_of_the_final_model_have_the_best_mean_over_the_validation_parts(comparison):
    tried = {}
    for result in comparison.results.of("svm"):
        for one in result.tried:
            tried.setdefault(one["settings"]["C"], []).append(one["validation"])
    assert final_settings(comparison.results, "svm") == {"C": max(tried, key=lambda C: np.mean(tried[C]))}


def test_the_recommended_model_is_trained_on_everything(comparison, data):
    model = comparison.recommended_model()
    chosen = final_settings(comparison.results, comparison.recommended)
    plain = RANKERS[comparison.recommended]
    assert isinstance(plain, tuple), comparison.recommended
    expected = plain[0].set_params(**chosen).fit(data.features, data.labels, qid=data.qid)
    np.testing.assert_array_equal(model.weights, expected.coef_)
    assert model.data_fingerprint == data.fingerprint()
    used = np.count_nonzero(model.weights)
    assert comparison.described() == f"{comparison.recommended} with {used} of 6 features"


@pytest.mark.parametrize("scaling", ["none", "standard", "query"])
def test_the_recommended_model_carries_its_scaling(data, scaling):
    made = compare(data, {"svm": RankSVM()}, n_folds=3, scaling=scaling, measures="ndcg@10")
    trained, model = made.trained(), made.recommended_model()
    assert (model.scaling is None) == (scaling == "none")
    X = data.features if trained.scaling is None else trained.scaling.apply(data.features, data.queries)
    np.testing.assert_allclose(trained.ranker.predict(X), model.predict(data.features, data.queries))


def test_trees_that_win_leave_the_best_linear_model_beside_them(data, monkeypatch):
    made = compare(data, {"forest": "random-forest", "svm": RankSVM()}, n_folds=3, measures="ndcg@10")
    monkeypatch.setattr(made.results, "recommended", lambda: "forest")
    assert made.recommended_linear == "svm"
    assert made.described() == "forest"
    assert made.trained().model is None
    assert made.trained().ranker.predict(data.features).shape == (data.n_documents,)
    assert made.recommended_model().method == "ranksvm"


def test_weights_of_documents_reach_the_final_model(data):
    weighted = replace(data, document_weights=np.linspace(0.5, 2.0, data.n_documents))
    made = compare(weighted, {"svm": RankSVM()}, n_folds=3, measures="ndcg@10")
    plain = RankSVM().fit(data.features, data.labels, qid=data.qid, sample_weight=weighted.document_weights)
    np.testing.assert_array_equal(made.recommended_model().weights, plain.coef_)


def test_files_that_count_their_queries_anew_are_not_mixed(data, tmp_path):
    """The first query of each file is another query, and a weight of a document stays its own."""
    pd = pytest.importorskip("pandas")
    weighted = replace(data, document_weights=np.linspace(0.5, 2.0, data.n_documents))
    parts = weighted.split(0.5, 0.25, 0.25)
    for name, part in zip(("train", "vali", "test"), parts, strict=True):
        frame = pd.DataFrame(part.features).assign(
            qid=part.queries.of_rows(), label=part.labels, weight=part.document_weights
        )
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    made = compare(tmp_path, {"svm": RankSVM()}, measures="ndcg@10", weight="weight")
    order = [np.concatenate([getattr(part, name) for part in parts]) for name in ("features", "labels", "qid")]
    weights = np.concatenate([part.document_weights for part in parts])
    plain = RankSVM().fit(order[0], order[1], qid=order[2], sample_weight=weights)
    np.testing.assert_allclose(made.recommended_model().weights, plain.coef_, rtol=1e-9)


OWN = """
import numpy as np
from linrank import RankSVM, compare, make_ranking

class ByMean:
    def fit(self, X, y, qid):
        self.signs = np.sign(np.corrcoef(X.T, y)[-1, :-1])
        return self

    def predict(self, X):
        return X @ self.signs

data, _ = make_ranking(30, 8, 5)
made = [compare(data, {"svm": RankSVM(), "mine": ByMean()}, n_folds=3, n_processes=n) for n in (1, 2)]
assert made[1].failures == {}
assert sorted(made[1].results.complete()) == ["mine", "svm"]
table = [m.to_frame().drop(columns="seconds") for m in made]
assert table[0].equals(table[1])
"""


def test_an_own_estimator_of_a_script_runs_in_two_processes(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "script.py").write_text(OWN)
    for command in (["script.py"], ["-c", OWN]):
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_an_own_estimator_that_gives_no_scores_fails_with_a_reason(data):
    class Silent:
        def fit(self, X, y, qid):
            return self

        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.warns(UserWarning, match="rankers that failed are left out. Fold1/silent: LinrankError"):
        made = compare(data, {"svm": RankSVM(), "silent": Silent()}, n_folds=3, measures="map", select="map")
    assert "not one finite number" in made.failures["Fold1/silent"]
    assert made.results.complete() == ["svm"]
    with pytest.raises(LinrankError, match="no ranker ran on every fold; Fold1/silent failed"):
        compare(data, {"silent": Silent()}, n_folds=3, measures="map", select="map")


@pytest.mark.parametrize(("difference", "near"), [(0.0, True), (0.09, True), (0.3, False)])
def test_one_standard_error_is_that_of_the_difference(difference, near):
    rng = np.random.default_rng(0)
    best = rng.random(100)
    noise = rng.normal(0.0, 1.0, 100)
    other = best - difference - (noise - noise.mean())
    assert within_one_standard_error(other, best) is near
    assert within_one_standard_error(best, best)
    assert not within_one_standard_error([0.4], [0.5])


class TestVerb:
    @pytest.fixture
    def path(self, data, tmp_path):
        write_svmlight(tmp_path / "judged.txt", data)
        return tmp_path / "judged.txt"

    def test_it_hands_over_the_recommended_model_and_says_what_to_do_next(self, path, tmp_path, capsys):
        out = tmp_path / "r"
        words = ["--methods", "ranksvm,ranksvm-l1", "--grid", "ranksvm.C=1", "--grid", "ranksvm-l1.C=0.01"]
        assert main(["compare", str(path), *words, "--folds", "3", "--jobs", "1", "--out", str(out)]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        model = LinearModel.load(out / "recommended.json")
        opened = Comparison.open(out)
        used = np.count_nonzero(model.weights)
        # As many features as the file has are said of the file: on the folds there were others.
        assert f"Recommended: {opened.recommended}, the fewest features" in printed
        assert f"{out}/recommended.json is {opened.recommended} with {used} of 6 features, trained on all" in printed
        assert f"linrank predict {out}/recommended.json" in printed
        assert f"linrank show {out}/recommended.json" in printed
        page = (out / "report.html").read_text()
        assert f'<p class="verdict">Use {opened.recommended} with {used} of 6 features.</p>' in page
        assert main(["predict", str(out / "recommended.json"), str(path), str(tmp_path / "scores.txt")]) == 0
        np.testing.assert_array_equal(opened.recommended_model().weights, model.weights)

    def test_a_model_of_other_results_is_not_taken_over(self, path, tmp_path):
        out = tmp_path / "r"
        compare(path, {"svm": RankSVM(C=1.0)}, n_folds=3, measures="ndcg@10", out=out).write()
        old = (out / "recommended.json").read_text()
        made = compare(path, {"svm": RankSVM(C=1e-4)}, n_folds=3, measures="ndcg@10", out=out)
        assert made.recommended_model().parameters["C"] == 1e-4
        assert (out / "recommended.json").read_text() == old

    def test_measures_of_the_model_are_those_of_its_scores(self, comparison, data):
        model = comparison.recommended_model()
        assert evaluate(model.predict(data.features), data, "ndcg@10").to_dict()["mean"]["ndcg@10"] > 0.5
