"""Read a document of any kind: what it is decides who reads it; what has no reader is a file without text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from windrow.collections.pages.code import Mime, mime
from windrow.collections.pages.reading.document import ContentHeaders, PageDocument, document
from windrow.collections.pages.reading.link import count, indexiness, placed
from windrow.collections.pages.reading.other_formats import blank, feed, markdown, pdf, plain
from windrow.collections.pages.scope import Scope
from windrow.errors import MissingExtra, StepError
from windrow.formats import language
from windrow.formats.sniff import root, sniff
from windrow.model import Finding, Level
from windrow.reasons import Reason

_FEEDS = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"))
_MAY_BE_FEEDS = frozenset(("application/xml", "text/xml", "application/json", "text/json"))
_MARKDOWN = frozenset(("text/markdown", "text/x-markdown"))
_ENDINGS = (".md", ".markdown", ".mkd", ".mdown")


def read(raw: bytes, url: str, fields: Mapping[str, str], site: Scope | None = None) -> PageDocument:
    r"""Read a document's bytes, without transfer and content codings, as they came from this address.

    `fields` are the response's, by name in lower case. HTML, plain text, Markdown, feeds and PDF are read; any other
    document, and one that cannot be read, has no text, and findings that say why. Where the server does not say what
    it is, or says what its first bytes deny, these decide (WHATWG MIME Sniffing); in the latter case `mime` is None.
    How far links reach is told by the hosts and paths of `site`, where the page lies in it, else by its own host.

    >>> found = read(b"# Tea\n\nPour *hot* water.", "http://a.example/", {"content-type": "text/markdown"})
    >>> found.description.title, found.pile.text
    ('Tea', 'Tea\nPour hot water.')
    """
    told = fields.get("content-type", "")
    claimed = mime(told)
    said = ContentHeaders(told, fields.get("last-modified", ""), fields.get("content-language", ""))
    charset = dict(claimed.parameters).get("charset", "") if claimed else ""
    found = sniff(raw, claimed.essence if claimed else "", encoded=charset.lower().startswith("utf-16"))
    reader = _reader(found.essence, raw, url)
    try:
        read_ = reader(raw, url, said)
    except MissingExtra as error:
        read_ = blank(Finding(Reason.UNSUPPORTED.value, f"{error}; {error.hint}", Level.WARN))
    except StepError as error:
        why = f"{error}; {error.hint}" if error.hint else str(error)
        read_ = blank(Finding(error.reason.value if error.reason else "unread", why, Level.WARN))
    return _told(_placed(read_, url, site), found.essence, claimed, conflict=found.conflict)


def _placed(found: PageDocument, url: str, site: Scope | None) -> PageDocument:
    """Say of the links of a page how far they reach from its site; its indexiness is made of that."""
    if site is None or site.alone or not found.links:
        return found
    links = placed(found.links, url, site)
    before, after = (indexiness(count(some, publishing_date=False)) for some in (found.links, links))
    said = replace(found.description, indexiness=found.description.indexiness + after - before)
    return replace(found, links=links, description=said)


def _reader(essence: str, raw: bytes, url: str) -> Callable[[bytes, str, ContentHeaders], PageDocument]:
    if essence == "text/plain" and _path(url).endswith(_ENDINGS):
        return markdown
    if essence in _MAY_BE_FEEDS and root(raw) == b"html":
        return _page
    return _READERS.get(essence, _file)


def _page(raw: bytes, url: str, said: ContentHeaders) -> PageDocument:
    return document(raw, url, said.content_type, last_modified=said.last_modified, language=said.language)


def _path(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].lower()


def _told(found: PageDocument, essence: str, claimed: Mime | None, *, conflict: bool) -> PageDocument:
    """Add what it is, and its language where it does not say it itself."""
    kind = None if conflict else claimed if claimed and claimed.essence == essence else mime(essence)
    said = found.description
    if said.language is None and found.pile.text:
        said = replace(said, language=language.language(found.pile.text))
    findings = found.findings
    if conflict:
        was = claimed.essence if claimed else ""
        findings = (*findings, Finding("conflict", f"it is called {was} and looks like {essence}", Level.NOTE))
    return replace(found, description=said, mime=kind, findings=findings)


def _file(_raw: bytes, _url: str, _said: ContentHeaders) -> PageDocument:
    return blank()


_READERS: dict[str, Callable[[bytes, str, ContentHeaders], PageDocument]] = {
    "text/html": _page,
    "application/xhtml+xml": _page,
    "text/plain": plain,
    "application/pdf": pdf,
    **dict.fromkeys(_MARKDOWN, markdown),
    **dict.fromkeys(_FEEDS | _MAY_BE_FEEDS, feed),
}
