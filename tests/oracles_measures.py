"""Every measure in its slowest, plainest form: one query at a time, every order of tied documents written out."""

import itertools
import math
import struct


def gain(label, definition):
    if label <= 0:
        return 0.0
    return label if definition in ("linear", "trec") else 2.0**label - 1


def discount(rank, definition):
    if definition == "letor":
        return 1.0 if rank <= 2 else 1 / math.log2(rank)
    return 1 / math.log2(rank + 1)


def dcg(labels, definition, k):
    return sum(gain(y, definition) * discount(i, definition) for i, y in enumerate(labels[:k], start=1))


def ndcg(labels, definition, k, missed=()):
    if definition == "letor" and k is not None and len(labels) < k:
        return 0.0
    ideal = dcg(sorted([*labels, *missed], reverse=True), definition, k)
    return dcg(labels, definition, k) / ideal if ideal > 0 else 0.0


def mean_ndcg(labels, definition, missed):
    return sum(ndcg(labels, definition, k, missed) for k in range(1, len(labels) + 1)) / len(labels)


def average_precision(relevant, k, n_missed):
    at_hits = [sum(relevant[:i]) / i for i in range(1, len(relevant[:k]) + 1) if relevant[i - 1]]
    return sum(at_hits) / (sum(relevant) + n_missed) if any(relevant) else 0.0


def precision(relevant, definition, k):
    return 0.0 if definition == "letor3" and len(relevant) < k else sum(relevant[:k]) / k


def recall(relevant, k, n_missed):
    return sum(relevant[:k]) / (sum(relevant) + n_missed) if any(relevant) else 0.0


def reciprocal_rank(relevant, k):
    return next((1 / i for i, hit in enumerate(relevant[:k], start=1) if hit), 0.0)


def winner_takes_all(labels, rel):
    return float(labels[0] >= rel and labels[0] == max(labels))


def expected_reciprocal_rank(labels, max_label, k):
    value, unsatisfied = 0.0, 1.0
    for i, y in enumerate(labels[:k], start=1):
        satisfied = gain(y, "standard") / 2.0**max_label
        value += unsatisfied * satisfied / i
        unsatisfied *= 1 - satisfied
    return value


def of_ranking(measure, labels, missed=()):
    """The value of one list of labels, best score first; `missed` are labels of documents that are not in the list."""
    n_missed = 0 if measure.rel is None else sum(y >= measure.rel for y in missed)
    relevant = None if measure.rel is None else [y >= measure.rel for y in labels]
    return {
        "dcg": lambda: dcg(labels, measure.definition, measure.cutoff),
        "ndcg": lambda: ndcg(labels, measure.definition, measure.cutoff, missed),
        "mean_ndcg": lambda: mean_ndcg(labels, measure.definition, missed),
        "map": lambda: average_precision(relevant, measure.cutoff, n_missed),
        "p": lambda: precision(relevant, measure.definition, measure.cutoff),
        "recall": lambda: recall(relevant, measure.cutoff, n_missed),
        "mrr": lambda: reciprocal_rank(relevant, measure.cutoff),
        "wta": lambda: winner_takes_all(labels, measure.rel),
        "err": lambda: expected_reciprocal_rank(labels, measure.max_label, measure.cutoff),
    }[measure.name]()


def all_rankings(scores, labels):
    """Every list of labels that descending scores allow."""
    groups = [[y for y, s in zip(labels, scores, strict=True) if s == score] for score in sorted(set(scores))[::-1]]
    for choice in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield list(itertools.chain(*choice))


def single(score):
    """The score as trec_eval keeps it; beyond the largest number of single precision, infinity."""
    try:
        return struct.unpack("f", struct.pack("f", score))[0]
    except OverflowError:
        return math.copysign(math.inf, score)


def one_ranking(scores, labels, docids, ties):
    if ties == "docid":
        scores = map(single, scores)
    documents = list(zip(scores, labels, docids, strict=True))
    if ties == "docid":
        documents.sort(key=lambda document: document[2], reverse=True)
    return [y for _, y, _ in sorted(documents, key=lambda document: -document[0])]


def of_pairs(measure, scores, labels):
    if measure.rel is not None:
        labels = [float(y >= measure.rel) for y in labels]
    documents = list(zip(scores, labels, strict=True))
    pairs = [(s - t if s != t else 0) for (s, y), (t, z) in itertools.product(documents, documents) if y > z]
    right, tied = sum(d > 0 for d in pairs), sum(d == 0 for d in pairs)
    if not pairs:
        return math.nan
    if measure.name != "kendall_tau":
        return (right + {"wrong": 0, "half": tied / 2, "right": tied}[measure.ties]) / len(pairs)
    apart = sum(s > t for s, t in itertools.product(scores, scores))
    wrong = len(pairs) - right - tied
    return (right - wrong) / math.sqrt(len(pairs) * apart) if apart else 0.0


def is_empty(measure, labels):
    if measure.name in ("kendall_tau", "auc", "pairwise_accuracy"):
        return len({y if measure.rel is None else y >= measure.rel for y in labels}) == 1
    return max(labels) <= 0 if measure.rel is None else max(labels) < measure.rel


def of_query(measure, scores, labels, docids, missed=()):
    """The value of one query, NaN where it is skipped; `missed` are the labels of judged documents it lacks."""
    of_pairs_only = measure.name in ("kendall_tau", "auc", "pairwise_accuracy")
    if of_pairs_only or measure.name == "wta" or measure.definition in ("letor", "letor3"):
        missed = ()
    if is_empty(measure, [*labels, *missed]) and measure.empty is not None:
        return math.nan if measure.empty == "skip" else float(measure.empty)
    if of_pairs_only:
        return of_pairs(measure, scores, labels)
    if measure.ties == "average":
        values = [of_ranking(measure, ranking, missed) for ranking in all_rankings(scores, labels)]
        return sum(values) / len(values)
    if measure.ties == "worst":
        return min(of_ranking(measure, ranking, missed) for ranking in all_rankings(scores, labels))
    return of_ranking(measure, one_ranking(scores, labels, docids, measure.ties), missed)
