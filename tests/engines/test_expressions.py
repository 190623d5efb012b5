"""The compilers behind `lang: expression` and Vespa's rank profiles."""

import numpy as np
import pytest

from engines.expressions import ExpressionError
from engines.judged_like import WEIGHTS, documents

VALUES = documents(5).astype(float)
NAMES = {
    "lucene": [f"doc['field {place}'].value" for place in range(len(WEIGHTS))],
    "vespa": ["bm25(title)", "fieldMatch(body).proximity", *(f"attribute(x{place})" for place in range(6))],
}


@pytest.fixture(params=NAMES)
def compiler(request):
    return request.param, request.getfixturevalue(request.param)


def test_sums_are_taken_in_double_from_the_left(compiler):
    language, expressions = compiler
    names = NAMES[language]
    expression = " + ".join(f"{weight} * {name}" for weight, name in zip(WEIGHTS, names, strict=True))
    for values in VALUES:
        expected = 0.0
        for weight, value in zip(WEIGHTS, values, strict=True):
            expected += weight * value
        assert expressions.evaluate(expression, dict(zip(names, values, strict=True))) == expected


def test_numbers_are_read_to_the_last_bit(compiler):
    _, expressions = compiler
    for number in [0.1, 1e-7, 5e-324, 1.7976931348623157e308, np.nextafter(1.0, 2.0), 123456789.123456789]:
        assert expressions.evaluate(f"x * {float(number)!r}", {"x": 1.0}) == number


def test_what_is_no_expression_is_refused(compiler):
    _, expressions = compiler
    with pytest.raises(ExpressionError):
        expressions.evaluate("0.5 * ", {})
    with pytest.raises(ExpressionError):
        expressions.evaluate("0.5 * unknown", {})


def test_lucene_cannot_compile_thousands_of_terms_in_a_row(lucene):
    # (How many it can depends on how much of its parser the virtual machine has compiled by then.)
    with pytest.raises(ExpressionError, match="StackOverflowError"):
        lucene.evaluate(" + ".join(["0.001 * x"] * 50_000), {"x": 1.0})


@pytest.mark.parametrize("name", ["attribute(popularité)", "with space", "l'eau"])
def test_vespa_refuses_names_it_cannot_write(vespa, name):
    with pytest.raises(ExpressionError, match="Could not parse"):
        vespa.evaluate(f"0.5 * {name}", {})
