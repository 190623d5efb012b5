"""The transform that "auto" stands for where there is validation data: what features suggest, unless that is worse."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.dataset.features import as_features
from linrank.dataset.queries import draws_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import ScalingChoice, one_after_the_other, scaled
from linrank.dataset.trainable import fault_of_rows
from linrank.dataset.transform_choice import choose_transform
from linrank.executors.pieces import Piece, Pieces, through
from linrank.measures import parse_measure

# What is tried is trained on no more documents than these, of so many queries, with these weights of the loss.
_MOST_DOCUMENTS, _LEAST_QUERIES = 50_000, 20
_STRENGTHS = (1e-3, 1e-1, 1e1)
_TRIED = ("none", "rank-gauss", "signed-log")


def choose_on_validation(
    scaling_of: Callable[[str], str],
    dataset: RankingDataset,
    validation: RankingDataset | None,
    measure: str = "ndcg@10",
    executor: Any = None,
) -> ScalingChoice:
    """The transform that the features suggest, or another that ranks the validation queries better, beyond doubt.

    Each is tried with RankSVM and the scaling that follows it; another is taken where its mean is higher by more than
    the standard error of the differences, query by query. Without validation data the features decide.
    """
    by = one_after_the_other if executor is None else through(executor)
    suggested = choose_transform("auto", scaling_of("none"), dataset, by)
    if validation is None or scaling_of("none") == "query":
        return suggested
    share = min(1.0, max(_MOST_DOCUMENTS / dataset.n_documents, _LEAST_QUERIES / dataset.n_queries))
    part = _some_queries(dataset, share, executor)
    measured = {name: _measured(name, scaling_of(name), part, validation, measure) for name in _TRIED}
    # Of features as they are, numbers may be too large to learn from.
    values = {name: found for name, found in measured.items() if found is not None}
    if not values:
        # Who trains on it says what is wrong.
        return suggested
    kind = "none" if suggested.scaling is None else suggested.scaling.kind
    first = best = kind if kind in values else next(iter(values))
    for name, found in values.items():
        differences = found - values[best]
        error = np.std(differences, ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf
        if differences.mean() > error:
            best = name
    said = ", ".join(f"{name} {found.mean():.4f}" for name, found in values.items())
    tried = f"{measure} on validation queries: {said}"
    if best == first:
        return ScalingChoice(suggested.scaling, f"{suggested.why}; {tried}")
    taken = choose_transform(best, scaling_of(best), dataset, by)
    # What was said of the suggestion, such as that features are not scaled, is not of this one.
    said_of_it = f"{taken.why}; " if taken.why else ""
    return ScalingChoice(
        taken.scaling, f"{said_of_it}the features alone suggest {suggested}; {tried}, so {best} was taken"
    )


def _some_queries(dataset: RankingDataset, share: float, executor: Any) -> RankingDataset:
    """About a share of the queries, the same ones wherever the data is."""
    if not isinstance(dataset, RankingDataset):
        parts = Pieces.of(dataset, executor).tell(_drawn_of_piece, share=share)
        return RankingDataset.joined([part for of_piece in parts for part in of_piece])
    return dataset if share == 1.0 else _drawn(dataset, share)


def _drawn_of_piece(piece: Piece, *, share: float) -> list[RankingDataset]:
    return [_drawn(chunk, share) for chunk in piece.chunks(to_train=False)]


def _drawn(dataset: RankingDataset, share: float) -> RankingDataset:
    return dataset.subset(draws_of(dataset.queries.ids) < share)


def _measured(
    transform: str, scaling: str, dataset: RankingDataset, validation: RankingDataset, measure: str
) -> NDArray[np.float64] | None:
    """The measure of each validation query by RankSVM, with the best of a few strengths; skipped queries count 0.

    None where what comes out cannot be learnt from.
    """
    from linrank.estimators.rank_svm import RankSVM

    chosen = choose_transform(transform, scaling, dataset).scaling
    seen, watched = scaled(dataset, chosen), scaled(validation, chosen)
    if not seen.is_trainable or fault_of_rows(as_features(watched.features), watched.feature_names):
        return None
    found = []
    # Per document rather than per pair, of which there may be any number.
    unit = max(1, dataset.n_documents)
    for strength in _STRENGTHS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker = RankSVM(C=strength / unit, max_iter=20, tol=1e-3).fit(seen)
        found.append(np.nan_to_num(parse_measure(measure).per_query(ranker.predict(watched), validation)))
    return max(found, key=lambda values: float(values.mean()))
