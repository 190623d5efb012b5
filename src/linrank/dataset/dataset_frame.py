"""A dataset as a pandas DataFrame, and its first rows as a notebook shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linrank.errors import LinrankError, MissingDependencyError
from linrank.showing import html_table, shown

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset

_ROWS_SHOWN = 5
_FEATURES_SHOWN = 8


def to_frame(dataset: RankingDataset, *, label: str, qid: str, docid: str, weight: str) -> Any:
    """One row a document: its query, label, document id and weight where there are any, and its features."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingDependencyError("pandas", "pandas", "a dataset as a DataFrame") from None
    columns: dict[str, Any] = {qid: dataset.qid} | ({label: dataset.labels} if dataset.is_judged else {})
    if (docids := dataset.docids) is not None:
        columns[docid] = docids
    if dataset.document_weights is not None:
        columns[weight] = dataset.document_weights
    names = list(dataset.names)
    for name in columns:
        if name in names:
            raise LinrankError(
                f"a feature is called {name!r}, as another column would be. Name that one otherwise, such as "
                f"to_frame(label='{name}_')."
            )
    make = pd.DataFrame.sparse.from_spmatrix if dataset.is_sparse else pd.DataFrame
    return pd.concat([pd.DataFrame(columns), make(dataset.features, columns=names)], axis=1)


def first_rows_html(dataset: RankingDataset) -> str:
    """What the dataset is, and its first documents with their first features."""
    n_rows, names = min(_ROWS_SHOWN, dataset.n_documents), dataset.names[:_FEATURES_SHOWN]
    more = ["…"] if dataset.n_features > len(names) else []
    features = dataset.features[:n_rows, : len(names)]
    if dataset.is_sparse:
        features = features.toarray()
    queries = dataset.queries.ids[dataset.queries.of_rows()[:n_rows]]
    head = ["qid", "label", *names, *more]
    rows = [
        [
            str(queries[row]),
            shown(dataset.labels[row]) if dataset.is_judged else "",
            *map(shown, features[row].tolist()),
            *more,
        ]
        for row in range(n_rows)
    ]
    if dataset.n_documents > n_rows:
        rows.append(["…"] * len(head))
    return html_table([head, *rows], repr(dataset))
