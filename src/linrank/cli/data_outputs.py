"""Where a verb writes data: the ending says the form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from linrank.cli.outputs import DATASET, STANDARD, TEXT, Kind, place_of
from linrank.errors import LinrankError

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset

TEXT_ENDINGS = (".txt", ".svm", ".svmlight", ".letor", ".dat")
_ENDINGS = (".linrank", ".parquet", *TEXT_ENDINGS)


def ending_of(out: str | Path) -> str:
    """The ending that says the form, `.txt` for standard output; one that says none is refused."""
    ending = ".txt" if str(out) == STANDARD else Path(out).suffix.lower()
    if ending not in _ENDINGS:
        raise LinrankError(f"{out}: cannot tell the form from the ending {ending!r}; use one of {', '.join(_ENDINGS)}.")
    return ending


def kind_of(out: str | Path) -> Kind:
    """What may be written over: a table or text that we wrote cannot be told from a user's own."""
    return DATASET if ending_of(out) == ".linrank" else TEXT


def write_data(dataset: RankingDataset, out: str | Path) -> None:
    """Write a dataset in the form that the ending says."""
    ending = ending_of(out)
    if ending == ".linrank":
        from linrank.dataset.storage import save_dataset

        save_dataset(dataset, out)
    elif ending == ".parquet":
        from linrank.reading.write_parquet import write_parquet

        write_parquet(out, dataset)
    else:
        from linrank.reading.write_svmlight import write_svmlight

        with place_of(out) as place:
            write_svmlight(place, dataset)
