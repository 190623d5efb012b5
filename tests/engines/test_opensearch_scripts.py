"""`script_score` in OpenSearch: Lucene's expressions and Painless, both in double."""

import numpy as np
import pytest

from engines.judged_like import WEIGHTS, documents
from engines.server import RefusedError

VALUES = documents(lowest=0.0)
FIELDS = ["plain", "with space", "with-dash", "with.dot", "l'eau", "popularité", "文書長", "x7"]
WEIGHTS = [abs(weight) for weight in WEIGHTS]


@pytest.fixture(scope="module")
def engine(opensearch):
    opensearch.create_index("scripted", dict.fromkeys(FIELDS, "float"))
    opensearch.index(
        "scripted",
        {
            str(row): {field: float(value) for field, value in zip(FIELDS, values, strict=True) if value}
            for row, values in enumerate(VALUES)
        },
    )
    return opensearch


def doc(field: str) -> str:
    quoted = field.replace("'", "\\'")
    return f"doc['{quoted}']"


SOURCES = {
    "expression": " + ".join(f"{w} * {doc(f)}.value" for w, f in zip(WEIGHTS, FIELDS, strict=True)),
    # Painless stops at a value that is not there; an expression takes 0.
    "painless": " + ".join(
        f"{w} * ({doc(f)}.size() == 0 ? 0 : {doc(f)}.value)" for w, f in zip(WEIGHTS, FIELDS, strict=True)
    ),
}


@pytest.mark.parametrize("language", SOURCES)
def test_scores_are_the_sum_in_double_rounded_once(engine, language):
    expected = np.zeros(len(VALUES))
    for column, weight in zip(VALUES.T.astype(float), WEIGHTS, strict=True):
        expected += weight * column
    scores = engine.script_scores("scripted", language, SOURCES[language])
    assert {int(key): np.float32(score) for key, score in scores.items()} == dict(enumerate(np.float32(expected)))
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


@pytest.mark.parametrize("language", SOURCES)
def test_a_negative_score_is_refused(engine, language):
    with pytest.raises(RefusedError, match="Must be a non-negative score"):
        engine.script_scores("scripted", language, f"({SOURCES[language]}) * -1")


def test_painless_refuses_a_value_that_is_not_there(engine):
    with pytest.raises(RefusedError, match="doesn't have a value for a field"):
        engine.script_scores("scripted", "painless", "doc['plain'].value")


@pytest.mark.parametrize(
    ("language", "complaint"),
    [("expression", r"Field \[misspelt\] does not exist"), ("painless", r"No field found for \[misspelt\]")],
)
def test_a_field_that_does_not_exist_is_refused(engine, language, complaint):
    with pytest.raises(RefusedError, match=complaint):
        engine.script_scores("scripted", language, "doc['misspelt'].value")
