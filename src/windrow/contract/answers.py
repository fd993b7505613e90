"""The values that a collection's functions take and return: requests, answers, offers and observations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple

from windrow.caps import Excess
from windrow.model import Finding, Source
from windrow.reasons import Reason


class Request(NamedTuple):
    """A request that a discovery sends to a source or a service.

    The discovery chooses `name` and `context`, and the answer contains them. A request with a lower `priority` is sent
    earlier. A request is sent again every `every` seconds (0: in each run), or only once if `every` is None. If
    `only_if_new`, it is sent, the first time or again, only when the answer that leads to it offers something new. If
    `when_named`, it is sent once in each run in which an answer leads to it; this is meant for the further pages of a
    list that is read completely. `service` names a declared service; it is empty for a request to the source. `url` may
    be relative to the URL of the answer, or of the source. If `is_guess`, nothing named the address, so nothing is lost
    if its answer is not used, and the request is not repeated for that. With `again`, the request is for no list, and
    is sent again after that many seconds, then after pauses that double, up to a year. A step gets `redirected_from`,
    the addresses whose permanent redirects (301, 308) led to that of the request in the same session, nearest first.
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
    is_guess: bool = False
    again: int = 0
    redirected_from: tuple[str, ...] = ()


LONGEST_PAUSE = 366 * 86_400
"""The longest pause before a request with `again` is repeated, in seconds: a year."""


class Answer(NamedTuple):
    """The response to a request.

    `view` is a seekable file over the decoded body. Names of `fields` are in lower case. `at` is when the answer was
    requested. An `unchanged` answer has the same bytes as the earlier answer to this request; a 304 has the bytes of
    that answer and the status 200.
    """

    request: Request
    status: int
    fields: Mapping[str, str]
    view: BinaryIO
    at: datetime
    unchanged: bool = False
    reason: Reason | None = None  # why the answer is incomplete, if its service passes failures to steps


class Offering(NamedTuple):
    """A thing that an answer offers: its key, its part of the answer, and its own address.

    `part` is (offset, length) in bytes of the decoded body, or () for the whole body.
    """

    key: str
    part: tuple[int, int] | tuple[()] = ()
    url: str = ""


class LeftOutCount(NamedTuple):
    """The number of addresses or entries that a rule or cap left out. `example` is one of them, or the answer's URL."""

    reason: Reason
    rule: str
    addresses: int
    example: str


DRIFT = "Drift"
"""The class of a finding which reports that an answer lacks something that earlier ones had, or has far less of it.

The source has failed in each run with such a finding.
"""


KEYS_CHANGED = "keys changed"
"""The name under which a discovery learns that, from an answer on, things may be offered under other keys than before.

What was offered before this answer, and neither by it nor later, may be there under its new key, and is not missing.
The engine replaces the value by the number of the answer's attempt.
"""


REPLACED_RULE = "answers that are not used"
"""The rule under which answers are counted that a discovery replaced by other requests."""


def count_excess(excess: Iterable[Excess], url: str) -> tuple[LeftOutCount, ...]:
    """Return, for each cap in `excess`, a count of what it left out of the answer at `url`."""
    return tuple(LeftOutCount(Reason.CAPPED, cap.rule, number, url) for cap, number in excess)


@dataclass(frozen=True, slots=True)
class FollowResult:
    """What follows from an answer: requests, offers, and what is learned about the source.

    `learned` is stored for the source as JSON, and replaces earlier values of the same names. `end` is a message about
    the answer, such as "the last page" or "3 posts gone". `skip` is why the answer is not used. If a sequence of
    requests lists everything that the source has, `begins_listing` is set for its first answer and `ends_listing` for
    its last one (both for a single answer). Things that were offered before, but not by this sequence, are given to
    `Settle.missing`, unless an answer of the sequence is skipped. `left_out` counts addresses and entries of the answer
    that are not used. The summary of the run and `windrow status` show these counts, and the answers that are skipped.
    """

    requests: tuple[Request, ...] = ()
    offers: tuple[Offering, ...] = ()
    learned: Mapping[str, Any] = field(default_factory=dict)
    end: str = ""
    skip: Reason | None = None
    findings: tuple[Finding, ...] = ()
    begins_listing: bool = False
    ends_listing: bool = False
    left_out: tuple[LeftOutCount, ...] = ()


class MissingOffer(NamedTuple):
    """A thing that a source offered before, but that is missing from a listing of everything that the source has.

    `value` is the value of the record with this key, or None if there is no such record. `listings` is the number of
    complete listings in a row without the thing, including this one; at most 100 are counted. If a document is read
    late, for example because a service had to answer first, the listings since then that do not have its records are
    compared again.
    """

    key: str
    value: Mapping[str, Any] | None
    listings: int


