"""The collection `events` and its settings: public calendars, stored in the databases that VotersDaily planned."""

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

from windrow.caps import EVENT_DOCUMENT_BYTES
from windrow.collections.events.parser import (
    BRANCHES,
    ENTITIES,
    FEDERAL_ZONE,
    ITEM_LIST,
    EventParser,
    ParserRules,
    check_name,
)
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.times import zone_of
from windrow.contract import Captures, Collection, ColumnType, Derive, Requests, Settle, TypedColumn, later
from windrow.errors import ConfigError
from windrow.formats.url import normalise
from windrow.model import Source
from windrow.settings.configuration import Configuration, Given, Preset, SourceTable, Surroundings, source_at_url
from windrow.settings.kinds import (
    DURATION,
    PATH_OR_URL,
    SECRET,
    SELECTORS,
    SIZE,
    SWITCH,
    TEXT,
    TEXTS,
    ValueKind,
    choice,
    count,
)
from windrow.settings.setting import ASKED, CAPTURED, Setting, Value, store_of

ADDRESS, PARSER, ONCE = "address", "event_parser", "once"
"""Keys of a source's options.

The option ADDRESS is the source's address with its query, and the option PARSER is the source's `EventParser`. The
option ONCE is true if the current address is requested only once, because the address changes each day or hour.
"""

SITE = "{site}"
"""The part of a preset's address that the `url` of a source replaces."""

_VERSION_SETTINGS = tuple(field.name for field in fields(ParserRules))
"""The names of the settings of a source that a version of its parser may change."""


def _parse_json(setting: Any) -> Any:
    """Parse a setting as JSON if it is a text, such as one from the environment; otherwise return it unchanged.

    Raise ConfigError if the text is not JSON.
    """
    if not isinstance(setting, str):
        return setting
    try:
        return json.loads(setting)
    except (ValueError, RecursionError):
        raise ConfigError("expected JSON") from None


def _read_text_table(setting: Any, _root: Path) -> dict[str, str]:
    table = _parse_json(setting)
    if not isinstance(table, dict) or not all(isinstance(text, str) for text in table.values()):
        raise ConfigError("expected a table of texts")
    return dict(table)


def _read_versions(setting: Any, root: Path) -> tuple[dict[str, Any], ...]:
    tables = _parse_json(setting)
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError("expected a list of tables, each under [[source.NAME.versions]]")
    return tuple(_read_version(table, root) for table in tables)


def _read_version(table: Mapping[str, Any], root: Path) -> dict[str, Any]:
    since = table.get("since")
    kinds = {setting.name: setting.kind for setting in SOURCE}
    with suppress(ValueError):
        since = date.fromisoformat(since) if isinstance(since, str) else since
    if not isinstance(since, date) or isinstance(since, datetime):
        raise ConfigError("a version has no valid date; set one, such as since = 2026-07-01")
    version: dict[str, Any] = {"since": since}
    for name, value in table.items():
        if name == "since":
            continue
        if name not in kinds or name not in _VERSION_SETTINGS:
            raise ConfigError(f"{name} is not a setting of a version; its settings are: {', '.join(_VERSION_SETTINGS)}")
        version[name] = kinds[name].read(value, root)
    return version


_TEXT_TABLE = ValueKind("table of texts", _read_text_table, show=lambda value: json.dumps(value, ensure_ascii=False))
_VERSION_TABLES = ValueKind(
    "list of tables", _read_versions, show=lambda value: json.dumps(value, ensure_ascii=False, default=str)
)

