"""All of scikit-learn's checks, for every estimator there is; where a definition forbids one, its reason is here.

(Other settings than the usual are checked beside each.)
"""

import inspect
import pkgutil
from importlib import import_module

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import linrank.estimators
from linrank.errors import MissingDependencyError
from linrank.estimators.catalogue import METHODS

# Few trees, steps and rounds: what is checked does not depend on how many.
SHORT = {"n_trees": 10, "steps": 2000, "min_leaf": 1}
SHORTER = {
    "BestLinear": {"Cs": [0.01, 1.0], "weightings": ["pairs", "ndcg"], "cv": 2},
    "GDM": {"max_iter": 200},
    "LambdaRank": {"max_iter": 50},
}

WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
FORBIDDEN = {
    "BestLinear": dict.fromkeys(WEIGHTS, "features are scaled by all documents, whatever they weigh"),
    "GradientBoostedTrees": dict.fromkeys(WEIGHTS, "scikit-learn's bins and leaves count rows, whatever they weigh"),
    "RandomForest": dict.fromkeys(WEIGHTS, "documents are drawn at random, whatever they weigh"),
    "SampledPairSGD": dict.fromkeys(
        WEIGHTS, "pairs are drawn at random: a weight of 2 doubles a chance, and does not repeat a draw"
    ),
    "NDCGReduction": {
        "check_methods_subset_invariance": "a document's wins depend on the others of its query, by definition"
    },
}


def estimators():
    """Every class with a `fit` that can be made, wherever it is in `linrank.estimators`."""
    found = {}
    for module in pkgutil.iter_modules(linrank.estimators.__path__):
        for name, made in vars(import_module(f"linrank.estimators.{module.name}")).items():
            own = inspect.isclass(made) and made.__module__.startswith("linrank.")
            if own and issubclass(made, BaseEstimator) and hasattr(made, "fit") and not inspect.isabstract(made):
                found[name] = made
    return {name: found[name] for name in sorted(found) if not _is_a_base(found[name], found.values())}


def _is_a_base(one, others):
    """A class that others complete, and that says itself what it minimises to nobody."""
    return not getattr(one, "method", "other") and any(other is not one and issubclass(other, one) for other in others)


ESTIMATORS = estimators()


def quick(name):
    made = ESTIMATORS[name]()
    wanted = SHORT | SHORTER.get(name, {})
    return made.set_params(**{key: value for key, value in wanted.items() if key in made.get_params()})


def test_every_method_of_the_catalogue_is_among_them():
    assert {method.class_name for method in METHODS.values()} <= set(ESTIMATORS)
    assert set(FORBIDDEN) <= set(ESTIMATORS)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [quick(name) for name in ESTIMATORS], expected_failed_checks=lambda made: FORBIDDEN.get(type(made).__name__, {})
)
def test_scikit_learns_checks(estimator, check):
    try:
        check(estimator)
    except MissingDependencyError as error:
        pytest.skip(str(error))
