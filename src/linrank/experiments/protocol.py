"""The protocol of a comparison: what features go through, what settings are chosen by, and what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import SCALINGS
from linrank.dataset.transform_choice import AskedTransform, choose_transform
from linrank.errors import LinrankError
from linrank.experiments.checked import Checked
from linrank.measures import parse_measure, parse_measures


@dataclass(frozen=True)
class Protocol:
    """How contenders are chosen and measured.

    `fewest` chooses, instead of the best on the validation part, the one with the fewest features among those whose
    mean difference from the best is within one standard error of that difference.
    """

    measures: tuple[str, ...] = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
    select: str = "ndcg@10"
    scaling: str = "auto"
    fewest: bool = False
    seed: int = 0
    transform: str = "none"

    def evaluated(self) -> tuple[str, ...]:
        """All measures there are values of, the one that selects among them."""
        return self.measures if self.select in self.measures else (*self.measures, self.select)

    @classmethod
    def of(
        cls, measures: str | Sequence[str], select: str, scaling: str, fewest: bool, seed: int, transform: str = "none"
    ) -> Protocol:
        """The protocol whose measures are as a user writes them, in any spelling."""
        listed = parse_measures(measures if isinstance(measures, str) else " ".join(measures))
        AskedTransform.named(transform)
        return cls(tuple(map(str, listed)), str(parse_measure(select)), scaling, fewest, seed, transform)

    def record(self) -> dict[str, Any]:
        """As JSON has it; without a transform as before there were any, so that what was compared then still counts."""
        known = asdict(self)
        if self.transform == "none":
            del known["transform"]
        return known

    def choice(self, train: RankingDataset, ranker: Any = None) -> Scaling | None:
        """What the features of a training part go through, fitted on it; nothing for a ranker that sees to it."""
        if getattr(ranker, "shapes_features", False):
            return None
        return choose_transform(self.transform, self.scaling, train).scaling

    @classmethod
    def from_record(cls, record: Checked) -> Protocol:
        """The protocol that `record` told of."""
        measures = tuple(record.field("measures").texts())
        select = record.field("select").text()
        for name in (*measures, select):
            try:
                parse_measure(name)
            except LinrankError as error:
                record.field("measures").refuse(f"names no measure: {error}")
        scaling, fewest = record.field("scaling").text(), record.field("fewest").flag()
        if scaling not in SCALINGS:
            record.field("scaling").refuse(f"is {scaling!r}, which is no scaling")
        transform = record.field("transform").text() if "transform" in record.value else "none"
        try:
            AskedTransform.named(transform)
        except LinrankError as error:
            record.field("transform").refuse(f"names no transform: {error}")
        return cls(measures, select, scaling, fewest, record.field("seed").count(), transform)
