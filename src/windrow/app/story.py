"""The whole story of one thing: everything the ledger has of it, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.app.kind import KINDS, collection, phases
from windrow.app.question import Candidate, Question, clue, is_number
from windrow.app.summary import Summary, phase_name, summarise
from windrow.config import Workspace
from windrow.digest import short
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.moment import parse
from windrow.errors import UsageError, WindrowError
from windrow.model import Status
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.app.origin import Site
    from windrow.app.page import Page

__all__ = ["Candidate", "Event", "Found", "Story", "tell"]

Row = tuple[Any, ...]


class Event(NamedTuple):
    """One thing that happened; what does not apply is None or empty.

    `number` is the fact's own on the ledger; `what` is seen, listed, changed, gone, refused, fetch,
    capture, reading, finding, move or task; `told` says it in a sentence.
    """

    at: datetime
    number: int
    session: int
    what: str
    told: str
    source: str = ""
    address: str = ""
    phase: str = ""
    status: str = ""
    reason: str = ""
    kind: str = ""
    level: str = ""
    line: int | None = None
    column: int | None = None
    size: int | None = None
    digest: str = ""
    warc: str = ""
    offset: int | None = None
    length: int | None = None
    step: str = ""
    version: str = ""


class Story(NamedTuple):
    """A thing, how it stands now, what lies in it, and all that happened to it."""

    number: int
    collection: str
    kind: str
    key: str
    owner: str
    phase: str
    status: str
    reason: str
    offered_by: tuple[str, ...]
    within: str
    events: tuple[Event, ...]
    members: tuple[Candidate, ...] = ()
    others: tuple[int, ...] = ()  # numbers of the same document from other fetches of its archive


class Found(NamedTuple):
    """What a question found: one story, or a page's or site's, a session's summary, or things it may mean."""

    asked: str
    story: Story | None = None
    page: Page | None = None
    site: Site | None = None
    session: Summary | None = None
    candidates: tuple[Candidate, ...] = ()
    more: int = 0  # candidates that are not listed


def tell(workspace: Workspace, ledger: Ledger, what: str) -> Found:
    """Tell the story of what a person names; a WindrowError says what is known where it is unknown."""
    what = what.strip().encode("utf-8", "backslashreplace").decode()  # as the ledger spells what is no text
    if not what:
        raise UsageError("nothing is named", hint="windrow why --help")
    question = Question(workspace, ledger)
    if is_number(what) and ledger.ask("told_session", int(what)):
        return Found(what, session=summarise(ledger, int(what), phases()))
    items = question.items(what)
    keys = {key for _, key in items}
    if len(keys) == 1:
        return Found(what, _story(ledger, [number for number, _ in items]))
    if keys:
        return Found(what, candidates=question.candidates(items), more=max(0, question.total - len(items)))
    return _elsewhere(workspace, ledger, question, what)


def _elsewhere(workspace: Workspace, ledger: Ledger, question: Question, what: str) -> Found:
    """Tell of what is no item: a page or site, a refused name, a source, a centre."""
    if found := _of_web(workspace, ledger, what):
        return found
    if refused := ledger.ask("told_refused", what, f"/{what}"):
        return Found(what, _refusal(what, refused))
    if source := workspace.source(what):
        return Found(what, _source(ledger, source.name, source.collection, source.owner))
    if owned := question.owned(what):
        return Found(what, candidates=question.candidates(owned), more=max(0, question.total - len(owned)))
    raise WindrowError(f"nothing is known of {what!r}{clue(workspace, what)}", hint="windrow status")


def _of_web(workspace: Workspace, ledger: Ledger, what: str) -> Found | None:
    """Tell of a page, of a site that is crawled, or of a host; None where it is none of them."""
    if not any(source.collection == "pages" for source in workspace.sources) and not ledger.ask("hosts_of", "pages"):
        return None
    from windrow.app.origin import site_at, site_of  # noqa: PLC0415 not for those who only harvest drops
    from windrow.app.page import page  # noqa: PLC0415

    rules = what.endswith("/robots.txt") and site_at(workspace, ledger, what)
    if rules:
        return Found(what, site=rules)
    if found := page(workspace, ledger, what):
        return Found(what, page=found)
    source = workspace.source(what)
    if source and source.collection == "pages":
        story = _source(ledger, source.name, source.collection, source.owner)
        return Found(what, story=story, site=site_of(workspace, ledger, source))
    host = site_at(workspace, ledger, what)
    return Found(what, site=host) if host and source is None else None


def _story(ledger: Ledger, numbers: list[int]) -> Story:
    """Tell of an item; of several with one key, the one that its archive's latest fetch brought."""
    rows = [ledger.ask("told_item", number)[0] for number in numbers]
    row = max(rows, key=lambda one: (one[8], one[0]))
    number, at, session, kind, thing, key, parent, owner, fetch = row[:9]
    told: list[Event] = [
        Event(parse(at), number, session, "seen", f"seen for the first time, as {key}", digest=row[9], size=row[11])
    ]
    within = ""
    if parent:
        within = str(ledger.ask("told_item", parent)[0][5])
        told += _listings(ledger, parent) + _attempts(ledger.ask("told_fetch", fetch))
    told += _listings(ledger, number) + _attempts(ledger.ask("told_item_fetches", number))
    told += _readings(ledger, number) + _findings(ledger, kind, number) + _moves(ledger, kind, number)
    hosts = ledger.ask("told_hosts", parent or number)
    names = [name for (name,) in ledger.ask("intake_names", number)]
    return Story(
        number,
        kind,
        thing,
        key,
        owner,
        phase_name(phases(), kind, row[13]),
        Status(row[14]).name.lower(),
        row[15] or "",
        tuple(source for source, _, present, *_ in hosts if present) + tuple(names),
        within,
        tuple(sorted(told, key=lambda one: one.number)),
        _members(ledger, kind, number, row[16]),
        tuple(other for other in numbers if other != number),
    )