SOURCE = (
    Setting(
        "parser", TEXT, "", "built-in parser or preset, or a name for a new one; default: the source's name", "--parser"
    ),
    Setting("reader", choice("", *READERS), "", "kind of its documents; a built-in parser sets it", "--reader"),
    Setting("version", TEXT, "", "version of its parser; change it with the settings below"),
    Setting(
        "branch", TEXT, "", "branch of government to which the events belong; `events.branches` adds names", "--branch"
    ),
    Setting("entity", TEXT, "", "organisation that holds the events; `events.entities` adds names", "--entity"),
    Setting("timezone", TEXT, "", "time zone of the events, such as America/New_York", "--timezone"),
    Setting("every", DURATION, 6 * 3600.0, "time between two requests for the source; 0: in each run", "--every"),
    Setting("items", TEXT, "", "path or selector of the events in a document"),
    Setting(
        "fields",
        _TEXT_TABLE,
        {},
        "paths or selectors of id, title, start, start_time, end, end_time, all_day, description, url, status, "
        "location, branch, entity; start_time and end_time are for a time of day in a field of its own",
    ),
    Setting("extra", _TEXT_TABLE, {}, "further keys of an event, and their paths or selectors"),
    Setting("time_formats", TEXTS, [], "strptime patterns of times, tried in this order"),
    Setting("naive_timezone", choice("", "UTC"), "", "zone of times without a zone, if it is not `timezone`"),
    Setting("statuses", _TEXT_TABLE, {}, "words of the source for the status of an event, and what each means"),
    Setting(
        "next_page",
        TEXT,
        "",
        "path or selector of the address of the next page, or a parameter that counts them: ?page",
    ),
    Setting("root", TEXT, "", "root element, key or selector of every valid response; others are error pages"),
    Setting("placeholders", TEXTS, [], "titles of entries which only say that there are no events"),
    Setting("html_fields", TEXTS, [], "fields that are HTML: title, description"),
    Setting(
        "details",
        TEXT,
        "",
        "LIST:URL:CHANGED, paths to the events' own documents, if a list links to them; itemListElement for JSON-LD",
    ),
    Setting(
        "exclusive_end", SWITCH, False, "whether events of whole days end, as written, on the day after their last"
    ),
    Setting("versions", _VERSION_TABLES, [], "dated versions of the parser, with the settings that change on a day"),
    Setting("complete", choice("auto", "yes", "no"), "auto", "whether a document has all future events"),
    Setting("missing_after", count(1, 100), 3, "number of listings without a future event after which it is missing"),
    Setting("recurrence_past", DURATION, 30 * 86400.0, "how far back repetitions of an event are kept"),
    Setting("recurrence_ahead", DURATION, 180 * 86400.0, "how far ahead repetitions of an event are kept"),
    Setting(
        "most_events", count(1, 10_000_000), 100_000, "maximum number of events read from a document, future ones first"
    ),
    Setting("may_be_empty", SWITCH, False, "whether a list may have no events, without a remark"),
)
"""The settings that only sources of events have."""

_PACKAGE = "windrow.collections.events"


@cache
def built_in_names() -> tuple[str, ...]:
    """Return the names of the built-in parsers: those for sites of the US federal government, and the presets.

    A preset is for all sites of one product, such as Legistar; `SITE` in its address is replaced by a source's `url`.
    """
    return tuple(sorted(path.name.removesuffix(".toml") for path in files(_PACKAGE).joinpath("parsers").iterdir()))


@cache
def built_in_parser(name: str) -> EventParser | None:
    """Return the built-in parser in `parsers/NAME.toml`, or None if there is no such file.

    The file has the settings of a source. A setting that it lacks is taken from the parser that `like` names. A
    preset has no branch, entity or time zone.
    """
    if name not in built_in_names():
        return None
    kinds = {setting.name: setting.kind for setting in SOURCE}
    settings = _read_parser_file(name)
    values = {setting: kinds[setting].read(value, Path()) for setting, value in settings.items() if setting != "url"}
    url = settings.get("url", "")
    return EventParser(
        name,
        values.get("branch", ""),
        values.get("entity", ""),
        "" if SITE in url else FEDERAL_ZONE,
        versions=(ParserRules(**{setting: values[setting] for setting in _VERSION_SETTINGS if setting in values}),),
        url=url,
        complete=values.get("complete") != "no",
        **{setting: values[setting] for setting in ("every",) if setting in values},
    )


def _parser_text(name: str) -> str:
    return (get_data(_PACKAGE, f"parsers/{name}.toml") or b"").decode()


def _read_parser_file(name: str) -> dict[str, Any]:
    settings = tomllib.loads(_parser_text(name))
    like = settings.pop("like", "")
    return {**_read_parser_file(like), **settings} if like else settings


def presets() -> dict[str, Preset]:
    """Return a dict from the name of each preset to the preset.

    The first line of a preset's file is a comment that describes the preset, and the second line sets its address.
    """
    found_presets = {}
    for name in built_in_names():
        comment, address, *lines = _parser_text(name).splitlines()
        if SITE in address:
            found_presets[name] = Preset(comment.removeprefix("# "), {"parser": name}, "\n".join(lines))
    return found_presets


