"""Vespa: the profile, its arithmetic as documented, and which names are rank features."""

import math
import re

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, export
from rank_profiles import RANK_FEATURES, names_and_expression
from ranked_letor import check_same_ranking, exported

NO_RANK_FEATURES = (
    *(
        "",
        "a b",
        "größe",
        "1st",
        "5",
        "it's",
        "bm25(title",
        "bm25 (title)",
        "bm25(title) ",
        "bm25()",
        "a.",
        "a(b,)",
        "-a",
    ),
    *("a+b", "max(a,b)", "log(attribute(x))", "if(a,b,c)", "attribute(t){x:1}", 'a("}")', 'a("b)', "a{b}", "a;b", "#x"),
    *("a(b)c", "a((b))", "a\nb", "$x", "(" * 60, "f(" * 60 + "a" + ")" * 60),
)
SETTINGS = [{}, {"phase": "second-phase", "rerank_count": 7}, {"phase": "global-phase"}]


def value(expression, document):
    """Of a sum of numbers and products, left to right in doubles; `if (isNan(x) == 1, a, b)` is all it has besides."""
    total = None
    for line in expression.strip().splitlines():
        sign, number, term = re.fullmatch(r"\s*(?:([+-]) )?(-?[0-9][0-9.e+-]*)(?: \* (.+))?", line).groups()
        choice = re.fullmatch(r"if \(isNan\((.+)\) == 1, (.+), \1\)", term or "")
        name = choice[1] if choice else term
        found = document[name] if name else 1.0
        if choice and math.isnan(found):
            found = float(choice[2])
        product = float(number) * found
        total = product if total is None else total - product if sign == "-" else total + product
    return total


@pytest.mark.parametrize("settings", SETTINGS)
def test_it_ranks_as_the_model_does(made_letor, settings):
    made, rows, data = exported(made_letor, "vespa", RANK_FEATURES, shift=-0.5, **settings)
    names, expression = names_and_expression(made.content)
    assert tuple(names) == made.ranking.names
    documents = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    check_same_ranking(made, rows, data, [value(expression, document) for document in documents])


def test_the_profile_is_this():
    names = ("bm25(title)", "attribute(price)", "query(age)")
    model = LinearModel(np.array([0.5, -2e-9, -1.0]), names, missing=3.0)
    assert export(model, "vespa", profile="p1", phase="second-phase", rerank_count=50, shift=-4.0).content == (
        "rank-profile p1 inherits default {\n"
        "    inputs {\n"
        "        query(age) double: 3.0\n"
        "    }\n"
        "    second-phase {\n"
        "        rerank-count: 50\n"
        "        expression {\n"
        "            0.5 * bm25(title)\n"
        "            - 2e-09 * if (isNan(attribute(price)) == 1, 3.0, attribute(price))\n"
        "            - 1.0 * query(age)\n"
        "            - 4.0\n"
        "        }\n"
        "    }\n"
        "    match-features {\n"
        "        bm25(title)\n"
        "        attribute(price)\n"
        "        query(age)\n"
        "    }\n"
        "}\n"
    )


@pytest.mark.parametrize("name", RANK_FEATURES)
def test_rank_features_are_taken_by_their_names(name):
    assert export(LinearModel(np.ones(1), (name,)), "vespa").ranking.names == (name,)


@pytest.mark.parametrize("name", NO_RANK_FEATURES)
def test_what_is_no_rank_feature_is_refused(name):
    with pytest.raises(LinrankError, match="cannot take the feature name"):
        export(LinearModel(np.ones(1), (name,)), "vespa")


def test_plain_names_can_be_attributes():
    model = LinearModel(np.ones(2), ("price", "bm25(title)"))
    made = export(model, "vespa", wrap="attribute(%s)")
    assert made.ranking.names == ("attribute(price)", "bm25(title)")
    assert made.vectors.features == made.ranking.names
    with pytest.raises(LinrankError, match=r"'price'.* is 'attribute\(price\)' as another feature is"):
        export(LinearModel(np.ones(2), ("price", "attribute(price)")), "vespa", wrap="attribute(%s)")


def test_settings_that_vespa_would_not_understand_are_refused():
    for wrong in (
        {"profile": "a b"},
        {"inherits": ""},
        {"phase": "third-phase"},
        {"wrap": "attribute"},
        {"wrap": "a %s"},
    ):
        with pytest.raises(LinrankError):
            export(LinearModel(np.ones(1), ("a",)), "vespa", **wrong)
