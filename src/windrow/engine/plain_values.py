"""Pack values for another process, and unpack values from it, in a format that can contain only values.

A process that reads what strangers wrote may have been taken over, so its messages can contain any bytes. A message is
made of packets. Each packet is two lengths, a JSON text with the values, and the bytes and long texts of these values:

- None, booleans, finite numbers and short texts are as in JSON, a dict whose keys are texts is an object, and the
  empty tuple is an empty array.
- Everything else is an array that begins with the number of its kind: `[0, 1, 2]` is the tuple `(1, 2)`, and `[5, 2]`
  is the third of the bytes and long texts. Numbers from 6 on stand for the classes that the packet names: a few
  of Python's own, and the NamedTuples, dataclasses and enums of windrow and of the packages of the run's collections.

Such a message can be wrong, but it cannot run code, change a class, nest values deeper than Python's own limit, or
take much more memory than it has bytes. The fields of its values have the types that their classes declare.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag
from functools import cache, partial
from importlib import import_module
from itertools import chain
from math import isfinite
from operator import attrgetter
from pathlib import PosixPath, PurePosixPath
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

import msgspec

from windrow.contract import Captures, Collection, Crawl, Derive, Requests, Summarise
from windrow.engine.field_types import FieldTypes
from windrow.errors import WindrowError

_OWN_PACKAGE = "windrow"
BYTES_PER_VALUE = 16
"""A packet may contain one value for each BYTES_PER_VALUE bytes of the maximum length of a message.

Unpacked, a value takes about 100 bytes.
"""

_LENGTHS = struct.Struct("!QQ")  # of the JSON text, and of the long texts and bytes
_SHORT_TEXT = 200  # the maximum number of characters of a text that is part of the JSON text
_TUPLE, _LIST, _SET, _FROZENSET, _ROWS, _LONG, _FIRST_CLASS = range(7)  # the numbers of kinds
_SCALARS = frozenset({type(None), bool, int})
_ATOMS = _SCALARS | {float, str}
_CONTAINERS: Mapping[int, Callable[[Iterable[Any]], Any]] = {_TUPLE: tuple, _LIST: list}
"""The containers of rows."""
_LENIENT = b" "
"""The first byte of a JSON text with lone surrogates, which only Python's own decoder reads."""
_Maker = Callable[[list[Any]], Any]
"""A function that makes a value of a class from its fields. It raises an error if they do not fit."""


class MessageRefused(WindrowError):
    """A message from a process is too long, or does not contain the expected values."""


class NotValues(WindrowError):
    """The result of a step cannot be sent, since it contains something that is not a value."""


def step_modules(collection: Collection) -> set[str]:
    """Return the names of the modules with the functions that readers and fetchers run for a collection."""
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
    return frozenset({_OWN_PACKAGE, *(name.partition(".")[0] for name in modules)})


def pack_values(values: list[Any]) -> bytes:
    """Return a list of values as a packet.

    Raises NotValues if the list contains anything else, RecursionError if values are nested too deeply, and MemoryError
    if the process has too little memory.
    """
    packer = _Packer()
    nodes = packer.pack_all(values)
    text = _encode([packer.names, packer.lengths, nodes])
    return b"".join((_LENGTHS.pack(len(text), sum(map(len, packer.contents))), text, *packer.contents))


