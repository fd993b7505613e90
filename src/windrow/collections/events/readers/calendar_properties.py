"""Read what the properties of a VEVENT say beside its times: texts, addresses, and the extra keys of its event."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from windrow.collections.events.documents import conference_address, web_address
from windrow.collections.events.readers.by_fields import first_address
from windrow.collections.events.readers.expressions import read_extra
from windrow.collections.events.readers.repetitions import as_list

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([\\;,nN])")


def property_text(event: Any, name: str) -> str:
    """Return the text of the first property of a name; empty if there is none."""
    properties = event.get(name)
    first = properties[0] if isinstance(properties, list) and properties else properties
    return "" if first is None else str(first).strip()


def event_url(event: Any) -> str:
    """Return the web address in the property URL; empty if there is none."""
    address = _ADDRESS.match(first_address(property_text(event, "URL").strip('<>"')))
    return address[0] if address else ""


def extra_keys(event: Any, expressions: Mapping[str, str]) -> dict[str, Any]:
    """Return the extra keys of an event: those of usual properties, and of `expressions`, the setting `extra`.

    A path in an expression is the name of a property, or NAME@PARAMETER.
    """
    extra: dict[str, Any] = {}
    lists = as_list(event.get("CATEGORIES"))
    categories = [str(category) for entries in lists for category in getattr(entries, "cats", [entries])]
    if categories:
        extra["categories"] = categories
    if organizer := property_text(event, "ORGANIZER"):
        extra["organizer"] = organizer
    if organizer_name := _texts_at(event, "ORGANIZER@CN"):
        extra["organizer_name"] = organizer_name
    attachments = (_attached_document(attachment) for attachment in as_list(event.get("ATTACH")))
    if documents := [document for document in attachments if web_address(document["url"])]:
        extra["attachments"] = documents
    conferences = (conference_address(str(conference).strip()) for conference in as_list(event.get("CONFERENCE")))
    if urls := list(filter(None, conferences)):
        extra["conference_urls"] = urls
    extra |= read_extra(expressions, partial(_texts_at, event))
    if any(event.get(name) is not None for name in ("RRULE", "RDATE", "RECURRENCE-ID")):
        extra["recurring"] = True
    return extra


def _attached_document(attachment: Any) -> dict[str, str]:
    parameters = getattr(attachment, "params", {})
    names = {"name": str(parameters.get("FILENAME", "")), "media_type": str(parameters.get("FMTTYPE", ""))}
    return {"url": str(attachment).strip(), **names}


def _texts_at(event: Any, path: str) -> str | None:
    """Return the texts of all properties of a name or of their parameters, joined by commas; None if there are none."""
    name, _, parameter = path.partition("@")
    properties = as_list(event.get(name))
    if parameter:
        texts = [str(text) for entry in properties for text in as_list(entry.params.get(parameter))]
    else:
        texts = [_written_text(entry) for entry in properties]
    return ", ".join(filter(None, texts)) if properties else None


def _written_text(ical_property: Any) -> str:
    """Return a property's value as the calendar writes it, without the escapes of a text (RFC 5545, section 3.3.11)."""
    value = ical_property.to_ical()  # the library returns a text for GEO
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return _ESCAPE.sub(lambda escape: "\n" if escape[1] in "nN" else escape[1], text)
