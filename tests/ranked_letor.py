"""A model of MQ2008-like data whose features have names that need care, and what an engine owes it."""

from dataclasses import replace

import numpy as np

from linrank import RankSVM, export
from linrank.exporting.order_changes import order_changes

AWKWARD = (
    *(
        "a b",
        "x.y",
        "it's",
        "''",
        'say "so"',
        '"',
        '""',
        "back\\slash",
        "\\",
        "\\'",
        "p]q",
        "p['q']",
        "$cost",
        "${x}",
        "$1",
    ),
    *(
        "select",
        "ORDER BY",
        "größe",
        "名前",
        "🙂",
        "100%",
        "%s",
        "a;b",
        "-- x",
        "/* x",
        "{y}",
        ":p",
        "?",
        "@v",
        "`t`",
        "#",
    ),
    *("a=b", "a,b", "(x)", "<x>", "&amp;", "!", "~", "^", "|", "+", "-1", "1e5", "null", "true", "doc"),
)


def ranked_letor(letor, names):
    """A trained model of these names, the others plain, without its smaller weights; and documents to rank."""
    train, test = (renamed(part, names) for part in letor.parts("MQ2008", 1, "train", "test"))
    model = RankSVM(C=0.01).fit(train).to_model()
    small = np.abs(model.weights) < np.quantile(np.abs(model.weights), 0.25)
    assert small.any()
    return replace(model, weights=np.where(small, 0.0, model.weights)), test


def renamed(data, names):
    called = (*names[: data.n_features], *(f"f{j}" for j in range(len(names), data.n_features)))
    return replace(data, feature_names=called)


def exported(letor, target, names=AWKWARD, queries=None, **settings):
    """The export of such a model, the values of its features by document, and the documents, all or some queries'."""
    model, data = ranked_letor(letor, names)
    data = data if queries is None else data.subset(queries)
    made = export(model, target, data=data, **settings)
    return made, np.asarray(data.features)[:, [*made.ranking.columns]], data


def check_same_ranking(made, rows, data, scores):
    """The engine's scores are those foretold, and put every query's documents in the model's order."""
    scores = np.asarray(scores)
    expected = made.engine.arithmetic.scores(made.ranking, rows)
    if made.engine.arithmetic.is_exact:
        assert scores.tolist() == expected.tolist()
    else:
        close = 1e-12 if expected.dtype == np.float64 else 1e-6
        np.testing.assert_allclose(scores, expected, rtol=close, atol=close * np.abs(expected).max())
    changes = order_changes(made.model.predict(data), scores, data.queries)
    assert changes.pairs > 100
    assert (changes.reversed, changes.tied) == (0, 0)
