"""Commands killed at random moments: an output is the old file or the new one, and going on gives the same bits.

`make test-faults` runs it with some 200 kills: python tests/faults/kills.py --kills 200 --seed 0
"""

import argparse
import atexit
import gc
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from fusing_cases import made as legs_and_judgements
from linrank import make_ranking
from linrank.cli import main
from linrank.dataset.storage import save_dataset
from linrank.reading.write_svmlight import write_svmlight
from processes import descendants, is_running, wait_until


@dataclass(frozen=True)
class Case:
    """A command, the same with which other outputs are there before, and how one goes on that was killed."""

    words: str
    before: str = ""
    more_to_resume: Callable[[], str] = lambda: ""
    # How often it is killed, beside the others; a cluster takes seconds to start.
    share: int = 3


def _if_there(place: str) -> Callable[[], str]:
    return lambda: " --resume" if Path(place).exists() else ""


# Two legs, and what is written of them: a configuration, its test vectors, a query to fill in and a page.
FUSING = "bm25.run dense.run --out f.json --page f.html --method pairwise --cv 2 --resamples 2"
CASES = {
    "train": Case("train data.txt m.json --quiet", "train data.txt m.json --quiet -C 0.001"),
    "train --memory": Case("train data.txt m.json --quiet --memory 2GB", "train data.txt m.json --quiet -C 0.001"),
    "convert": Case("convert data.txt out.linrank", "convert half.txt out.linrank"),
    "convert to text": Case("convert data.linrank out.parquet"),
    "convert --memory": Case(
        "convert data.txt out.linrank --memory 2GB", "convert half.txt out.linrank", _if_there("out.linrank.parts")
    ),
    "path": Case(
        "path data.txt --model p.json --no-report --steps 12", "train data.txt p.json --quiet -C 0.001", share=2
    ),
    "tune": Case("tune data.txt t.json --range 0.01,0.1 --cv 3", "train data.txt t.json --quiet -C 0.001"),
    "export": Case(
        "export model.json --to solr --set store=shop --out x.json --data data.txt",
        "export other.json --to solr --set store=shop --out x.json",
    ),
    "train --best": Case(
        "train little.txt m.json --quiet --best --set cv=2", "train data.txt m.json --quiet -C 0.001", share=1
    ),
    "fuse": Case(f"fuse qrels.txt {FUSING}", f"fuse other.qrels {FUSING}"),
    "compare": Case(
        "compare half.txt --methods single-feature,ridge,ranksvm --folds 3 --jobs 2 --out compared --no-report", share=2
    ),
    "train --dask": Case(
        "train data.linrank d.json --quiet --dask local:2",
        "train data.txt d.json --quiet -C 0.001",
        _if_there("d.json.rounds"),
        share=1,
    ),
}


