"""Bounds and a prior on the command line: in units of the raw features, whatever the scaling."""

import json

import numpy as np
import pytest

from linrank import LinearModel, RankingDataset, make_ranking
from linrank.cli import main

NAMES = ("title", "clicks", "age", "price")
UNITS = np.array([1.0, 1e6, 1.0, 1e-4])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made, _ = make_ranking(40, 15, 4, n_informative=4, random_state=5)
    data = RankingDataset.from_arrays(made.features * UNITS, made.labels, qid=made.qid, feature_names=NAMES)
    data.to_frame().to_csv("data.csv", index=False)
    return tmp_path


def trained(capsys, *words, verb="train"):
    code = main([verb, "data.csv", "m.json", *words])
    said = capsys.readouterr()
    assert code == 0, said.err
    return LinearModel.load("m.json"), said.out


@pytest.mark.parametrize("scaling", ["auto", "none", "standard"])
@pytest.mark.parametrize("verb", ["train", "tune"])
def test_weights_are_not_negative(folder, capsys, verb, scaling):
    more = ["--range", "0.01,0.1", "--cv", "2"] if verb == "tune" else ["-C", "0.01"]
    model, out = trained(capsys, "--non-negative", "--scaling", scaling, *more, verb=verb)
    assert (model.raw_weights() >= 0).all()
    assert model.training["weights"] == "non-negative"
    assert "weights       non-negative" in out


@pytest.mark.parametrize("scaling", ["auto", "standard"])
def test_bounds_are_of_the_raw_weights(folder, capsys, scaling):
    (folder / "bounds.txt").write_text("title -\nclicks -1e-9 1e-9  # in clicks\n\nprice * 0.5\n")
    model, _ = trained(capsys, "--bounds", "bounds.txt", "--scaling", scaling, "-C", "0.1", "--quiet")
    weights = dict(zip(model.feature_names, model.raw_weights(), strict=True))
    assert weights["title"] <= 0
    assert abs(weights["clicks"]) <= 1e-9 * (1 + 1e-12)
    assert weights["price"] <= 0.5 * (1 + 1e-12)


def test_a_prior_of_raw_weights_is_kept_where_little_is_learnt(folder, capsys):
    prior = LinearModel(np.array([0.3, 2e-7]), ("title", "clicks"))
    prior.save("prior.json")
    model, _ = trained(capsys, "--prior", "prior.json", "-C", "1e-9", "--quiet")
    assert model.scaling.kind == "standard"
    np.testing.assert_allclose(model.raw_weights()[:2], prior.weights, rtol=1e-3)
    assert model.training["weights"] == "near those of prior.json"


def test_the_path_takes_bounds(folder, capsys):
    assert main(["path", "data.csv", "--non-negative", "--json", "--model", "p.json"]) == 0
    json.loads(capsys.readouterr().out)
    assert (LinearModel.load("p.json").raw_weights() >= 0).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("titel +\n", "bounds.txt:1: there is no feature 'titel' in the data. Did you mean 'title'?"),
        ("title\n", "bounds.txt:1: 'title' is not 'feature +', 'feature -' or 'feature LOWER UPPER'."),
        ("title 2 1\n", "bounds.txt:1: the lower bound 2 is above the upper one, 1."),
        ("title +\ntitle -\n", "bounds.txt:2: 'title' is there twice"),
        ("age 0 high\n", "bounds.txt:1: 'high' is no upper bound; use a number, or * for none."),
        ("title +\nage 0 -inf\n", "bounds.txt:2: '-inf' is no upper bound; use a number, or * for none."),
        ("age inf 1\n", "bounds.txt:1: 'inf' is no lower bound; use a number, or * for none."),
        ("age 0 1\v\n", r"bounds.txt:1: '1\x0b' is no upper bound; use a number, or * for none."),
        ("\n# nothing\n", "bounds.txt: holds no bounds."),
    ],
)
def test_what_is_wrong_in_a_file_of_bounds_is_said_with_its_line(folder, capsys, text, message):
    (folder / "bounds.txt").write_text(text)
    assert main(["train", "data.csv", "m.json", "--bounds", "bounds.txt"]) == 1
    assert message in capsys.readouterr().err
    assert not (folder / "m.json").exists()


def test_inputs_are_not_written_over(folder, capsys):
    (folder / "bounds.txt").write_text("title +\n")
    assert main(["train", "data.csv", "bounds.txt", "--bounds", "bounds.txt"]) == 1
    assert (folder / "bounds.txt").read_text() == "title +\n"
    assert main(["train", "data.csv", "m.json", "--non-negative", "--bounds", "bounds.txt"]) == 1
    assert "both given" in capsys.readouterr().err
