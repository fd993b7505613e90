"""Events as feeds, Atom (RFC 4287) and JSON Feed 1.1: what changed last comes with its time of change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def atom(events: Iterable[Mapping[str, Any]], title: str = "Events") -> Iterator[str]:
    """Yield an Atom feed, piece by piece."""
    pending = list(events)
    updated = max((one["changed"] for one in pending), default="1970-01-01T00:00:00Z")
    yield (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<id>{identity(title)}</id><title>{_text(title)}</title><updated>{updated}</updated>\n"
        "<author><name>windrow</name></author><generator>windrow</generator>\n"
    )
    for one in pending:
        yield (
            f"<entry><id>{identity(one['uid'])}</id><title>{_text(one['title'])}</title>"
            f"<updated>{one['changed']}</updated><published>{one['first_seen']}</published>"
            f"<link href={quoteattr(_NO_XML.sub('', page_of(one)))}/>"
            f"<category term={quoteattr(one['branch'])}/><category term={quoteattr(one['entity'])}/>"
            f"<author><name>{_text(one['entity'])}</name></author>"
            f'<content type="text">{_text(told(one))}</content></entry>\n'
        )
    yield "</feed>\n"


def json_feed(events: Iterable[Mapping[str, Any]], title: str = "Events") -> Iterator[str]:
    """Yield a JSON Feed."""
    items = [
        {
            "id": identity(one["uid"]),
            "url": page_of(one),
            "title": one["title"],
            "content_text": told(one),
            "date_published": one["first_seen"],
            "date_modified": one["changed"],
            "authors": [{"name": one["entity"]}],
            "tags": [one["branch"], one["entity"]],
            "_event": {
                name: one.get(name) for name in ("datetime", "end_datetime", "all_day", "status", "location", "uid")
            },
        }
        for one in events
    ]
    told_ = {"version": "https://jsonfeed.org/version/1.1", "title": title, "items": items}
    yield json.dumps(told_, ensure_ascii=False, indent=1) + "\n"


def identity(uid: str) -> str:
    """Return an address that names an event, and nothing else, for ever.

    >>> identity("senate/1") == identity("senate/1") != identity("senate/2")
    True
    """
    return f"urn:uuid:{uuid5(NAMESPACE_URL, 'windrow:event:' + uid.encode('utf-8', 'replace').decode())}"


def page_of(event: Mapping[str, Any]) -> str:
    """Return the page of an event, else that of its source."""
    return str(event.get("event_url") or event["source_url"])


def told(event: Mapping[str, Any]) -> str:
    """Say in a few lines when and where an event is, how it stands, and what it is."""
    when = event.get("local_datetime") or event["datetime"]
    zone = "" if event["all_day"] else f" ({event['source_timezone']})"
    lines = [f"{str(when).replace('T', ' ')}{zone}"]
    lines += [str(event["location"])] if event.get("location") else []
    lines += [f"Status: {event['status']}"] if event["status"] != "scheduled" else []
    lines += [str(event["description"])] if event["description"] else []
    return "\n".join(lines)


def _text(text: str) -> str:
    return escape(_NO_XML.sub("", text))
