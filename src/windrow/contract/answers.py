"""What a collection's functions are given and return: requests, answers and what follows from them, records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple

from windrow.model import Finding, Source
from windrow.reasons import Reason


class Request(NamedTuple):
    """What is asked of a source, or of a service.

    `name` and `context` are its discovery's own words for it and come back with the answer. A low `priority` goes
    first. It is due again `every` so many seconds; None: once. One that is `only_if_new` is asked, and asked again,
    where the answer that leads to it offered something that was not known; one that is asked `when_named`, once in each
    run in which an answer leads to it, and not when none does any more: the further pages of a list that is read whole.
    `service` names one that is declared; empty: the source itself. A URL may be relative to that of the answer, or of
    the source.
    """

    url: str
    name: str = ""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    priority: int = 0
    context: str = ""
    every: int | None = None
    only_if_new: bool = False
    when_named: bool = False
    service: str = ""


class Answer(NamedTuple):
    """What came of a request: `view` is a seekable file over the body without its codings, `fields` are lower case.

    An answer that did not change has the bytes, and the status, of the one that brought them.
    """

    request: Request
    status: int
    fields: Mapping[str, str]
    view: BinaryIO
    at: datetime
    unchanged: bool = False
    reason: Reason | None = None  # why there is no whole answer, where a service declares that a step is given that


class Offering(NamedTuple):
    """Something that an answer has: what it is known by, where in the answer it lies, and its own address.

    `part` is (offset, length) in the answer's plain body, empty for the whole.
    """

    key: str
    part: tuple[int, int] | tuple[()] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class FollowResult:
    """What an answer leads to.

    `learned` is kept for the source, over what was learned before, as JSON. `end` says in words that nothing follows
    and why ("the last page"), `skip` why the answer was of no use. Where requests, one after the other, list all that
    the source has, the first answer `begins_listing` and the last one `ends_listing` (one that has all: both): what was
    offered before, and not in between, is given to `Settle.missing`. An answer of no use in between ends that.
    """

    requests: tuple[Request, ...] = ()
    offers: tuple[Offering, ...] = ()
    learned: Mapping[str, Any] = field(default_factory=dict)
    end: str = ""
    skip: Reason | None = None
    findings: tuple[Finding, ...] = ()
    begins_listing: bool = False
    ends_listing: bool = False


class Unlisted(NamedTuple):
    """Something that a source offered before, and that a whole listing of it did not have.

    `value` is what is known of the record of that key, None where there is none. `listings` counts the whole listings
    in a row, this one included, that did not have it, up to a hundred.
    """

    key: str
    value: Mapping[str, Any] | None
    listings: int


class WholeListing(NamedTuple):
    """All that a source has was listed: how many things, when that ended, and what was missing from it.

    What is known to be gone is not named again. `source` is None where it is not configured any more.
    """

    source: Source | None
    at: datetime
    offers: int
    missing: tuple[Unlisted, ...]


class DocumentPart(NamedTuple):
    """Bytes of the document that a step is given, to be sent as they are: from `offset` on, `length` of them or all.

    They are read from the archive as they are sent: `DocumentPart(*offering.part)` is a part that was offered.
    """

    offset: int = 0
    length: int = -1


class FormField(NamedTuple):
    """A field of a form (multipart/form-data, RFC 7578): a text, or with a `filename` a file."""

    name: str
    value: str | bytes | DocumentPart
    filename: str = ""
    media_type: str = ""


class Ask(NamedTuple):
    """What a Settle step needs of a service that its collection declares, before it can go on.

    The step is run again when all that it asked for is answered, with the answers by `name` in `Task.answers`; it must
    return the same requests then as before. Observations that it returns beside requests hold until then, where the
    visit has told nothing yet. `path` is joined with the service's address. What is sent is a `body` or
    the fields of a `form`; `byte_range` (offset, length) asks for a part of what a GET would give, which a server
    answers with status 206, or 200 and all of it. `seconds` is how long this answer may take, where that is not what
    the service declares.
    """

    name: str
    service: str
    path: str = ""
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | DocumentPart = b""
    form: tuple[FormField, ...] = ()
    byte_range: tuple[int, int] | tuple[()] = ()
    seconds: float = 0.0


class Skip(NamedTuple):
    """Why a step makes nothing of a document, or of the thing in it that is known by a key."""

    reason: Reason
    key: str = ""
    message: str = ""


class Waits(NamedTuple):
    """An Ask as version stores keep it: its name, and the ledger's number of the request that was made of it."""

    name: str
    address: int


class Observation(NamedTuple):
    """What a document says of one thing: a JSON value, None where it says that the thing is gone.

    `text` is what is searched for, `at` when its source says it was so; None: when it was fetched. `aside` is kept with
    the value when it is first seen, and makes no version by itself: such as the markup that it was read from.
    `names` are other names of the thing, such as its number in its source's system: that it is gone may be said by one
    of them, where its key is not known any more. A name that no thing has is passed over. A thing that has
    another key than before moved: it is gone under the old one.
    `aliases` are normal forms that all spellings of its key have in common, such as an address without its scheme: a
    thing that has one in common with a record is that record, under the key that this had first. Where its value
    repeats its own key in a field, that field then holds the record's key.
    """

    key: str
    value: Mapping[str, Any] | None
    text: str = ""
    at: datetime | None = None
    url: str = ""
    aside: Mapping[str, Any] = {}
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
