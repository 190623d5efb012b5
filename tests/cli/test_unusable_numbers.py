"""Missing values that were kept, and numbers too large: refused before any work, with file, column, count, remedy."""

import json
import re

import numpy as np
import pytest

import linrank
from linrank import LinearModel, LinrankError, RankingDataset, RankSVM, SingleFeature
from linrank.cli import main
from linrank.dataset.scaling import fit_scaling

REMEDY = r"Fill such values \(reading with --missing 0 or --missing query_min does\)"


def lines(n_queries=12, n_documents=6, **odd):
    """Text of two features; `odd` are the value of feature 2, and the label, of every other query's first document."""
    rng = np.random.default_rng(0)
    for query in range(n_queries):
        for document in range(n_documents):
            first = document == 0 and query % 2 == 0
            value = odd.get("value", "NULL") if first else f"{rng.random():.3f}"
            label = odd["label"] if first and "label" in odd else document % 3
            yield f"{label} qid:{query} 1:{rng.random():.3f} 2:{value}\n"


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gaps.txt").write_text("".join(lines()))
    (tmp_path / "whole.txt").write_text("".join(lines(value="0.5")))
    (tmp_path / "large.txt").write_text("".join(lines(value="1e35")))
    (tmp_path / "labels.txt").write_text("".join(lines(value="0.5", label="2000")))
    for fold in ("gaps/Fold1", "labels/Fold1"):
        (tmp_path / fold).mkdir(parents=True)
        for part in ("train", "vali", "test"):
            (tmp_path / fold / f"{part}.txt").write_text((tmp_path / f"{fold.split('/')[0]}.txt").read_text())
    LinearModel(np.array([1.0, 2.0]), ("1", "2")).save(tmp_path / "model.json")

    def run(line):
        code = main(line.split())
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("train gaps.txt m.json", "gaps.txt"),
        ("train gaps.txt m.json --scaling standard", "gaps.txt"),
        ("train gaps.txt m.json --scaling query", "gaps.txt"),
        ("train whole.txt m.json --validate gaps.txt", "gaps.txt"),
        ("tune gaps.txt m.json --cv 3", "gaps.txt"),
        ("tune whole.txt m.json --validate gaps.txt", "gaps.txt"),
        ("path gaps.txt --no-report", "gaps.txt"),
        ("path whole.txt --validate gaps.txt --no-report", "gaps.txt"),
        ("compare gaps.txt --folds 3", "gaps.txt"),
        ("compare gaps", "gaps/Fold1/train.txt"),
        ("predict model.json gaps.txt scores", "gaps.txt"),
        ("explain model.json gaps.txt --qid 0", "gaps.txt"),
    ],
)
def test_missing_values_that_were_kept_are_refused_with_column_count_and_remedy(call, tmp_path, line, file):
    before = sorted(tmp_path.iterdir())
    code, out, err = call(f"{line} --missing keep")
    assert code == 1
    assert out == ""
    assert re.search(rf"{file}: feature '2' is NaN in 6 of 72 documents\. {REMEDY}", err)
    assert sorted(tmp_path.iterdir()) == before


def test_data_that_is_only_looked_at_may_lack_values(call):
    for line in ("info gaps.txt", "convert gaps.txt gaps.linrank"):
        assert call(f"{line} --missing keep")[0] == 0
    code, _, err = call("train gaps.linrank m.json")
    assert code == 1
    assert "gaps.linrank: feature '2' is NaN in 6 of 72 documents" in err


def test_several_features_with_gaps_are_counted(tmp_path):
    X = np.array([[1.0, np.nan, np.nan, 0.0], [np.nan, 1.0, np.nan, 0.0]])
    data = RankingDataset.from_arrays(X, [1, 0], qid=[1, 1])
    with pytest.raises(LinrankError, match=r"feature '1' is NaN in 1 of 2 documents \(2 more features are in some\)"):
        RankSVM().fit(data)


def test_a_scaling_is_not_fitted_to_missing_values():
    X = np.array([[1.0, np.nan], [0.0, 1.0], [3.0, 2.0]])
    data = RankingDataset.from_arrays(X, [1, 0, 2], qid=[1, 1, 1])
    for kind in ("standard", "min-max", "max-abs"):
        with pytest.raises(LinrankError, match="feature '2' is NaN in 1 of 3 documents"):
            fit_scaling(kind, data)


