"""A property that is worked out once for each object."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """`functools.cached_property` with a lock for each object. That of Python 3.11 has one for all objects of a class,
    so that a query would wait for the statement of another; that of 3.12 has none, so that two threads of one query
    would run the same statement."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        self.work = work
        self._name = work.__name__
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, of: None, owner: type | None = None) -> once[T]: ...

    @overload
    def __get__(self, of: object, owner: type | None = None) -> T: ...

    def __get__(self, of: object | None, owner: type | None = None) -> once[T] | T:
        if of is None:
            return self
        held = of.__dict__
        # From the second time on, Python finds the value in the object itself and does not come here.
        with held.setdefault(_LOCK, threading.RLock()):
            if self._name not in held:
                held[self._name] = self.work(of)
            value: T = held[self._name]
            return value


_LOCK = "_once_lock"
