"""Converting data larger than memory: what `linrank convert --memory` uses at most, and its speed beside loading.

Run as `python benchmarks/converting.py [--megabytes 1000] [--memory 900MB]`. The text is like MSLR-WEB30K's, once as it
is and once with queries that are interleaved; the latter also as Parquet. Every measurement is a fresh process, which
tells the most memory it had.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from made_text import mslr_text
from measuring import linrank

from linrank import read
from linrank.memory import bytes_named


def interleave(path, mixed, n_parts=50):
    """Line i of each of some parts of the file after line i of the part before, so that most queries are in pieces."""
    lines = path.read_bytes().splitlines(keepends=True)
    mixed.write_bytes(b"".join(line for part in range(n_parts) for line in lines[part::n_parts]))


def measured(*words):
    """Seconds and megabytes of a conversion in a process of its own."""
    run = linrank("convert", *words)
    return run.seconds, run.peak


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--memory", default="900MB")
    arguments = parser.parse_args()
    text = mslr_text(arguments.megabytes)
    mixed = text.with_name(f"mixed-{text.name}")
    if not mixed.exists():
        interleave(text, mixed)
    parquet = mixed.with_suffix(".parquet")
    read(mixed).to_frame().to_parquet(parquet, row_group_size=100_000)
    out = Path(f"{text}.linrank")
    small = text.with_name("mslr-like-small.txt")
    small.write_bytes(text.read_bytes()[:100_000].rpartition(b"\n")[0] + b"\n")
    # Compiles what is not compiled yet.
    measured(small, out, "--memory", "2GB")
    measured(parquet, out, "--docid", "docid", "--memory", "8GB")
    size = text.stat().st_size / 1e6
    for name, words in (
        ("loaded", (text, out)),
        ("within the budget", (text, out, "--memory", arguments.memory)),
        ("and interleaved", (mixed, out, "--memory", arguments.memory)),
        ("Parquet, loaded", (parquet, out, "--docid", "docid")),
        ("within the budget", (parquet, out, "--docid", "docid", "--memory", arguments.memory)),
    ):
        seconds, megabytes = measured(*words)
        print(f"{name:>18}: {size / seconds:5.0f} MB/s, at most {megabytes:6.0f} MB of memory", flush=True)
    budget = bytes_named(arguments.memory) / 1e6
    print("MB/s are of the text")
    sizes = ", ".join(f"{path.suffix[1:]} {path.stat().st_size / 1e6:.0f} MB" for path in (text, parquet, out))
    print(f"{sizes}; budget {budget:.0f} MB")
    for path in (out, small, mixed, parquet):
        path.unlink()


if __name__ == "__main__":
    main()
