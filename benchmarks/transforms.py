"""What a transform costs a training. (What it buys: quality.py.)

    python benchmarks/transforms.py cost                      700,029 documents of 136 raw features, in memory
    python benchmarks/transforms.py cost --scan               the same from a file, block after block
    python benchmarks/transforms.py cost --documents 100000
    python benchmarks/transforms.py memory                    the most memory of linrank train on text

*Cost* is of a whole training: fitting the scaling or the transform, applying it, and RankSVM; as a ratio to that on
standardised features, in turns, by the processors' time and by the clock. Where rows go through the transform *as they
are used*, which is what a fit does that has no room for a copy, the transformed matrix is never held.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from made_data import mslr_drawn_again
from measuring import linrank

from linrank import RankSVM, make_ranking, save_dataset, scan
from linrank.dataset.scaling import scaled
from linrank.dataset.transform_choice import choose_transform
from linrank.reading.write_svmlight import write_svmlight

WAYS = {"standard": ("none", "standard"), "rank-gauss": ("rank-gauss", "auto"), "signed-log": ("signed-log", "auto")}

AS_USED = ", as used"


def cost(arguments):
    with tempfile.TemporaryDirectory() as folder:
        if arguments.scan:
            # By another process, whose memory is not this one's.
            path = str(Path(folder) / "data.linrank")
            subprocess.run([sys.executable, __file__, "write", path, str(arguments.documents)], check=True)
            data = None
        else:
            data = mslr_drawn_again(arguments.documents, standardised=False)
        # A file's rows always are.
        ways = [*WAYS, *([] if arguments.scan else [way + AS_USED for way in list(WAYS)[1:]])]
        times = {way: [] for way in ways}
        for turn in range(arguments.turns + 1):
            for way in ways:
                told = in_another_process(path, way, arguments) if arguments.scan else trained(data, way, arguments.C)
                if turn:
                    times[way].append(told[:-1])
                    print(way, *(f"{number:.2f}" for number in told[:-1]), told[-1], flush=True)
    print("\nmedian of the ratios to standard: processors, clock, and that of a pass by the processors")
    for way in ways[1:]:
        ratios = [
            statistics.median(a[k] / b[k] for a, b in zip(times[way], times["standard"], strict=True)) for k in (0, 1)
        ]
        passes = [
            statistics.median(a[0] / a[3] / (b[0] / b[3]) for a, b in zip(times[way], times["standard"], strict=True))
        ]
        print(f"{way:<20}", *(f"{ratio:.2f}" for ratio in ratios), f"  a pass {passes[0]:.2f}")


def in_another_process(path, way, arguments):
    """Of a training from a file: what one holds is not there when the next begins."""
    words = [sys.executable, __file__, "once", path, way, str(arguments.C), arguments.memory]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def once(arguments):
    # What is loaded and compiled is so before.
    small, _ = make_ranking(20, 50, 136, dtype="float32")
    trained(small, arguments.way, 1e-4)
    print(json.dumps(trained(scan(arguments.file, memory=arguments.memory), arguments.way, arguments.C)))


def write(arguments):
    save_dataset(mslr_drawn_again(arguments.documents, standardised=False), arguments.file)


def trained(data, way, C):
    """Seconds of processors and of the clock of a training, those before the solver, its passes, and iterations."""
    clock, processors = time.perf_counter(), time.process_time()
    choice = choose_transform(*WAYS[way.removesuffix(AS_USED)], data).scaling
    seen = scaled(data, choice, held=not way.endswith(AS_USED))
    before = time.perf_counter() - clock
    ranker = RankSVM(C=C).fit(seen)
    solution = ranker.solution_
    passes = 2 * solution.iterations + solution.inner_iterations + 1
    return time.process_time() - processors, time.perf_counter() - clock, before, passes, solution.iterations


def memory(arguments):
    """The most memory of `linrank train` on text, without a transform and with each."""
    data = mslr_drawn_again(arguments.documents, standardised=False)
    with tempfile.TemporaryDirectory() as folder:
        text, model = Path(folder) / "data.txt", Path(folder) / "model.json"
        write_svmlight(text, data)
        del data
        for way, (transform, scaling) in {"none": ("none", "none"), **WAYS}.items():
            words = ("-C", arguments.C, "--transform", transform, "--scaling", scaling, "--quiet")
            print(f"{way:<12} {linrank('train', text, model, *words).peak:.0f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    costs = verbs.add_parser("cost")
    costs.add_argument("--documents", type=int, default=700_029)
    costs.add_argument("--turns", type=int, default=3)
    costs.add_argument("-C", type=float, default=1e-4)
    costs.add_argument("--scan", action="store_true")
    costs.add_argument("--memory", default="450MB")
    costs.set_defaults(run=cost)
    writes = verbs.add_parser("write")
    writes.add_argument("file")
    writes.add_argument("documents", type=int)
    writes.set_defaults(run=write)
    onces = verbs.add_parser("once")
    for name, kind in (("file", str), ("way", str), ("C", float), ("memory", str)):
        onces.add_argument(name, type=kind)
    onces.set_defaults(run=once)
    memories = verbs.add_parser("memory")
    memories.add_argument("--documents", type=int, default=200_000)
    memories.add_argument("-C", type=float, default=1e-4)
    memories.set_defaults(run=memory)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
