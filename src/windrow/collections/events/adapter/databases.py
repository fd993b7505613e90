"""The databases of events of a workspace, and the parsers that its ledger remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from typing import Any, NamedTuple

from windrow.collections.events.documents import SUCCESS
from windrow.collections.events.parser import EventParser, ParserRules
from windrow.collections.events.settings import ADDRESS, PARSER
from windrow.config import Workspace
from windrow.errors import ConfigError
from windrow.fetch.secret import reveal
from windrow.ledger import Ledger
from windrow.model import Site, Source
from windrow.stores.couchdb import CouchDocuments
from windrow.stores.documents import DocumentDatabase, DocumentStore, DocumentView, SqliteDocuments

EVENT_VIEWS = (
    DocumentView("all", ("datetime",)),
    DocumentView("branch", ("branch", "datetime")),
    DocumentView("entity", ("entity", "datetime")),
    DocumentView("parser", ("parser_name", "datetime")),
    DocumentView("status", ("status", "datetime")),
)
LOG_VIEWS = (
    DocumentView("all", ("access_datetime",)),
    DocumentView("errors", ("access_datetime",), without=("result", SUCCESS)),
    DocumentView("parser", ("parser_name", "access_datetime")),
)
TEXTS = ("title", "description", "location")
NEWEST = "datetime"


class EventDatabases(NamedTuple):
    """The store of both databases, and their names."""

    store: DocumentStore
    events: str
    log: str


def databases(workspace: Workspace) -> EventDatabases:
    """Open the databases that a workspace's configuration names, making what is missing."""
    told: dict[str, Any] = {one.name: one.value for one in workspace.values}
    events, log = told["events.event_database"], told["events.log_database"]
    if events == log:
        raise ConfigError("events.event_database and events.log_database are one name", hint="windrow config")
    declared = (
        DocumentDatabase(events, EVENT_VIEWS, texts=TEXTS, newest=NEWEST),
        DocumentDatabase(log, LOG_VIEWS, once="source_text"),
    )
    where, secret = str(told["events.documents"]), told["events.documents_secret"]
    if where.startswith(("http://", "https://")):
        password = reveal(secret) if secret else ""
        return EventDatabases(CouchDocuments(where, declared, password), events, log)
    return EventDatabases(SqliteDocuments(workspace.root / where, declared), events, log)


def place_of(workspace: Workspace) -> str:
    """Return where the databases are, for people: the name of a file, or an address."""
    return next(str(one.value) for one in workspace.values if one.name == "events.documents")


@contextmanager
def opened(workspace: Workspace) -> Iterator[EventDatabases]:
    """Hold the databases open for a block."""
    held = databases(workspace)
    try:
        yield held
    finally:
        held.store.close()


_LEARNED = "parser"
_CONFIGURED = -1
"""In place of the visit that something was learned from: no takedown of an answer makes it forgotten."""


def remember_parsers(ledger: Ledger, collection: str, sources: Iterable[Source]) -> None:
    """Put the parser and address of each source on the ledger, where they are not there already."""
    known = ledger.requests.learned_as(collection, _LEARNED)
    for source in sources:
        told = {"address": source.options[ADDRESS], **_spelled(source.options[PARSER])}
        if known.get(source.name) != told:
            with ledger.writing() as writer:
                writer.requests.learn(collection, source.name, {_LEARNED: told}, _CONFIGURED)


def removed_sources(ledger: Ledger, collection: str, sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return the sources that were configured once and are not any more: nobody asks them, their documents are read."""
    configured = {source.name for source in sources}
    return tuple(
        Source(name, collection, Site(""), active=False, options={ADDRESS: told["address"], PARSER: _read_back(told)})
        for name, told in sorted(ledger.requests.learned_as(collection, _LEARNED).items())
        if name not in configured
    )


def _spelled(parser: EventParser) -> dict[str, Any]:
    versions = [_listed(asdict(rules)) | {"since": rules.since.isoformat()} for rules in parser.versions]
    return _listed(asdict(parser)) | {"versions": versions}


def _listed(words: dict[str, Any]) -> dict[str, Any]:
    """Return words as JSON gives them back: so they are equal to what is on the ledger."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in words.items()}


def _read_back(told: dict[str, Any]) -> EventParser:
    """Make a parser of what `_spelled` wrote; a later windrow may know fewer words, or more."""
    rules = tuple(map(_rules, told["versions"]))
    return EventParser(**(_known(told, EventParser) | {"versions": rules}))


def _rules(told: dict[str, Any]) -> ParserRules:
    return ParserRules(**(_known(told, ParserRules) | {"since": date.fromisoformat(told["since"])}))


def _known(told: dict[str, Any], made: type[EventParser | ParserRules]) -> dict[str, Any]:
    names = set(made.__dataclass_fields__)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in told.items() if name in names}
