"""The two databases of documents: in a file of the workspace, or in a CouchDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from windrow.collections.events.documents import SUCCESS
from windrow.config import Workspace
from windrow.errors import ConfigError
from windrow.stores.documents.contract import DocumentDatabase, DocumentStore, DocumentView
from windrow.stores.documents.couchdb import CouchDocuments
from windrow.stores.documents.sqlite import SqliteDocuments
from windrow.transports.secret import reveal

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