def event_source(table: SourceTable, values: Mapping[str, Value], surroundings: Surroundings) -> Source:
    """Build a source whose options include its parser and its address; raise ConfigError if a setting is not valid."""
    built_in = built_in_parser(values["parser"].value)
    url = values["url"]
    address = _fill_site(built_in.url, url.value) if built_in else url.value
    if address.lower().startswith("webcal://"):
        address = f"https{address[len('webcal') :]}"
    bare_url = Value(url.name, address.partition("#")[0].partition("?")[0], url.shown, url.origin)
    source = source_at_url(table, {**values, "url": bare_url}, surroundings)
    if not normalise(address).url and not (source.options.get("from") and not address):
        raise ConfigError(f"{table.file}: source.{table.name}.url: expected an http or https address")
    _refuse_secrets(table, address)
    try:
        parser = _build_parser(table, values, surroundings, built_in)
    except ConfigError as error:
        raise ConfigError(f"{table.file}: source.{table.name}: {error}", hint=error.hint) from None
    return replace(source, options={**source.options, ADDRESS: address.partition("#")[0], PARSER: parser})


def _fill_site(built_in_url: str, url: str) -> str:
    """Return the address of a source: its own `url` or, if that is empty, the address of its built-in parser.

    In the address of a preset, `url` replaces `SITE`. But a `url` that is a whole address is returned unchanged: one
    with the path of the preset's address or, if that address has only a query, one with a query.

    >>> _fill_site("{site}/events?top=9", "https://a.example/"), _fill_site("https://b.example/", "")
    ('https://a.example/events?top=9', 'https://b.example/')
    """
    path, _, query = built_in_url.partition(SITE)[2].partition("?")
    is_whole = path in url if path else bool(query) and "?" in url
    if not url or SITE not in built_in_url or is_whole:
        return url or built_in_url.replace(SITE, "")
    return built_in_url.replace(SITE, url.rstrip("/") if path else url)


def _refuse_secrets(table: SourceTable, address: str) -> None:
    """Raise ConfigError if an address has a parameter such as `key` or `password`, since exports contain addresses."""
    names = {part.partition("=")[0].lower() for part in urlsplit(address).query.split("&")}
    if names & {"api_key", "apikey", "key", "token", "access_token", "password"}:
        raise ConfigError(
            f"{table.file}: source.{table.name}.url: it has a key or password, which would be in every record",
            hint='remove it, and name its place: secret = "env:NAME", with secret_query or secret_header',
        )


def _build_parser(
    table: SourceTable, values: Mapping[str, Value], surroundings: Surroundings, built_in: EventParser | None
) -> EventParser:
    configured = {name: value.value for name, value in values.items() if value.origin != "default"}
    name = values["parser"].value or table.name
    if built_in is None and not configured.get("reader"):
        raise ConfigError(
            f"{name!r} is not a built-in parser, and the setting `reader` is not set",
            hint=f"set `reader` to one of {', '.join(READERS)}, or `parser` to one of {', '.join(built_in_names())}",
        )  # fmt: skip
    own_rules = {name: configured[name] for name in _VERSION_SETTINGS if name in configured}
    versions = built_in.versions if built_in else (ParserRules(),)
    versions = tuple(replace(version, **own_rules) for version in versions) if own_rules else versions
    versions += tuple(replace(versions[-1], **overrides) for overrides in values["versions"].value)
    for version in versions:
        _check_selectors(version)
    base_parser = built_in or EventParser(name, branch="", entity="")
    branches = BRANCHES + tuple(surroundings.values["events.branches"].value)
    entities = ENTITIES + tuple(surroundings.values["events.entities"].value)
    branch = configured.get("branch") or base_parser.branch
    entity = configured.get("entity") or base_parser.entity
    zone = configured.get("timezone") or (built_in.zone if built_in else "")
    for setting, text in (("branch", branch), ("entity", entity), ("timezone", zone)):
        if not text:
            raise ConfigError(f"{setting} is not set", hint=f"set the {setting} of the events: {setting} = ...")
    if zone_of(zone) is None:
        raise ConfigError(f"timezone: {zone!r} is not a time zone such as America/New_York")
    complete = {"yes": True, "no": False}.get(values["complete"].value, built_in.complete if built_in else None)
    return replace(
        base_parser,
        name=name,
        source=table.name,
        branch=check_name(branch, branches, "events.branches"),
        entity=check_name(entity, entities, "events.entities"),
        zone=zone,
        versions=versions,
        complete=complete,
        branches=branches,
        entities=entities,
        **{
            name: configured[name]
            for name in ("every", "missing_after", "recurrence_past", "recurrence_ahead", "most_events", "may_be_empty")
            if name in configured
        },
    )


