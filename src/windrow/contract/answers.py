"""The values that a collection's functions take and return: requests, answers, and what they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple

from windrow.model import Finding, Source
from windrow.reasons import Reason


class Request(NamedTuple):
    """A request to a source, or to a service.

    `name` and `context` are the discovery's own and come back with the answer. A low `priority` goes first. It is due
    again every `every` seconds; None: once. With `only_if_new` it is sent, and sent again, if the answer that leads to
    it offered something new; with `when_named`, once in each run in which an answer leads to it, such as the further
    pages of a list that is read whole. `service` names a declared service; empty: the source itself. `url` may be
    relative to that of the answer, or of the source.
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
    """The response to a request: `view` is a seekable file over the decoded body; names of `fields` are lower case.

    An unchanged answer has the bytes and the status of the one that brought them.
    """

    request: Request
    status: int
    fields: Mapping[str, str]
    view: BinaryIO
    at: datetime
    unchanged: bool = False
    reason: Reason | None = None  # why the answer is not whole, if its service passes failures to steps


class Offering(NamedTuple):
    """A thing that an answer offers: its key, its place in the answer, and its own address.

    `part` is (offset, length) in the decoded body, in bytes; empty: the whole.
    """

    key: str
    part: tuple[int, int] | tuple[()] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class FollowResult:
    """The requests and offers that follow from an answer.

    `learned` is kept for the source as JSON, and replaces earlier values under the same names. `end` says in words why
    nothing follows ("the last page"), `skip` why the answer is not used. If a sequence of requests lists all that the
    source has, the first answer `begins_listing` and the last one `ends_listing` (a single one does both): things that
    were offered before, but not in between, are given to `Settle.missing`. A skipped answer in between cancels that.
    """

    requests: tuple[Request, ...] = ()
    offers: tuple[Offering, ...] = ()
    learned: Mapping[str, Any] = field(default_factory=dict)
    end: str = ""
    skip: Reason | None = None
    findings: tuple[Finding, ...] = ()
    begins_listing: bool = False
    ends_listing: bool = False


class MissingOffer(NamedTuple):
    """A thing that a source offered before and that is missing from a whole listing of it.

    `value` is that of the record with this key, or None if no record has it. `listings` counts the whole listings in
    a row without it, including this one, up to a hundred.
    """

    key: str
    value: Mapping[str, Any] | None
    listings: int


class WholeListing(NamedTuple):
    """A listing of all that a source has: when it ended, how many things it had, and which were missing.

    Things known to be gone are not repeated. `source` is None if it is not configured any more.
    """

    source: Source | None
    at: datetime
    offers: int
    missing: tuple[MissingOffer, ...]


class DocumentPart(NamedTuple):
    """A part of the step's document to be sent as it is: `length` bytes from `offset`; -1: the rest.

    It is read from the archive while it is sent. `DocumentPart(*offering.part)` is an offered part.
    """

    offset: int = 0
    length: int = -1


class FormField(NamedTuple):
    """A field of a form (multipart/form-data, RFC 7578): a text, or a file if it has a `filename`."""

    name: str
    value: str | bytes | DocumentPart
    filename: str = ""
    media_type: str = ""


class Ask(NamedTuple):
    """A request of a Settle step to a service that its collection declares.

    When all its requests are answered, the step runs again with the answers by `name` in `Task.answers`; it must return
    the same requests then. Observations returned beside requests hold until then, if the attempt has no observations
    yet. `path` is joined with the service's address. The request has a `body` or the fields of a `form`. `byte_range`
    (offset, length) requests a part of what a GET would return: a server answers with status 206, or with 200 and all
    of it. `seconds` is how long this answer may take; 0: as long as the service declares.
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
    """Why a step does not record a document, or the thing in it that has this key."""

    reason: Reason
    key: str = ""
    message: str = ""


class PendingAsk(NamedTuple):
    """An Ask that is not answered yet, as version stores keep it: its name, and the request's number on the ledger."""

    name: str
    address: int


class Observation(NamedTuple):
    """The record of one thing in a document: a JSON value, or None if the thing is gone.

    `text` is indexed for search; `at` is the time the source gives, None: that of the fetch. `aside` is kept with a new
    value, but a change of it alone makes no version: such as the markup that the value was read from.
    `names` are other names of the thing, such as its number in the source's system: if its key is not known any more,
    an observation that it is gone may use one of them; unknown names are ignored. If the key of a thing changes, it is
    gone under the old key.
    `aliases` are normal forms common to all spellings of its key, such as an address without its scheme: a thing that
    shares one with a record is that record, and keeps the record's first key, also in a field that repeats the key.
    """

    key: str
    value: Mapping[str, Any] | None
    text: str = ""
    at: datetime | None = None
    url: str = ""
    aside: Mapping[str, Any] = {}
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
