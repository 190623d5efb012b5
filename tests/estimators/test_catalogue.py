"""Every method by its name: what is said of it is true."""

import pytest

from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS, contender_names

NAMES = [pytest.param(name, marks=() if method.is_installed else pytest.mark.skip(reason=f"{method.needs} is absent"))
         for name, method in METHODS.items()]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_estimator_is_there_and_has_the_settings_that_are_tried(name):
    method = METHODS[name]
    made = method.load()(**method.settings)
    assert {*method.settings, *method.grid} <= set(made.get_params())
    assert method.variant or made.method == name
    assert hasattr(made, "to_model") == method.linear


def test_groups_are_what_they_say():
    assert set(contender_names("linear")) <= set(contender_names("all"))
    assert "lightgbm" not in contender_names("linear")
    assert {"ranksvm-l1", "minbatsrank"} <= set(contender_names("sparse"))
    assert "ranksvm" not in contender_names("sparse")
    assert contender_names("ranksvm, sparse")[0] == "ranksvm"


def test_a_name_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(LinrankError, match="there is no method 'svmrank'; there are all, linear, sparse"):
        contender_names("svmrank")