class TakesGaps:
    """A ranker of somebody else's that knows what to do with missing values."""

    def fit(self, X, y, qid=None):
        return self

    def predict(self, X):
        return np.nan_to_num(X).sum(axis=1)


def test_a_comparison_in_python_leaves_missing_values_to_rankers_that_take_them(tmp_path):
    (tmp_path / "gaps.txt").write_text("".join(lines()))
    data = linrank.read(tmp_path / "gaps.txt", missing="keep")
    with pytest.raises(LinrankError, match=r"^feature '2' is NaN in 6 of 72 documents"):
        linrank.compare(data, {"one": SingleFeature()}, n_folds=3)
    assert linrank.compare(data, {"own": TakesGaps()}, n_folds=3, scaling="none").recommended == "own"


@pytest.mark.parametrize("verb", ["train", "tune --cv 3", "path --no-report"])
def test_numbers_too_large_are_told_with_the_file(call, verb):
    words = verb.split()
    code, _, err = call(" ".join([words[0], "large.txt", *words[1:], "--scaling none"]))
    assert code == 1
    assert f"linrank {words[0]}: large.txt: feature 2 is 1e+35 in row 0" in err


@pytest.mark.parametrize("line", ["tune labels.txt --cv 3", "path labels.txt --no-report", "compare labels.txt"])
def test_labels_too_large_for_the_measure_are_refused_before_any_work(call, tmp_path, line):
    before = sorted(tmp_path.iterdir())
    code, out, err = call(line)
    assert code == 1
    assert out == ""
    assert "labels.txt: the label in row 0 is 2000; ndcg" in err
    assert sorted(tmp_path.iterdir()) == before


def test_evaluate_names_the_file_with_a_label_too_large(call, tmp_path):
    (tmp_path / "scores").write_text("1.0\n" * 72)
    code, _, err = call("evaluate labels.txt scores")
    assert code == 1
    assert "labels.txt: the label in row 0 is 2000; ndcg@1's gain" in err


def test_a_model_is_trained_on_labels_that_ndcg_cannot_take(call, tmp_path):
    code, out, _ = call("train labels.txt m.json --quiet")
    assert code == 0
    assert (tmp_path / "m.json").exists()
    assert "labels.txt: not measured, since the label in row 0 is 2000; ndcg@1's gain" in out


def test_a_comparison_of_which_nothing_ran_says_why(call):
    code, _, err = call("compare labels --methods ranksvm --grid ranksvm.C=1 --jobs 1")
    assert code == 1
    assert "no ranker ran on every fold; Fold1/ranksvm failed" in err.splitlines()[-1]
    assert "labels/Fold1/vali.txt: the label in row 0 is 2000" in err.splitlines()[-1]


def test_info_says_why_it_measures_no_feature(call, tmp_path):
    (tmp_path / "huge.txt").write_text("".join(lines(value="0.5", label="1e300")))
    code, out, _ = call("info huge.txt")
    assert code == 0
    said = "NDCG@10 of each feature alone is left out: the label in row 0 is 1e+300; dcg@10's gain 2^label is too large"
    assert said in out
    assert said in json.loads(call("info huge.txt --json")[1])["left_out"]
    assert "left out" not in call("info whole.txt")[1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "tune one.txt",
            "one.txt: --cv 5, folds of one query: there is nothing to hold out. Use data with more",
        ),
        ("path one.txt --cv 2 --no-report", "2 folds of one query: there is nothing to hold out. Use data with more"),
        (
            "compare one.txt",
            "one.txt: 1 query cannot be dealt into 5 parts. Three are the least, to train",
        ),
        ("compare four.txt", "four.txt: 4 queries cannot be dealt into 5 parts. Use fewer: --folds 3 to 4."),
    ],
)
def test_what_cannot_be_done_with_so_few_queries_is_not_offered(call, tmp_path, line, said):
    (tmp_path / "one.txt").write_text("".join(lines(1, value="0.5")))
    (tmp_path / "four.txt").write_text("".join(lines(4, value="0.5")))
    code, _, err = call(line)
    assert code == 1
    assert said in err
