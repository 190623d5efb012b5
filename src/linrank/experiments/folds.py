"""The parts an experiment trains, chooses and tests on: LETOR's fold folders, or one file split by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from linrank.cached import cached_property
from linrank.dataset.features import refuse_missing
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError, naming
from linrank.experiments.checked import Checked
from linrank.files import stamp_of
from linrank.reading.read import format_of, read

# What the parts are called: LETOR 4 and MSLR, LETOR 3, Yahoo's challenge.
_PARTS = {
    "train": ("train", "trainingset"),
    "vali": ("vali", "validationset", "valid", "validation"),
    "test": ("test", "testset"),
}
_ENDINGS = (".txt", ".txt.gz", ".txt.zst", ".svm", ".parquet", ".csv", ".tsv", ".arrow", ".feather", ".linrank", "")
# How a file may be read by what a results folder says, and of which kind each is where it is not null.
_OPTIONS = {
    **dict.fromkeys(
        ("format", "dtype", "layout", "label", "qid", "docid", "weight", "query_weight", "delimiter"), (str,)
    ),
    **dict.fromkeys(("zero_based", "one_query"), (bool,)),
    "missing": (str, int, float),
    "n_features": (int,),
    "features": (list,),
}


@dataclass(frozen=True)
class Part:
    """Some queries of a file, or of data in memory, whose path is then "": all of them, or those of `numbers` when they
    are dealt into `of` parts by the seed and their ids.
    """

    path: str
    numbers: tuple[int, ...] = ()
    of: int = 1
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    data: RankingDataset | None = field(default=None, compare=False)

    def load(self) -> RankingDataset:
        """Read the file, unless it is one of the last few, and take the queries that are asked for."""
        whole = self._whole()
        if not self.numbers:
            return whole
        dealt = whole.queries.dealt(self.of, self.seed)
        return whole.subset(np.isin(dealt, self.numbers))

    def refuse_missing(self) -> None:
        """Refuse missing values that were kept; a file that was read by another rule has none, and is not read here."""
        if self.data is not None or self.options.get("missing") == "keep" or format_of(self.path) == "linrank":
            whole = self._whole()
            with naming(self.path):
                refuse_missing(whole.features, whole.names)

    def naming(self) -> AbstractContextManager[None]:
        """Let errors about numbers name the file, where the rows they name are the file's."""
        return naming("" if self.numbers else self.path)

    def undealt(self) -> Part:
        """All queries of the file."""
        return replace(self, numbers=(), of=1)

    def record(self) -> dict[str, Any]:
        """What tells this part from another, without reading it: for a job that may have been done already."""
        where: dict[str, Any] = {"path": "", "fingerprint": self._fingerprint}
        if self.path:
            size, changed = self._stamp()
            where = {"path": str(Path(self.path).resolve()), "bytes": size, "changed": changed}
        return {
            **where,
            "numbers": list(self.numbers),
            "of": self.of,
            "seed": self.seed,
            "dealt": "by id",
            "options": {name: _plain(value) for name, value in sorted(self.options.items())},
        }

    @classmethod
    def from_record(cls, record: Checked) -> Part:
        """The part that `record` told of; nothing is read yet."""
        options = {}
        for name, value in record.field("options").items():
            if name not in _OPTIONS:
                value.refuse("is no way of reading data")
            if value.value is not None and type(value.value) not in _OPTIONS[name]:
                value.refuse("is of another kind than this way of reading data")
            options[name] = tuple(value.texts()) if isinstance(value.value, list) else value.plain()
        of = record.field("of").count(1)
        numbers = tuple(number.count() for number in record.field("numbers").each())
        if any(number >= of for number in numbers):
            record.field("numbers").refuse(f"names parts beyond {of}")
        return cls(record.field("path").text(), numbers, of, record.field("seed").count(), options)

    def n_queries_in_all(self) -> int:
        return self._whole().n_queries

    def _whole(self) -> RankingDataset:
        if self.data is not None:
            return self.data
        return _read(self.path, self._stamp(), tuple(sorted(self.options.items())))

    def _stamp(self) -> tuple[int, int]:
        if not self.path:
            raise LinrankError("the data was passed in memory, and no file holds it. Pass it again to linrank.compare.")
        try:
            stamp = stamp_of(self.path)
        # A path of a folder from elsewhere may be none: a ValueError.
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise LinrankError(f"{self.path[:200]}: cannot be read: {reason}. Check the path of the data.") from None
        if not (Path(self.path).is_file() or Path(self.path).is_dir()):
            raise LinrankError(f"{self.path}: is neither a file nor a folder. Name the data.")
        return stamp

    @cached_property
    def _fingerprint(self) -> str | None:
        return None if self.data is None else self.data.fingerprint()


