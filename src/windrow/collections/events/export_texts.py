"""What exports say of an event beside its own keys: its page, links, notes, and the event as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windrow.collections.events.documents import conference_address, web_address
from windrow.collections.events.readers.expressions import json_to_text


def page_of(event: Mapping[str, Any]) -> str:
    """Return the address of an event's page, or else of its source; empty if neither is a web address."""
    return web_address(event.get("event_url")) or web_address(event["source_url"])


NOTES = ("time_note", "end_note", "status_note", "title_note", "text_note")
"""The keys of the notes about what was not read, or may be read otherwise than its source means."""


def describe_notes(event: Mapping[str, Any], names: Sequence[str] = NOTES) -> str:
    """Return the notes of an event on one line; empty if it has none.

    >>> describe_notes({"title": "Fair", "time_note": "unknown_zone", "end_note": "the source writes: late"})
    'time: unknown_zone; end: the source writes: late'
    """
    return "; ".join(f"{name.removesuffix('_note')}: {event[name]}" for name in names if event.get(name))


class EventLink(NamedTuple):
    """A link of an event: its name, web address and media type; the name and the media type may be empty."""

    name: str
    url: str
    media_type: str = ""


_DOCUMENT_KEYS = {"agenda_url": "Agenda", "minutes_url": "Minutes"}


def documents_of(event: Mapping[str, Any]) -> list[EventLink]:
    """Return the agenda, the minutes and the attachments of an event that have a web address."""
    documents = [EventLink(name, event.get(key) or "") for key, name in _DOCUMENT_KEYS.items()]
    attachments = event.get("attachments")
    for attachment in attachments if isinstance(attachments, list) else ():
        if isinstance(attachment, dict):
            name, media_type = (str(attachment.get(key) or "") for key in ("name", "media_type"))
            documents.append(EventLink(name, attachment.get("url") or "", media_type))
    return [document for document in documents if web_address(document.url)]


def recordings_of(event: Mapping[str, Any]) -> list[EventLink]:
    """Return the recording of an event, if it has a web address."""
    return [EventLink("Video", url)] if (url := web_address(event.get("video_url"))) else []


def conferences_of(event: Mapping[str, Any]) -> list[EventLink]:
    """Return the conferences by which one may attend an event."""
    urls = event.get("conference_urls")
    return [EventLink("Conference", url) for url in (urls if isinstance(urls, list) else ()) if conference_address(url)]


def links_of(event: Mapping[str, Any]) -> list[EventLink]:
    """Return the documents, the recording and the conferences of an event."""
    return [*documents_of(event), *recordings_of(event), *conferences_of(event)]


def categories_of(event: Mapping[str, Any]) -> list[str]:
    """Return the branch and the entity of an event, and the categories that its source gives it, each once."""
    own = event.get("categories") or event.get("category") or []
    texts = (
        json_to_text(name) for name in (event["branch"], event["entity"], *(own if isinstance(own, list) else [own]))
    )
    return list(dict.fromkeys(filter(None, texts)))


def describe_event(event: Mapping[str, Any]) -> str:
    """Return an event as lines of text: start, location, status unless it is scheduled, notes, description, links."""
    time = event.get("local_datetime") or event["datetime"]
    zone = "" if event["all_day"] else f" ({event['source_timezone']})"
    lines = [f"{str(time).replace('T', ' ')}{zone}"]
    lines += [str(event["location"])] if event.get("location") else []
    lines += [f"Status: {event['status']}"] if event["status"] != "scheduled" else []
    lines += [f"Notes: {notes}"] if (notes := describe_notes(event)) else []
    lines += [str(event["description"])] if event["description"] else []
    lines += [f"{link.name or 'Document'}: {link.url}" for link in links_of(event)]
    return "\n".join(lines)
