"""Time and peak memory of RankSVM against documents (x 136 float32, queries of 100), with the picture of it.

python benchmarks/scale.py [largest number of documents, 10,000,000 unless told]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
from measuring import peak_from_here, peak_megabytes

from linrank import RankSVM, make_ranking

SIZES = (10_000, 100_000, 1_000_000, 3_000_000, 10_000_000)


def measure_here(rows):
    """Seconds, and the peak of memory as a multiple of the features, whose rows are made once and repeated."""
    made, _ = make_ranking(1, min(rows, 500_000), 136, dtype="float32")
    times = rows // made.n_documents
    X = np.empty((rows, 136), dtype=np.float32)
    for part in range(times):
        X[part * made.n_documents : (part + 1) * made.n_documents] = made.features
    y, qid = np.tile(made.labels, times), np.repeat(np.arange(rows // 100), 100)
    del made
    RankSVM().fit(X[:1000], y[:1000], qid=qid[:1000])
    before, started = peak_from_here(), time.perf_counter()
    RankSVM().fit(X, y, qid=qid)
    return time.perf_counter() - started, 1 + (peak_megabytes() - before) * 1e6 / X.nbytes


def main(largest):
    print("| documents | seconds | microseconds a document | peak memory / features |\n|---:|---:|---:|---:|")
    sizes, seconds = [size for size in SIZES if size <= largest], []
    for rows in sizes:
        command = [sys.executable, __file__, "--measure", str(rows)]
        taken, memory = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        seconds.append(taken)
        print(f"| {rows:,} | {taken:.3f} | {taken / rows * 1e6:.2f} | {memory:.2f} |", flush=True)
    draw(sizes, seconds)


def draw(sizes, seconds):
    from figures import save, subplots

    figure, ((axes,),) = subplots(1, 1)
    axes.loglog(sizes, seconds, "o-", label="RankSVM.fit")
    axes.loglog(sizes, np.array(sizes) * seconds[-1] / sizes[-1], ":", color="gray", label="linear")
    axes.set(xlabel="documents (x 136 features)", ylabel="seconds", title="Training time grows linearly")
    axes.legend(frameon=False)
    save(figure, "scale")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure_here(int(sys.argv[2]))))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else SIZES[-1])
