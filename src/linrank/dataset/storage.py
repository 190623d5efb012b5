"""The on-disk form: one file whose features are mapped into memory, so that opening it reads little."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.dataset.features import SparseFeatures, as_features
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.section_writer import SectionWriter
from linrank.dataset.sound_rows import csr_of
from linrank.dataset.storage_checks import problem_of_arrays
from linrank.dataset.storage_layout import Layout, check_width, read_layout
from linrank.dataset.stored_arrays import fill
from linrank.dataset.text_column import TextColumn
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import DataFormatError, LinrankError
from linrank.files import replacing

_BYTES_AT_A_TIME = 1 << 23
_LARGEST_INT32 = 2**31 - 1
# Arrays in which any bytes are as good as others. Those that say where another number is are read, once, before they
# are checked: in a map they could change under the loops that follow them.
_MAPPED = ("features", "values", "comment_letters")


def save_dataset(dataset: RankingDataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset in linrank's own form; what is opened again equals it to the last bit.

    The same data give the same bytes. Entries of a CSR matrix are stored in ascending order, repeated ones added up.

    Parameters
    ----------
    dataset : RankingDataset
        Query ids may be numbers, text, or an object array of numbers and text.
    path : where to, by custom `train.linrank`; what stands there is replaced only when all is written
    """
    arrays = _arrays_of(dataset)
    layout = Layout.of(
        arrays,
        n_documents=dataset.n_documents,
        n_features=dataset.n_features,
        n_queries=dataset.n_queries,
        feature_names=dataset.feature_names,
        query_ids=None if "query_ids" in arrays else header_ids(dataset.queries.ids),
        missing=dataset.missing,
    )
    with replacing(path, "wb") as file:
        writer = SectionWriter(file, layout)
        for name, array in arrays.items():
            writer.append(name, array)
        writer.finish()


def open_dataset(path: str | os.PathLike[str], *, n_features: int | None = None) -> RankingDataset:
    """Open a file that `save_dataset` wrote: its features are read from disk where and when they are touched.

    Opening reads and checks every number that says where another one is (queries, order, rows, columns), the labels and
    the weights, so that no file, damaged or made so on purpose or changed later, leads beyond its arrays. Features and
    comments are not read; `verify_dataset` compares all of the file with its checksums.
    The file may be replaced while it is open, but not cut short in its place: whatever of linrank begins to follow the
    map then refuses it by name, and the system ends who touches what is gone. `linrank.scan` maps nothing.
    The arrays may be written to, but what is written stays in memory: the file is never changed.
    (Data larger than memory may be mapped read-only, where the system refuses to promise memory for changes.)

    Parameters
    ----------
    path : path of the file
    n_features : the number of features, said to be meant where they are many more than the file has values
    """
    source = os.fspath(path)
    with _opened(source) as file:
        layout = read_layout(file, source)
        check_width(layout, n_features)
        return _dataset(file, layout)


def verify_dataset(path: str | os.PathLike[str]) -> None:
    """Read all of a file that `save_dataset` wrote; raise DataFormatError at the first damage."""
    source = os.fspath(path)
    with _opened(source) as file:
        layout = read_layout(file, source)
        for name in layout.sections:
            _check_sum(file, layout, name)
        check_width(layout, layout.n_features)
        _dataset(file, layout)


def _opened(source: str) -> IO[bytes]:
    try:
        return Path(source).open("rb")
    except OSError as error:
        raise DataFormatError(source, None, f"cannot be read: {error.strerror}. Check the path.") from None


def _arrays_of(dataset: RankingDataset) -> dict[str, NDArray[Any]]:
    """The arrays of a dataset by the names they have in the file, as views wherever possible."""
    arrays: dict[str, NDArray[Any] | None] = {}
    if dataset.is_sparse:
        if dataset.n_features > _LARGEST_INT32:
            raise LinrankError(
                f"there are {dataset.n_features} features; a file holds at most {_LARGEST_INT32}. Hash them to fewer."
            )
        features = as_features(dataset.features)
        assert isinstance(features, SparseFeatures)
        # Half the size, and what scipy itself would use; beyond, scipy's operations widen the columns as they run.
        fits = features.starts[-1] <= _LARGEST_INT32
        arrays["row_starts"] = features.starts.astype(np.int32) if fits else features.starts
        arrays["columns"] = features.columns
        arrays["values"] = features.values
    else:
        arrays["features"] = np.asarray(dataset.features)
    queries, comments = dataset.queries, dataset.comments
    arrays["query_starts"] = queries.starts
    # Python objects go into the header, one by one.
    arrays["query_ids"] = None if queries.ids.dtype.hasobject else queries.ids
    arrays["order"] = queries.order
    arrays["labels"] = dataset.labels
    arrays["document_weights"] = dataset.document_weights
    arrays["query_weights"] = dataset.query_weights
    arrays["comment_starts"] = None if comments is None else comments.starts
    arrays["comment_letters"] = None if comments is None else comments.letters
    if dataset.unretrieved is not None:
        arrays["unretrieved_starts"] = dataset.unretrieved.starts
        arrays["unretrieved_labels"] = dataset.unretrieved.labels
    return {name: array for name, array in arrays.items() if array is not None}


