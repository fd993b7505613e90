"""Events of fetchers arrive as they were sent, and a message with anything else is refused."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import msgspec
import pytest

from windrow.engine.fetchers.event_format import decode_events, encode_events
from windrow.engine.fetchers.message import (
    AttemptEnded,
    BatchBroken,
    BatchEnded,
    Event,
    FolderMissing,
    ListedEntries,
    TransferBegun,
    TransferProgress,
)
from windrow.engine.plain_values import MessageRefused, pack_values
from windrow.model import MAX_INTEGER, ArchivePlace, Attempt, FoundUrl, KeptResponse, LeftOut, ListingEntry
from windrow.reasons import Reason

NOW = datetime(2026, 11, 26, 12, 0, 0, 250, UTC)
KEPT = KeptResponse("sha256:00", 20, ArchivePlace("a.warc.gz", 100, 40), at=NOW, mime="text/html")
ATTEMPT = Attempt(-5, "http://127.0.0.1/é", 0, True, NOW, 0.25, 200, KEPT, Reason.NO_TEXT, "why", ("e", "m"), wait=2.5)
LINK = FoundUrl(1 << 62, "http://127.0.0.1", "http://127.0.0.1/b", hinted=NOW)
LEFT_OUT = LeftOut(7, "http://127.0.0.1/c", Reason.NOT_WANTED, "rule", 3)
BROKEN = BatchBroken(Reason.TIMEOUT, "no route", "hint", retry=True, wait=None)
EVENTS: list[Event] = [
    TransferBegun(1, NOW),
    TransferProgress(1, 1 << 40),
    ListedEntries(2, (ListingEntry("/ø\udcff", "caf\udce9 東京", 5, NOW), ListingEntry("", "x", is_file=False))),
    FolderMissing(2, "/caf\udce9"),
    AttemptEnded(3, ATTEMPT, (LINK,), (LEFT_OUT,), endless=True, held=9),
    BatchEnded(3, (4, 5), BROKEN, 0, spared=True),
]


def test_events_arrive_as_they_were_sent() -> None:
    assert decode_events(encode_events(EVENTS)) == EVENTS


def test_bytes_that_are_not_text_are_replaced_in_messages() -> None:
    ended = AttemptEnded(3, ATTEMPT._replace(message="caf\udce9: 550 no such file"))
    listed = ListedEntries(2, (ListingEntry("/", "caf\udce9"),))
    assert decode_events(encode_events([ended, listed])) == [
        ended._replace(attempt=ATTEMPT._replace(message="caf?: 550 no such file")),
        listed,
    ]


@pytest.mark.parametrize("size", [1 << 63, (1 << 64) - 1, 10**40])
def test_a_size_in_a_listing_that_no_integer_column_holds_stays_too_large(size: int) -> None:
    (listed,) = decode_events(encode_events([ListedEntries(2, (ListingEntry("/", "a", size),))]))
    assert listed == ListedEntries(2, (ListingEntry("/", "a", MAX_INTEGER + 1),))


NUMBERS: dict[type, int] = {type(event): number for number, event in enumerate(EVENTS)}


def forged(event: tuple[object, ...], number: int | None = None) -> bytes:
    """Return a message with one event, whose fields and number need not fit."""
    return msgspec.msgpack.encode([(NUMBERS.get(type(event)) if number is None else number, event)])


@pytest.mark.parametrize(
    "message",
    [
        b"", b"\x91", pickle.dumps(EVENTS[0]), pack_values([EVENTS[0]]), b"\xc1" * 100, b"\x91" * 100_000, b"\xdd\x7f\xff\xff\xff", forged(EVENTS[0])[:-1],
        forged(EVENTS[0]) + b"\x00", forged(EVENTS[0], 6), forged(EVENTS[0], -7), forged(EVENTS[0], 3), forged((), 0),
        forged(ATTEMPT, 4), forged((1, "noon"), 0), forged(("1", 2), 1),
        forged(TransferProgress(1, 1 << 63)), forged(FolderMissing(2, "東")), forged(FolderMissing(2, "\xff")),
        forged((3, (*ATTEMPT[:8], "nonsense")), 4), forged((3, ATTEMPT, (LINK[:2],)), 4),
        forged(AttemptEnded(3, ATTEMPT._replace(target=1 << 63))),
        forged(AttemptEnded(3, ATTEMPT._replace(seconds=float("nan")))),
        forged(AttemptEnded(3, ATTEMPT._replace(wait=-1.0))),
        forged(AttemptEnded(3, ATTEMPT._replace(kept=KEPT._replace(size=1 << 63)))),
        forged(AttemptEnded(3, ATTEMPT, (LINK._replace(digest=1 << 63),))),
        forged((3, ATTEMPT, ((*LINK[:2], None),)), 4),
        forged(AttemptEnded(3, ATTEMPT, left_out=(LEFT_OUT._replace(number=1 << 63),))),
        forged(BatchEnded(3, (1 << 63,))), forged(BatchEnded(3, (), BROKEN._replace(wait=float("inf")))),
    ],
)  # fmt: skip
def test_anything_else_is_refused(message: bytes) -> None:
    with pytest.raises(MessageRefused, match="a fetcher process sent"):
        decode_events(message)
