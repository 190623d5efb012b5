"""Writing svmlight text: the compiled writer beside Python's own formatting of the same numbers, on a file like MSLR's.

Run as `python benchmarks/writing.py [--megabytes 20] [--repeats 3]`. Both take turns and are shown at their best; the
ratio is what means something. The lines must be the same.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from linrank import RankingDataset, read
from linrank.reading.write_svmlight import write_svmlight
from reading import DATA, make_file


def write_plainly(path, data):
    with path.open("w", encoding="utf-8") as file:
        rows = zip(data.labels.tolist(), data.qid.tolist(), data.features, data.comments, strict=True)
        for label, qid, row, comment in rows:
            pairs = " ".join(f"{number}:{plain(value)}" for number, value in enumerate(row.tolist(), 1))
            file.write(f"{plain(label)} qid:{qid} {pairs}{f' # {comment}' if comment else ''}\n")


def plain(value):
    return str(int(value)) if value == int(value) else repr(value)


def seconds(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    text = DATA / f"mslr-like-{arguments.megabytes}.txt"
    if not text.exists():
        make_file(text, arguments.megabytes)
    short = read(text, layout="dense")
    random = np.random.default_rng(0)
    long = RankingDataset.from_arrays(
        short.features * random.random(short.n_features), short.labels, qid=short.qid, comments=short.comments
    )
    ours, theirs = Path(f"{text}.ours"), Path(f"{text}.plain")
    for name, data in (("six decimals", short), ("seventeen digits", long)):
        write_svmlight(ours, data.subset([0]))
        times = [
            (seconds(write_svmlight, ours, data), seconds(write_plainly, theirs, data))
            for _ in range(arguments.repeats)
        ]
        assert ours.read_bytes() == theirs.read_bytes()
        size = ours.stat().st_size / 1e6
        best, best_plain = map(min, zip(*times, strict=True))
        print(
            f"{name:>16}: {size / best:6.0f} MB/s, Python {size / best_plain:5.1f} MB/s: {best_plain / best:.1f} times"
        )
    ours.unlink()
    theirs.unlink()


if __name__ == "__main__":
    main()
