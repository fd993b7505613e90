"""Turn values into HTML: the templates, and the filters that they use. All text is escaped unless it is Markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from windrow.adapters.adapter import CHANGED, Compares, Explanation
from windrow.adapters.record_changes import describe_difference
from windrow.app.session_details import group_failures
from windrow.app.story import Event
from windrow.app.summary import describe_end
from windrow.caps import SHOWN_TEXT_CHARACTERS, WEB_CHANGES, WHY_ENTRIES
from windrow.contract.registry import capable
from windrow.digest import digest
from windrow.formats.text import counted, replace_controls, spell_duration, spell_size, spell_value, to_json_value
from windrow.settings.kinds import show_duration
from windrow.stores.record_entries import title_of
from windrow.stores.record_versions import RecordVersion
from windrow.web import homes
from windrow.web.openapi import spell_schema
from windrow.web.pictures import outcome_class, run_bars, session_bars, timeline
from windrow.web.words import mark_changes, mark_words, pair_lines

HOME_FUNCTIONS = (
    "days_of", "is_link", "is_time", "paragraphs", "parameters_of", "series_bars", "swatch", "view_of", "weeks_of",
)  # fmt: skip
"""The functions of `homes` that templates call."""


@cache
def environment() -> Environment:
    """Return the templates."""
    templates = Environment(
        loader=PackageLoader("windrow.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_finalize,
    )  # fmt: skip
    templates.filters |= {
        "visible": visible,
        "moment": moment,
        "size": spell_size,
        "seconds": spell_duration,
        "number": "{:,}".format,
    }
    templates.globals |= {
        "link": link, "counted": counted, "session_bars": session_bars, "run_bars": run_bars, "timeline": timeline,
        "group_failures": group_failures, "outcome_class": outcome_class, "mark_words": mark_words,
        "mark_changes": mark_changes, "pair_lines": pair_lines, "describe": describe, "own_words": own_words,
        "captures_of": captures_of,
        "spell_schema": spell_schema, "describe_end": describe_end, "is_compared": is_compared,
        "most_characters": SHOWN_TEXT_CHARACTERS.number, "most_changes": WEB_CHANGES.number,
        "most_entries": WHY_ENTRIES.number,
        **{name: getattr(homes, name) for name in HOME_FUNCTIONS},
        "style": f"/style.css?{digest(style())[-16:]}", "script": f"/live.js?{digest(script())[-16:]}",
    }  # fmt: skip
    return templates


@cache
def style() -> bytes:
    """Return the style sheet."""
    return files(__package__).joinpath("static", "style.css").read_bytes()


@cache
def icon() -> bytes:
    """Return the picture that browsers show beside the title of a page."""
    return files(__package__).joinpath("static", "icon.svg").read_bytes()


@cache
def script() -> bytes:
    """Return the script of pages that show a session under way."""
    return files(__package__).joinpath("static", "live.js").read_bytes()


_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}")
"""Characters that turn the direction of the text after them, so that `exe.txt` can be shown of a file `txt.exe`."""


def _finalize(value: Any) -> Any:
    """Replace control characters, which HTML may not have, and turns, in every text that is not Markup."""
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return replace_controls(value).translate(_TURNS)


def visible(text: str) -> str:
    """Return a text if a reader sees a character of it, else "".

    >>> visible("A title"), visible("\u200b \u2063")
    ('A title', '')
    """
    return text if any(character.isprintable() and not character.isspace() for character in text) else ""


def moment(time: datetime | None) -> Markup | str:
    """Return a time for people, in UTC, with its exact value for programs.

    >>> from datetime import UTC
    >>> moment(datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    Markup('<time datetime="2026-01-02T03:04:00Z">2026-01-02 03:04</time>')
    """
    if time is None:
        return "-"
    exact = time.isoformat(timespec="seconds").replace("+00:00", "Z")
    return Markup('<time datetime="{}">{}</time>').format(exact, f"{time:%Y-%m-%d %H:%M}")


def link(path: str, /, **parameters: object) -> str:
    """Return an address of the web view; empty parameters are left out.

    >>> link("/why", name="a b&c", limit="")
    '/why?name=a+b%26c'
    """
    given = {name: str(value) for name, value in parameters.items() if value not in ("", None, False)}
    query = urlencode(given, errors="surrogateescape")
    return f"{path}?{query}" if query else path


def is_compared(collection: str) -> bool:
    """Return whether windrow compares the versions of what a collection has."""
    return collection in capable(Compares, {collection}, skip_broken=True)


class Described(NamedTuple):
    """A message of an explanation as people read it: its type, time, text, attempt, and its other fields."""

    type: str
    at: str  # empty for a message without a time
    text: str
    attempt: int | None
    fields: tuple[tuple[str, str], ...]


_TIMES = ("at", "first_seen")
_TEXTS = ("message", "change", "changed", "title", "url", "key")


def describe(explanation: Explanation) -> list[Described]:
    """Return the messages of an explanation, whatever its collection, in order of time: those without a time first."""
    described: list[tuple[str, Described]] = []
    records: dict[str, Any] = {}  # the last version of each record
    for message in explanation.messages:
        value = to_json_value(message.value)
        fields = dict(value) if isinstance(value, Mapping) else {"value": value}
        time = next((str(fields[name]) for name in _TIMES if fields.get(name)), "")
        attempt = fields.get("attempt") or (fields.get("number") if fields.get("warc") else None)
        is_number = isinstance(attempt, int) and not isinstance(attempt, bool)
        if isinstance(message.value, RecordVersion):
            text, fields = _describe_version(message.value, records)
        else:
            text = next((str(fields[name]) for name in _TEXTS if fields.get(name)), "")
        if isinstance(every := fields.get("every"), int | float):  # the interval of a page, in seconds
            fields["every"] = show_duration(every)
        if isinstance(seconds := fields.get("seconds"), int | float):
            fields["seconds"] = spell_duration(seconds)
        kept = tuple((name, spell_value(field)) for name, field in fields.items() if field not in (None, "", [], {}))
        entry = Described(message.type, time[:16].replace("T", " "), text, attempt if is_number else None, kept)
        described.append((time, entry))
    return [entry for _, entry in sorted(described, key=itemgetter(0))]


def _describe_version(version: RecordVersion, records: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return what happened to a record in a version and the version's fields for people; note the record itself."""
    before, record = records.get(version.key), version.value
    records[version.key] = record
    detail = describe_difference(before, record) if version.change == CHANGED and before else title_of(record, "")
    members: dict[str, Any] = dict(record) if isinstance(record, Mapping) else {"record": record}
    text = f"{version.change}: {detail}" if detail else version.change
    return text, {"source": version.source, "url": version.url, **members}


_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]")


def own_words(explanation: Explanation) -> str:
    r"""Return the lines of an explanation, without those that begin with a time and what is indented below these.

    >>> own_words(Explanation("a", (), ("a (page of b)", "  state: open", "2026-01-02 03:04:05  attempt", "  200")))
    'a (page of b)\n  state: open'
    """
    lines: list[str] = []
    moment_indent: int | None = None
    for line in explanation.lines:
        text = line.lstrip()
        indent = len(line) - len(text)
        if moment_indent is not None and indent > moment_indent:
            continue
        moment_indent = indent if _TIME.match(text) else None
        if text and moment_indent is None:
            lines.append(line.rstrip())
    return "\n".join(lines)


def captures_of(events: Iterable[Event]) -> dict[int, int]:
    """Return, for the number of each capture in a story, the number of its attempt, by which it is opened."""
    attempts: dict[tuple[str, str], int] = {}
    captures = {}
    for event in events:
        if event.event == "fetch" and not event.status:
            attempts[event.source, event.address] = event.number
        elif event.event == "capture" and (attempt := attempts.get((event.source, event.address))):
            captures[event.number] = attempt
    return captures


def render(template: str, **values: Any) -> str:
    """Return a page."""
    return environment().get_template(template).render(**values)
