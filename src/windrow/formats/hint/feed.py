"""Entries of feeds: RSS 0.9 to 2.0, Atom (RFC 4287), JSON Feed 1.0 and 1.1."""

from __future__ import annotations

import json
from collections.abc import Iterator

from lxml import etree

from windrow.errors import StepError
from windrow.formats.hint.sitemap import text
from windrow.reasons import Reason

_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_JSON = 8 * 1024 * 1024  # bytes: JSON is read as a whole
VERSION = ("https://jsonfeed.org/version/", "http://jsonfeed.org/version/")


def item(element: etree._Element) -> tuple[str, str, str]:
    """Return address, time and base of an RSS item; a `guid` is an address unless it says otherwise."""
    address = text(element, "link") or _alternate(element) or element.get(_ABOUT, "")
    if not address:
        for guid in element.iterchildren("guid"):
            if guid.get("isPermaLink", "true").strip().lower() == "true":
                address = (guid.text or "").strip()
    return address, text(element, "updated", "modified", "pubDate", "date"), _within(element)


def entry(element: etree._Element) -> tuple[str, str, str]:
    """Return address, time and base of an Atom entry."""
    return _alternate(element), text(element, "updated", "modified", "published", "issued"), _within(element)


def items(content: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield address and time of the items of a JSON Feed."""
    if len(content) > _JSON:
        raise StepError(f"{len(content)} bytes, at most {_JSON} allowed", Reason.TOO_LARGE)
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        raise StepError("this is no JSON", Reason.NOT_WELL_FORMED) from None
    if not isinstance(read, dict) or not str(read.get("version", "")).startswith(VERSION):
        raise StepError("this is no JSON Feed", Reason.WRONG_ROOT)
    listed = read.get("items")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict):
            yield _told(one, "url", "id"), _told(one, "date_modified", "date_published"), ""


def _told(one: dict[str, object], *names: str) -> str:
    """Return the first of these members that is a text."""
    return next((value for name in names if isinstance(value := one.get(name), str) and value), "")


def _alternate(element: etree._Element) -> str:
    """Return where the page of an entry is (RFC 4287, section 4.2.7)."""
    for link in element.iterchildren("{*}link"):
        if link.get("href") and link.get("rel", "alternate").strip().lower() == "alternate":
            return link.get("href", "")
    return ""


def _within(element: etree._Element) -> str:
    """Return the nearest `xml:base` (XML Base), if there is one."""
    if own := element.get(_BASE):
        return own
    return next((found for above in element.iterancestors() if (found := above.get(_BASE))), "")
