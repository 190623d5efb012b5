"""Settings by the names other libraries have for them: answered with ours, or taken where they mean what happens here.

XGBoost, LightGBM and scikit-learn each have their words; a name that Python alone would refuse is answered by what it
is called here. `eval_measure`, our own former name of `measure`, still works.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any

from linrank.errors import UnknownSettingError
from linrank.measures.measures import nearest

_FORMER = {"eval_measure": "measure"}

# Names elsewhere, and our settings that mean the same, each as it is written: the first that a ranker has is named.
_WORDS: tuple[tuple[str, dict[str, str]], ...] = (
    ("early_stopping_rounds early_stopping n_iter_no_change", {"patience": "patience=10"}),
    ("eval_metric metric metrics eval_at scoring", {"measure": "measure='ndcg@10'"}),
    (
        "verbose verbosity verbose_eval callbacks",
        {"progress": "progress=print"},
    ),
    ("n_jobs nthread num_threads thread_count", {"n_threads": "n_threads=4, or None for all processors"}),
    (
        "n_estimators num_boost_round num_trees n_iter num_iterations epochs",
        {"n_trees": "n_trees=100", "max_iter": "max_iter=100", "passes": "passes=1"},
    ),
    ("num_leaves max_leaf_nodes", {"max_leaves": "max_leaves=15"}),
    ("min_child_samples min_data_in_leaf min_samples_leaf", {"min_leaf": "min_leaf=50"}),
    ("eta", {"learning_rate": "learning_rate=0.05"}),
    ("seed random_seed", {"random_state": "random_state=0"}),
    ("groups query query_id qids", {"qid": "qid, one value a row; or group, one size a query"}),
    ("feature_name feature_names", {"X": "X as a DataFrame, whose columns have the names"}),
    ("xgb_model init_model", {"warm_start": "warm_start=True, and fit again"}),
)
_OURS = {name: ours for names, ours in _WORDS for name in names.split()}
# What only rankers with a convex objective, and a solver that can, do.
_OF_SOME = {
    "bounds": "cannot keep its weights within bounds; RankSVM, SparseRank and PairwiseRidge can.",
    "executor": "learns in one process; RankSVM and other rankers that minimise a sum over queries have executor=.",
    "prior": "cannot pull its weights towards given ones; RankSVM, PairwiseRidge, EGDM and GDM can.",
}
# Whoever switches these off gets what happens here anyway.
_OFF = {"early_stopping_rounds", "early_stopping", "eval_metric", "verbose", "verbosity", "verbose_eval", "callbacks"}


def answering(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a ranker, with an answer to settings that it does not have."""
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(self: Any, *arguments: Any, **settings: Any) -> None:
        init(self, *arguments, **in_our_words(type(self).__name__, settings, known))

    return checked


def in_our_words(owner: str, given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The settings by the names they have here; one that the owner does not have is refused with the one it has."""
    ours = {}
    for name, value in given.items():
        called = _our_name(owner, name, value, known)
        if called is not None:
            ours[called] = value
    return ours


def refuse_in_fit(ranker: Any, given: Mapping[str, Any]) -> None:
    """Answer arguments of `fit` that it does not have: most are settings, of which a ranker has its own."""
    if not given:
        return
    owner = type(ranker).__name__
    arguments = list(inspect.signature(type(ranker).fit).parameters)[1:-1]
    settings = list(inspect.signature(type(ranker)).parameters)
    for name, value in given.items():
        if _is_off(name, value):
            continue
        for setting, written in _OURS.get(name, {}).items():
            if setting in settings:
                raise UnknownSettingError(f"fit takes no {name!r}; here it is a setting: {owner}({written}).")
            if setting in arguments:
                raise UnknownSettingError(f"fit takes no {name!r}; here it is {written}.")
        if name in settings:
            raise UnknownSettingError(f"fit takes no {name!r}; it is a setting: {owner}({name}=…).")
        raise UnknownSettingError(f"fit of {owner} takes no {name!r}{nearest(name, arguments)}")


def _our_name(owner: str, name: str, value: Any, known: Collection[str]) -> str | None:
    """What a setting is called here; None for one that is off, here as there."""
    if name in known:
        return name
    former = _FORMER.get(name)
    if former is not None and former in known:
        warnings.warn(f"{name} is called {former} now: {owner}({former}=…).", DeprecationWarning, stacklevel=4)
        return former
    if _is_off(name, value):
        return None
    for ours, written in _OURS.get(name, {}).items():
        if ours in known:
            raise UnknownSettingError(f"{owner} has no setting {name!r}; here it is {written}.")
    if name == "fit_intercept":
        raise UnknownSettingError(f"{owner} has no intercept: a constant changes no order. Leave out fit_intercept.")
    if name in _OF_SOME:
        raise UnknownSettingError(f"{owner} {_OF_SOME[name]}")
    if name in _OURS:
        raise UnknownSettingError(f"{owner} has no setting {name!r}, nor one like it. It has {', '.join(known)}.")
    raise UnknownSettingError(f"{owner} has no setting {name!r}{nearest(name, known)}")


def _is_off(name: str, value: Any) -> bool:
    quiet = name.startswith("verbos") and isinstance(value, int) and value <= 0
    return name in _OFF and (quiet or value is None or value is False or value == [])
