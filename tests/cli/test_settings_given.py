"""--set NAME=VALUE has the kind of the setting, lists among them."""

from dataclasses import fields

import pytest

from linrank import AdditiveRanker, BestLinear, LinearModel, LinrankError, make_ranking
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
