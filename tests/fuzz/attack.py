"""One process of the fuzzer: a target, the folder of its inputs, the corpus to begin with, and the seconds it has."""

import json
import random
import resource
import sys
import traceback
import warnings
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src" / "linrank"
sys.path[:0] = [str(HERE.parent)]
# What a reader may take on top of what the libraries have when they are loaded; no input is longer than 64 KB.
MEMORY = 1 << 30
SECONDS_AN_INPUT = 20
LONGEST_INPUT = 1 << 16
NASTY = [None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308, "", "x", "nan"]
NASTY += [
    "1_0",
    "\u0661",
    "=cmd",
    "../x",
    "\ud800",
    "\0",
    "a" * 300,
    [],
    {},
    [[]],
    {"": {}},
    [None],
    ["x", "x"],
    {"x": 1},
]
INSERTED = ["NaN", "Infinity", "1e999", "-" + "9" * 400, "[" * 2000, '{"a":' * 2000, '"\\ud800"', '{"a":1,"a":2}']


def kernel_modules() -> list[str]:
    """Modules that numba compiles: it cannot compile what is instrumented."""
    files = [file for file in SOURCE.rglob("*.py") if "linrank.compiled" in file.read_text(encoding="utf-8")]
    return [".".join(("linrank", *file.relative_to(SOURCE).with_suffix("").parts)) for file in files]


def import_targets():
    import numba

    exclude = [] if numba.config.DISABLE_JIT else kernel_modules()
    with atheris.instrument_imports(include=["linrank"], exclude=exclude):
        from fuzz import targets
    return targets


class Attack:
    """Gives a reader inputs, and writes down each kind of fault once."""

    def __init__(self, name: str, work: Path) -> None:
        targets = import_targets()
        self.runner, self.target, self.work = targets.Runner(name), targets.TARGETS[name], work
        self.inputs = 0
        self.known: set[str] = set()

    def one(self, data: bytes) -> None:
        self.inputs += 1
        if self.inputs % 2000 == 0:
            self.say()
        try:
            self.runner.run(data)
        except Exception as error:  # noqa: BLE001 - all of them are what is looked for
            self.note(data, error)

    def note(self, data: bytes, error: Exception) -> None:
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if "linrank" in frame.filename]
        place = f"{Path(places[-1].filename).name}:{places[-1].lineno}" if places else "?"
        kind = f"{type(error).__name__} at {place}"
        if kind in self.known:
            return
        self.known.add(kind)
        kept = self.work / f"fault-{len(list(self.work.glob('fault-*'))):03}"
        kept.write_bytes(data)
        kept.with_suffix(".txt").write_text("".join(traceback.format_exception(error)), errors="replace")
        self.say(fault=f"{kind}: {str(error)[:200]} ({kept})")

    def say(self, **said: str) -> None:
        print(json.dumps({"inputs": self.inputs, **said}), flush=True)

    def mutate(self, data: bytes, most: int, seed: int) -> bytes:
        """Half of the time a value of the JSON is replaced; else libFuzzer changes bytes."""
        draw = random.Random(seed)
        if draw.random() < 0.5:
            made = changed_json(data, draw)
            if made is not None and len(made) <= most:
                return made
        return atheris.Mutate(data, most)


def changed_json(data: bytes, draw: random.Random) -> bytes | None:
    """A line of JSON with one value replaced, moved, dropped, or with text in its place that JSON has no value for."""
    lines = data.splitlines() if data[:1] == b"{" and b"}\n{" in data else [data]
    chosen = draw.randrange(len(lines)) if lines else 0
    try:
        document = json.loads(lines[chosen])
    except (ValueError, RecursionError, IndexError):
        return None
    places = list(_places(document))
    if not places:
        return None
    holder, key = draw.choice(places)
    what = draw.random()
    if what < 0.1:
        del holder[key]
    elif what < 0.25:
        other, elsewhere = draw.choice(places)
        holder[key] = json.loads(json.dumps(other[elsewhere]))
    elif what < 0.35 and isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[key] = draw.choice(NASTY)
    if what > 0.9:
        holder[key] = "@here@"
    made = json.dumps(document).encode().replace(b'"@here@"', draw.choice(INSERTED).encode())
    return b"\n".join([*lines[:chosen], made, *lines[chosen + 1 :]])


def _places(value):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in list(inner):
        yield value, key
        yield from _places(held)


def limit_memory() -> None:
    """What asks for more than an input justifies is a MemoryError, not a machine that swaps."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(name: str, work: Path, corpus: Path, seconds: int) -> None:
    kept = work / "inputs"
    kept.mkdir(parents=True, exist_ok=True)
    # What pandas, numpy and pyarrow say of odd numbers is for people; what numpy computes with them is a fault.
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)
    attack = Attack(name, work)
    begin = attack.target.seeds()
    for number, seed in enumerate(begin):
        (kept / f"seed-{number}").write_bytes(seed)
        # Compiles kernels and loads libraries before memory is counted.
        attack.runner.run(seed)
    limit_memory()
    options = [f"-max_total_time={seconds}", f"-timeout={SECONDS_AN_INPUT}", f"-max_len={LONGEST_INPUT}"]
    options += ["-rss_limit_mb=3000", "-print_final_stats=1", f"-artifact_prefix={work}/ended-", "-len_control=20"]
    folders = [str(kept), *([str(corpus)] if corpus.is_dir() else [])]
    mutator = {"custom_mutator": attack.mutate} if attack.target.is_json else {}
    atheris.Setup([sys.argv[0], *options, *folders], attack.one, **mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
