"""How much memory there is: what would take more is refused before it is asked for, which may end the process."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from linrank.errors import LinrankError

# Where Linux says how much a container may use.
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@lru_cache(maxsize=1)
def memory_bytes() -> float:
    """The bytes of memory that this machine has, or that its container may use; infinity where nobody says."""
    limits = [float("inf")]
    # Not every system says.
    with suppress(AttributeError, OSError, ValueError):
        limits.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    for name in _CONTAINER_LIMITS:
        # No container, or one without a limit ("max").
        with suppress(OSError, ValueError):
            limits.append(float(Path(name).read_text()))
    return min(limit for limit in limits if limit > 0)


def resident_bytes() -> int:
    """The bytes of memory that this process has now; 0 where the system does not say."""
    with suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def has_room(n_bytes: int) -> bool:
    """Whether this process may take so many bytes more: with them it has no more than half of what the machine has."""
    return resident_bytes() + n_bytes <= memory_bytes() / 2


def room_within(memory: str | float | None, least: int) -> int:
    """The bytes that this process may still take within a budget; half of what the machine has unless told."""
    most = int(memory_bytes() / 2) if memory is None else bytes_named(memory)
    room = most - resident_bytes()
    if room < least:
        raise LinrankError(
            f"memory={most / 1e6:.0f} MB: this process has {resident_bytes() / 1e6:.0f} MB already, and works in "
            f"{least / 1e6:.0f} MB more at least. Give it {(most - room + least) / 1e6:.0f} MB."
        )
    return room


def bytes_named(text: str | float) -> int:
    """A number of bytes, such as "2GB", "512 MB" or "1.5GiB"."""
    units = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
    units |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)}
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*", str(text))
    if found is None or found[2].lower() not in units or not float(found[1]) > 0:
        raise LinrankError(f"{text!r} is no amount of memory; write it as 2GB, 512MB or 1.5GiB.")
    return int(float(found[1]) * units[found[2].lower()])


def size_in_words(n_bytes: int) -> str:
    """A number of bytes for people."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} B"
