"""Open the databases of events and of the log; write parsers to the ledger, and read them from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from windrow.collections.events.collection import ADDRESS, PARSER
from windrow.collections.events.documents import SUCCESS, without_source_text
from windrow.collections.events.parser import UID_FIELDS, UID_RULES, EventParser, ParserRules
from windrow.config import Workspace
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import is_loopback
from windrow.fetch.secret import read_secret
from windrow.formats.url import has_web_scheme
from windrow.ledger import Ledger
from windrow.model import Site, Source
from windrow.stores.couchdb import CouchDocuments
from windrow.stores.documents import DocumentDatabase, DocumentStore, DocumentView
from windrow.stores.sqlite_documents import SqliteDocuments

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
SEARCHED_KEYS = ("title", "description", "location")
NEWEST_KEY = "datetime"
"""The key by which the results of a search are sorted, newest first."""


class EventDatabases(NamedTuple):
    """The store, and the names of its databases of events and of the log."""

    store: DocumentStore
    events: str
    log: str

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed_ids: Iterable[str] = ()
    ) -> WriteResult:
        """Write documents, and remove the documents with the ids `removed_ids`.

        A document that the store refuses is written again without its `source_text`, unless that is empty.
        """
        refused = self.store.write(database, documents, removed_ids)
        refused_documents = [document for document in documents if document["_id"] in refused]
        shorter = [without_source_text(document) for document in refused_documents if document["source_text"]]
        if not shorter:
            return WriteResult(refused)
        still_refused = self.store.write(database, shorter)
        shortened = [document["_id"] for document in shorter if document["_id"] not in still_refused]
        return WriteResult({id_: reason for id_, reason in refused.items() if id_ not in shortened}, len(shortened))


class WriteResult(NamedTuple):
    """Which documents a store refused, and how many were written without their `source_text`.

    `refused` is a dict from document id to the reason why the store refused the document, even without its
    `source_text`. `shortened` is the number of documents that were written without it.
    """

    refused: Mapping[str, str]
    shortened: int = 0


def connect_databases(workspace: Workspace) -> EventDatabases:
    """Open both databases; create those that do not exist.

    Raise ConfigError if a password would be sent to another machine unencrypted and the configuration does not allow
    that.
    """
    settings: dict[str, Any] = {setting.name: setting.value for setting in workspace.values}
    events, log = settings["events.event_database"], settings["events.log_database"]
    declarations = (
        DocumentDatabase(events, EVENT_VIEWS, texts=SEARCHED_KEYS, newest=NEWEST_KEY),
        DocumentDatabase(log, LOG_VIEWS, once="source_text"),
    )
    location, secret = str(settings["events.documents"]), settings["events.documents_secret"]
    if has_web_scheme(location):
        if secret and not settings["events.documents_unencrypted"]:
            _refuse_unencrypted(location)
        password = read_secret(secret) if secret else ""
        return EventDatabases(CouchDocuments(location, declarations, password), events, log)
    return EventDatabases(SqliteDocuments(workspace.root / location, declarations), events, log)


def _refuse_unencrypted(url: str) -> None:
    if urlsplit(url).scheme == "http" and not is_loopback(urlsplit(url).hostname or ""):
        raise ConfigError(
            f"{url}: the password of events.documents_secret would be sent unencrypted",
            hint="use an https address or, in a network that you trust, set events.documents_unencrypted = true",
        )


def location_of(workspace: Workspace) -> str:
    """Return the location of the databases as configured: a file name or a URL."""
    return next(str(setting.value) for setting in workspace.values if setting.name == "events.documents")


@contextmanager
def open_databases(workspace: Workspace) -> Iterator[EventDatabases]:
    """Open the databases for a `with` block, and close them after it."""
    databases = connect_databases(workspace)
    try:
        yield databases
    finally:
        databases.store.close()


_PARSER_KEY, _READ_AS_KEY = "parser", "read as"
_NO_ATTEMPT = -1
"""The attempt number of stored parsers. No attempt has it, so that no takedown of attempts removes a parser."""


def remember_parsers(ledger: Ledger, collection: str, sources: Iterable[Source], *, has_reread: bool = False) -> None:
    """Write the parser and address of each source to the ledger, unless it has them already.

    Also write the rules on which uids depend, for a source that has none, and if all its documents were read again.
    """
    remembered, read_as = (ledger.requests.learned_as(collection, key) for key in (_PARSER_KEY, _READ_AS_KEY))
    for source in sources:
        parser = {"address": source.options[ADDRESS], **_parser_to_json(source.options[PARSER])}
        rules = _rules_of_uids(parser if has_reread else remembered.get(source.name, parser))
        learned = {_PARSER_KEY: parser} if remembered.get(source.name) != parser else {}
        if source.name not in read_as or (has_reread and read_as[source.name] != rules):
            learned[_READ_AS_KEY] = rules
        if learned:
            with ledger.writing() as writer:
                writer.requests.learn(collection, source.name, learned, _NO_ATTEMPT)


def find_former_uids(ledger: Ledger, collection: str, sources: Iterable[Source]) -> list[str]:
    """Return the names of the sources whose earlier documents were read with other rules for the uids of events."""
    read_as = ledger.requests.learned_as(collection, _READ_AS_KEY)
    names = []
    for source in sources:
        rules = _rules_of_uids(_parser_to_json(source.options[PARSER]))
        old_rules = read_as.get(source.name, rules)
        old_versions = rules["versions"][: len(old_rules["versions"])]  # new documents alone have later versions
        if old_rules != {**rules, "versions": old_versions}:
            names.append(source.name)
    return names


def _rules_of_uids(parser: Mapping[str, Any]) -> dict[str, Any]:
    versions = [
        {rule: version.get(rule) for rule in ("since", *UID_RULES)}
        | {name: version["fields"].get(name) for name in UID_FIELDS}
        for version in parser["versions"]
    ]
    return {"zone": parser["zone"], "versions": versions}


def removed_sources(ledger: Ledger, collection: str, sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return an inactive source for each stored parser whose source is no longer configured.

    With these, the captures of removed sources can be read.
    """
    configured = {source.name for source in sources}
    return tuple(
        Source(name, collection, Site(""), active=False, options=_restore_options(remembered))
        for name, remembered in sorted(ledger.requests.learned_as(collection, _PARSER_KEY).items())
        if name not in configured
    )


def _parser_to_json(parser: EventParser) -> dict[str, Any]:
    versions = [_tuples_to_lists(asdict(rules)) | {"since": rules.since.isoformat()} for rules in parser.versions]
    return _tuples_to_lists(asdict(parser)) | {"versions": versions}


def _tuples_to_lists(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields with lists instead of tuples, so that they can be compared with JSON from the ledger."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def _restore_options(remembered: dict[str, Any]) -> dict[str, Any]:
    """Return the options ADDRESS and PARSER that are stored in `remembered`, perhaps by an older version of windrow."""
    rules = tuple(map(_restore_rules, remembered["versions"]))
    parser = EventParser(**(_fields_of_class(remembered, EventParser) | {"versions": rules}))
    return {ADDRESS: remembered["address"], PARSER: parser}


def _restore_rules(remembered: dict[str, Any]) -> ParserRules:
    since = date.fromisoformat(remembered["since"])
    return ParserRules(**(_fields_of_class(remembered, ParserRules) | {"since": since}))


def _fields_of_class(remembered: dict[str, Any], class_: type[EventParser | ParserRules]) -> dict[str, Any]:
    """Return the fields of a JSON object that the class still has, with tuples instead of lists."""
    fields = ((name, remembered[name]) for name in class_.__dataclass_fields__ if name in remembered)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields}
