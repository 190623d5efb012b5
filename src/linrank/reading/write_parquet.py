"""Writing a dataset as a Parquet table, one document a row."""

from __future__ import annotations

import os
import warnings
from typing import Any

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError, MissingDependencyError
from linrank.files import replacing
from linrank.maps import refuse_cut_maps

_ROWS_AT_A_TIME = 1 << 14


def write_parquet(path: str | os.PathLike[str], dataset: RankingDataset) -> None:
    """Write the columns qid, label, docid, weight and query_weight, those there are, and each feature under its name.

    A table has no place for the labels of documents that nothing retrieved, which is said by a warning.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "arrow", "Writing Parquet") from None
    if dataset.unretrieved is not None:
        warnings.warn(
            f"a table has no place for the labels of {len(dataset.unretrieved.labels)} judged documents that nothing "
            "retrieved: measures on it will not count them as missed. Save as .linrank to keep them.",
            UserWarning,
            stacklevel=2,
        )
    beside: dict[str, Any] = {"qid": pa.array(dataset.qid.tolist())}
    if dataset.is_judged:
        beside["label"] = pa.array(dataset.labels)
    if (docids := dataset.docids) is not None:
        beside["docid"] = pa.array(docids)
    if dataset.document_weights is not None:
        beside["weight"] = pa.array(dataset.document_weights)
    if dataset.query_weights is not None:
        beside["query_weight"] = pa.array(dataset.query_weights[dataset.queries.of_rows()])
    taken = next((name for name in dataset.names if name in beside), None)
    if taken is not None:
        raise LinrankError(f"a feature is called {taken!r}, as another column would be. Save as .linrank instead.")
    number = pa.from_numpy_dtype(dataset.features.dtype)
    schema = pa.schema([(name, column.type) for name, column in beside.items()] + [(n, number) for n in dataset.names])
    with replacing(path, "wb") as file, parquet.ParquetWriter(file, schema) as writer:
        for start in range(0, dataset.n_documents, _ROWS_AT_A_TIME):
            refuse_cut_maps(dataset.features)
            rows = dataset.features[start : start + _ROWS_AT_A_TIME]
            values = rows.toarray() if dataset.is_sparse else rows
            columns = [column.slice(start, len(values)) for column in beside.values()]
            columns += [pa.array(values[:, place]) for place in range(dataset.n_features)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