@dataclass(frozen=True)
class Fold:
    """Train on one part, choose settings on another, and look at the third once, at the end."""

    name: str
    train: Part
    vali: Part
    test: Part

    def parts(self) -> dict[str, Part]:
        return {"train": self.train, "vali": self.vali, "test": self.test}

    @classmethod
    def from_record(cls, record: Checked) -> Fold:
        """The fold that `record` told of; its name stays inside the results folder."""
        name = record.field("name").file_name("a fold")
        return cls(name, *(Part.from_record(record.field(part)) for part in _PARTS))


def whole_data(folds: Sequence[Fold]) -> RankingDataset:
    """All queries of the first fold, which are all there are."""
    fold = folds[0]
    if fold.train.numbers:
        return fold.train.undealt().load()
    parts = {name: part.load() for name, part in fold.parts().items()}
    ids = [str(query) for part in parts.values() for query in part.queries.ids.tolist()]
    if len(set(ids)) < len(ids):
        # The files count their queries anew: queries of the same number are not the same query.
        parts = {name: _renamed(part, name) for name, part in parts.items()}
    return RankingDataset.joined(list(parts.values()))


def _renamed(data: RankingDataset, part: str) -> RankingDataset:
    ids = np.array([f"{part} {query}" for query in data.queries.ids.tolist()])
    return replace(data, queries=replace(data.queries, ids=ids))


def find_folds(place: str | Path, *, n_folds: int = 5, seed: int = 0, prefix: str = "", **options: Any) -> list[Fold]:
    """The folds of a folder laid out as LETOR, MSLR or Yahoo's are, or of one file split by query.

    A folder has Fold1, Fold2, … with train, vali and test files each, perhaps inside QueryLevelNorm, or just the three
    files. One file's queries are dealt by the seed and their ids into `n_folds` parts, and each fold trains on all but
    two, chooses on one and tests on one, turn by turn, as LETOR's do. `prefix` is what file names begin with, as
    Yahoo's do with `set1.`; `options` are those of `read`.
    """
    place = Path(place)
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    if place.is_file() or place.suffix == ".linrank":
        return dealt_folds(Part(str(place), options=options), n_folds=n_folds, seed=seed)
    if not place.is_dir():
        raise LinrankError(f"{place}: no such file or folder.")
    for inside in (place, place / "QueryLevelNorm", place / "Querylevelnorm"):
        folders = sorted((f for f in inside.glob("[Ff]old*") if f.is_dir()), key=_number)
        if folders:
            return [_fold_of(folder, prefix, options) for folder in folders]
    return [_fold_of(place, prefix, options)]


def _fold_of(folder: Path, prefix: str, options: Mapping[str, Any]) -> Fold:
    parts = {}
    for part, stems in _PARTS.items():
        found = [folder / f"{prefix}{stem}{ending}" for stem in stems for ending in _ENDINGS]
        found = [path for path in found if path.exists()]
        if not found:
            there = sorted(path.name for path in folder.iterdir())[:8]
            raise LinrankError(
                f"{folder}: has no {part} part ({', '.join(stem + '.txt' for stem in stems[:3])}); it has "
                f"{', '.join(there) or 'nothing'}. Give a folder of folds, or one file to be split by query."
            )
        parts[part] = Part(str(found[0]), options=options)
    return Fold(folder.name, **parts)


def dealt_folds(whole: Part, *, n_folds: int = 5, seed: int = 0) -> list[Fold]:
    """The folds of one file, or of data in memory, whose queries are dealt at random into as many parts."""
    if n_folds < 3:
        raise LinrankError(f"{n_folds} folds; use at least 3, to train, to choose and to test on.")
    n_queries = whole.n_queries_in_all()
    if n_queries < n_folds:
        source = f"{whole.path}: " if whole.path else ""
        remedy = (
            f"Use fewer: n_folds=3 to {n_queries}."
            if n_queries >= 3
            else "Three are the least, to train, to choose and to test on: use data with more queries."
        )
        count = "1 query" if n_queries == 1 else f"{n_queries} queries"
        raise LinrankError(f"{source}{count} cannot be dealt into {n_folds} parts. {remedy}")
    made = []
    for first in range(n_folds):
        turn = [(first + step) % n_folds for step in range(n_folds)]
        numbers = {"train": sorted(turn[:-2]), "vali": [turn[-2]], "test": [turn[-1]]}
        parts = {part: replace(whole, numbers=tuple(chosen), of=n_folds, seed=seed) for part, chosen in numbers.items()}
        made.append(Fold(f"Fold{first + 1}", **parts))
    return made


@lru_cache(maxsize=3)
def _read(path: str, stamp: tuple[int, int], options: tuple[tuple[str, Any], ...]) -> RankingDataset:  # noqa: ARG001
    """Read a file; `stamp` makes a changed file another one."""
    named: dict[str, Any] = {name: _plain(value) for name, value in options}
    return read(path, **named)


def _number(folder: Path) -> tuple[int, str]:
    digits = "".join(character for character in folder.name if character.isdigit())
    return int(digits or 0), folder.name


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
