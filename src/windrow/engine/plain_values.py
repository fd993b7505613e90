"""Pickle values that processes send to the engine, and unpickle nothing but values.

A process that reads what strangers wrote may have been taken over, so its messages can have any bytes. The engine gives
the unpickler no function and no class: for the name of a class of values it gets a built-in factory that makes a value
of that class. The classes are a few of Python's own, and the NamedTuples, dataclasses and enums of windrow and of the
packages of the run's collections. Such a message can be wrong, but it cannot run code or change a class.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag
from importlib import import_module
from multiprocessing.connection import Connection as Pipe
from operator import attrgetter
from pathlib import PosixPath, PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

from windrow.contract import Captures, Collection, Crawl, Derive, Requests, Summarise
from windrow.errors import WindrowError

OWN_PACKAGE = "windrow"
_PLAIN_CLASSES = (date, datetime, time, timedelta, timezone, Decimal, PosixPath, PurePosixPath, ZoneInfo)
_Factory = Callable[..., Any]
_Reducer = Callable[[Any], str | tuple[Any, ...]]


class MessageRefused(WindrowError):
    """A message of a process is too long, or does not contain the values that are expected."""


def step_modules(collection: Collection) -> set[str]:
    """Return the names of the modules of the functions that readers and fetchers run for a collection."""
    modules = {step.run.__module__ for step in collection.steps if not isinstance(step, Summarise | Derive)}
    for discovery in collection.discoveries:
        match discovery:
            case Crawl():
                modules.add(discovery.rules.__module__)
            case Requests():
                modules.add(discovery.follow.__module__)
            case Captures():
                modules |= {discovery.select.__module__, "windrow.engine.captures.foreign_records"}
    return modules


def package_names(modules: Iterable[str]) -> frozenset[str]:
    """Return the names of the packages whose classes messages may contain: windrow and the packages of `modules`."""
    return frozenset({OWN_PACKAGE, *(name.partition(".")[0] for name in modules)})


def pack_values(values: list[Any]) -> bytes:
    """Pickle a list of values. Raises MemoryError, or pickle.PicklingError if an object is not of a class of values."""
    content = io.BytesIO()
    pickler = pickle.Pickler(content, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _REDUCERS
    pickler.dump(values)
    return content.getvalue()


def receive_values(pipe: Pipe, packages: AbstractSet[str], max_bytes: int) -> list[Any]:
    """Receive and return the values of the next message.

    Raises MessageRefused if the message has more than `max_bytes` bytes or anything but values, and EOFError or OSError
    if the other end is closed. `packages` is explained at `unpack_values`.
    """
    try:
        message = pipe.recv_bytes(max_bytes)
    except OSError as error:
        if error.errno is None:  # the pipe is not broken
            raise MessageRefused(f"a process sent a message of more than {max_bytes} bytes") from None
        raise
    return [*unpack_values(message, packages)]


def unpack_values(message: bytes, packages: AbstractSet[str]) -> Iterator[Any]:
    """Yield the values of the lists in a message. Raises MessageRefused if it contains anything but pickled values.

    `packages` are the names of packages whose value classes the message may contain, from `package_names`.
    """
    stream = io.BytesIO(message)
    while stream.tell() < len(message):
        try:
            values = _ValueUnpickler(stream, packages).load()
        except MessageRefused:
            raise
        except Exception as error:  # noqa: BLE001 a pickle that is not valid can raise any error
            raise MessageRefused(f"a process sent an unknown value: {type(error).__name__}: {error}"[:500]) from None
        if type(values) is not list:
            raise MessageRefused("a process sent something that is not a list of values")
        yield from values


class _ValueUnpickler(pickle.Unpickler):
    """An unpickler that finds factories of values instead of classes and functions."""

    def __init__(self, stream: io.BytesIO, packages: AbstractSet[str]) -> None:
        super().__init__(stream)
        self.packages = packages

    def find_class(self, module: str, name: str) -> _Factory:
        """Return the factory of a class. Raises MessageRefused if it is not a class of values."""
        factory = _factories.get((module, name))
        if factory is None:
            factory = _find_factory(module, name, self.packages)
            if factory is None:
                raise MessageRefused(f"a process sent {module[:100]}.{name[:100]}, which is not a class of values")
            _factories[module, name] = factory
        elif module.partition(".")[0] not in self.packages and (module, name) not in _PLAIN_FACTORIES:
            raise MessageRefused(f"a process sent {module[:100]}.{name[:100]}, which is of another collection")
        return factory


def _factory_of(kind: type) -> _Factory:
    """Return a built-in method that makes a value of a class. Unlike a class, it has no attributes that can be set."""
    if issubclass(kind, Enum):
        type.__setattr__(kind, "__setstate__", _refuse_state)  # members are shared: no message may change them
        return kind._value2member_map_.__getitem__
    factory: _Factory = type.__call__.__get__(kind)
    return factory


def _refuse_state(_member: Enum, _state: object) -> None:
    raise MessageRefused("a process sent a message that would change an enum")


_PLAIN_FACTORIES: dict[tuple[str, str], _Factory] = {
    (kind.__module__, kind.__qualname__): _factory_of(kind) for kind in _PLAIN_CLASSES
}
_factories: dict[tuple[str, str], _Factory] = {**_PLAIN_FACTORIES}


def _find_factory(module: str, name: str, packages: AbstractSet[str]) -> _Factory | None:
    if module.partition(".")[0] not in packages or module.endswith(".__main__"):
        return None
    named: Any = sys.modules.get(module)
    if named is None:
        try:
            named = import_module(module)
        except ImportError:
            return None
    for part in name.split("."):
        named = vars(named).get(part) if not part.startswith("__") else None
        if named is None:
            return None
    is_own = isinstance(named, type) and named.__module__ == module
    return _factory_of(named) if is_own and _is_value_class(named) else None


_CALLED_METHODS = ("add", "append", "extend", "__setitem__")
"""The names of the methods of a new object that unpickling may call."""


def _is_value_class(kind: type) -> bool:
    if issubclass(kind, Enum):
        return not issubclass(kind, Flag)
    if any(hasattr(kind, name) for name in _CALLED_METHODS):
        return False
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    return is_dataclass(kind) and all(field.init and not field.kw_only for field in fields(kind))


class _Reducers(dict[type, _Reducer]):
    """How values of each class are pickled: as a call of the class. For any other class, PicklingError is raised."""

    def __missing__(self, kind: type) -> _Reducer:
        reducer = self[kind] = _reducer_of(kind)
        return reducer


def _reducer_of(kind: type) -> _Reducer:
    if kind in _PLAIN_CLASSES or "__reduce__" in vars(kind):
        own_reducer: _Reducer = kind.__reduce__  # type: ignore[assignment]
        return _reduce_by_class.get(kind, own_reducer)
    if issubclass(kind, type):
        return attrgetter("__qualname__")  # a class of enums is pickled by its name
    if not _is_value_class(kind):
        raise pickle.PicklingError(
            f"{kind.__module__}.{kind.__qualname__} is not a class of values: a step returns NamedTuples, dataclasses,"
            " enums and Python's own values"
        )
    if issubclass(kind, Enum):
        return lambda member: (kind, (member._value_,))
    if issubclass(kind, tuple):
        return lambda values: (kind, tuple(values))
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if len(names) == 1:
        return lambda value: (kind, (getattr(value, names[0]),))
    read_fields = attrgetter(*names) if names else lambda _value: ()
    return lambda value: (kind, read_fields(value))


_reduce_by_class: dict[type, _Reducer] = {
    ZoneInfo: lambda zone: (ZoneInfo, (zone.key,)),
}
_REDUCERS = _Reducers()
_REDUCERS.update(_reduce_by_class)
for _kind in (date, datetime, time):
    _REDUCERS[_kind] = lambda value: value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
