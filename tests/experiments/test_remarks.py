"""What the reader of a comparison must know is said of the method, in one wording, wherever the leaderboard is."""

import csv
import io
import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from linrank import Comparison, RankSVM, compare, make_ranking
from linrank.cli import main
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS
from linrank.estimators.searching import MOST_STEPS
from linrank.experiments import comparison_page
from linrank.experiments.comparison import Job, run_job
from linrank.experiments.contenders import Contender, contender, contenders_of
from linrank.experiments.folds import Part, dealt_folds
from linrank.experiments.protocol import Protocol
from linrank.experiments.report import ReportContent, render
from linrank.reading.write_svmlight import write_svmlight

EDGE = "C = 4 is the largest value tried in 3 of 3 folds"
UNFINISHED = "training stopped before convergence in 3 of 3 folds: out of iterations (max_iter=1)"
CHOOSING = "while choosing, 6 of 6 trainings stopped before convergence"


class Sharper(BaseEstimator):
    """The larger C, the better it ranks; beyond `most` it refuses."""

    def __init__(self, C=1.0, most=1e9):
        self.C, self.most = C, most

    def fit(self, X, y, qid):
        if self.most < self.C:
            raise LinrankError(f"C={self.C} is too large")
        self.weights = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
        return self

    def predict(self, X):
        noise = np.sin(1e4 * X).sum(1)
        return self.C * X @ self.weights + 30.0 * noise


@pytest.fixture(scope="module")
def data():
    return make_ranking(60, 10, n_features=4, n_informative=4, noise=0.1)[0]


@pytest.fixture(scope="module")
def comparison(data):
    """One whose choice is at an end, one whose every training is cut short, and one of which nothing is to be known."""
    rankers = {
        "edgy": (Sharper(), {"C": [1.0, 4.0]}),
        "hasty": (RankSVM(max_iter=1), {"C": [1e3, 1e4]}),
        "plain": RankSVM(),
    }
    return compare(data, rankers, n_folds=3, measures="ndcg@10", scaling="none")


def test_a_standing_has_its_remarks(comparison):
    remarks = {standing.method: standing.remarks for standing in comparison.leaderboard}
    assert remarks["edgy"] == (EDGE,)
    assert remarks["hasty"][:2] == (UNFINISHED, CHOOSING)
    assert remarks["plain"] == ()


def test_every_form_of_the_leaderboard_marks_the_method_and_says_why(comparison):
    marked = comparison.to_markdown()
    assert "| edgy † |" in marked
    assert "| plain |" in marked
    assert f"- † edgy: {EDGE}." in marked
    assert f"- † hasty: {UNFINISHED}; {CHOOSING}" in marked
    latex = comparison.to_latex()
    assert r"edgy$^{\dagger}$ &" in latex
    assert f"% † edgy: {EDGE}." in latex
    in_notebook = comparison._repr_html_()
    assert "<td>edgy †</td>" in in_notebook or "<b>edgy †</b>" in in_notebook
    assert f"<p>† edgy: {EDGE}.</p>" in in_notebook
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(comparison.to_csv()))}
    assert rows["edgy"]["remarks"] == EDGE
    assert rows["plain"]["remarks"] == ""
    record = json.loads(comparison.to_json())
    assert {one["method"]: one["remarks"] for one in record["leaderboard"]}["edgy"] == [EDGE]
    assert all("max_iter=1" in fold["unfinished"] for fold in record["folds_of_methods"]["hasty"])


def test_the_page_has_them_beside_the_table(comparison):
    board = comparison_page._leaderboard(comparison, None)
    assert {row.name: row.remarks for row in board.rows}["edgy"] == (EDGE,)
    assert EDGE in render(ReportContent("page", leaderboard=board))


