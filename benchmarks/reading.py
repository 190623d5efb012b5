"""Reading svmlight text: ours beside XGBoost's and scikit-learn's reader, on a file like MSLR-WEB30K.

    python benchmarks/reading.py [--megabytes 1000] [--threads 2] [--repeats 3]

Every measurement is a fresh process, readers take turns, and each is shown at its best; speeds mean something only as
ratios within one run. The row of the table of speeds is of 200 MB, beside lines that Python itself splits.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from made_text import mslr_text
from measuring import Figures, Row, Turns, peak_from_here, peak_megabytes

# scikit-learn's reader takes time quadratic in the number of rows when there are query ids, so it gets a slice.
SLICE_MEGABYTES = 20


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


def read_plainly(path, _threads, _dtype):
    with path.open(encoding="ascii") as lines:
        rows = [[float(word.partition(":")[2]) for word in line.partition("#")[0].split()[2:]] for line in lines]
    return 8 * sum(map(len, rows))


READERS = {"ours": read_ours, "xgboost": read_xgboost, "sklearn": read_sklearn, "plain": read_plainly}


def measure_here(reader, path, threads, dtype):
    """In this process: read a small file first, so that imports and compiled code are loaded, then the whole."""
    READERS[reader](mslr_text(1), threads, dtype)
    before = peak_from_here()
    clock, processor = time.perf_counter(), time.process_time()
    final_bytes = READERS[reader](path, threads, dtype)
    seconds, processor = time.perf_counter() - clock, time.process_time() - processor
    return {"seconds": seconds, "processor": processor, "peak": (peak_megabytes() - before) * 1e6 / final_bytes}


def measure(reader, path, threads=2, dtype="float64"):
    """Seconds, and the peak of memory as a multiple of the final arrays; or why there are none."""
    command = [sys.executable, __file__, "--measure", reader, str(path), str(threads), dtype]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        return {"failure": (finished.stderr.strip().splitlines() or ["failed"])[-1]}
    return json.loads(finished.stdout.splitlines()[-1])


def reading(dtype):
    path, part, found = mslr_text(200), mslr_text(2), []

    def ours():
        found.append(measure("ours", path, dtype=dtype))
        return found[-1]["seconds"], found[-1]["processor"]

    turns = Turns({"ours": ours, "plain": lambda: read_plainly(part, 1, dtype)})
    xgboost = measure("xgboost", path)
    size = path.stat().st_size
    ratios = {
        **turns.ratios("ours", "plain", "of Python's time", part.stat().st_size / size),
        "memory / arrays": min(one["peak"] for one in found),
    }
    beside = {} if "failure" in xgboost else {"XGBoost's DMatrix": xgboost["seconds"]}
    seconds = turns.least("ours")
    return Figures(seconds, ratios, beside=beside, said=f"{size / seconds / 1e6:.0f} MB/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", nargs=4, metavar=("READER", "PATH", "THREADS", "DTYPE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        reader, path, threads, dtype = arguments.measure
        print(json.dumps(measure_here(reader, Path(path), int(threads), dtype)))
        return
    whole, part = mslr_text(arguments.megabytes), mslr_text(SLICE_MEGABYTES)
    runs = {
        "linrank, float64": ("ours", whole, "float64"),
        "linrank, float32": ("ours", whole, "float32"),
        "XGBoost DMatrix": ("xgboost", whole, "float32"),
        f"scikit-learn ({SLICE_MEGABYTES} MB)": ("sklearn", part, "float64"),
    }
    seen = {name: [] for name in runs}
    for _ in range(arguments.repeats):
        for name, (reader, path, dtype) in runs.items():
            seen[name].append(measure(reader, path, arguments.threads, dtype))
    print("| reader | MB/s | times XGBoost | peak memory / final arrays |\n|---|--:|--:|--:|")
    peer = min((one["seconds"] for one in seen["XGBoost DMatrix"] if "seconds" in one), default=None)
    for name, (_, path, _) in runs.items():
        if "failure" in seen[name][-1]:
            print(f"| {name} | {seen[name][-1]['failure']} | | |")
            continue
        best = min(seen[name], key=lambda one: one["seconds"])
        speed = path.stat().st_size / best["seconds"] / 1e6
        times = "" if peer is None else f"{speed * peer * 1e6 / whole.stat().st_size:.2f}"
        print(f"| {name} | {speed:.0f} | {times} | {best['peak']:.2f} |")


ROWS = [
    Row(f"reading to {dtype}", f"reading LETOR text to {dtype}", lambda _, dtype=dtype: reading(dtype))
    for dtype in ("float64", "float32")
]

if __name__ == "__main__":
    main()
