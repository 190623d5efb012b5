"""scikit-learn's conventions, without its import: a ranker is one of its estimators from when somebody imports it."""

from __future__ import annotations

import inspect
from numbers import Integral
from typing import Any, Self

import numpy as np

from linrank.loaded import subclass_once_loaded


class PlainEstimator:
    """What `sklearn.base.BaseEstimator` is to a ranker as long as nobody has imported it: settings by name."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name; with `deep`, those of an estimator among them too, as `name__setting`."""
        settings = {name: getattr(self, name) for name in self._get_param_names()}
        nested = {
            f"{name}__{inner}": value
            for name, estimator in settings.items()
            if deep and hasattr(estimator, "get_params") and not isinstance(estimator, type)
            for inner, value in estimator.get_params().items()
        }
        return {**settings, **nested}

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name."""
        for name, value in settings.items():
            owner, _, inner = name.partition("__")
            if inner:
                getattr(self, owner).set_params(**{inner: value})
            else:
                setattr(self, owner, value)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        )
        return f"{type(self).__name__}({changed})"


class _PlainWarning(UserWarning):
    """Between a warning and its base, so that it can have another: a class of Python's own cannot be replaced."""


@subclass_once_loaded("sklearn.exceptions", "ConvergenceWarning")
class ConvergenceWarning(_PlainWarning):
    """A training ended before its time; a `sklearn.exceptions.ConvergenceWarning`."""


def check_trained(ranker: Any) -> None:
    """Refuse a ranker that is not trained, in scikit-learn's words."""
    if not any(name.endswith("_") and not name.startswith("__") for name in vars(ranker)):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(ranker)


def drawn_seed(random_state: Any) -> int:
    """A seed for our own streams from a number, a RandomState or None, which is NumPy's own."""
    if isinstance(random_state, Integral):
        source = np.random.RandomState(int(random_state))
    else:
        from sklearn.utils import check_random_state

        source = check_random_state(random_state)
    return int(source.randint(2**31 - 1))