def _listings(ledger: Ledger, item: int) -> list[Event]:
    words = {"listed": "offers it", "changed": "offers it changed", "gone": "does not offer it any more"}
    found = []
    for number, at, session, source, path, event, size, modified in ledger.ask("told_item_listings", item):
        said = f"{source} {words.get(event, event)}"
        if event != "gone":
            said += f" at {path}" + (f", {size:,} bytes" if size is not None else "")
            said += f" of {modified[:19].replace('T', ' ')}" if modified else ""
        found.append(Event(parse(at), number, session, event, said, source, path, size=size))
    return found


def _attempts(rows: Iterable[Row]) -> list[Event]:
    """Tell of attempts to fetch, each as its begin and its end."""
    found = []
    for row in rows:
        number, at, session, source, address, end, ended, seconds, _status, received, reason, message = row[:12]
        begun = f"asked {source} for it" + ("" if end else "; this attempt was cut, or is under way")
        found.append(Event(parse(at), number, session, "fetch", begun, source, address))
        if end is None:
            continue
        when = parse(ended)
        if reason:
            said = f"{source} did not give it after {seconds:.1f} s and {received:,} bytes: {message or reason}"
            found.append(Event(when, end, session, "fetch", said, source, address, reason=reason, status="failed"))
            continue
        digest, size, warc, offset, length, revisit, checksum = row[12:19]
        said = f"got {received:,} bytes in {seconds:.1f} s; "
        said += "the same bytes as before, kept at" if revisit else f"{size:,} bytes {short(digest)} kept at"
        said += f" {warc} from byte {offset:,} on, {length:,} bytes long"
        said += f"; it matches {checksum.partition(':')[0]} beside it" if checksum else ""
        found.append(
            Event(
                when, end, session, "capture", said, source, address,
                size=size, digest=digest, warc=warc, offset=offset, length=length,
            )
        )  # fmt: skip
    return found


def _readings(ledger: Ledger, item: int) -> list[Event]:
    found = []
    for number, at, session, step, version, digest, reason, count in ledger.ask("told_item_readings", item):
        said = f"{step} (version {version}) read {short(digest)}: "
        said += Reason(reason).meaning if reason else f"{count:,} found in it"
        found.append(
            Event(
                parse(at), number, session, "reading", said,
                reason=reason or "", digest=digest, step=step, version=version,
            )
        )  # fmt: skip
    return found


def _findings(ledger: Ledger, kind: str, item: int) -> list[Event]:
    found = []
    for number, at, session, phase, name, level, message, line, column in ledger.ask("told_item_findings", item):
        place = f", line {line}" + (f" column {column}" if column is not None else "") if line is not None else ""
        said = f"{level}{place}: {name}: {message}"
        at_phase = phase_name(phases(), kind, phase)
        found.append(
            Event(
                parse(at), number, session, "finding", said,
                phase=at_phase, kind=name, level=level, line=line, column=column,
            )
        )  # fmt: skip
    return found


def _moves(ledger: Ledger, kind: str, item: int) -> list[Event]:
    found = []
    for number, at, session, phase, status, reason, message in ledger.ask("told_item_moves", item):
        name, word = phase_name(phases(), kind, phase), Status(status).name.lower()
        said = f"{name}: {word}" + (f" ({Reason(reason).meaning})" if reason else "")
        said += f": {message}" if message and not (reason and message == Reason(reason).meaning) else ""
        found.append(
            Event(parse(at), number, session, "move", said, phase=name, status=word, reason=reason or "")
        )  # fmt: skip
    return found


def _members(ledger: Ledger, kind: str, item: int, fetch: int) -> tuple[Candidate, ...]:
    """Return the documents that the latest fetch of an archive brought."""
    return tuple(
        Candidate(number, thing, key, owner, phase_name(phases(), kind, phase), Status(status).name.lower(), why or "")
        for number, key, thing, phase, status, why, owner, brought in ledger.ask("told_children", item)
        if brought == fetch
    )


def _refusal(what: str, rows: list[Row]) -> Story:
    """Tell of a name that no table can hold: it is on record only as refused."""
    told = tuple(
        Event(
            parse(at), number, session, "refused", f"{source} offers {path}: {Reason(reason).meaning}",
            source, path, status="failed", reason=reason,
        )
        for number, at, session, source, path, reason in rows
    )  # fmt: skip
    sources = tuple(dict.fromkeys(one.source for one in told))
    last = told[-1]
    return Story(last.number, "", "refused", what, "", "", "failed", last.reason, sources, "", told)


def _source(ledger: Ledger, name: str, kind: str, owner: str) -> Story:
    """Tell of a source: every time it was asked."""
    told = []
    for number, session, phase, began, ended, failed, reason, comment in ledger.ask("told_source_tasks", name):
        status = "running" if ended is None else "failed" if failed else "done"
        doing = _doing(kind, phase)
        said = f"{doing}: {status}" + (f": {comment}" if comment else "")
        at = parse(ended or began)
        told.append(Event(at, number, session, "task", said, name, status=status, reason=reason or ""))
    last = told[-1] if told else None
    return Story(
        0, kind, "source", name, owner, "", last.status if last else "", last.reason if last else "", (), "",
        tuple(told),
    )  # fmt: skip


def _doing(kind: str, phase: int) -> str:
    """Say what a task of a phase does: what is listed is fetched in its first state's phase, and listed before."""
    if kind not in KINDS:
        return "listing"
    made = collection(kind)
    if made.crawl is not None:
        return phase_name(phases(), kind, phase)
    return "fetching" if phase == made.listing.first[0] else "listing"