def _check_selectors(rules: ParserRules) -> None:
    """Raise ConfigError for a selector that is not valid, and for `next_page` with a reader that does not use it."""
    if rules.next_page and rules.reader not in {"html", "json"}:
        raise ConfigError(f"next_page: the reader {rules.reader} does not use it", hint="remove it")
    if rules.reader == "schema.org" and rules.details not in {"", ITEM_LIST}:
        raise ConfigError(f"details: the reader schema.org knows {ITEM_LIST!r} alone, not {rules.details!r}")
    selectors = (
        {name: getattr(rules, name) for name in ("items", "root", "next_page")} if rules.reader == "html" else {}
    )
    for name, selector in selectors.items():
        try:
            SELECTORS.read([selector] if selector else [], Path())
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None


def _refuse_equal_names(given: Given) -> None:
    """Raise ConfigError if both databases have one name; checks and exports open them without a declared source too."""
    event_database, log_database = (given.values[f"events.{name}_database"] for name in ("event", "log"))
    if event_database.value == log_database.value:
        origin = event_database.origin if event_database.origin != "default" else log_database.origin
        problem = "events.event_database and events.log_database have the same name"
        raise ConfigError(f"{origin}: {problem}", hint="windrow config")


CONFIGURATION = Configuration(
    settings=(
        store_of("events"),
        Setting(
            "events.documents", PATH_OR_URL, "votersdaily.db", "file of the databases or URL of a CouchDB", written=True
        ),
        Setting("events.documents_secret", SECRET, "", "where user:password of the CouchDB is: env:NAME or file:PATH"),
        Setting("events.documents_unencrypted", SWITCH, False, "whether a CouchDB may get user:password over http"),
        Setting("events.event_database", TEXT, "vd_events", "name of the database of events"),
        Setting("events.log_database", TEXT, "vd_log", "name of the database of runs of parsers"),
        Setting(
            "events.document_size",
            SIZE,
            EVENT_DOCUMENT_BYTES.number,
            "maximum size of a calendar, list or page, as transferred or decompressed",
        ),
        Setting("events.branches", TEXTS, [], "branches of government in addition to the standard ones"),
        Setting("events.entities", TEXTS, [], "entities in addition to the standard ones"),
    ),
    source=(*ASKED, *CAPTURED, *SOURCE),
    section=_refuse_equal_names,
    build=event_source,
    presets=presets,
    examples=(
        "windrow new source votes https://senate.example.org/votes.xml --collection events --parser senate-votes",
        "windrow new source town https://a.example.org/ --from civicplus --branch Other --entity Senate --timezone CET",
        "windrow export events --as ical --start 2026-12 --end 2027 --only branch=Judicial",
    ),
    template="""\
# [events]
# branches = ["City"]  # in addition to the standard ones
# entities = ["City Council"]

# A source of events:
# [source.council]
# collection = "events"
# url = "https://council.example.org/calendar.ics"
# reader = "icalendar"  # needs the extra `events`
# branch = "City"
# entity = "City Council"
# timezone = "America/New_York"
""",
)

_DISCOVER = "windrow.collections.events.discover"
_STEPS = "windrow.collections.events.reading"

COLLECTION = Collection(
    name="events",
    phases=("ask", "read", "document"),
    discovery=(
        Requests(later(f"{_DISCOVER}:begin"), later(f"{_DISCOVER}:follow")),
        Captures(later(f"{_DISCOVER}:select"), "2", later(f"{_DISCOVER}:follow")),
    ),
    steps=(
        Settle("read", "8", later(f"{_STEPS}:read_events"), missing=later(f"{_STEPS}:missing_events")),
        Derive("document"),
    ),
    adapter="windrow.collections.events.adapter:ADAPTER",
    configuration=CONFIGURATION,
    columns=(
        TypedColumn("date", ColumnType.DATE, read=later("windrow.collections.events.documents:event_days")),
        TypedColumn("branch", ColumnType.TEXT),
        TypedColumn("entity", ColumnType.TEXT),
        TypedColumn("status", ColumnType.NAME),
        TypedColumn("all_day", ColumnType.SWITCH),
    ),
)
