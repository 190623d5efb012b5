"""A ranker declares its settings once: its constructor, signature and description follow from that."""

import inspect
import pickle
from dataclasses import KW_ONLY

import pytest
from sklearn.base import clone

from linrank import (
    GDM,
    FacRankSVM,
    LinrankError,
    MCPRank,
    MinBatSRank,
    PairwiseRidgeCV,
    RankSVM,
    RankSVMCV,
    RegRankSVM,
    SampledPairSGD,
)
from linrank.estimators.catalogue import METHODS
from linrank.estimators.declaring import _entries, _sections, fixed, with_settings
from linrank.estimators.linear_ranker import LinearRanker
from linrank.estimators.ndcg_reduction import NDCGReduction

RANKERS = sorted({method.load() for method in METHODS.values()} | {NDCGReduction, PairwiseRidgeCV, RankSVMCV}, key=str)
by_name = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: ranker.__name__)


class Base(LinearRanker):
    """A base that is not declared itself.

    Parameters
    ----------
    speed : float
        How fast.

    Attributes
    ----------
    time_ : float
        How long it took.
    """

    def _check(self):
        pass

    def _train(self, dataset, validation):
        pass


@with_settings
class Walker(Base):
    """Walks.

    Parameters
    ----------
    legs : int
        How many.
    gait : {"trot", "amble"}
        Of those that walk.

    Examples
    --------
    >>> Walker().legs
    4
    """

    legs: int = 4
    _: KW_ONLY
    speed: float = 1.5
    gait: str = "amble"


@with_settings
class Runner(Walker):
    """Runs.

    Parameters
    ----------
    speed : float
        Much faster.

    Attributes
    ----------
    pulse_ : int
    """

    _: KW_ONLY
    shoes: bool = True
    speed: float = 9.0
    gait: str = fixed("trot")


def test_own_settings_come_first_and_positions_stay():
    assert str(inspect.signature(Walker)) == "(legs: int = 4, *, speed: float = 1.5, gait: str = 'amble') -> None"
    assert list(inspect.signature(Runner).parameters) == ["legs", "shoes", "speed"]
    assert Walker(6, gait="trot").get_params() == {"legs": 6, "speed": 1.5, "gait": "trot"}
    with pytest.raises(TypeError, match="positional"):
        Walker(4, 2.0)


@pytest.mark.parametrize(
    ("ranker", "names"),
    [
        (FacRankSVM, ["rank", "C"]),
        (GDM, ["gamma", "learning_rate", "momentum"]),
        (MCPRank, ["l1", "shape"]),
        (MinBatSRank, ["l1", "learning_rate", "rho", "passes"]),
        (RegRankSVM, ["C", "nuclear", "coupling"]),
        (SampledPairSGD, ["l2", "steps"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_settings_by_position_stay_in_their_places(ranker, names):
    parameters = inspect.signature(ranker).parameters.values()
    assert [one.name for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY] == names
    assert ranker(*range(len(names))).get_params() == {
        **ranker().get_params(),
        **{name: place for place, name in enumerate(names)},
    }


def test_what_is_fixed_is_there_and_cannot_be_set():
    assert Runner().gait == "trot"
    assert "gait" not in Runner().get_params()
    with pytest.raises(LinrankError, match="Runner has no setting 'gait'"):
        Runner(gait="amble")


def test_a_description_is_the_nearest_one_with_the_default_of_the_class():
    assert Walker.__doc__ == (
        "Walks.\n\n"
        "Parameters\n----------\n"
        "legs : int, default=4\n    How many.\n"
        "speed : float, default=1.5\n    How fast.\n"
        'gait : {"trot", "amble"}, default="amble"\n    Of those that walk.\n\n'
        "Attributes\n----------\n"
        "coef_ : ndarray of shape (n_features,)\nn_iter_ : int\ntime_ : float\n    How long it took.\n\n"
        "Examples\n--------\n>>> Walker().legs\n4\n"
    )
    assert "speed : float, default=9.0\n    Much faster.\n" in Runner.__doc__
    assert "legs : int, default=4\n    How many.\n" in Runner.__doc__
    assert "gait" not in Runner.__doc__
    assert Runner.__doc__.endswith("time_ : float\n    How long it took.\npulse_ : int\n")


def test_a_class_without_description_or_declarations_works_too():
    @with_settings
    class Silent(Walker):
        pass

    class Undeclared(Walker):
        pass

    assert "legs : int, default=4\n    How many.\n" in Silent.__doc__
    assert Silent(3).legs == Undeclared(3).legs == 3


@by_name
def test_every_setting_is_described_with_its_default(ranker):
    described = _entries(_sections(ranker.__doc__)["Parameters"])
    parameters = inspect.signature(ranker).parameters
    assert list(described) == list(parameters)
    for name, parameter in parameters.items():
        head, _, meaning = described[name].partition("\n")
        assert " : " in head
        assert meaning
        if not isinstance(parameter.default, tuple):
            assert head.replace('"', "'").endswith(f"default={parameter.default!r}")


@by_name
def test_settings_survive_clones_and_pickles(ranker):
    made = ranker()
    assert vars(made) == {name: parameter.default for name, parameter in inspect.signature(ranker).parameters.items()}
    for copy in (clone(made), pickle.loads(pickle.dumps(made))):
        assert vars(copy) == vars(made)
        assert repr(copy) == repr(made) == f"{ranker.__name__}()"


def test_a_constructor_of_ones_own_is_answered_as_before():
    class Mine(RankSVM):
        def __init__(self, C=2.0):
            super().__init__(C)

    assert Mine().C == 2.0
    with pytest.raises(LinrankError, match="Mine has no setting 'n_jobs'"):
        Mine(n_jobs=2)
