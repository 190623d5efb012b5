"""What every structure for sums over pairs is: a value that plans the two sweeps of a point, and runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from numpy.typing import NDArray

from linrank.arrays import Indices

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.dataset.stored_dataset import StoredDataset
    from linrank.objective.sorted_pairs import SortedPairs


class Sweeps(Protocol):
    """The pairs within a margin at one point: all that depends on the scores is planned, and serves every product.

    Values are real, or complex: two sums for little more than one. Values and sums are in sorted order.
    """

    def higher(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sums of values over each document's partners with a higher label."""
        ...

    def lower(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sums of values over each document's partners with a lower label."""
        ...


class Structure(Protocol):
    """How sums over pairs are computed: all give the same sums, but for the rounding of another order of adding."""

    leaves_out: ClassVar[bool]
    """Whether documents may have other rows than those of a whole block: those without a partner are left out then."""

    def sweeps(self, documents: SortedPairs, ends: Indices, begins: Indices) -> Sweeps:
        """Plan the sweeps. The higher partners of position p stand before `ends[p]`, the lower from `begins[p]` on."""
        ...

    def refuses(self, dataset: RankingDataset | StoredDataset) -> str | None:
        """Why this structure cannot hold the pairs of a dataset, and what can; None where it can."""
        ...


class HoldsAny:
    """What a structure has to say that needs no memory to speak of."""

    leaves_out: ClassVar[bool] = False

    def refuses(self, dataset: RankingDataset | StoredDataset) -> str | None:  # noqa: ARG002
        return None
