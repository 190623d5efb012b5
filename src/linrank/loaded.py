"""What a value is, without importing what it might be: an instance of a class is there only where its module is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is an instance of the class `name` of a module, which is not imported to find out."""
    # A module that another thread is importing may lack the class: then there is no instance yet.
    return isinstance(value, getattr(sys.modules.get(module), name, ()))


def is_sparse(X: Any) -> bool:
    """`scipy.sparse.issparse`, without SciPy where nobody has imported it."""
    return is_a(X, "scipy.sparse", "sparray") or is_a(X, "scipy.sparse", "spmatrix")


def subclass_once_loaded(module: str, name: str) -> Callable[[Class], Class]:
    """Declare a class that is a subclass of `module.name` from when that module is there, and of its own base before.

    So it is what a large library expects of its own kind wherever that library is used, and where it is not nobody
    waits for its import. The base that it is written with has what is needed until then.
    """

    def declare(cls: Class) -> Class:
        def take(loaded: ModuleType) -> None:
            cls.__bases__ = (getattr(loaded, name),)
            for kind in _with_subclasses(cls):
                # As if it had been declared now: scikit-learn, for one, looks at the methods of its estimators here.
                super(cls, kind).__init_subclass__()  # type: ignore[arg-type]

        if module in sys.modules:
            # Imported again, which waits for a thread that is in the middle of it.
            take(import_module(module))
        else:
            sys.meta_path.insert(0, _Awaited(module, take))
        return cls

    return declare


class _Awaited:
    """A finder that finds one module as the others do, and has something done at the end of its import."""

    def __init__(self, module: str, act: Callable[[ModuleType], None]) -> None:
        self._module, self._act = module, act

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self._module:
            return None
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_act(module: ModuleType) -> None:
                execute(module)
                self._act(module)

            spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


def _with_subclasses(cls: type) -> Iterator[type]:
    yield cls
    subclasses: list[type] = cls.__subclasses__()
    for below in subclasses:
        yield from _with_subclasses(below)
