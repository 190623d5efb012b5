"""How many features data may have: the memory that they take must be justified by the data, and there."""

from __future__ import annotations

from linrank.errors import LinrankError
from linrank.memory import memory_bytes

# The usual size of a hashed feature space, which takes a third of a gigabyte.
FREE_FEATURES = 1 << 20
# A feature that never occurs is no use, so real data has more values than features.
FEATURES_A_VALUE = 8
# A name, a weight, a slope, and the handful of further vectors that training makes; as measured.
BYTES_A_FEATURE = 300


def gigabytes_of(n_features: int) -> float:
    """What is needed beside the data for so many features."""
    return n_features * BYTES_A_FEATURE / 1e9


def is_justified(n_features: int, n_values: int) -> bool:
    """Whether so many features may be taken from data with so many values, without being told that they are meant."""
    return n_features <= max(FREE_FEATURES, FEATURES_A_VALUE * n_values)


def unjustified(n_features: int, said: str, n_values: int) -> str:
    """Say what is wrong where the number of features is not justified, and the remedy."""
    return (
        f"{said}, but there are {n_values} values in all; so many features would need about "
        f"{gigabytes_of(n_features):.1f} GB of names, weights and other vectors. Renumber the features that occur, or "
        f"hash them to fewer; if so many are meant, say so: n_features={n_features} (--n-features {n_features})."
    )


def check_room(n_features: int) -> None:
    """Refuse more features than the machine has memory for vectors of them, however few documents there are."""
    if n_features > FREE_FEATURES and n_features * BYTES_A_FEATURE > memory_bytes():
        raise LinrankError(
            f"{n_features} features need about {gigabytes_of(n_features):.0f} GB for names, weights and other vectors "
            f"of one number a feature; there are {memory_bytes() / 1e9:.0f} GB of memory. Renumber the features that "
            "occur, or hash them to fewer."
        )
