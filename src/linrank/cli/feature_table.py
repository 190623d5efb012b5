"""The features of a dataset, one a line: range, missing share, and what each is worth alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, table
from linrank.errors import LinrankError

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.dataset.summary import DatasetSummary, FeatureSummary
    from linrank.measures.single_features import SingleFeatureNDCG


def feature_worth(dataset: RankingDataset) -> tuple[SingleFeatureNDCG | None, str | None]:
    """NDCG@10 of each feature alone, or None and why not; the rest can be told all the same."""
    from linrank.measures.single_features import single_feature_ndcg

    if not dataset.is_judged or not dataset.n_documents:
        # Which the summary says.
        return None, None
    try:
        return single_feature_ndcg(dataset), None
    except LinrankError as error:
        return None, f"NDCG@10 of each feature alone is left out: {error}"


def add_worth(record: dict[str, Any], worth: SingleFeatureNDCG | None) -> dict[str, Any]:
    """The record of a summary, with each feature's NDCG@10 and better direction."""
    if worth is None:
        return record
    columns = worth.values.tolist(), worth.directions.tolist(), worth.varies.tolist()
    for feature, ndcg, direction, varies in zip(record["features"], *columns, strict=True):
        feature |= {"ndcg@10": ndcg, "direction": int(direction), "varies_within_queries": varies}
    return record | {"any_order_ndcg@10": worth.any_order}


def show_features(summary: DatasetSummary, worth: SingleFeatureNDCG | None, most: int | None) -> None:
    """Print the features, the best alone first, `most` of them."""
    import numpy as np

    order = range(summary.n_features) if worth is None else np.argsort(-worth.values, kind="stable").tolist()
    notes = _notes(summary, worth)
    shown = table(None, "feature", "least", "most", "missing", *(() if worth is None else ("ndcg@10", "first")), "")
    for j in list(order)[:most]:
        feature = summary.features[j]
        alone = () if worth is None else (f"{worth.values[j]:.4f}", "lowest" if worth.directions[j] < 0 else "highest")
        shown.add_row(feature.name, *_range(feature), *alone, notes.get(feature.name, ""))
    if worth is not None:
        shown.add_row("any order", "", "", "", f"{worth.any_order:.4f}", "", "")
    console().print(shown)
    if most is not None and summary.n_features > most:
        console().print(f"  … and {summary.n_features - most:,} more features; --all shows every one.")


def _range(feature: FeatureSummary) -> tuple[str, str, str]:
    least, most = ("" if end is None else f"{end:.6g}" for end in (feature.least, feature.most))
    # A few missing values are not none.
    missing = "" if not feature.missing else "< 0.1%" if feature.missing < 0.001 else f"{feature.missing:.1%}"
    return least, most, missing


def _notes(summary: DatasetSummary, worth: SingleFeatureNDCG | None) -> dict[str, str]:
    notes: dict[str, str] = {}
    if worth is not None:
        still = (feature.name for feature, varies in zip(summary.features, worth.varies, strict=True) if not varies)
        notes |= dict.fromkeys(still, "the same within each query")
    notes |= dict.fromkeys(summary.constant_features, "constant")
    for first, *others in summary.duplicated_features:
        notes |= dict.fromkeys(others, f"as {first}")
    return notes
