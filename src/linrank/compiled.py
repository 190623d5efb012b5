"""The `kernel` decorator: every compiled loop of the library is declared with it, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numba

Function: TypeAlias = Callable[..., Any]

# Sums may be reassociated and fused, so that they run in vector registers; NaN and infinity keep their meaning.
_REASSOCIATED = {"reassoc", "contract", "nsz"}

_kernels: list[Any] = []


def kernel(function: Function) -> Function:
    """Compile a loop over arrays: without the GIL, cached on disk, evaluated exactly in the order written."""
    return _compile(function, fastmath=False)


def summing_kernel(function: Function) -> Function:
    """Compile like `kernel`, but let sums be reassociated: several times faster for long dot products.

    The same machine code runs whatever the number of threads, so results are still the same to the last bit.
    """
    return _compile(function, fastmath=_REASSOCIATED)


def _compile(function: Function, fastmath: bool | set[str]) -> Function:
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # Neither the package's folder nor the user's cache folder can be written: compile anew in every process.
        compiled = numba.njit(**options)(function)
    if not numba.config.DISABLE_JIT:
        _kernels.append(compiled)
    return compiled  # type: ignore[no-any-return]


def compilations() -> dict[str, int]:
    """How many times each kernel was compiled, rather than loaded from the cache, in this process."""
    counts = {f"{kernel.__module__}.{kernel.__name__}": sum(kernel.stats.cache_misses.values()) for kernel in _kernels}
    return {name: count for name, count in counts.items() if count}
