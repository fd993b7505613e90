"""Write the reference of commands and of their JSON: cog calls these from the pages."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, NamedTuple

import click

from windrow.adapters.adapter import Comparison, SourceChange, TakedownEstimate, VersionCounts
from windrow.adapters.record_search import RecordHit
from windrow.adapters.record_story import RecordAddress, RecordOrigin
from windrow.adapters.search_answer import SnippetMark
from windrow.adapters.trial import DocumentFinding, DocumentReport, FetchedBytes, RecordPreview
from windrow.app.begin import NewCollection, Prepared
from windrow.app.item_states import StateCount
from windrow.app.lookup import Meaning
from windrow.app.status import SourceState, WorkspaceState
from windrow.app.story import Event, Story
from windrow.app.summary import FindingCount, PhaseCount, ReasonCount, SessionSummary, SourceCount
from windrow.cli.root import root
from windrow.collections.pages.adapter.changes import Edition
from windrow.collections.pages.adapter.search import PageHit
from windrow.collections.pages.adapter.story import OutcomeTally, PageState, SiteOrigin, SiteState, Tombstone
from windrow.collections.pages.adapter.story import PageAttempt as PageAsked
from windrow.collections.pages.database.page_versions import NearDuplicate, OriginCounts
from windrow.collections.pages.search.rank import ScorePart
from windrow.collections.papers.adapter.papers import FailedCapture
from windrow.collections.papers.columns import BYTES, ENCODINGS, INT64, JSON, TEXT
from windrow.engine.check import Fault
from windrow.engine.frontier import PlannedSource, Reads, Waiting
from windrow.engine.listed.rest import RestingFile
from windrow.engine.requests.waiting import ServiceWait
from windrow.engine.source_counts import OutcomeCount
from windrow.engine.steps.unread import UnreadCount
from windrow.engine.takedown import TakedownResult
from windrow.ledger.rows import CapturedRow, Followed
from windrow.ledger.sessions import RuleCount
from windrow.ledger.typed.attempts import AttemptRow
from windrow.ledger.typed.items import DifferingFile
from windrow.ledger.typed.takedowns import TombstoneRow
from windrow.model import CdxLine, DiffLine, TextChange
from windrow.stores.record_versions import RecordVersion, Skipped

Shape = type | dict[str, str]
"""A class with the message's fields, or the fields by name with their types."""


class Message(NamedTuple):
    """One type of message: the command that prints it (`by`), what it describes, and its fields (`shape`)."""

    by: str
    meaning: str
    shape: Shape


