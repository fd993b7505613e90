"""Entries of sitemaps and of their indexes (Sitemaps protocol 0.9), in any namespace or none."""

from __future__ import annotations

from lxml import etree


def entry(element: etree._Element) -> tuple[str, str, str]:
    """Return the address and the time of a `url` or `sitemap` element."""
    return text(element, "loc"), text(element, "lastmod"), ""


def text(element: etree._Element, *names: str) -> str:
    """Return the text of the first child of one of these local names that has any, the names in order of trust."""
    for name in names:
        for child in element.iterchildren(f"{{*}}{name}"):
            if (written := (child.text or "").strip()) != "":
                return written
    return ""
