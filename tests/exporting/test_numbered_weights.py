"""RankLib and LIBLINEAR: their files, read back in the plainest way, rank as the model does."""

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, export
from ranked_letor import AWKWARD, check_same_ranking, exported

TARGETS = pytest.mark.parametrize("target", ["ranklib", "liblinear"])


def weights_of(made):
    """The weights of features 1, 2, … in a file, as the programs read it."""
    lines = made.content.splitlines()
    if made.engine.name == "ranklib":
        assert lines[0] == "## Coordinate Ascent"
        (line,) = (line for line in lines if not line.startswith("##"))
        pairs = [pair.split(":") for pair in line.split(" ")]
        assert [int(number) for number, _ in pairs] == list(range(1, len(pairs) + 1))
        return [float(weight) for _, weight in pairs]
    head, weights = lines[:5], [float(line) for line in lines[5:]]
    expected = ["solver_type L2R_L2LOSS_RANKSVM", "nr_class 2", f"nr_feature {len(weights)}", "bias -1", "w"]
    assert head == expected
    return weights


def score(weights, document):
    """Of a document as svmlight text has it: pairs of a feature's number and its value."""
    total = 0.0
    for number, value in document:
        total += weights[number - 1] * value
    return total


@TARGETS
@pytest.mark.parametrize("names", [AWKWARD, tuple(str(number) for number in range(1, 47))])
def test_it_ranks_as_the_model_does(target, names, made_letor):
    made, rows, data = exported(made_letor, target, names)
    weights, X = weights_of(made), np.asarray(data.features)
    assert len(weights) == data.n_features
    if target == "ranklib":
        # It reads values as floats.
        X = X.astype(np.float32).astype(np.float64)
    documents = ([(number, value) for number, value in enumerate(row, start=1) if value] for row in X.tolist())
    check_same_ranking(made, rows, data, [score(weights, document) for document in documents])


@TARGETS
def test_names_that_are_numbers_are_the_numbers(target):
    model = LinearModel(np.array([0.5, 0.0, 3.0]), ("5", "7", "2"))
    made = export(model, target)
    assert weights_of(made) == [0.0, 3.0, 0.0, 0.0, 0.5]
    assert not any("places in the model" in note for note in made.notes)


@TARGETS
def test_other_names_are_numbered_in_the_models_order(target):
    made = export(LinearModel(np.array([0.5, 0.0, 3.0, 0.0]), ("price", "age", "x: y", "clicks")), target)
    assert weights_of(made) == [0.5, 0.0, 3.0, 0.0]
    assert any("1 price, 3 x: y" in note for note in made.notes)
    if target == "ranklib":
        assert "## 1 = price\n## 3 = x: y\n" in made.content


@TARGETS
def test_numbers_that_would_be_others_are_refused(target):
    with pytest.raises(LinrankError, match="'2': it would be number 1, since not all names are numbers"):
        export(LinearModel(np.ones(2), ("2", "price")), target)
    with pytest.raises(LinrankError, match="'4000000000': it is larger than 10,000,000"):
        export(LinearModel(np.ones(2), ("1", "4000000000")), target)
    # In place, it is its own number.
    assert weights_of(export(LinearModel(np.ones(2), ("price", "2")), target)) == [1.0, 1.0]
