"""One table of how fast linrank is, beside what it was: the README's "How fast".

    python benchmarks/speed.py                          every row; some ten minutes on two cores
    python benchmarks/speed.py --only hinge writing     rows whose names begin so
    python benchmarks/speed.py --of ../other            the sources of another checkout
    python benchmarks/speed.py --store                  keep what was found as the baseline, and in the READMEs
    python benchmarks/speed.py --markdown               the READMEs' table from what is stored

Seconds depend on the machine; the ratios that are compared do not, or little: training in reads of the matrix, whole
commands in starts of Python with NumPy, counts, memory as a multiple of the data, how far from the minimum it ends. A
row that is worse than the baseline by more than its noise is measured once more, and if it still is it is marked, and
the exit code is 1. LINRANK_LIBLINEAR=…/train has LIBLINEAR's ranksvm run beside the rows that it can do.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from measuring import PROCESSORS

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "speed.json"
PAGES = (HERE.parent / "README.md", HERE / "README.md")
START, END = "<!-- made by benchmarks/speed.py --store -->\n", "<!-- end of speeds -->\n"
HEAD = "| | | in the same run | peak memory | beside |\n|---|---:|---|---:|---|\n"
CLAIMS = (
    "squared_hinge", "hinge", "certificate", "values_of_c", "minbatsrank", "commands", "reading", "writing", "measures",
    "scoring",
)  # fmt: skip
# By how much a ratio may be worse than the baseline. Counts are the same in every run, times are not.
NOISE = {
    "passes": 1.02, "memory / text": 1.1, "memory / arrays": 1.15, "above the least": 1.02, "certified gap": 1.02,
    "certified gap / true gap": 1.5,
}  # fmt: skip
NOISE_OF_CLOCK, NOISE_OF_PROCESSORS = 1.4, 1.2
# A ratio below this is as good as any: what the tolerances promise.
GOOD_ENOUGH = {"above the least": 1e-6, "certified gap": 1e-3, "certified gap / true gap": 100.0}


def rows():
    return {row.name: row for claim in CLAIMS for row in importlib.import_module(claim).ROWS}


def measure_here(name, least):
    """The figures of a row as a dictionary, and what data they are of."""
    from made_data import origin

    row = rows()[name]
    of = None if row.data is None else origin(row.data)
    known = least.get("least") if least.get("data") == of else None
    return {"work": row.work, "data": of, **dataclasses.asdict(row.measure(known))}


def measure(name, stored, checkout=None):
    """The same in a process of its own, with the sources of any checkout."""
    environment = dict(os.environ)
    if checkout is not None:
        environment["PYTHONPATH"] = str(Path(checkout).resolve() / "src")
    command = [sys.executable, __file__, "--measure", name, json.dumps(stored)]
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"{name} failed")
    *remarks, told = finished.stdout.splitlines()
    print(*remarks, sep="\n", end="\n" if remarks else "", file=sys.stderr, flush=True)
    return json.loads(told)


def times_worse(found, stored):
    """Each ratio as a multiple of the baseline's; nothing where that has none, or is of other data."""
    if not stored or stored["data"] != found["data"]:
        return {}
    multiples = {}
    for ratio, before in stored["ratios"].items():
        if ratio in found["ratios"]:
            enough = GOOD_ENOUGH.get(ratio, 0.0)
            multiples[ratio] = max(found["ratios"][ratio], enough) / max(before, enough)
    return multiples


def worse(found, stored):
    """The ratios that are worse than the baseline by more than their noise."""
    multiples = times_worse(found, stored)
    return {ratio for ratio, times in multiples.items() if times > noise_of(ratio)}


def noise_of(ratio):
    return NOISE.get(ratio, NOISE_OF_PROCESSORS if ratio.endswith(PROCESSORS) else NOISE_OF_CLOCK)


def better_of(one, other):
    """Of two measurements of a row, the quicker, and the least of each ratio."""
    ratios = {ratio: min(one["ratios"][ratio], other["ratios"][ratio]) for ratio in one["ratios"]}
    return {**min(one, other, key=lambda found: found["seconds"]), "ratios": ratios}