class WholeListing(NamedTuple):
    """A listing of everything that a source has: when it ended, how many things it offered, and which are missing.

    `missing` does not contain things that are known to be gone. `source` is None if it is not configured any more.
    """

    source: Source | None
    at: datetime
    offers: int
    missing: tuple[MissingOffer, ...]


class DocumentPart(NamedTuple):
    """A part of the step's document that is sent unchanged: `length` bytes from `offset` on (-1: to the end).

    It is read from the archive while it is sent. `DocumentPart(*offering.part)` is the part of an offer.
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
    """A request that a Settle step makes to a service, which its collection declares.

    When all requests of the step are answered, the step runs again with the answers by `name` in `Task.answers`. If it
    then needs further answers, it must return the answered requests again with the new ones; it fails if it returns
    only answered requests. Observations that it returned together with requests are valid until these are answered,
    unless the attempt already has observations. `path` is joined with the service's address. The request has a `body`
    or the fields of a `form`. `byte_range` (offset, length) requests a part of what a GET would return: the status is
    then 206, or 200 with the whole. `seconds` is the longest time to wait for the answer; 0: the time that is declared
    for the service.

    Equal requests share one answer, however old it is. With `again_if_changed`, only documents with the same bytes
    share an answer, so that the service is asked again about a changed document. With `fresh_for`, only documents that
    were fetched in the same period share an answer; the periods are `fresh_for` seconds long, and the first one began
    with the year 1970.
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
    again_if_changed: bool = False
    fresh_for: float = 0.0


class Skip(NamedTuple):
    """The reason why a step does not record a document or, if `key` is set, one thing in it.

    If the reason is CAPPED, the document is recorded without `number` things in it (`skip_excess`).
    """

    reason: Reason
    key: str = ""
    message: str = ""
    number: int = 1

    @property
    def full_message(self) -> str:
        """`message` and, if the reason is CAPPED, the number of things that are left out."""
        return f"{self.message}: {self.number:,} left out" if self.reason is Reason.CAPPED else self.message


def skip_excess(excess: Excess) -> Skip:
    """Return the Skip that reports what a cap leaves out of a document.

    >>> from windrow.caps import PAGE_LINKS
    >>> skip_excess(Excess(PAGE_LINKS, 3))
    Skip(reason=<Reason.CAPPED: 'capped'>, key='', message='more than 20,000 links of a page', number=3)
    """
    return Skip(Reason.CAPPED, "", excess.cap.rule, excess.number)


class PendingAsk(NamedTuple):
    """An Ask that has not been answered, as version stores keep it: its name, and the digest of its address.

    If the configuration had no address for the service, `address` is 0, and `name` is the name of the service.
    """

    name: str
    address: int


class Observation(NamedTuple):
    """The record of one thing in a document: a JSON value, or None if the thing is gone.

    `text` is indexed for search. `at` is the time that the source states, or None for the time of the fetch. `aside`,
    such as the markup from which the value was read, is stored with a new value, but a change of `aside` alone does not
    make a new version. `names` are other names of the thing, such as its number in the source's system. An observation
    that the thing is gone may use one of them if the key is not known any more; unknown names are ignored. If the key
    of a thing changes, the thing is gone under the old key.

    `aliases` are normal forms that all spellings of its key share, such as an address without its scheme. A thing that
    shares an alias with a record is that record. It gets the record's first key, and so does a field of its value that
    repeats the key. But two things with different names of one system, which is what precedes the last `/` of a name,
    and with different texts are two records, even if they share the key: the key of the second one is `KEY#NAME`.

    `shared_aliases` are those of `aliases` that different things may have, such as an address that several pages state
    as their canonical one: a record that has one is this thing only if it is gone or its text is nearly the same.

    `moved_from` are aliases of former keys of the thing: a record that has one of them is this thing if no record has
    one of its aliases, the record is gone or its text is nearly the same, and only one record is so. They do not become
    aliases of the record.

    `own_lists` has, for each list of the value to which another document adds, such as the categories of a feed, what
    the document itself states. A value of the record that differs only in these lists, and contains that, is not
    replaced: otherwise two feeds that list the thing would change it in each run.
    """

    key: str
    value: Mapping[str, Any] | None
    text: str = ""
    at: datetime | None = None
    url: str = ""
    aside: Mapping[str, Any] = {}
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    own_lists: Mapping[str, tuple[str, ...]] = {}
    moved_from: tuple[str, ...] = ()
    shared_aliases: tuple[str, ...] = ()
