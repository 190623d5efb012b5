"""Files of Maven Central, each checked against its SHA-256 and kept in a cache."""

import hashlib
import os
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Any mirror of the same layout serves as well: what it sends is checked.
INDEX = os.environ.get("LINRANK_MAVEN", "https://repo1.maven.org/maven2")
CACHE = Path(os.environ.get("LINRANK_ENGINES_CACHE", Path(__file__).parents[2] / ".cache" / "engines"))
LOCKS = Path(__file__).parent / "locks"


class UnreachableError(Exception):
    """The index cannot be reached, or does not have the file."""


def fetch_locked(lock: str) -> list[Path]:
    """The files of `locks/<lock>.txt`, in its order; those the cache has are not asked for again."""
    lines = [line.split() for line in (LOCKS / f"{lock}.txt").read_text().splitlines() if not line.startswith("#")]
    pool = ThreadPoolExecutor(8)
    try:
        return list(pool.map(lambda line: fetch(line[1], sha256=line[0]), lines))
    finally:
        # Where one file cannot be had, the others are not waited for.
        pool.shutdown(cancel_futures=True)


def fetch(path: str, *, sha256: str) -> Path:
    """One file of the index: it is in the cache whole and as locked, or not at all."""
    kept = CACHE / path
    if not kept.exists():
        content = read(path)
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            raise ValueError(f"{INDEX}/{path} has SHA-256 {found}, and {sha256} was wanted")
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f"{kept.name}.{os.getpid()}.partial")
        partial.write_bytes(content)
        partial.replace(kept)
    return kept


def read(path: str) -> bytes:
    """The content of a file of the index, asked for three times: one dropped connection is no absence."""
    for attempts_left in (2, 1, 0):
        try:
            with urllib.request.urlopen(f"{INDEX}/{path}", timeout=20) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            if error.code < 500 or not attempts_left:
                raise UnreachableError(f"{INDEX}/{path}: {error}") from error
        except OSError as error:
            if not attempts_left:
                raise UnreachableError(f"{INDEX}/{path}: {error}") from error
    raise AssertionError("the last attempt returns or raises")