def make_inputs() -> None:
    """Data and models in this folder."""
    made, _ = make_ranking(300, 20, 20, random_state=0)
    half, _ = make_ranking(90, 20, 20, random_state=1)
    write_svmlight("data.txt", made)
    write_svmlight("half.txt", half)
    write_svmlight("little.txt", make_ranking(20, 10, 6, random_state=2)[0])
    save_dataset(made, "data.linrank")
    runs, judged = legs_and_judgements(n_queries=30, names=("bm25", "dense"))
    lines = [f"{q} 0 {d} {label:g}\n" for q, of in judged.items() for d, label in of.items()]
    Path("qrels.txt").write_text("".join(lines))
    Path("other.qrels").write_text("".join(lines[: len(lines) // 2]))
    for name, run_ in runs.items():
        lines = (f"{q} Q0 {d} 1 {score!r} {name}\n" for q, hits in run_.items() for d, score in hits.items())
        Path(f"{name}.run").write_text("".join(lines))
    for words in ("train data.txt model.json --quiet", "train half.txt other.json --quiet"):
        assert run(words) == 0


def begin(words: str, prepare: Callable[[], object] = lambda: None) -> int:
    """Run a command in a forked child, which has all modules loaded, so that moments are of its work."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            out = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            prepare()
            code = main(words.split())
            sys.stdout.flush()
            # As at the end of a process that was not forked.
            atexit._run_exitfuncs()
        finally:
            os._exit(code)
    return pid


def run(words: str) -> int:
    """The exit code of a command."""
    return os.waitstatus_to_exitcode(os.waitpid(begin(words), 0)[1])


def outputs(inputs: set[str]) -> dict[str, object]:
    """What is in this folder beside the inputs, without what is another time each time."""
    found = {}
    for path in sorted(Path().rglob("*")):
        name = str(path)
        if path.is_dir() or name in inputs or name == "said.txt" or path.parts[0] == "tmp":
            continue
        if path.suffix == ".json":
            found[name] = _timeless(json.loads(path.read_text()))
        elif path.suffix not in (".md", ".csv", ".tex"):
            # Tables have seconds in them.
            found[name] = path.read_bytes()
    return found


# What differs from one run to the next: times, sums over them, and how far one had come that was gone on with.
_TIMED = re.compile("seconds|trained_at|checksum|history|rounds|bytes")


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {name: _timeless(held) for name, held in value.items() if not _TIMED.search(name)}
    return [_timeless(held) for held in value] if isinstance(value, list) else value


class Trial:
    """One case in a folder of its own: what its outputs are before and after, and how long it takes."""

    def __init__(self, name: str) -> None:
        self.name, self.case = name, CASES[name]
        self.inputs = {str(path) for path in Path().iterdir()}
        self._load_kernels()
        self.old = self._outputs_of(self.case.before) if self.case.before else {}
        self.clear()
        started = time.perf_counter()
        self.new = self._outputs_of(self.case.words)
        self.seconds = time.perf_counter() - started
        self.clear()

    def _outputs_of(self, words: str) -> dict[str, object]:
        assert run(words) == 0, Path("said.txt").read_text()
        return outputs(self.inputs)

    def _load_kernels(self) -> None:
        """Run it here once: children then have the kernels, and the time of a run is that of its work."""
        if not {"--jobs", "--dask"} & set(self.case.words.split()):
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                assert main(self.case.words.split()) == 0
            # Its temporary folder goes with the last who refers to it.
            gc.collect()
            self.clear()

    def clear(self) -> None:
        for path in Path().iterdir():
            if str(path) not in self.inputs and path.name != "tmp":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def kill(self, when: float | Callable[[], object], *, with_old: bool) -> str | None:
        """Kill the command after so many seconds, or as `when` arranges; check what is there, go on, and check again.

        What was found; None where it had ended before.
        """
        self.clear()
        if with_old and self.case.before:
            assert run(self.case.before) == 0
        before = self.old if with_old else {}
        pid = begin(self.case.words) if isinstance(when, float) else begin(self.case.words, when)
        if isinstance(when, float):
            time.sleep(when)
            children = descendants(pid)
            os.kill(pid, signal.SIGKILL)
        else:
            children = []
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code in (0, -signal.SIGKILL), (self.name, code, Path("said.txt").read_text())
        assert wait_until(lambda: not any(map(is_running, children)), 60), f"{self.name}: orphans {children}"
        what = self._check(before) if code else "new"
        # Where all is done, only what is left on the way is to go.
        on_the_way = [path for path in Path().iterdir() if path.name.startswith(".")]
        if what != "new" or on_the_way or self.case.more_to_resume():
            assert run(self.case.words + self.case.more_to_resume()) == 0, Path("said.txt").read_text()
        after = outputs(self.inputs)
        for name in after.keys() | self.new.keys():
            assert after.get(name) == self.new.get(name), f"{self.name}: {name} is {after.get(name)!r:.3000}"
        left = [str(path) for path in Path("tmp").iterdir() if path.name.startswith("linrank-")]
        assert what == "new" or not left or self.name != "train --memory", left
        return what if code else None

    def _check(self, before: dict[str, object]) -> str:
        """Each output is the old one or the new one; what else there is, is on the way to it and has another name."""
        found = {}
        for path in sorted(Path().rglob("*")):
            if path.is_dir() or str(path) in self.inputs or _is_on_the_way(path):
                continue
            found[str(path)] = _timeless(json.loads(path.read_text())) if path.suffix == ".json" else path.read_bytes()
        for name, held in found.items():
            known = (before.get(name), self.new.get(name))
            assert held in known or Path(name).suffix in (".md", ".csv", ".tex"), f"{self.name}: {name} is neither"
        for name in before:
            assert name in found, f"{self.name}: {name} is lost"
        if any(_is_part(path) for path in Path().rglob("*")):
            return "parts left"
        return "new" if all(found.get(name) == held for name, held in self.new.items()) else "old"


def _is_part(path: Path) -> bool:
    return path.name.endswith(".part")


def _is_on_the_way(path: Path) -> bool:
    return (
        _is_part(path)
        or path.name.endswith(".rounds")
        or path.name == "said.txt"
        or any(part.endswith(".parts") or part == "tmp" for part in path.parts)
    )


def kill_at_random(n_kills: int, seed: int, names: list[str]) -> dict[str, dict[str, int]]:
    """So many kills, dealt among the cases; what was found after each."""
    draw = random.Random(seed)
    counts: dict[str, dict[str, int]] = {}
    shares = sum(CASES[name].share for name in names)
    for name in names:
        trial = Trial(name)
        counts[name] = {}
        wanted = -(-n_kills * CASES[name].share // shares)
        while sum(counts[name].values()) < wanted:
            what = trial.kill(draw.random() * trial.seconds, with_old=draw.random() < 0.5)
            if what is not None:
                counts[name][what] = counts[name].get(what, 0) + 1
        trial.clear()
        sys.stdout.write(f"{name:<18} {trial.seconds:5.1f} s  {counts[name]}\n")
        sys.stdout.flush()
    return counts


def in_new_folder() -> None:
    """Go to a folder with the inputs in it, where temporary files go too."""
    place = Path(tempfile.mkdtemp(prefix="kills-"))
    os.chdir(place)
    Path("tmp").mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(place / "tmp")
    make_inputs()
    Path("said.txt").unlink(missing_ok=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=list(CASES))
    asked = parser.parse_args()
    in_new_folder()
    counted = kill_at_random(asked.kills, asked.seed, asked.only or list(CASES))
    total = sum(sum(of_case.values()) for of_case in counted.values())
    sys.stdout.write(f"{total} kills; every output was the old one or the new one, and going on gave the same bits\n")
    shutil.rmtree(Path().absolute(), ignore_errors=True)
