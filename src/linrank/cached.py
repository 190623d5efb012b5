"""`cached_property` without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - it reads as the one of functools
    """A property that is computed when it is first asked for, and kept.

    That of functools has, before Python 3.12, one lock for all objects of a class, held while one of them computes: a
    fit waits for another, and a child that is forked meanwhile waits for ever. Two threads that ask the same object
    first may both compute here, and get the same.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        # Asked for once an object: there is no `__set__`, so what stands in the object is found before this.
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value
