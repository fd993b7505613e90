"""The references of a page, as the crawl follows them: read quickly, and only as far as links go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from windrow.collections.pages.kind import mime
from windrow.formats import directive
from windrow.formats.hint.reading import read as read_hint
from windrow.formats.html import decode
from windrow.formats.html.head import RELATIONS, refresh
from windrow.formats.html.tree import parse
from windrow.formats.sniff import sniff
from windrow.formats.url import normalise

MOST = 20_000
"""References of one page; what is behind them is not followed."""

_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_HINTS = frozenset(
    (
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
        "application/xml", "text/xml", "application/gzip", "application/x-gzip",
    )
)  # fmt: skip
_WANTED = "a[href], area[href], iframe[src], frame[src], link[rel][href], meta[content], base[href]"
_RELATED = RELATIONS | {"canonical"}


class References:
    """Reads the references of what one agent is given."""

    def __init__(self, agent: str, *, feeds: bool = True) -> None:
        """Heed what pages ask of this agent; without `feeds`, those that pages name are passed over."""
        self._agent = agent
        self._feeds = feeds

    def __call__(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base and the references of a document at the normal address `url`, as they are written.

        Of an HTML page its links, frames and related pages; of a feed or sitemap its entries; of anything
        else none, and none where the page or its header says `nofollow`.
        """
        named = {name.lower(): value for name, value in fields.items()}
        told = mime(named.get("content-type", ""))
        essence = sniff(body, told.essence).essence if told else "text/html" if body.lstrip()[:1] == b"<" else ""
        # The values of one field that came several times are parted by line feeds.
        if directive.header(named.get("x-robots-tag", "").split("\n"), self._agent).nofollow:
            return url, []
        if essence in _HINTS:
            return url, [one.url for one in read_hint(body, url).entries[:MOST]]
        if essence not in _PAGES:
            return url, []
        return self._page(url, decode(body, named.get("content-type", "")).text)

    def _page(self, url: str, text: str) -> tuple[str, list[str]]:
        base, asked = "", directive.NOTHING
        found: list[str] = []
        for node in parse(text).css(_WANTED):
            tag, attributes = node.tag, node.attributes
            if tag == "base":
                base = base or normalise(attributes.get("href") or "", url).url
            elif tag == "meta":
                pair = (attributes.get("name") or "", attributes.get("content") or "")
                asked = asked.join(directive.meta([pair], self._agent)) if pair[0] else asked
                found += filter(None, (refresh(attributes),))
            elif len(found) < MOST:
                found += self._reference(tag or "", attributes)
        return base or url, [] if asked.nofollow else found

    def _reference(self, tag: str, attributes: Mapping[str, str | None]) -> Iterator[str]:
        """Yield what one element refers to, if a crawl may follow it."""
        rel = attributes.get("rel") or ""
        written = attributes.get("href" if tag not in {"iframe", "frame"} else "src")
        if not written or (rel and directive.nofollow(rel)):
            return
        if tag == "link":
            if not _RELATED.intersection(rel.lower().split()):
                return
            kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
            if kind and kind not in _PAGES and not (self._feeds and kind in _HINTS):
                return
        yield written
