"""Reading svmlight text: ours beside XGBoost's and scikit-learn's reader, on a file like MSLR-WEB30K.

Run as `python benchmarks/reading.py [--megabytes 1000] [--threads 2] [--repeats 3]`. Every measurement is a fresh
process, readers take turns, and each is shown at its best; speeds mean something only as ratios within one run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
N_DISTINCT_ROWS = 20_000
DOCUMENTS_A_QUERY = 120
# scikit-learn's reader takes time quadratic in the number of rows when there are query ids, so it gets a slice.
SLICE_MEGABYTES = 20

# MSLR's 136 columns are mostly five streams (body, anchor, title, url, whole document) of one quantity after another:
# the share of zeros of each stream, and the quantities (kind, scale) in order.
STREAM_ZEROS = (0.11, 0.86, 0.28, 0.66, 0.09)
QUANTITIES = [
    ("count", 2), ("ratio", 1), ("count", 200), ("positive", 15), ("count", 12), ("count", 4), ("count", 8),
    ("positive", 5), ("positive", 30), ("ratio", 1), ("ratio", 1), ("ratio", 1), ("ratio", 1), ("ratio", 0.01),
    ("positive", 40), ("positive", 10), ("positive", 25), ("positive", 15), ("positive", 300), ("flag", 1),
    ("ratio", 1), ("positive", 15), ("negative", 12), ("negative", 15), ("negative", 12),
]  # fmt: skip
LAST_COLUMNS = [
    ("count", 3, 0.0), ("count", 40, 0.0), ("count", 1000, 0.34), ("count", 4, 0.47), ("count", 9000, 0.0),
    ("count", 36000, 0.0), ("count", 10, 0.0), ("count", 12, 0.0), ("count", 500, 0.97), ("count", 50, 0.74),
    ("positive", 2, 0.75),
]  # fmt: skip


def columns():
    for kind, scale in QUANTITIES:
        for zeros in STREAM_ZEROS:
            yield kind, scale, 0.05 if kind == "negative" else zeros
    yield from LAST_COLUMNS


def column_texts(kind, scale, zeros, random):
    """One column as text: whole numbers, or up to six decimals without trailing zeros."""
    n = N_DISTINCT_ROWS
    if kind == "count":
        drawn = 1 + np.floor(random.exponential(scale, n))
    elif kind == "flag":
        drawn = np.ones(n)
    elif kind == "ratio":
        drawn = scale * random.beta(0.6, 1.5, n)
    else:
        drawn = random.lognormal(np.log(scale), 0.8, n) * (-1 if kind == "negative" else 1)
    drawn[random.random(n) < zeros] = 0
    return [f"{value:.6f}".rstrip("0").rstrip(".") for value in drawn.tolist()]


def make_file(path, megabytes):
    """Write an MSLR-like file: the same distinct rows of numbers again and again, under new query and document ids."""
    random = np.random.default_rng(0)
    texts = [
        [f"{number}:{text}" for text in column_texts(*column, random)] for number, column in enumerate(columns(), 1)
    ]
    features = [" ".join(row) for row in zip(*texts, strict=True)]
    labels = random.choice(5, N_DISTINCT_ROWS, p=[0.52, 0.32, 0.13, 0.02, 0.01]).tolist()
    path.parent.mkdir(exist_ok=True)
    written = row = 0
    with path.open("w", encoding="ascii", newline="") as file:
        while written < megabytes * 1_000_000:
            which = row % N_DISTINCT_ROWS
            docid = f"GX{row % 273:03}-{row % 97:02}-{row:08}"
            qid = 1 + row // DOCUMENTS_A_QUERY
            written += file.write(f"{labels[which]} qid:{qid} {features[which]} #docid = {docid}\n")
            row += 1


def read_ours(path, threads, dtype):
    from linrank.reading.svmlight import read_svmlight

    dataset = read_svmlight(path, dtype=dtype, n_threads=threads)
    parts = [dataset.features, dataset.labels, dataset.queries.ids, dataset.queries.starts, dataset.comments]
    return sum(part.nbytes for part in parts)


def read_xgboost(path, threads, _dtype):
    import xgboost

    matrix = xgboost.DMatrix(f"{path}?format=libsvm", nthread=threads)
    # Rows of (float32, int32) entries, as DMatrix holds them; it leaves the comments out.
    return 8 * matrix.num_nonmissing() + 8 * matrix.num_row()


def read_sklearn(path, _threads, dtype):
    from sklearn.datasets import load_svmlight_file

    X, y, qid = load_svmlight_file(str(path), query_id=True, dtype=dtype)
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + y.nbytes + qid.nbytes


READERS = {"ours": read_ours, "xgboost": read_xgboost, "sklearn": read_sklearn}


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure_here(reader, path, threads, dtype):
    """In this process: read a small file first, so that imports and compiled code are loaded, then the whole."""
    warm_up = DATA / "warm-up.txt"
    READERS[reader](warm_up, threads, dtype)
    baseline = peak_bytes()
    start = time.perf_counter()
    final_bytes = READERS[reader](path, threads, dtype)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak": peak_bytes() - baseline, "final": final_bytes}


def measure(reader, path, threads, dtype):
    command = [sys.executable, __file__, "--measure", reader, str(path), str(threads), dtype]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        return None, (finished.stderr.strip().splitlines() or ["failed"])[-1]
    return json.loads(finished.stdout.splitlines()[-1]), ""


def best(measurements):
    return min((m for m in measurements if m), key=lambda m: m["seconds"], default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", nargs=4, metavar=("READER", "PATH", "THREADS", "DTYPE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        reader, path, threads, dtype = arguments.measure
        print(json.dumps(measure_here(reader, Path(path), int(threads), dtype)))
        return

    whole = DATA / f"mslr-like-{arguments.megabytes}.txt"
    part = DATA / f"mslr-like-{SLICE_MEGABYTES}.txt"
    for path, megabytes in ((whole, arguments.megabytes), (part, SLICE_MEGABYTES), (DATA / "warm-up.txt", 1)):
        if not path.exists():
            make_file(path, megabytes)

    runs = [
        ("linrank, float64", "ours", "float64", whole),
        ("linrank, float32", "ours", "float32", whole),
        ("XGBoost DMatrix", "xgboost", "float32", whole),
        (f"scikit-learn ({SLICE_MEGABYTES} MB)", "sklearn", "float64", part),
    ]
    seen = {name: [] for name, *_ in runs}
    failures = {}
    for _ in range(arguments.repeats):
        for name, reader, dtype, path in runs:
            measured, failure = measure(reader, path, arguments.threads, dtype)
            seen[name].append(measured)
            failures[name] = failure
    report(runs, seen, failures)


def report(runs, seen, failures):
    peer = best(seen["XGBoost DMatrix"])
    print("| reader | MB/s | times XGBoost | peak memory / final arrays |")
    print("|---|--:|--:|--:|")
    for name, _, _, path in runs:
        found = best(seen[name])
        if found is None:
            print(f"| {name} | {failures[name]} | | |")
            continue
        speed = path.stat().st_size / found["seconds"] / 1e6
        times = "" if peer is None else f"{speed * peer['seconds'] * 1e6 / runs[0][3].stat().st_size:.2f}"
        print(f"| {name} | {speed:.0f} | {times} | {found['peak'] / found['final']:.2f} |")


if __name__ == "__main__":
    main()
