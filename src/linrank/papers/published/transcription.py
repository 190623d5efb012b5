"""A published figure as a value, and the reading of a paper's table as it is printed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

# What the papers report beside measures of ranking quality.
OTHER_MEASURES = {
    "C": "the weight of the loss that was chosen on the validation part",
    "n_features": "features with a weight other than zero",
    "n_iter": "iterations until convergence",
    "n_queries": "queries of which something holds, which the note says",
    "rank": "rank of one query's matrix of dual variables",
    "seconds": "training time of one model",
    "sparsity": "share of the features whose weight is not zero",
}

# What the papers say of their data.
DATA_MEASURES = {
    "levels_per_document": "distinct labels of a query over its documents, the mean over queries",
    "n_documents": "documents",
    "n_features": "features",
    "n_levels": "distinct labels; of the query with most where labels are ranks",
    "n_nonzero": "non-zero features of a document, the mean",
    "n_pairs": "preference pairs",
    "n_queries": "queries",
    "n_shared_documents": "documents that preference pairs share, the mean over queries",
}


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """One figure of a paper.

    Parameters
    ----------
    paper : str
        A key of `PAPERS`.
    table : str
        Where it stands, such as "Table 2" or "Figure 1" for a figure whose value the text gives.
    data : str
        The data set by the name of its folder, such as "OHSUMED" or "MSLR-WEB30K".
    method : str
        linrank's name for the method where it has one, else the paper's in lower case; empty for a statistic of data.
    measure : str
        A measure that `parse_measure` reads, by the definition the figure was made with; or a key of `OTHER_MEASURES`
        or `DATA_MEASURES`. Shares and accuracies are from 0 to 1.
    value : float
    spread : float, optional
        The standard deviation over folds, where the paper gives it.
    note : str
        What else tells this figure from others: part of the data, settings, reservations.
    """

    paper: str
    table: str
    data: str
    method: str
    measure: str
    value: float
    spread: float | None = None
    note: str = ""


def transcribed(
    text: str, *, across: str, note: str = "", starred: str = "", **common: str
) -> tuple[PublishedResult, ...]:
    """Read a table: a line of headings, then a line a row, columns apart by blanks.

    The first heading is the fields that rows are named by; `across` are the fields of the other headings: several of
    them, and their names, are joined by colons. Values stand as printed: 70.36%, 2^-5, 1,601.6 or 0.4518±0.057; a dash
    is a figure the paper does not have, and a star adds the note `starred`. `common` are the fields that all figures
    share.
    """
    (rows, *columns), *lines = (line.split() for line in text.strip().splitlines())
    results = []
    for name, *cells in lines:
        for column, cell in zip(columns, cells, strict=True):
            if cell == "-":
                continue
            printed = cell.rstrip("*")
            value, _, spread = printed.partition("±")
            labels = list(zip(rows.split(":"), name.split(":"), strict=True))
            labels += zip(across.split(":"), column.split(":"), strict=True)
            notes = [label for field, label in labels if field == "note"]
            notes += [note, starred if printed != cell else ""]
            results.append(
                PublishedResult(
                    **common,
                    **{field: label for field, label in labels if field != "note"},
                    value=_number(value),
                    spread=_number(spread) if spread else None,
                    note=", ".join(filter(None, notes)),
                )
            )
    return tuple(results)


def _number(printed: str) -> float:
    if printed.startswith("2^"):
        return 2.0 ** int(printed.removeprefix("2^"))
    # In decimals, so that 70.36% is the double nearest to 0.7036.
    plain = Decimal(printed.rstrip("%").replace(",", ""))
    return float(plain / 100 if printed.endswith("%") else plain)
