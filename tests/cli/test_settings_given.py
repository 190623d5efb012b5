"""--set NAME=VALUE has the kind of the setting, lists among them."""

from dataclasses import fields

import numpy as np
import pytest

from linrank import AdditiveRanker, BestLinear, LinearModel, LinrankError, RankingDataset, make_ranking
from linrank.cli.settings_given import setting_given
from linrank.reading.write_svmlight import write_svmlight

KNOWN = {field.name: field for kind in (BestLinear, AdditiveRanker) for field in fields(kind)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cv=3", 3),
        ("max_seconds=2.5", 2.5),
        ("measure=map", "map"),
        ("one_se=false", False),
        ("smoothing=line", "line"),
        ("losses=xe_ndcg", ["xe_ndcg"]),
        ("penalties=l2,l1", ["l2", "l1"]),
        ("Cs=0.5,2", [0.5, 2.0]),
    ],
)
def test_values_are_of_the_setting_s_kind(text, value):
    assert setting_given(text, KNOWN)[1] == value


def test_lists_of_numbers_have_numbers():
    with pytest.raises(LinrankError, match="--set Cs=1,a: Cs are numbers, with commas between"):
        setting_given("Cs=1,a", KNOWN)


def test_what_best_tries_can_be_said_on_a_command_line(run, folder):
    write_svmlight(folder / "train.txt", make_ranking(30, 8, 3)[0])
    lists = ["transforms=standard,curves", "weightings=queries", "penalties=l2", "losses=squared_hinge", "Cs=0.1,1"]
    words = [word for each in lists for word in ("--set", each)]
    code, out, err = run("train", "train.txt", "m.json", "--best", "--set", "cv=2", *words)
    assert code == 0, err
    assert "curves 100, queries, l2" in out + err
    assert LinearModel.load(folder / "m.json").parameters["C"] in (0.1, 1.0)


def test_features_that_best_leaves_as_they_are_are_said_to_be_so(run, folder):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 150)) / np.arange(1, 151)
    utility = features @ rng.normal(size=150) + 0.3 * rng.normal(size=600)
    made = RankingDataset.from_arrays(features, np.digitize(utility, [0.5, 1.5, 2.5]), group=[15] * 40)
    write_svmlight(folder / "train.txt", made)
    lists = ["transforms=none", "weightings=pairs", "penalties=l2", "losses=squared_hinge", "cv=3"]
    words = [word for each in lists for word in ("--set", each)]
    code, out, err = run("train", "train.txt", "m.json", "--best", "--quiet", *words)
    assert code == 0, err
    assert "scaling       none (what best does with the features is its own)" in out
    assert "chosen        none, pairs, l2" in out
    assert LinearModel.load(folder / "m.json").scaling is None


@pytest.fixture
def data(folder):
    write_svmlight(folder / "data.txt", make_ranking(20, 10, 3)[0])
    return "data.txt"


def test_what_is_told_of_curves_is_the_recipe_of_the_model(run, folder, data):
    """Three recipes differ by their smoothing alone."""
    settings = ("transforms=standard,curves", "weightings=queries", "losses=squared_hinge", "cv=2")
    words = [word for setting in settings for word in ("--set", setting)]
    code, said, err = run("train", data, "m.json", "--best", *words, "--quiet")
    assert code == 0, err
    model = LinearModel.load(folder / "m.json")
    names = ("transform", "weighting", "smoothing", "penalty")
    wanted = [model.parameters.get(name) for name in names]
    (chosen,) = [one for one in model.training["tried"] if [one.get(name) for name in names] == wanted]
    smoothed = f" {chosen['smoothing']:g}" if "smoothing" in chosen else ""
    assert f"chosen        {chosen['transform']}{smoothed}, {chosen['weighting']}, l2" in said
    assert f"{chosen['mean']:.4f} over this C and those next to it, {chosen['gain']:+.4f}" in said
    _, shown, _ = run("show", "m.json")
    assert all(f"curves {smoothing}, queries, l2, C = " in shown for smoothing in (100, 10, 1))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--best", "--method", "additive"], "--best and --method ask for two methods, best and additive"),
        (["--method", "additive", "--best"], "--method and --best ask for two methods, additive and best"),
    ],
)
def test_two_methods_are_refused(run, data, words, said, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("train", data, *words)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("cv", ["0", "-1", "1"])
def test_folds_that_hold_nothing_out_are_refused(run, data, cv):
    code, _, err = run("train", data, "m.json", "--best", "--set", f"cv={cv}")
    assert code == 1
    assert f"cv={cv}; use 2 or more folds" in err
