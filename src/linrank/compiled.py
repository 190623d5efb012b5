"""The `kernel` decorator: every compiled loop of the library is declared with it, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeAlias

Function: TypeAlias = Callable[..., Any]

# Sums may be reassociated and fused, so that they run in vector registers; NaN and infinity keep their meaning.
_REASSOCIATED = {"reassoc", "contract", "nsz"}

_kernels: list[Any] = []
_listeners: list[Callable[[str | None], object]] = []


def kernel(function: Function) -> Function:
    """Compile a loop over arrays: without the GIL, cached on disk, evaluated exactly in the order written."""
    return _compile(function, fastmath=False)


def summing_kernel(function: Function) -> Function:
    """Compile like `kernel`, but let sums be reassociated: several times faster for long dot products.

    The same machine code runs whatever the number of threads, so results are still the same to the last bit.
    """
    return _compile(function, fastmath=_REASSOCIATED)


def _compile(function: Function, fastmath: bool | set[str]) -> Function:
    import numba

    compiled = numba.njit(nogil=True, fastmath=fastmath, error_model="numpy")(function)
    if not numba.config.DISABLE_JIT:
        compiled._cache = _KernelCache(function)  # noqa: SLF001 - what `cache=True` sets
        _kernels.append(compiled)
    return compiled  # type: ignore[no-any-return]


class _KernelCache:
    """Where numba finds and leaves a kernel's machine code: its own files, looked for when the kernel is first called.

    Loading is all that most processes do, and numba first brings up what compiling needs, with SciPy behind it: a
    quarter of a second. Compiling does that itself, so here only what machine code calls is brought up.
    """

    def __init__(self, function: Function) -> None:
        self._function = function

    @cached_property
    def _files(self) -> Any:
        from numba.core.caching import FunctionCache, NullCache

        try:
            return FunctionCache(self._function)
        except RuntimeError:
            # Neither the package's folder nor the user's cache folder can be written: compile anew in every process.
            return NullCache()

    def load_overload(self, signature: Any, target: Any) -> Any:
        from numba.core.runtime import rtsys

        rtsys.initialize(target)
        load = getattr(self._files, "_load_overload", self._files.load_overload)
        loaded = load(signature, target)
        if loaded is None:
            for listen in _listeners:
                listen(self.cache_path)
        return loaded

    def save_overload(self, signature: Any, compiled: Any) -> None:
        self._files.save_overload(signature, compiled)

    @property
    def cache_path(self) -> str | None:
        path: str | None = self._files.cache_path
        return path

    def enable(self) -> None:
        self._files.enable()

    def disable(self) -> None:
        self._files.disable()

    def flush(self) -> None:
        self._files.flush()


@contextmanager
def hearing_of_compilations(listen: Callable[[str | None], object]) -> Iterator[None]:
    """Have something called before each compilation: with the folder that keeps what is made, None where none does."""
    _listeners.append(listen)
    try:
        yield
    finally:
        _listeners.remove(listen)


def compilations() -> dict[str, int]:
    """How many times each kernel was compiled, rather than loaded from the cache, in this process."""
    counts = {f"{kernel.__module__}.{kernel.__name__}": sum(kernel.stats.cache_misses.values()) for kernel in _kernels}
    return {name: count for name, count in counts.items() if count}
