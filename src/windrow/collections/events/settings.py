"""What windrow.toml and a source may say for events, and the parser that is made of it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from pkgutil import get_data
from typing import Any
from urllib.parse import urlsplit

from windrow.collections.events.parser import BRANCHES, ENTITIES, EventParser, ParserRules, checked
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.times import zone_of
from windrow.errors import ConfigError
from windrow.model import Source
from windrow.settings.configuration import Configuration, SourceTable, Surroundings, source_at_url
from windrow.settings.kinds import DURATION, OPEN, SECRET, TEXT, TEXTS, ValueKind, choice, count
from windrow.settings.setting import ASKED, CAPTURED, Setting, Value, store_of

ADDRESS, PARSER, ONCE = "address", "event_parser", "once"
"""Options of a source: its whole address, its parser, and whether the address is another one every day."""

RULES = tuple(field.name for field in fields(ParserRules))


def _unjson(value: Any) -> Any:
    """Read what an environment variable says, which has text alone, as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ConfigError("wanted JSON, where it is not a table of the file") from None


def _table(value: Any, _root: Path) -> dict[str, str]:
    value = _unjson(value)
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise ConfigError("wanted a table of texts")
    return dict(value)


def _tables(value: Any, root: Path) -> tuple[dict[str, Any], ...]:
    value = _unjson(value)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ConfigError("wanted a list of tables, [[versions]]")
    return tuple(_version(one, root) for one in value)


