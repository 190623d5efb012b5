"""Machine code on disk: what was compiled once is loaded from then on, by whoever may read it.

Other than numba's own cache, it cannot run code that is stale: a file's name holds a hash of the kernel's code and of
all that it calls, wherever that is written. A file is whole or counts as absent, one that another user has warmed is
read where nothing may be written, and processes that compile at the same time do not disturb one another.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import config
from numba.core.caching import (
    InTreeCacheLocator,
    NullCache,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from linrank.files import replacing
from linrank.kernel_news import COMPILED, DAMAGED, NOT_KEPT, say_once

_DIGEST = hashlib.sha256().digest_size
# Numba's settings by which the same code becomes another program.
_SETTINGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_INTEL_SVML", "DEBUGINFO_DEFAULT")


class KernelCache(NullCache):  # type: ignore[misc]
    """The compiled forms of one kernel, each in a file of its own."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        function = kernel.py_func
        self._name = f"{function.__module__.removeprefix('linrank.')}.{function.__qualname__}"
        self._version = f".py{sys.version_info[0]}{sys.version_info[1]}.nbk"
        self._folders = _folders(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled form for a signature; None where there is none."""
        # All that machine code calls. What only compiling needs, with SciPy behind it, takes a quarter of a second, and
        # compiling brings it up itself.
        rtsys.initialize(target_context)
        stem, code = self._form(sig, target_context.codegen())
        damaged = None
        for folder in self._folders:
            path = folder / f"{stem}{code}{self._version}"
            try:
                content = path.read_bytes()
            except OSError:
                continue
            payload = memoryview(content)[_DIGEST:]
            if _checksum(path, payload) == content[:_DIGEST]:
                # Code that runs, from where the package's own code is, or from a folder of the user's.
                parts = pickle.loads(payload)  # noqa: S301
                return CompileResult._rebuild(target_context, *parts)  # noqa: SLF001 - numba's cache does so
            damaged = path
        if damaged is not None:
            say_once(DAMAGED, f"{damaged}: is damaged, so this kernel is compiled anew.")
        say_once(COMPILED, "compiling kernels, which later runs find on disk; 'linrank warmup' makes all of them.")
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled form in the first folder that can be written."""
        if data.library.has_dynamic_globals:
            return
        stem, code = self._form(sig, data.codegen)
        payload = dumps(data._reduce())  # noqa: SLF001
        failures = []
        for folder in self._folders:
            path = folder / f"{stem}{code}{self._version}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with replacing(path, "wb") as file:
                    file.write(_checksum(path, payload) + payload)
            except OSError as error:
                failures.append(f"{folder}: {error.strerror}")
                continue
            self._remove_stale(path, stem)
            return
        say_once(
            NOT_KEPT,
            f"compiled kernels cannot be kept, so every process compiles them ({'; '.join(failures)}). Name a folder "
            "that can be written by NUMBA_CACHE_DIR, or let whoever installed linrank run 'linrank warmup'.",
        )

    def _remove_stale(self, path: Path, stem: str) -> None:
        """Remove what was compiled of other code for the same signature and machine."""
        with suppress(OSError):
            for other in path.parent.iterdir():
                if other.name.startswith(stem) and other.name.endswith(self._version) and other != path:
                    other.unlink(missing_ok=True)

    def _form(self, sig: Any, codegen: Any) -> tuple[str, str]:
        """What a file's name begins with, for a signature on this machine; and the mark of the code."""
        for_whom = (str(sig), codegen.magic_tuple(), numba.__version__, [getattr(config, name) for name in _SETTINGS])
        return f"{self._name}-{_short_hash(for_whom)}-", mark_of(self._kernel)


def _checksum(path: Path, payload: bytes | memoryview) -> bytes:
    """Of a file's content and of its name: one kernel's code in the place of another's is no less damaged."""
    return hashlib.sha256(path.name.encode() + b"\0" + payload).digest()


def _folders(function: Any) -> list[Path]:
    """Where compiled forms may be: in the folder that the user names alone, or beside the source and in the user's."""
    source = inspect.getfile(function)
    locators = (InTreeCacheLocator, UserWideCacheLocator) if Path(source).is_file() else (UserWideCacheLocator,)
    if config.CACHE_DIR:
        return [Path(UserProvidedCacheLocator(function, source).get_cache_path())]
    places = [Path(locator(function, source).get_cache_path()) for locator in locators]
    # A user without a home has none of their own.
    return [place for place in places if place.is_absolute()]


_marks: dict[Any, str] = {}


def mark_of(kernel: Any) -> str:
    """A hash of all that a kernel's machine code depends on: its code, its constants, and all that it calls."""
    if kernel not in _marks:
        function = kernel.py_func
        # One that calls itself is known by its name there.
        _marks[kernel] = function.__qualname__
        globals_used = {
            name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__
        }
        closure: dict[str, Any] = dict(inspect.getclosurevars(function).nonlocals) if function.__closure__ else {}
        _marks[kernel] = _short_hash(
            (
                function.__module__,
                function.__qualname__,
                _shown(function.__code__),
                _shown(function.__defaults__),
                sorted((name, _shown(value)) for name, value in (globals_used | closure).items()),
                sorted((name, _shown(value)) for name, value in kernel.targetoptions.items()),
            )
        )
    return _marks[kernel]


def _short_hash(described: Any) -> str:
    return hashlib.sha256(repr(described).encode()).hexdigest()[:20]


def _names(code: CodeType) -> set[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def _shown(value: Any) -> Any:
    """A value in a kernel as text that is equal only for equal values, in every process."""
    if hasattr(value, "py_func"):
        return mark_of(value)
    if isinstance(value, CodeType):
        constants = [_shown(constant) for constant in value.co_consts]
        return value.co_code, value.co_names, value.co_varnames, constants, value.co_exceptiontable
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return str(value.dtype), value.tobytes()
    if isinstance(value, tuple):
        return [_shown(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(map(_shown, value))
    if isinstance(value, ModuleType) and not value.__name__.startswith("linrank"):
        return value.__name__
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    raise TypeError(
        f"a kernel uses {value!r}, by which its machine code cannot be known again. Use kernels and numbers."
    )
