"""LIBLINEAR: a model as text, of its own programs and of those for ranking."""

from __future__ import annotations

from linrank.importing.form import ForeignWeights, Form, Given, whole_number

_HEADS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")


def _is_one(given: Given) -> bool:
    return given.text.startswith("solver_type ")


def _read(given: Given) -> ForeignWeights:
    lines = given.text.splitlines()
    heads: dict[str, str] = {}
    for first, line in enumerate(lines, start=1):
        if line.strip() == "w":
            break
        head, _, value = line.strip().partition(" ")
        if head not in _HEADS or head in heads:
            wrong = "there twice" if head in heads else f"none of {', '.join(_HEADS)}, w"
            raise given.wrong(f"{head[:40]!r} is {wrong}. Restore the file.", first)
        heads[head] = value.strip()
    else:
        raise given.wrong("has no line 'w', after which the weights follow. Restore the file.")
    for needed in ("solver_type", "nr_class", "nr_feature", "bias"):
        if needed not in heads:
            raise given.wrong(f"has no line '{needed} …' above 'w'. Restore the file.")
    _refuse_other_than_one_sum(given, heads)
    n_features = _whole(given, heads["nr_feature"], "nr_feature")
    bias = given.number_in(heads["bias"], "bias")
    has_bias = bias >= 0
    weights = [(number, line.split()) for number, line in enumerate(lines[first:], start=first + 1) if line.strip()]
    if len(weights) != n_features + has_bias:
        expected = f"{n_features:,} features{' and the bias' if has_bias else ''}"
        raise given.wrong(f"has {len(weights):,} lines of weights for {expected}. Restore the file.")
    sign = _sign(given, heads.get("label"))
    weight_of: dict[str, float] = {}
    for place, (number, words) in enumerate(weights, start=1):
        if len(words) != 1:
            raise given.wrong(f"has {len(words)} numbers where one weight stands. Restore the file.", number)
        # Adding 0 makes -0 a 0.
        weight_of[str(place)] = sign * given.number_in(words[0], f"the weight of feature {place}", number) + 0.0
    # A constant, which changes no order.
    constant = {"shift": weight_of.popitem()[1] * bias} if has_bias else {}
    return ForeignWeights(weight_of, {"solver_type": heads["solver_type"], **constant})


def _refuse_other_than_one_sum(given: Given, heads: dict[str, str]) -> None:
    n_classes = _whole(given, heads["nr_class"], "nr_class")
    if n_classes != 2 or heads["solver_type"] == "MCSVM_CS":
        raise given.wrong(
            f"tells {n_classes} classes apart by {heads['solver_type']}, with a sum for each. To rank, train by "
            "regression (-s 11), on two labels, or with liblinear-ranksvm."
        )
    if heads["solver_type"] == "ONECLASS_SVM":
        raise given.wrong("finds outliers (ONECLASS_SVM), and ranks nothing. Train by regression (-s 11).")


def _sign(given: Given, labels: str | None) -> float:
    """1 where a higher sum is the higher label, -1 where it is the lower: the sum speaks for the label named first."""
    if labels is None:
        return 1.0
    both = [given.number_in(word, "label") for word in labels.split()]
    if len(both) != 2 or both[0] == both[1]:
        raise given.wrong(f"label is {labels[:40]!r}; two different labels must stand there. Restore the file.")
    return 1.0 if both[0] > both[1] else -1.0


def _whole(given: Given, text: str, what: str) -> int:
    number = whole_number(text)
    if number is None:
        raise given.wrong(f"{what} is {text[:40]!r}; it must be a whole number. Restore the file.")
    return number


LIBLINEAR = Form("liblinear", "LIBLINEAR's text: two classes, regression, or ranking", _is_one, _read)
