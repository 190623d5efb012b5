"""How much memory there is: what would take more is refused before it is asked for, which may end the process."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

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
