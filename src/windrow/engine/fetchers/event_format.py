"""The format in which fetchers send events to the engine: MessagePack, decoded to the types that events declare.

A fetcher process may have been taken over, so its messages can contain any bytes. The fields of a decoded event always
have their declared types, numbers that the ledger can store, and (except names in listings) UTF-8 texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, get_args

import msgspec

from windrow.engine.fetchers.message import (
    AttemptEnded,
    BatchEnded,
    Event,
    FolderMissing,
    ListedEntries,
    TransferProgress,
)
from windrow.engine.plain_values import MessageRefused
from windrow.formats.text import replace_lone_surrogates
from windrow.model import MAX_INTEGER, MIN_INTEGER, ListingEntry

_CLASSES: tuple[type[Event], ...] = get_args(Event)
_NUMBERS = {kind: number for number, kind in enumerate(_CLASSES)}
_DECODERS = tuple(map(msgspec.msgpack.Decoder, _CLASSES))
_PAIRS = msgspec.msgpack.Decoder(tuple[tuple[int, msgspec.Raw], ...])  # the number of its class, and the event
_encode = msgspec.msgpack.Encoder().encode


def encode_events(events: Iterable[Event]) -> bytes:
    """Return the message with these events. In texts other than names of listings, lone surrogates are replaced."""
    pairs = [(_NUMBERS[type(event)], _convert_names(event, _spell_name)) for event in events]
    try:
        return _encode(pairs)
    except UnicodeEncodeError:
        return _encode(_replace_surrogates(pairs))


def decode_events(message: bytes) -> list[Event]:
    """Return the events of a message. Raises MessageRefused for anything else, and for numbers out of range."""
    try:
        events = [
            _convert_names(_DECODERS[number].decode(event), _read_name) for number, event in _PAIRS.decode(message)
        ]
    except (msgspec.DecodeError, IndexError, UnicodeError, RecursionError) as error:
        raise MessageRefused(f"a fetcher process sent something that is not an event: {error}"[:500]) from None
    if not all(map(_is_storable, events)):
        raise MessageRefused("a fetcher process sent a number that the ledger cannot store")
    return events


def _convert_names(event: Event, convert: Callable[[str], str]) -> Event:
    match event:
        case ListedEntries(batch, entries):
            return ListedEntries(batch, tuple(_convert_entry(entry, convert) for entry in entries))
        case FolderMissing(batch, folder):
            return FolderMissing(batch, convert(folder))
        case _:
            return event


def _convert_entry(entry: ListingEntry, convert: Callable[[str], str]) -> ListingEntry:
    """Return an entry with its names converted. A size above MAX_INTEGER becomes one that is refused later."""
    size = None if entry.size is None else min(entry.size, MAX_INTEGER + 1)
    return entry._replace(folder=convert(entry.folder), name=convert(entry.name), size=size)


def _spell_name(name: str) -> str:
    """Return the bytes of a name as characters. A name with bytes that are not UTF-8 contains lone surrogates."""
    return name.encode("utf-8", "surrogatepass").decode("latin-1")


def _read_name(spelled: str) -> str:
    return spelled.encode("latin-1").decode("utf-8", "surrogatepass")


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value if isinstance(value, StrEnum) else replace_lone_surrogates(value)
    if not isinstance(value, tuple | list):
        return value
    children = map(_replace_surrogates, value)
    return value._make(children) if hasattr(value, "_make") else tuple(children)


def _is_storable(event: Event) -> bool:
    """Return whether the ledger can store the numbers of an event, and its times in seconds are not negative."""
    times: list[float | None] = []
    match event:
        case AttemptEnded(attempt=attempt):
            numbers = [attempt.target, attempt.kind, attempt.status or 0, attempt.received or 0, event.held]
            if attempt.kept is not None:
                numbers += (attempt.kept.size, attempt.kept.place.offset, attempt.kept.place.length)
            for url in event.found:
                numbers += (url.digest, url.order, url.kind)
            for left_out in event.left_out:
                numbers += (left_out.digest, left_out.number)
            times += (attempt.seconds, attempt.wait)
        case BatchEnded():
            numbers = [*event.untouched, event.culprit or 0]
            times += (event.broken and event.broken.wait,)
        case TransferProgress():
            numbers = [event.target, event.size]
        case _:
            numbers = []
    are_numbers = not numbers or MIN_INTEGER <= min(numbers) <= max(numbers) <= MAX_INTEGER
    return are_numbers and all(seconds is None or 0 <= seconds <= MAX_INTEGER for seconds in times)
