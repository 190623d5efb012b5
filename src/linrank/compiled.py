"""The `kernel` decorator: every compiled loop of the library is declared with it, and with nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numba
from numba.core.compiler_lock import global_compiler_lock

from linrank.kernel_cache import KernelCache

Function: TypeAlias = Callable[..., Any]

# Sums may be reassociated and fused, so that they run in vector registers; NaN and infinity keep their meaning.
_REASSOCIATED = {"reassoc", "contract", "nsz"}

_kernels: list[Any] = []

if hasattr(os, "register_at_fork"):
    # Forking waits until no thread compiles: a child would find the lock taken for ever, and the work half done.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def kernel(function: Function) -> Function:
    """Compile a loop over arrays: without the GIL, cached on disk, evaluated exactly in the order written."""
    return _compile(function, fastmath=False)


def summing_kernel(function: Function) -> Function:
    """Compile like `kernel`, but let sums be reassociated: several times faster for long dot products.

    The same machine code runs whatever the number of threads, so results are still the same to the last bit. A loop
    that sums must write to no array: of one that does there are two forms, and where the arrays lie decides between
    them. `tests/test_architecture.py` looks for such loops.
    """
    return _compile(function, fastmath=_REASSOCIATED)


def _compile(function: Function, fastmath: bool | set[str]) -> Function:
    compiled = numba.njit(nogil=True, fastmath=fastmath, error_model="numpy")(function)
    if not numba.config.DISABLE_JIT:
        compiled._cache = KernelCache(compiled)  # noqa: SLF001 - in the place of numba's own
        _kernels.append(compiled)
    return compiled  # type: ignore[no-any-return]


def compilations() -> dict[str, int]:
    """How many times each kernel was compiled, rather than loaded from the cache, in this process."""
    counts = {f"{kernel.__module__}.{kernel.__name__}": sum(kernel.stats.cache_misses.values()) for kernel in _kernels}
    return {name: count for name, count in counts.items() if count}