def header_ids(ids: NDArray[Any]) -> tuple[str | int | float, ...]:
    """Query ids that are Python objects, as the header holds them."""
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in ids)
    for query, value in enumerate(values):
        if not isinstance(value, str | int | float):
            raise LinrankError(
                f"the id of query {query} is {value!r}, a {type(value).__name__}; a file holds ids that are numbers "
                "or text. Turn the ids into text: qid=[str(value) for value in qid]."
            )
    return values


def _check_sum(file: IO[bytes], layout: Layout, name: str) -> None:
    section = layout.sections[name]
    file.seek(section.offset)
    left, checksum = section.n_bytes, 0
    while left:
        piece = file.read(min(left, _BYTES_AT_A_TIME))
        checksum = zlib.crc32(piece, checksum)
        left = left - len(piece) if piece else 0
    if checksum != section.checksum:
        raise layout.damage(f"the array {name!r} is not what was written (its checksum differs)")


def _dataset(file: IO[bytes], layout: Layout) -> RankingDataset:
    arrays = {name: (_mapped if name in _MAPPED else _read)(file, layout, name) for name in layout.sections}
    for name in ("query_starts", "query_ids"):
        if name in layout.sections:
            _check_sum(file, layout, name)
    if problem := problem_of_arrays(arrays, layout):
        raise layout.damage(problem)
    return RankingDataset(
        _mapped_csr(arrays, layout) if "values" in arrays else arrays["features"],
        arrays.get("labels"),
        Queries(_ids(arrays, layout), arrays["query_starts"], arrays.get("order")),
        layout.feature_names,
        TextColumn(arrays["comment_letters"], arrays["comment_starts"]) if "comment_starts" in arrays else None,
        arrays.get("document_weights"),
        arrays.get("query_weights"),
        Unretrieved(arrays["unretrieved_labels"], arrays["unretrieved_starts"])
        if "unretrieved_starts" in arrays
        else None,
        layout.missing,
    )


def _read(file: IO[bytes], layout: Layout, name: str) -> NDArray[Any]:
    section = layout.sections[name]
    array = np.empty(section.shape, dtype=section.dtype)
    room = array.reshape(-1).view(np.uint8).data if section.n_bytes else memoryview(b"")
    if fill(room, file.fileno(), section.offset) < section.n_bytes:
        raise _cut_short(layout, name)
    return array.astype(section.dtype.newbyteorder("="), copy=False)


def _cut_short(layout: Layout, name: str) -> DataFormatError:
    return layout.damage(f"it ends within the array {name!r}: it was cut short while it was read")


def _mapped(file: IO[bytes], layout: Layout, name: str) -> NDArray[Any]:
    section = layout.sections[name]
    if section.n_bytes == 0:
        return np.zeros(section.shape, dtype=section.dtype)
    place: dict[str, Any] = {"dtype": section.dtype, "offset": section.offset, "shape": section.shape}
    try:
        # Copy-on-write: not marked read-only, for which every kernel would be compiled anew.
        mapped = np.memmap(file, mode="c", **place)
    except ValueError:
        raise _cut_short(layout, name) from None
    except OSError:
        # Such a map may count as memory in use, and more of that than there is is refused.
        mapped = np.memmap(file, mode="r", **place)
    # A plain array, and (a copy, on a big-endian machine only) in the machine's byte order.
    return np.asarray(mapped, dtype=section.dtype.newbyteorder("="))


def _mapped_csr(arrays: dict[str, NDArray[Any]], layout: Layout) -> scipy.sparse.csr_array:
    # The usual constructor may copy the columns to the type of the row starts, and the flag saves a scan of them.
    matrix = csr_of(arrays["values"], arrays["columns"], arrays["row_starts"], layout.n_features)
    matrix.has_canonical_format = True
    return matrix


def _ids(arrays: dict[str, NDArray[Any]], layout: Layout) -> NDArray[Any]:
    if layout.query_ids is None:
        return arrays["query_ids"]
    ids = np.empty(layout.n_queries, dtype=object)
    ids[:] = layout.query_ids
    return ids