def test_the_terminal_and_a_folder_that_is_opened_say_the_same(data, tmp_path, capsys):
    write_svmlight(tmp_path / "judged.txt", data)
    words = ["compare", str(tmp_path / "judged.txt"), "--methods", "ranksvm-l1", "--grid", "ranksvm-l1.C=1e-6,1e-2"]
    words += ["--folds", "3", "--jobs", "1", "--no-report", "--out", str(tmp_path / "r")]
    assert main(words) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "ranksvm-l1 †" in printed
    assert "† ranksvm-l1: C = 0.01 is the largest value tried in 3 of 3 folds." in printed
    (standing,) = Comparison.open(tmp_path / "r").leaderboard
    assert standing.remarks == ("C = 0.01 is the largest value tried in 3 of 3 folds",)


def test_tune_says_it_too(data, tmp_path, capsys):
    write_svmlight(tmp_path / "judged.txt", data)
    words = ["tune", str(tmp_path / "judged.txt"), str(tmp_path / "model.json"), "--penalty", "l1"]
    words += ["--range", "1e-6,1e-2", "--cv", "2"]
    assert main(words) == 0
    assert "C = 0.01 is the largest value tried." in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["remarks"] == ["C = 0.01 is the largest value tried"]


class TestWidening:
    def tried(self, data, given):
        fold = dealt_folds(Part("", data=data), n_folds=3)[0]
        return run_job(Job(fold, given, Protocol(("ndcg@10",), "ndcg@10", "none")))

    def test_a_grid_goes_on_while_the_best_is_at_its_end_and_stops_at_a_bound(self, data):
        result = self.tried(data, Contender("s", None, {}, {"C": [0.25, 0.5]}, own=Sharper(), widens=("C",)))
        values = [one["settings"]["C"] for one in result.tried]
        assert values == [0.25 * 2.0**step for step in range(len(values))]
        assert 2 < len(values) <= 2 + MOST_STEPS
        means = [one["validation"] for one in result.tried]
        assert result.chosen["C"] == values[int(np.argmax(means))]

    def test_values_that_are_refused_end_it(self, data):
        given = Contender("s", None, {}, {"C": [0.5, 1.0]}, own=Sharper(most=2.5), widens=("C",))
        result = self.tried(data, given)
        assert [one["settings"]["C"] for one in result.tried] == [0.5, 1.0, 2.0]
        assert result.passed_over == ["C=4.0 is too large"]

    def test_values_that_a_user_lists_are_all_there_are(self, data):
        result = self.tried(data, Contender("s", None, {}, {"C": [0.25, 0.5]}, own=Sharper()))
        assert [one["settings"]["C"] for one in result.tried] == [0.25, 0.5]
        (listed,) = contenders_of({"a": ("reg-ranksvm", {"C": [0.1, 1.0]})})
        assert listed.widens == ("nuclear",)

    def test_the_catalogue_s_numbers_go_on_and_its_counts_do_not(self):
        for name in ("ranksvm", "ranksvm-hinge", "listnet", "sparserank", "fenchelrank", "ridge"):
            assert contender(name).widens == tuple(METHODS[name].grid), name
        assert contender("svr").widens == ("C",)
        assert contender("random-forest").widens == ()
        assert contender("ranksvm", C=1.0).widens == ()

    def test_whether_it_goes_on_is_part_of_what_a_result_depends_on(self, data, tmp_path):
        fold = dealt_folds(Part("", data=data), n_folds=3)[0]
        fixed = Contender("r", "ranksvm", {}, {"C": [0.25, 0.5]})
        going_on = Contender("r", "ranksvm", {}, {"C": [0.25, 0.5]}, widens=("C",))
        assert Job(fold, fixed, Protocol()).key() != Job(fold, going_on, Protocol()).key()

    def test_a_comparison_that_went_on_is_replayed_to_the_bit(self, data, tmp_path):
        compare(data, {"ranksvm": "ranksvm"}, n_folds=3, measures="ndcg@10", out=tmp_path / "r")
        again = Comparison.open(tmp_path / "r")
        assert again.results.plan.contenders[0].widens == ("C",)
        assert again.replay(data) == []
