"""The parts an experiment trains, chooses and tests on: LETOR's fold folders, or one file split by query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.reading.read import read

# What the parts are called: LETOR 4 and MSLR, LETOR 3, Yahoo's challenge.
_PARTS = {
    "train": ("train", "trainingset"),
    "vali": ("vali", "validationset", "valid", "validation"),
    "test": ("test", "testset"),
}
_ENDINGS = (".txt", ".txt.gz", ".txt.zst", ".svm", ".parquet", ".csv", ".tsv", ".arrow", ".feather", ".linrank", "")


@dataclass(frozen=True)
class Part:
    """Some queries of a file: all of them, or those of `numbers` when they are dealt at random into `of` parts."""

    path: str
    numbers: tuple[int, ...] = ()
    of: int = 1
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> RankingDataset:
        """Read the file, unless it is one of the last few, and take the queries that are asked for."""
        whole = self._whole()
        if not self.numbers:
            return whole
        dealt = np.random.default_rng(self.seed).permutation(whole.n_queries) % self.of
        return whole.subset(np.isin(dealt, self.numbers))

    def record(self) -> dict[str, Any]:
        """What tells this part from another, without reading it: for a job that may have been done already."""
        size, changed = self._stamp()
        return {
            "path": str(Path(self.path).resolve()),
            "bytes": size,
            "changed": changed,
            "numbers": list(self.numbers),
            "of": self.of,
            "seed": self.seed,
            "options": {name: _plain(value) for name, value in sorted(self.options.items())},
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Part:
        """The part that `record` told of."""
        options = {name: tuple(v) if isinstance(v, list) else v for name, v in record["options"].items()}
        return cls(record["path"], tuple(record["numbers"]), record["of"], record["seed"], options)

    def n_queries_in_all(self) -> int:
        return self._whole().n_queries

    def _whole(self) -> RankingDataset:
        return _read(self.path, self._stamp(), tuple(sorted(self.options.items())))

    def _stamp(self) -> tuple[int, int]:
        status = Path(self.path).stat()
        return status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class Fold:
    """Train on one part, choose settings on another, and look at the third once, at the end."""

    name: str
    train: Part
    vali: Part
    test: Part


def find_folds(place: str | Path, *, n_folds: int = 5, seed: int = 0, prefix: str = "", **options: Any) -> list[Fold]:
    """The folds of a folder laid out as LETOR, MSLR or Yahoo's are, or of one file split by query.

    A folder has Fold1, Fold2, … with train, vali and test files each, perhaps inside QueryLevelNorm, or just the three
    files. One file's queries are dealt at random into `n_folds` parts, and each fold trains on all but two, chooses on
    one and tests on one, turn by turn, as LETOR's do. `prefix` is what file names begin with, as Yahoo's do with
    `set1.`; `options` are those of `read`.
    """
    place = Path(place)
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    if place.is_file() or place.suffix == ".linrank":
        return _dealt(place, n_folds, seed, options)
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


def _dealt(path: Path, n_folds: int, seed: int, options: Mapping[str, Any]) -> list[Fold]:
    if n_folds < 3:
        raise LinrankError(f"{n_folds} folds; use at least 3, to train, to choose and to test on.")
    n_queries = Part(str(path), options=options).n_queries_in_all()
    if n_queries < n_folds:
        raise LinrankError(f"{path}: {n_queries} queries cannot be dealt into {n_folds} parts. Use fewer.")
    made = []
    for first in range(n_folds):
        turn = [(first + step) % n_folds for step in range(n_folds)]
        numbers = {"train": sorted(turn[:-2]), "vali": [turn[-2]], "test": [turn[-1]]}
        parts = {part: Part(str(path), tuple(chosen), n_folds, seed, options) for part, chosen in numbers.items()}
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