def lines_of(name, found, stored):
    """The lines of the table: one a ratio, beside the baseline's."""
    multiples, marked = times_worse(found, stored), worse(found, stored)
    peak = "" if found["peak"] is None else f"{found['peak']:.0f} MB"
    shown = (name, f"{found['seconds']:.3g} s", peak)
    for ratio, value in found["ratios"].items():
        times = f"{multiples[ratio]:.2f}" if ratio in multiples else "new"
        before = f"{stored['ratios'][ratio]:.3g}" if ratio in multiples else ""
        mark = " **worse**" if ratio in marked else ""
        yield f"| {' | '.join(shown)} | {ratio} | {value:.3g} | {before} | {times}{mark} |"
        shown = ("", "", "")


def readme_table(baseline):
    """The READMEs' table: time, ratios, memory, and others on the same data."""
    lines = []
    for row in baseline["rows"].values():
        by_clock = {ratio: value for ratio, value in row["ratios"].items() if not ratio.endswith(PROCESSORS)}
        ratios = ", ".join(f"{said(value)} {ratio}" for ratio, value in by_clock.items())
        peak = "" if row["peak"] is None else f"{row['peak']:.0f} MB"
        beside = "; ".join(f"{who}: {seconds:.2g} s" for who, seconds in row["beside"].items())
        shown = row["said"] or f"{said(row['seconds'])} s"
        lines.append(f"| {row['work']} | {shown} | {ratios} | {peak} | {beside} |\n")
    return HEAD + "".join(lines)


def said(value):
    if value == 0:
        return "0"
    return f"{value:.1e}" if not 1e-3 <= value < 1e5 else f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def with_table(text, table):
    before, _, rest = text.partition(START)
    return f"{before}{START}{table}{END}{rest.partition(END)[2]}"


def store(baseline, name, found):
    """Keep what was found of a row; who was not there to run beside it stays as it was."""
    before = baseline["rows"].get(name, {"data": None, "beside": {}})
    same = before["data"] == found["data"]
    baseline["rows"][name] = {**found, "beside": found["beside"] or (before["beside"] if same else {})}
    baseline["machine"] = f"{platform.machine()}, {os.cpu_count()} processors"
    baseline["rows"] = {name: baseline["rows"][name] for name in rows() if name in baseline["rows"]}
    BASELINE.write_text(json.dumps(baseline, indent=1) + "\n", encoding="utf-8")
    for page in PAGES:
        page.write_text(with_table(page.read_text(encoding="utf-8"), readme_table(baseline)), encoding="utf-8")


def table(names, baseline, asked):
    """Print the table row by row, or store it; the rows that are worse and stay so are returned."""
    print("| row | time | peak memory | ratio | now | baseline | times |\n|---|---:|---:|---|---:|---:|---:|")
    slower = []
    for name in names:
        stored = baseline["rows"].get(name, {})
        found = measure(name, stored, asked.of)
        if worse(found, stored) and not asked.store:
            found = better_of(found, measure(name, stored, asked.of))
        print("\n".join(lines_of(name, found, stored)), flush=True)
        if asked.store:
            store(baseline, name, found)
        elif worse(found, stored):
            slower.append(name)
    return slower


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="rows whose names begin so")
    parser.add_argument("--list", action="store_true", help="the names of the rows")
    parser.add_argument("--of", metavar="CHECKOUT", help="measure the sources of another checkout")
    parser.add_argument("--store", action="store_true", help="keep what was found as the baseline")
    parser.add_argument("--markdown", action="store_true", help="print the READMEs' table from what is stored")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure_here(asked.measure[0], json.loads(asked.measure[1]))))
        return 0
    if asked.list:
        print("\n".join(rows()))
        return 0
    baseline = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {"machine": "", "rows": {}}
    if asked.markdown:
        print(readme_table(baseline), end="")
        return 0
    names = [name for name in rows() if not asked.only or name.startswith(tuple(asked.only))]
    if not names:
        parser.error("no row begins so; --list has their names")
    slower = table(names, baseline, asked)
    if slower:
        print(f"\nworse than the baseline by more than noise: {', '.join(slower)}")
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main())