def _version(table: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Read one dated version: what it says over the source's own words."""
    since = table.get("since")
    with suppress(ValueError):
        since = date.fromisoformat(since) if isinstance(since, str) else since
    if not isinstance(since, date) or isinstance(since, datetime):
        raise ConfigError("every version has a day: since = 2026-07-01")
    made: dict[str, Any] = {"since": since}
    for name, value in table.items():
        if name == "since":
            continue
        kind = {one.name: one.kind for one in SOURCE}.get(name)
        if kind is None or name not in RULES:
            raise ConfigError(f"{name} is no word of a version: {', '.join(RULES)}")
        made[name] = kind.read(value, root)
    return made


TABLE = ValueKind("table of texts", _table, show=lambda value: json.dumps(value, ensure_ascii=False))
TABLES = ValueKind("list of tables", _tables, show=lambda value: json.dumps(value, ensure_ascii=False, default=str))

SOURCE = (
    Setting(
        "parser", TEXT, "", "a ready parser, or what this source's own is called; empty: the source's name", "--parser"
    ),
    Setting("reader", choice("", *READERS), "", "what its documents are; a ready parser says it itself", "--reader"),
    Setting("version", TEXT, "", "version of its parser; raise it when the words below change"),
    Setting("branch", TEXT, "", "branch of government whose events they are", "--branch"),
    Setting("entity", TEXT, "", "who holds these events", "--entity"),
    Setting("timezone", TEXT, "", "zone of the place of its events, such as America/New_York", "--timezone"),
    Setting("every", DURATION, 6 * 3600.0, "how often it is asked", "--every"),
    Setting("items", TEXT, "", "where the events are in a document: a path, or a selector"),
    Setting(
        "fields",
        TABLE,
        {},
        "where id, title, start, end, description, url, status, location (branch, entity) are",
    ),
    Setting("extra", TABLE, {}, "further keys of an event, and where they are in it"),
    Setting("formats", TEXTS, [], "how times are written, in the patterns of strptime, first to last"),
    Setting("naive", choice("", "UTC"), "", "the zone of times that name none, where that is not `timezone`"),
    Setting("statuses", TABLE, {}, "what the source's words for the state of an event mean"),
    Setting("next", TEXT, "", "where the address of the next page is"),
    Setting("root", TEXT, "", "root element, key or selector that a right answer has; others are error pages"),
    Setting("placeholders", TEXTS, [], "titles of what says only that there is nothing"),
    Setting("markup", TEXTS, [], "fields that are HTML: title, description"),
    Setting("details", TEXT, "", "LIST:URL:CHANGED, where a list only names documents of their own for its events"),
    Setting("versions", TABLES, [], "dated versions: what is read by other words from a day on"),
    Setting("complete", choice("auto", "yes", "no"), "auto", "whether a document has all events that are to come"),
    Setting("missing_after", count(1, 1000), 3, "good runs without a future event until it is marked as missing"),
    Setting("past", DURATION, 30 * 86400.0, "how far back repeated events are told one by one"),
    Setting("ahead", DURATION, 180 * 86400.0, "and how far ahead"),
)
"""What a source of events may say beside what all sources may."""


_PACKAGE = "windrow.collections.events"


@cache
def ready_names() -> tuple[str, ...]:
    """Return the names of the ready parsers: the federal government of the United States in 2026."""
    return tuple(sorted(path.name.removesuffix(".toml") for path in files(_PACKAGE).joinpath("parsers").iterdir()))


@cache
def ready_parser(name: str) -> EventParser | None:
    """Return the ready parser of a name, which `parsers/NAME.toml` tells as a source would; None where there is none.

    With `like` a file takes what it does not say from another one. Each is read when a source names it.
    """
    if name not in ready_names():
        return None
    kinds = {setting.name: setting.kind for setting in SOURCE}
    words = _ready_words(name)
    values = {word: kinds[word].read(value, Path()) for word, value in words.items() if word != "url"}
    return EventParser(
        name,
        values["branch"],
        values["entity"],
        versions=(ParserRules(**{word: values[word] for word in RULES if word in values}),),
        url=words.get("url", ""),
        complete=values.get("complete") != "no",
        **{word: values[word] for word in ("every",) if word in values},
    )


def _ready_words(name: str) -> dict[str, Any]:
    words = tomllib.loads((get_data(_PACKAGE, f"parsers/{name}.toml") or b"").decode())
    like = words.pop("like", "")
    return {**_ready_words(like), **words} if like else words


def event_source(table: SourceTable, values: Mapping[str, Value], around: Surroundings) -> Source:
    """Make a source of its table; its options have the whole address, a query too, and its parser."""
    ready = ready_parser(values["parser"].value)
    url = values["url"]
    address = url.value or (ready.url if ready else "")
    if address.startswith("webcal://"):
        address = "https://" + address.removeprefix("webcal://")
    where = Value(url.name, address.partition("#")[0].partition("?")[0], url.shown, url.origin)
    source = source_at_url(table, {**values, "url": where}, around)
    if source.site.scheme not in {"http", "https"} and not (source.options.get("from") and not address):
        raise ConfigError(f"{table.file}: source.{table.name}.url: wanted an address of the web")
    _refuse_secrets(table, address)
    try:
        parser = _parser(table, values, around, ready)
    except ConfigError as error:
        raise ConfigError(f"{table.file}: source.{table.name}: {error}", hint=error.hint) from None
    return replace(source, options={**source.options, ADDRESS: address.partition("#")[0], PARSER: parser})


def _refuse_secrets(table: SourceTable, address: str) -> None:
    """Refuse an address with a key in it: addresses are in the ledger, the archive, and all that is exported."""
    words = {part.partition("=")[0].lower() for part in urlsplit(address).query.split("&")}
    if words & {"api_key", "apikey", "key", "token", "access_token", "password"}:
        raise ConfigError(
            f"{table.file}: source.{table.name}.url: holds a key, which would stand in every record",
            hint='leave it out, and say where it is: secret = "env:NAME" and secret_query or secret_header',
        )


def _parser(
    table: SourceTable, values: Mapping[str, Value], around: Surroundings, ready: EventParser | None
) -> EventParser:
    """Return a source's parser: the ready one with what the source says over it, or one of its own."""
    said = {name: value.value for name, value in values.items() if value.origin != "default"}
    name = values["parser"].value or table.name
    if ready is None and not said.get("reader"):
        raise ConfigError(
            f"there is no parser {name!r}, and no reader is named", hint=f"reader: {', '.join(READERS)}; "
            f"ready parsers: {', '.join(ready_names())}",
        )  # fmt: skip
    own = {name: said[name] for name in RULES if name in said}
    versions = ready.versions if ready else (ParserRules(),)
    versions = tuple(replace(version, **own) for version in versions) if own else versions
    versions += tuple(replace(versions[-1], **one) for one in values["versions"].value)
    first = ready or EventParser(name, "", "")
    branches = BRANCHES + tuple(around.values["events.branches"].value)
    entities = ENTITIES + tuple(around.values["events.entities"].value)
    zone = said.get("timezone") or (ready.zone if ready else "")
    if not zone or zone_of(zone) is None:
        raise ConfigError(f"timezone: {zone!r} is no zone such as America/New_York")
    complete = {"yes": True, "no": False}.get(values["complete"].value)
    if complete is None:
        complete = ready.complete if ready else READERS[versions[-1].reader].complete
    return replace(
        first,
        name=name,
        branch=checked(said.get("branch") or first.branch, branches, "events.branches"),
        entity=checked(said.get("entity") or first.entity, entities, "events.entities"),
        zone=zone,
        versions=versions,
        complete=complete,
        branches=branches,
        entities=entities,
        **{name: said[name] for name in ("every", "missing_after", "past", "ahead") if name in said},
    )


CONFIGURATION = Configuration(
    settings=(
        store_of("events"),
        Setting(
            "events.documents",
            OPEN,
            "votersdaily.db",
            "where the databases are: a file, or the URL of a CouchDB",
            written=True,
        ),
        Setting("events.documents_secret", SECRET, "", "where user:password of that CouchDB is: env:NAME or file:PATH"),
        Setting("events.event_database", TEXT, "vd_events", "what the database of events is called"),
        Setting("events.log_database", TEXT, "vd_log", "what the database of scraping attempts is called"),
        Setting("events.branches", TEXTS, [], "branches of government beside the standard ones"),
        Setting("events.entities", TEXTS, [], "entities beside the standard ones"),
    ),
    source=(*ASKED, *CAPTURED, *SOURCE),
    build=event_source,
    examples=(
        "windrow new source votes https://senate.example.org/votes.xml --collection events --parser senate-votes",
    ),
    template="""\
# [events]
# branches = ["City"]  # beside those of the standard
# entities = ["City Council"]

# A source of events:
# [source.council]
# collection = "events"
# url = "https://council.example.org/calendar.ics"
# reader = "icalendar"  # it wants the extra `events`
# branch = "City"
# entity = "City Council"
# timezone = "America/New_York"
""",
)
