"""The databases of a workspace's events, and the parsers that its ledger remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from typing import Any, NamedTuple

from windrow.collections.events.collection import ADDRESS, PARSER
from windrow.collections.events.documents import SUCCESS
from windrow.collections.events.parser import EventParser, ParserRules
from windrow.config import Workspace
from windrow.errors import ConfigError
from windrow.fetch.secret import read_secret
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


def connect_databases(workspace: Workspace) -> EventDatabases:
    """Open the databases of a workspace's configuration, and create those that are missing."""
    settings: dict[str, Any] = {setting.name: setting.value for setting in workspace.values}
    events, log = settings["events.event_database"], settings["events.log_database"]
    if events == log:
        raise ConfigError("events.event_database and events.log_database have the same name", hint="windrow config")
    declared = (
        DocumentDatabase(events, EVENT_VIEWS, texts=TEXTS, newest=NEWEST),
        DocumentDatabase(log, LOG_VIEWS, once="source_text"),
    )
    location, secret = str(settings["events.documents"]), settings["events.documents_secret"]
    if location.startswith(("http://", "https://")):
        password = read_secret(secret) if secret else ""
        return EventDatabases(CouchDocuments(location, declared, password), events, log)
    return EventDatabases(SqliteDocuments(workspace.root / location, declared), events, log)


def place_of(workspace: Workspace) -> str:
    """Return the location of the databases as configured: the name of a file, or a URL."""
    return next(str(setting.value) for setting in workspace.values if setting.name == "events.documents")


@contextmanager
def open_databases(workspace: Workspace) -> Iterator[EventDatabases]:
    """Open the databases for a block and close them after it."""
    databases = connect_databases(workspace)
    try:
        yield databases
    finally:
        databases.store.close()


_LEARNED = "parser"
_CONFIGURED = -1
"""In place of the attempt from which the parser was learned, so that a takedown of a response does not remove it."""


def remember_parsers(ledger: Ledger, collection: str, sources: Iterable[Source]) -> None:
    """Write the parser and address of each source to the ledger, unless they are there already."""
    known = ledger.requests.learned_as(collection, _LEARNED)
    for source in sources:
        learned = {"address": source.options[ADDRESS], **_parser_to_json(source.options[PARSER])}
        if known.get(source.name) != learned:
            with ledger.writing() as writer:
                writer.requests.learn(collection, source.name, {_LEARNED: learned}, _CONFIGURED)


def removed_sources(ledger: Ledger, collection: str, sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return the sources that are no longer configured, as inactive, so that their stored documents can be read."""
    configured = {source.name for source in sources}
    return tuple(
        Source(name, collection, Site(""), active=False, options=_options(learned))
        for name, learned in sorted(ledger.requests.learned_as(collection, _LEARNED).items())
        if name not in configured
    )


def _parser_to_json(parser: EventParser) -> dict[str, Any]:
    versions = [_tuples_to_lists(asdict(rules)) | {"since": rules.since.isoformat()} for rules in parser.versions]
    return _tuples_to_lists(asdict(parser)) | {"versions": versions}


def _tuples_to_lists(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields with lists in place of tuples, as JSON has them, to compare them with those in the ledger."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def _options(learned: dict[str, Any]) -> dict[str, Any]:
    """Return a source's address and parser from what `remember_parsers` wrote, perhaps by another version."""
    rules = tuple(map(_rules, learned["versions"]))
    parser = EventParser(**(_known_fields(learned, EventParser) | {"versions": rules}))
    return {ADDRESS: learned["address"], PARSER: parser}


def _rules(learned: dict[str, Any]) -> ParserRules:
    return ParserRules(**(_known_fields(learned, ParserRules) | {"since": date.fromisoformat(learned["since"])}))


def _known_fields(learned: dict[str, Any], kind: type[EventParser | ParserRules]) -> dict[str, Any]:
    known = ((name, learned[name]) for name in kind.__dataclass_fields__ if name in learned)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known}
