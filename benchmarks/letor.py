"""LETOR's data: where the benchmarks look for it, and what they say where it is not."""

from __future__ import annotations

import os
from pathlib import Path

from linrank import read

NAMES = ("OHSUMED", "MQ2008")
# Beside the project, or beside the folder that a checkout of it is in.
BESIDE = [above / "shared" / "data" for above in Path(__file__).resolve().parents[2:]]
FOLDER = Path(os.environ.get("LINRANK_LETOR") or next((folder for folder in BESIDE if folder.is_dir()), BESIDE[0]))


def is_here(name, instead="left out"):
    """Whether a data set is to be had; where not, says so, and what is done about it."""
    if (FOLDER / name).is_dir():
        return True
    print(f"{instead}: {name} is not in {FOLDER}; LINRANK_LETOR may name the folder that has it")
    return False


def parts(name, fold, *which):
    return [read(FOLDER / name / f"Fold{fold}" / f"{part}.txt") for part in which]


def first_folds():
    """The training parts of the first folds that are to be had."""
    return {f"{name} Fold1": parts(name, 1, "train")[0] for name in NAMES if is_here(name)}
