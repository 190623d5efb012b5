"""Training on data larger than the memory it may use: peak memory, and the speed of a pass beside that of the disk.

Each run is a process of its own. *From disk* the file's pages are dropped from the system's cache before every pass;
the disk's own speed is that of reading the file from end to end with two threads, as a pass does.

    python benchmarks/out_of_core.py                       4 GB of features, in 512 MB
    python benchmarks/out_of_core.py --gigabytes 1 --memory 400MB
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from made_data import mslr_like

from linrank import RankingDataset, RankSVM, make_ranking, save_dataset, scan
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData

PASSES = 3


def made(folder, gigabytes, *, dense):
    """A .linrank file of copies of MSLR-like documents, each copy with noise of its own; or sparse rows."""
    path = folder / ("dense.linrank" if dense else "sparse.linrank")
    if not dense:
        data, _ = make_ranking(1, int(gigabytes * 1e9 / 600), 100_000, density=5e-4, levels=5)
        sizes = [120] * (data.n_documents // 120)
        rows = sum(sizes)
        save_dataset(RankingDataset.from_arrays(data.features[:rows], data.labels[:rows], group=sizes), path)
        return path
    one = mslr_like()
    copies = max(1, round(gigabytes * 1e9 / one.features.nbytes))
    # On disk from the first: the file may be larger than this process should be.
    rows = np.memmap(folder / "rows", np.float32, "w+", shape=(copies * one.n_documents, one.n_features))
    rng = np.random.default_rng(0)
    for copy in range(copies):
        for start in range(0, one.n_documents, 65536):
            part = one.features[start : start + 65536]
            noise = 0.1 * rng.standard_normal(part.shape, dtype=np.float32)
            rows[copy * one.n_documents + start :][: len(part)] = part + noise
    sizes = np.tile(one.queries.sizes, copies)
    save_dataset(RankingDataset.from_arrays(rows, np.tile(one.labels, copies), group=sizes), path)
    (folder / "rows").unlink()
    return path


def forget(path):
    """Drop a file's pages from the system's cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fdatasync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def speed_of_reading(path):
    """Bytes a second of the whole file, by two threads that each read a half, 2 MB at a time."""
    size = path.stat().st_size

    def read(start, stop):
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            room = bytearray(1 << 21)
            while file.tell() < stop and file.readinto(room):
                pass

    started = time.perf_counter()
    threads = [threading.Thread(target=read, args=(half * size // 2, (half + 1) * size // 2)) for half in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return size / (time.perf_counter() - started)


def run(path, memory, what):
    """In this process: seconds of a pass, or of the whole training, and the most memory it had."""
    data = scan(path, memory=memory)
    report = {}
    if what == "train":
        started = time.perf_counter()
        model = RankSVM(C=1e-4).fit(data)
        report = {"seconds": time.perf_counter() - started, "iterations": model.n_iter_, "objective": model.objective_}
    else:
        with Threads() as executor:
            objective = RankingObjective(SquaredHinge(), L2(), 1e-4, PlacedData.of(data, executor))
            point = objective.at(np.full(data.n_features, 0.01))
            seconds = []
            for _ in range(PASSES):
                if what == "from disk":
                    forget(path)
                started = time.perf_counter()
                point.hessian_product(np.ones(data.n_features))
                seconds.append(time.perf_counter() - started)
            report = {"seconds": min(seconds), "bytes_a_second": data.n_bytes / min(seconds)}
    # (Not `getrusage`, which counts what the parent had when this process was begun.)
    status = Path("/proc/self/status").read_text()
    report["peak"] = 1024 * int(re.search(r"VmHWM:\s*(\d+)", status)[1])
    print(json.dumps(report))


def asked(path, memory, what):
    command = [sys.executable, __file__, "--run", str(path), "--memory", memory, "--what", what]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--memory", default="512MB")
    parser.add_argument("--folder", type=Path, help="where to put the files (a temporary folder)")
    parser.add_argument("--only", choices=("dense", "sparse"), help="one of the two kinds of data")
    parser.add_argument("--run")
    parser.add_argument("--what", default="train")
    given = parser.parse_args()
    if given.run:
        run(Path(given.run), given.memory, given.what)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        for dense in [kind == "dense" for kind in ("dense", "sparse") if given.only in (None, kind)]:
            path = made(Path(name), given.gigabytes, dense=dense)
            forget(path)
            disk = speed_of_reading(path)
            cache = speed_of_reading(path)
            print(f"\n{path.stem}: {scan(path)}, {path.stat().st_size / 1e9:.2f} GB; memory={given.memory}")
            print(f"  the file read alone: {disk / 1e9:.2f} GB/s from disk, {cache / 1e9:.2f} GB/s from the cache")
            for what, memory in (("in memory", "20GB"), ("from the cache", given.memory), ("from disk", given.memory)):
                one = asked(path, memory, what)
                print(
                    f"  a pass {what:<15} {one['seconds']:6.2f} s  {one['bytes_a_second'] / 1e9:5.2f} GB/s  "
                    f"peak {one['peak'] / 1e6:6.0f} MB"
                )
            one = asked(path, given.memory, "train")
            took = f"{one['seconds']:.1f} s, {one['iterations']} iterations"
            print(f"  RankSVM, C = 1e-4: {took}, peak {one['peak'] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
