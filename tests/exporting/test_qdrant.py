"""Qdrant: the request, and the names that no formula can have."""

import json

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, export


def test_the_request_is_this():
    model = LinearModel(np.array([0.5, 4.0, -2.0]), ("price", "a.b", "$score"), missing=3.0)
    made = export(model, "qdrant", shift=1.0)
    assert json.loads(made.content) == {
        "prefetch": {"limit": 100},
        "query": {
            "formula": {"sum": [{"mult": [0.5, "price"]}, {"mult": [4.0, '"a.b"']}, {"mult": [-2.0, "$score"]}, 1.0]},
            "defaults": {"price": 3.0, '"a.b"': 3.0},
        },
        "limit": 100,
    }
    assert "/collections/products/points/query" in made.commands("query.json")


@pytest.mark.parametrize("name", ["back\\slash", 'a "b"', ""])
def test_names_that_no_formula_can_have_are_refused(name):
    with pytest.raises(LinrankError, match="cannot take the feature name"):
        export(LinearModel(np.ones(1), (name,)), "qdrant")


@pytest.mark.parametrize("name", ["a b", "a..b", ".a", "a.", "a[]", "a[x]", "a[1", '"a', '"a"b', "$cost"])
def test_what_is_no_path_is_refused(name):
    with pytest.raises(LinrankError, match="is not a path into the payload"):
        export(LinearModel(np.ones(1), (name,)), "qdrant", paths=True)