class _Packer:
    """Makes the arrays of one packet, and collects the names of classes and the long texts and bytes."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.contents: list[bytes] = []
        self.lengths: list[int] = []  # of `contents`: `size` for a text, `~size` for bytes, which is negative
        self._numbers: dict[type, int] = {}  # of classes
        self._positions: dict[str | bytes, int] = {}  # in `contents`

    def pack_all(self, values: Iterable[Any]) -> list[Any]:
        return [
            value
            if (kind := type(value)) in _SCALARS or (kind is str and len(value) <= _SHORT_TEXT)
            else self._pack_one(value, kind)
            for value in values
        ]

    def _pack_one(self, value: Any, kind: type) -> Any:
        if kind is dict:
            if not set(map(type, value)) <= {str}:
                raise NotValues("a step returned a dict whose keys are not texts")
            return dict(zip(value, self.pack_all(value.values()), strict=True))
        if kind is float and isfinite(value):
            return value
        if kind is str or kind is bytes:
            return [_LONG, self._position_of(value)]
        if kind in (tuple, list):
            return self._pack_sequence(_TUPLE if kind is tuple else _LIST, value)
        if kind in (set, frozenset):
            if not set(map(type, value)) <= {str}:
                raise NotValues("a step returned a set whose elements are not all texts")
            return [_SET if kind is set else _FROZENSET, *self.pack_all(value)]
        return [self._number_of(kind), *self.pack_all(_field_reader(kind)(value))]

    def _pack_sequence(self, container: int, values: Sequence[Any]) -> list[Any] | tuple[()]:
        """Pack a tuple or a list. Tuples of one class with simple fields are packed as _ROWS, which is faster."""
        if not values:
            return () if container == _TUPLE else [_LIST]
        kind = type(values[0])
        if issubclass(kind, tuple) and set(map(type, values)) == {kind} and _are_atoms(values):
            return [_ROWS, container, _TUPLE if kind is tuple else self._number_of(kind), *values]
        return [container, *self.pack_all(values)]

    def _number_of(self, kind: type) -> int:
        number = self._numbers.get(kind)
        if number is None:
            _field_reader(kind)  # raises NotValues
            number = self._numbers[kind] = _FIRST_CLASS + len(self.names)
            self.names.append(f"{kind.__module__}:{kind.__qualname__}")
        return number

    def _position_of(self, content: str | bytes) -> int:
        position = self._positions.get(content)
        if position is None:
            position = self._positions[content] = len(self.contents)
            is_text = isinstance(content, str)
            self.contents.append(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
            self.lengths.append(len(self.contents[-1]) if is_text else ~len(self.contents[-1]))
        return position


@cache
def _field_reader(kind: type) -> Callable[[Any], Iterable[Any]]:
    """Return a function that returns the fields of a value of `kind`. Raises NotValues if it is not a value class."""
    if kind in _PLAIN_CLASSES:
        return _PLAIN_CLASSES[kind][0]
    if not _is_value_class(kind):
        raise NotValues(
            f"{kind.__module__}.{kind.__qualname__} is not a class of values: a step returns NamedTuples, dataclasses,"
            " enums and Python's own values"
        )
    if issubclass(kind, Enum):
        return lambda member: (member._value_,)
    if issubclass(kind, tuple):
        return tuple
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type] # it is a dataclass
    if len(names) == 1:
        return lambda value: (getattr(value, names[0]),)
    return attrgetter(*names) if names else lambda _value: ()


def unpack_values(message: bytes, packages: AbstractSet[str], max_bytes: int = 1 << 30) -> Iterator[Any]:
    """Yield the values of the packets of a message. Raises MessageRefused if it contains anything else.

    `packages` are the names of packages whose value classes the message may contain, from `package_names`. `max_bytes`
    is the maximum length of a message, which the caller checks; it limits the number of values in a packet.
    """
    view, position = memoryview(message), 0
    while position < len(message):
        try:
            values, position = _unpack_packet(view, position, packages, max_bytes // BYTES_PER_VALUE)
        except MessageRefused:
            raise
        except Exception as error:  # noqa: BLE001 fields that do not fit can raise any error of a class
            raise MessageRefused(f"a process sent an unknown value: {type(error).__name__}: {error}"[:500]) from None
        yield from values


def _unpack_packet(
    view: memoryview, position: int, packages: AbstractSet[str], max_values: int
) -> tuple[list[Any], int]:
    """Return the values of the packet at `position`, and the position of its end."""
    text_length, contents_length = _LENGTHS.unpack_from(view, position)
    begin = position + _LENGTHS.size
    middle = begin + text_length
    end = middle + contents_length
    if end > len(view):
        raise MessageRefused("a process sent a packet that is longer than its message")
    text = bytes(view[begin:middle])
    count = text.count(b",") + text.count(b"[") + text.count(b"{")  # never less than the number of values
    if count > max_values:
        raise MessageRefused(f"a process sent {count:,} values at once; its memory allows {max_values:,}")
    names, lengths, nodes = _decode(text)
    makers = [*_MAKERS, _pick_from(_split(view[middle:end], lengths))]
    makers += [_find_maker(name, packages) for name in names]
    return _unpack_all(nodes, makers), end


def _encode(nodes: list[Any]) -> bytes:
    try:
        return msgspec.json.encode(nodes)
    except UnicodeEncodeError:
        return _LENIENT + json.dumps(nodes, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _decode(text: bytes) -> Any:
    return json.loads(text.decode("utf-8", "surrogatepass")) if text[:1] == _LENIENT else msgspec.json.decode(text)


def _are_atoms(rows: Iterable[Iterable[Any]]) -> bool:
    """Return whether JSON can represent all fields of these rows, which it cannot for floats such as NaN."""
    kinds = set(map(type, chain.from_iterable(rows)))
    if float in kinds and not all(isfinite(cell) for cell in chain.from_iterable(rows) if type(cell) is float):
        return False
    return kinds <= _ATOMS


def _unpack_all(nodes: Iterable[Any], makers: list[_Maker]) -> list[Any]:
    return [node if type(node) in _ATOMS else _unpack_one(node, makers) for node in nodes]


def _unpack_one(node: Any, makers: list[_Maker]) -> Any:
    if type(node) is dict:
        return dict(zip(node, _unpack_all(node.values(), makers), strict=True))
    if not node:
        return ()
    if node[0] == _ROWS:
        container, rows, maker = _CONTAINERS[node[1]], node[3:], makers[node[2]]
        if make_rows := getattr(maker, "make_rows", None):
            return container(make_rows(rows))
        if not _are_atoms(rows):
            raise MessageRefused("a process sent rows with fields other than numbers and texts")
        return container(map(maker, rows))
    return makers[node[0]]([child if type(child) in _ATOMS else _unpack_one(child, makers) for child in node[1:]])


def _split(view: memoryview, lengths: list[int]) -> list[str | bytes]:
    """Return the texts and bytes with these `lengths`: `size` stands for a text, `~size` for bytes."""
    contents: list[str | bytes] = []
    start = 0
    for length in lengths:
        end = start + (length if length >= 0 else ~length)
        contents.append(str(view[start:end], "utf-8", "surrogatepass") if length >= 0 else bytes(view[start:end]))
        start = end
    if start != len(view):
        raise MessageRefused("a process sent texts whose lengths are wrong")
    return contents


def _pick_from(contents: list[str | bytes]) -> _Maker:
    def pick(positions: list[Any]) -> str | bytes:
        (position,) = positions
        content: str | bytes = contents[position]
        return content

    return pick


def _check_texts(texts: list[Any]) -> list[str]:
    # Values with equal hashes make a set slow. Another process cannot choose such texts, since their hashes are random.
    if not set(map(type, texts)) <= {str}:
        raise MessageRefused("a process sent a set whose elements are not all texts")
    return texts


_MAKERS: list[_Maker] = [
    tuple,
    list,
    lambda texts: set(_check_texts(texts)),
    lambda texts: frozenset(_check_texts(texts)),
    tuple,  # of rows, which `_unpack_one` makes
]
"""The functions that make values of the kinds below _LONG."""


def _find_maker(name: str, packages: AbstractSet[str]) -> _Maker:
    module, _, class_name = name.partition(":")
    maker = _plain_makers.get(name)
    if maker is None and module.partition(".")[0] in packages:
        maker = _makers.get(name) or _makers.setdefault(name, _make_maker(module, class_name))
    if maker is None:
        raise MessageRefused(f"a process sent {name[:200]}, which is not a class of values of this collection")
    return maker


def _make_maker(module: str, class_name: str) -> _Maker:
    """Import a class of values, and return the function that makes them. Raises MessageRefused for other classes."""
    kind: Any = None
    if not module.endswith(".__main__"):
        kind = sys.modules.get(module) or import_module(module)
        for part in class_name.split("."):
            kind = vars(kind).get(part) if not part.startswith("__") else None
            if kind is None:
                break
    if not isinstance(kind, type) or kind.__module__ != module or not _is_value_class(kind):
        raise MessageRefused(f"a process sent {module[:100]}.{class_name[:100]}, which is not a class of values")
    if issubclass(kind, Enum):
        return lambda values: kind._value2member_map_[values[0]]
    return _make_checking(kind)


def _make_checking(kind: type) -> _Maker:
    """Return a function that checks fields and makes a value of `kind`. Its `make_rows` makes many values at once."""
    types = FieldTypes(kind)
    size, find_wrong = len(types.names), types.find_wrong
    make: _Maker = partial(tuple.__new__, kind) if issubclass(kind, tuple) else lambda values: kind(*values)

    def refuse(wrong: str) -> NoReturn:
        raise MessageRefused(f"a process sent a {kind.__name__} with a wrong value as its {wrong}")

    def make_checked(values: list[Any]) -> Any:
        if len(values) != size:
            raise MessageRefused(f"a process sent a {kind.__name__} with {len(values)} fields instead of {size}")
        if wrong_field := find_wrong(values):
            refuse(wrong_field)
        return make(values)

    def make_rows(rows: list[list[Any]]) -> Iterable[Any]:
        if set(map(len, rows)) != {size}:
            raise MessageRefused(f"a process sent rows of a {kind.__name__} that do not all have {size} fields")
        if wrong_field := types.find_wrong_column(rows, _ATOMS):
            refuse(wrong_field)
        return map(make, rows)

    make_checked.make_rows = make_rows  # type: ignore[attr-defined]
    return make_checked


_makers: dict[str, _Maker] = {}
"""The functions that make values of the classes of windrow and of collections, by `module:class`."""


def _is_value_class(kind: type) -> bool:
    if issubclass(kind, Enum):
        return not issubclass(kind, Flag)
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    return is_dataclass(kind) and all(field.init and not field.kw_only for field in fields(kind))


_Plain = tuple[Callable[[Any], Iterable[Any]], _Maker]
"""A function that returns the fields of a value, and a function that makes the value from them."""


def _of_text(kind: Callable[[str], Any]) -> _Plain:
    return (lambda value: (str(value),)), lambda values: kind(*values)


def _of_time(kind: type[datetime | time]) -> _Plain:
    def read_fields(value: Any) -> Iterable[Any]:
        if value.tzinfo is UTC:  # as nearly all are
            return (value.isoformat(),)
        return value.replace(tzinfo=None, fold=0).isoformat(), value.tzinfo, value.fold

    def make(values: list[Any]) -> Any:
        if len(values) == 1:
            return kind.fromisoformat(*values)
        text, zone, fold = values
        return kind.fromisoformat(text).replace(tzinfo=zone, fold=fold)

    return read_fields, make


_PLAIN_CLASSES: Mapping[type, _Plain] = {
    date: _of_text(date.fromisoformat),
    datetime: _of_time(datetime),
    time: _of_time(time),
    timedelta: (attrgetter("days", "seconds", "microseconds"), lambda values: timedelta(*values)),
    timezone: (lambda zone: zone.__getinitargs__(), lambda values: timezone(*values)),
    ZoneInfo: _of_text(ZoneInfo),
    Decimal: _of_text(Decimal),
    float: _of_text(float),  # NaN and the infinities, for which JSON has no form
    PosixPath: _of_text(PosixPath),
    PurePosixPath: _of_text(PurePosixPath),
}
_plain_makers = {f"{kind.__module__}:{kind.__qualname__}": maker for kind, (_, maker) in _PLAIN_CLASSES.items()}
