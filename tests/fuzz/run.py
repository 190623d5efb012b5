"""Attack every reader with inputs that coverage guides: `make fuzz`, or `python tests/fuzz/run.py --seconds 60 csv`.

Each target has a process of its own, with limits of memory and time; one that dies is begun again. What was found is
kept, each fault once, and the exit code says whether there was any.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from fuzz.targets import TARGETS, Runner, corpus_of  # noqa: E402 - where it is, is said above

MOST_ENDS = 20
MOST_KEPT = 14


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="readers, as in targets.py (all)")
    parser.add_argument("--seconds", type=int, default=60, help="how long each is attacked (60)")
    parser.add_argument("--work", type=Path, default=Path(".cache/fuzz"), help="where inputs are kept (.cache/fuzz)")
    parser.add_argument("--keep", action="store_true", help="attack nothing; choose what of --work the corpus keeps")
    arguments = parser.parse_args()
    names = arguments.targets or list(TARGETS)
    if arguments.keep:
        for name in names:
            print(f"{name:16} {keep(name, arguments.work / name):4} kept")
        return 0
    total, found = 0, []
    for name in names:
        inputs, faults = attack(name, arguments.seconds, arguments.work.resolve())
        total += inputs
        found += [f"{name}: {fault}" for fault in faults]
        print(f"{name:16} {inputs:10,} inputs, {len(faults)} faults", flush=True)
    print(f"{'all':16} {total:10,} inputs, {len(found)} faults")
    print(*found, sep="\n")
    return 1 if found else 0


def attack(name: str, seconds: float, work: Path) -> tuple[int, list[str]]:
    """How many inputs a reader was given within some seconds, and what came of them that may not."""
    end = time.monotonic() + seconds
    faults: dict[str, None] = {}
    inputs = 0
    for _ in range(MOST_ENDS):
        left = int(end - time.monotonic())
        if left <= 0:
            break
        told = _one_process(name, left, work)
        inputs += told["inputs"]
        faults |= dict.fromkeys(told["faults"])
    return inputs, list(faults)


def keep(name: str, work: Path) -> int:
    """Put into the corpus every fault there was, and of what is said or not said of inputs the shortest of each."""
    shortest: dict[str, bytes] = {}
    folder = corpus_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    with Runner(name) as runner:
        for path in sorted(work.glob("inputs/*")):
            data = path.read_bytes()
            said = re.sub(r"'.*'|\".*\"|[0-9]+|/\S+", "", runner.run(data) or "")[:60]
            if said not in shortest or len(data) < len(shortest[said]):
                shortest[said] = data
    chosen = sorted(shortest.values(), key=len)[:MOST_KEPT]
    chosen += [path.read_bytes() for path in (*work.glob("fault-???"), *work.glob("ended-*"))]
    for data in chosen:
        (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
    return len(chosen)


def _one_process(name: str, seconds: int, work: Path) -> dict:
    environment = {**os.environ, **TARGETS[name].environment}
    command = [sys.executable, str(HERE / "attack.py"), name, str(work / name), str(corpus_of(name)), str(seconds)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    counted = re.findall(r"stat::number_of_executed_units: (\d+)", ended.stderr)
    told = {"inputs": max([*map(int, counted), *(line["inputs"] for line in lines)], default=0)}
    told["faults"] = [line["fault"] for line in lines if "fault" in line]
    if ended.returncode:
        # libFuzzer's own words where it ended the process, else the signal that did.
        said = re.findall(r"ERROR: libFuzzer: .*|.*Error: .*", ended.stderr)[-1:] or ended.stderr.splitlines()[-3:]
        told["faults"].append(f"ended with code {ended.returncode}: {' | '.join(said)}")
    return told


if __name__ == "__main__":
    sys.exit(main())