_DECIDED = {"key": "text", "source": "text", "phase": "number", "status": "text"}
MESSAGES = {
    "error": Message("every command, on standard error", "why the command failed; the last line", {
        "message": "text", "hint": "text", "exit_code": "number", "reason": "text",
    }),
    "init": Message("init", "what was made and what was kept", Prepared),
    "new_source": Message("new source", "the file that was written", {"name": "text", "path": "text"}),
    "new_collection": Message("new collection", "the package that was made", NewCollection),
    "setting": Message("config", "one setting", {"name": "text", "value": "text", "origin": "text"}),
    "trust": Message("config trust", "the key that is pinned", {
        "source": "text", "fingerprint": "text", "new": "yes/no",
    }),
    "progress": Message("run", "the current phase, about once a second and at its end", {
        "phase": "text", "done": "number", "total": "number or null", "failed": "number", "seconds": "number",
    }),
    "summary": Message("run, why SESSION, and `run.notify`", "a session; the last line of a run", SessionSummary),
    "would_ask": Message("run --dry-run", "a source, and what a run would request from it", PlannedSource),
    "would_fetch": Message("run --dry-run", "an item that waits, and its first source", Waiting),
    "would_read": Message("run --dry-run", "how many items are due for a phase", Reads),
    "fetched": Message("try", "the bytes that are read", FetchedBytes),
    "finding": Message("try", "a finding in a document", DocumentFinding),
    "record": Message("try", "a record as it would be loaded", RecordPreview),
    "document": Message("try", "a document, after its findings and records", DocumentReport),
    "extract": Message("extract", "a page; `links` and `images` have `url` and `text`, `blocks` all of its blocks", {
        "url": "text", "title": "text", "authors": "list of texts", "site": "text", "published": "text",
        "modified": "text", "description": "text", "keywords": "list of texts", "language": "text", "image": "text",
        "canonical": "text", "encoding": "text", "text": "text", "markdown": "text", "links": "list of objects",
        "images": "list of objects", "blocks": "list of objects: `text`, `path`, `fate`, `likelihood` or null",
        "left_out": "list of objects: `what`, `number`", "is_cut": "yes/no",
    }),
    "page_result": Message("search", "a page that was found, the best first", PageHit),
    "record_result": Message("search", "a record of any other collection that was found", RecordHit),
    "search": Message(
        "search", "how the query was understood; `relaxed` is true if no document has all its words; "
        "`did_you_mean` is the query with other words in place of words that no document has, or empty", {
        "query": "text", "offset": "number", "results": "number", "further": "yes/no", "relaxed": "yes/no",
        "notes": "list of texts", "did_you_mean": "text",
    }),
    "facets": Message(
        "search", "with `--facets`, the number of all results with each value, the most frequent first; pages with the "
        "same text are counted one by one",
        {"counts": "object with `collection`, `source`, `language`, `type`, `year`: the number of results by value"},
    ),
    "status": Message("status", "the whole workspace", WorkspaceState),
    "story": Message("why", "an item; its events and members follow", Story),
    "event": Message("why", "an event; empty fields are left out", Event),
    "member": Message("why", "a document in the zip", Meaning),
    "page": Message("why", "a page; its versions and attempts follow", PageState),
    "version": Message("why", "a version of the page, the oldest first", Edition),
    "page_attempt": Message("why", "a request for the page; empty fields are left out", PageAsked),
    "site": Message("why", "a site or host; its origins follow", SiteState),
    "host": Message("why", "an origin of a collection of records", RecordOrigin),
    "origin": Message("why", "an origin of the site", SiteOrigin),
    "record, its history": Message("why", "a record; its versions and the services that it waits for follow", {
        "key": "text", "collection": "text", "versions": "number",
    }),
    "version, of a record": Message("why", "a version of the record, the oldest first", RecordVersion),
    "row": Message("why", "the columns of a paper's row by name, without those that have bytes", {
        name: {TEXT: "text", INT64: "number", JSON: "object"}[kind] for name, kind in ENCODINGS.items() if kind != BYTES
    }),
    "address": Message("why", "an address of a collection of records; its attempts follow", RecordAddress),
    "attempt": Message(
        "why", "a request for the address; empty fields are left out", AttemptRow
    ),
    "captured": Message("why", "the capture that the preceding attempt used instead of a request", CapturedRow),
    "followed": Message("why", "how many requests and offers the preceding attempt's answer led to", Followed),
    "attempt_record": Message("why", "a record that was read from the answer to an attempt", {
        "attempt": "number", "key": "text",
    }),
    "skipped": Message("why", "a document, or a part of it, from which no record was read", Skipped),
    "wait": Message("why", "a service whose answer a document waits for; its last attempts follow", {
        "attempt": "number", "service": "text", "url": "text", "attempts": "number",
    }),
    "service_attempt": Message("why", "a request to that service; empty fields are left out", AttemptRow),
    "capture": Message("why", "a capture by another collection or program, and why a source left it out", {
        "source": "text", "from": "text", "attempt": "number", "reason": "text", "rule": "text",
    }),
    "failed_capture": Message(
        "why", "an index line or a record with the digest X, which could not be taken", FailedCapture
    ),
    "tombstone": Message(
        "why", "an address or its whole origin was taken down; empty fields are left out", TombstoneRow
    ),
    "candidate": Message("why", "one of several items that may be meant", Meaning),
    "retry": Message("retry", "a file or an address that was put back", _DECIDED),
    "cancel": Message("cancel", "a file or an address that was cancelled", _DECIDED),
    "diff": Message("diff", "two versions of a page or record, and what changed between them", Comparison),
    "source_change": Message("changes", "a document that is new, changed or gone at a source", SourceChange),
    "serving": Message("serve", "where the web view can be opened", {"url": "text"}),
    "would_forget": Message("forget", "the size of what would be taken down", TakedownEstimate),
    "forgotten": Message("forget", "what was taken down", TakedownResult),
    "lifted": Message("forget --lift", "how many tombstones were lifted, and what of these names is still taken down", {
        "tombstones": "number", "standing": "list of texts",
    }),
    "replay": Message("replay", "how many versions of pages or records differ from before", VersionCounts),
    "replay_change": Message("replay", "a document in a different phase or status than before", {
        "key": "text", "before": "text", "after": "text",
    }),
    "fault": Message("check", "something wrong or contradictory in the stored data", Fault),
    "check": Message("check", "what was compared, the last line", {
        "captures": "number", "bytes": "number", "faults": "number",
    }),
    "sandbox": Message("check --sandbox", "how the kernel restricts processes that read documents", {
        "no_new_privs": "yes/no", "landlock": "number", "seccomp": "yes/no", "allowed": "list of texts",
        "allowed_to_fetchers": "list of texts",
    }),
    "folder_check": Message("check FOLDER", "what was checked, the last line", {
        "collection": "text", "files": "number", "bytes": "number", "faults": "number",
    }),
    "topic": Message("help", "a page of the manual", {"name": "text", "title": "text"}),
    "manual_page": Message("help TOPIC", "a page of the manual, or a command's help", {"name": "text", "text": "text"}),
    "completion": Message("completion", "the script for a shell", {"shell": "text", "script": "text"}),
}  # fmt: skip
"""Every type of message by name; if a type has several forms, a comma and the form follow its name."""

