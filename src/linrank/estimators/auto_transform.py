"""The transform that "auto" stands for where there is validation data: what features suggest, unless that is worse."""

from __future__ import annotations

import warnings

import numpy as np

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import ScalingChoice, Through, one_after_the_other, scaled
from linrank.dataset.transform_choice import choose_transform
from linrank.measures import parse_measure

# What is tried is trained on no more documents than these, with these weights of the loss over all pairs.
_MOST_DOCUMENTS = 50_000
_STRENGTHS = (1e-3, 1e-1, 1e1)
_TRIED = ("none", "rank-gauss", "signed-log")


def choose_on_validation(
    scaling: str,
    dataset: RankingDataset,
    validation: RankingDataset | None,
    measure: str = "ndcg@10",
    through: Through = one_after_the_other,
) -> ScalingChoice:
    """The transform that the features suggest, or another that ranks the validation queries better, beyond doubt.

    Each is tried with RankSVM; another is taken where its mean is higher by more than the standard error of the
    differences, query by query. Without validation data, or where the data is not in memory, the features decide.
    """
    suggested = choose_transform("auto", scaling, dataset, through)
    is_loaded = hasattr(dataset, "queries")
    if validation is None or not is_loaded or scaling == "query":
        return suggested
    kind = "none" if suggested.scaling is None else suggested.scaling.kind
    first = kind if kind in _TRIED else "none"
    part = dataset
    if dataset.n_documents > _MOST_DOCUMENTS:
        share = _MOST_DOCUMENTS / dataset.n_documents
        part = dataset.split(share, 1.0 - share)[0]
    values = {name: _measured(name, scaling, part, validation, measure) for name in _TRIED}
    best = first
    for name in _TRIED:
        differences = values[name] - values[best]
        error = np.std(differences, ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf
        if differences.mean() > error:
            best = name
    said = ", ".join(f"{name} {values[name].mean():.4f}" for name in _TRIED)
    tried = f"{measure} on validation queries: {said}"
    if best == first:
        return ScalingChoice(suggested.scaling, f"{suggested.why}; {tried}")
    taken = choose_transform(best, scaling, dataset, through)
    # What was said of the suggestion, such as that features are not scaled, is not of this one.
    said_of_it = f"{taken.why}; " if taken.why else ""
    return ScalingChoice(
        taken.scaling, f"{said_of_it}the features alone suggest {suggested}; {tried}, so {best} was taken"
    )


def _measured(
    transform: str, scaling: str, dataset: RankingDataset, validation: RankingDataset, measure: str
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The measure of each validation query by RankSVM, with the best of a few strengths; skipped queries count 0."""
    from linrank.estimators.rank_svm import RankSVM

    chosen = choose_transform(transform, scaling, dataset).scaling
    seen, watched = scaled(dataset, chosen), scaled(validation, chosen)
    found = []
    # Per document rather than per pair, of which there may be any number.
    unit = max(1, dataset.n_documents)
    for strength in _STRENGTHS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker = RankSVM(C=strength / unit, max_iter=20, tol=1e-3).fit(seen)
        found.append(np.nan_to_num(parse_measure(measure).per_query(ranker.predict(watched), validation)))
    return max(found, key=lambda values: float(values.mean()))