PARTS = (
    SourceCount, PhaseCount, ReasonCount, FindingCount, OutcomeCount, SourceState, StateCount, SnippetMark, ScorePart,
    OutcomeTally, OriginCounts, TextChange, DiffLine, Tombstone, NearDuplicate, CdxLine, RestingFile, UnreadCount,
    ServiceWait, RuleCount, DifferingFile,
)  # fmt: skip
"""The classes of objects in the lists of messages."""

SENT_APART: dict[type, set[str]] = {
    Story: {"events", "members"}, PageState: {"versions", "events"}, SiteState: {"origins"},
}  # fmt: skip
"""Fields that are left out of a message, because each entry of them is printed as a message."""

SENT_BESIDE: dict[type, dict[str, str]] = {PageHit: {"rank": "number"}, RecordHit: {"rank": "number"}}
"""Fields that a message has in addition, before the fields of its class."""


def shape(source: Shape) -> dict[str, str]:
    """Return the type of each field of a message, by name.

    >>> shape(Reads)
    {'phase': 'text', 'items': 'number'}
    """
    if isinstance(source, dict):
        return source
    hints = typing.get_type_hints(source)
    names = [field.name for field in fields(source)] if is_dataclass(source) else list(source._fields)  # type: ignore[attr-defined]
    own = {name: _kind(hints[name]) for name in names if name not in SENT_APART.get(source, set())}
    return {**SENT_BESIDE.get(source, {}), **own}


def _kind(hint: Any) -> str:
    known = {bool: "yes/no", int: "number", float: "number", datetime: "time", type(None): "null"}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in PARTS:
        return str(hint.__name__)
    if origin is tuple:
        return f"list of {_kind(arguments[0])}{'' if arguments[0] in PARTS else 's'}"
    if origin in {types.UnionType, typing.Union}:
        return " or ".join(_kind(argument) for argument in arguments)
    if origin is not None:
        return "object"
    names = [name for name, message in MESSAGES.items() if message.shape is hint]
    return f"object as in [{names[0]}](#{names[0]})" if names else known.get(hint, "text")


def messages() -> str:
    """List every type of message with its fields."""
    lines = []
    for name, message in MESSAGES.items():
        lines += [
            f"\n### {name}\n",
            f"From {_code(message.by)}: {message.meaning}.\n{_more(message.shape)}",
            *_fields(shape(message.shape)),
        ]
    lines += ["\n## Parts\n", "The objects in the lists of messages.\n"]
    for part in PARTS:
        lines += [f"### {part.__name__}\n", f"{' '.join((part.__doc__ or '').split())}\n", *_fields(shape(part)), ""]
    return "\n".join(lines)


def _more(source: Shape) -> str:
    """Return the second paragraph of a class's docstring, which describes its fields."""
    text = "" if isinstance(source, dict) else (inspect.getdoc(source) or "").partition("\n\n")[2]
    return f"\n{' '.join(text.split())}\n" if text else ""


def _code(by: str) -> str:
    return (
        by if by.startswith("every") else ", ".join(f"`{each}`" if "`" not in each else each for each in by.split(", "))
    )


def _fields(kinds: dict[str, str]) -> Iterator[str]:
    yield "| field | holds |\n| --- | --- |"
    yield from (f"| `{name}` | {kind} |" for name, kind in kinds.items())


def verbs() -> Iterator[tuple[str, click.Command]]:
    """Yield (full name, command) for every command, in the order of the help."""

    def below(name: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
        context = click.Context(group, info_name=name)
        for each in group.list_commands(context):
            command = group.get_command(context, each)
            if command is not None:
                yield f"{name} {each}", command
                if isinstance(command, click.Group):
                    yield from below(f"{name} {each}", command)

    yield "windrow", root
    yield from below("windrow", root)


def manual() -> str:
    """Write the help of every command."""
    return "\n".join(f"\n## {name}\n\n```text\n{help_text(name, command)}\n```" for name, command in verbs()) + "\n"


def help_text(name: str, command: click.Command) -> str:
    """Return a command's help as a terminal of 100 columns shows it."""
    parent: click.Context | None = None
    *before, last = name.split()
    for word in before:
        parent = click.Context(root, info_name=word, parent=parent)
    context = click.Context(command, info_name=last, parent=parent, terminal_width=100, max_content_width=100)
    return command.get_help(context).rstrip()
