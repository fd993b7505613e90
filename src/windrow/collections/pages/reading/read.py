"""Read a document of any media type. If the type does not have a reader, the document has no text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from windrow.caps import FEED_ENTRIES, TEXT_CHARACTERS, Cap, Excess
from windrow.collections.pages.code import Mime, parse_mime
from windrow.collections.pages.reading.document import (
    ContentHeaders,
    Description,
    PageDocument,
    Pile,
    describe,
    make_pile,
    parse_unix_time,
    read_html_page,
)
from windrow.collections.pages.reading.ignored import NOTHING_IGNORED, Ignored, remove_ignored
from windrow.collections.pages.reading.link import (
    Link,
    LinkClassifier,
    compute_indexiness,
    count_links,
    find_links,
    remove_tags,
    set_localities,
)
from windrow.collections.pages.scope import Scope
from windrow.content.charset import decode, guess_latin_encoding
from windrow.content.head import PageHead
from windrow.content.page import read_page as read_html
from windrow.content.xhtml import is_page
from windrow.errors import MissingExtra, StepError
from windrow.formats import feed as feed_format
from windrow.formats import markdown as markdown_format
from windrow.formats import pdf as pdf_format
from windrow.formats.sniff import detect_language, normalise_tag, sniff
from windrow.formats.text import counted, first_paragraph, paragraphs, replace_controls
from windrow.formats.url import normalise
from windrow.model import Finding, Level, Limits
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.collections.pages.reading.document import ContentHeaders

_Reader = Callable[[bytes, str, "ContentHeaders", Limits], PageDocument]
"""A function that reads a document; its arguments are the bytes, the address, the headers and the limits."""

_LIMITS = Limits()


def read_plain_text(raw: bytes, url: str, headers: ContentHeaders, limits: Limits) -> PageDocument:  # noqa: ARG001 the signature of every reader
    """Read a document as plain text; this never fails."""
    text = decode(raw, headers.content_type)
    lines = paragraphs(text.text[: limits.characters])
    description = replace(
        NO_DESCRIPTION,
        updated=parse_unix_time(headers.last_modified),
        language=normalise_tag(headers.language.partition(",")[0]),
        title=first_paragraph(lines) or None,
        description=find_description(lines),
    )
    return replace(
        blank_document(), pile=Pile("\n".join(lines)), description=description, encoding=text.encoding,
        left_out=TEXT_CHARACTERS._replace(number=limits.characters).find_excess(len(text.text)),
    )  # fmt: skip


NO_DESCRIPTION = Description(None, None, None, None, None, None, 0)
_MIN_DESCRIPTION_LENGTH, _MAX_DESCRIPTION_LENGTH = 80, 1_000  # characters of a paragraph used as the description


def blank_document(*findings: Finding) -> PageDocument:
    """Return a document without text, with these findings."""
    return PageDocument(Pile(), NO_DESCRIPTION, [], None, frozenset(), "", findings=findings)


def find_description(lines: list[str]) -> str | None:
    """Return the first paragraph of `lines` that is long enough for a description, cut if it is very long, or None."""
    return next((line[:_MAX_DESCRIPTION_LENGTH] for line in lines if len(line) >= _MIN_DESCRIPTION_LENGTH), None)


def _compute_indexiness(page_links: list[Link], *, has_date: bool = False) -> int:
    return compute_indexiness(count_links(page_links, has_date=has_date))


def make_link(classifier: LinkClassifier, reference: str, text: str) -> Link | None:
    """Make a link in a document that is not HTML; return None if `classifier` does not find a target."""
    target = classifier.find_target(reference)
    if target is None:
        return None
    return Link(
        target.url, target.fragment, False, False, False, 0, False, target.destination, target.locality, "",
        text or None,
    )  # fmt: skip


_HTML_TYPE = "text/html; charset=utf-8"


def read_markdown(raw: bytes, url: str, headers: ContentHeaders, limits: Limits) -> PageDocument:
    """Read Markdown at the address `url`, as plain text if it is too long; raise StepError for too many elements."""
    text = decode(raw, headers.content_type)
    if len(text.text) > markdown_format.MAX_CHARACTERS:
        return read_plain_text(raw, url, headers, limits)
    converted = markdown_format.read_markdown("\n".join(map(replace_controls, text.text.splitlines())))
    page = read_html(f"<main>{converted.html}</main>".encode(), url, _HTML_TYPE)
    outline = page.outline
    is_main = [True] * len(outline.blocks.text)
    front_matter = converted.front
    head = PageHead(
        title=front_matter.get("title", ""),
        description=front_matter.get("description", ""),
        language=front_matter.get("lang", "") or front_matter.get("language", ""),
        published=front_matter.get("date", ""),
        modified=front_matter.get("updated", ""),
    )
    classifier = LinkClassifier(url, head.base)
    page_links = find_links(outline, head, classifier)
    description = describe(
        head,
        outline,
        is_main,
        indexiness=_compute_indexiness(page_links, has_date=parse_unix_time(head.published) is not None),
        last_modified=headers.last_modified,
        language=headers.language,
    )
    return PageDocument(
        make_pile(outline, is_main), description, remove_tags(page_links), None, frozenset(), text.encoding,
        left_out=page.left_out, refused_links=classifier.refused,
    )  # fmt: skip


_PROGRAM_PREFIX = re.compile(r"(?:microsoft )?(?:word|powerpoint|excel) ?- ", re.IGNORECASE)
_GENERATED_TITLE = re.compile(
    r"|.{1,2}|untitled.*|(?:document|slide|title|page) ?\d*|\S+\.\w{2,5}|.*\.(?:docx?|pptx?|xlsx?|odt|rtf|pdf|tex|qxd)",
    re.IGNORECASE,
)
_MAX_BIG_LEVEL = 1  # the lowest level of big headlines in the table of contents; the highest is 0


def read_pdf(raw: bytes, url: str, headers: ContentHeaders, limits: Limits) -> PageDocument:
    """Read a PDF at the address `url`; raise the errors of `windrow.formats.pdf.read_pdf`."""
    file = pdf_format.read_pdf(raw, limits)
    lines = [line for page in file.pages for line in paragraphs(page)]
    text = "\n".join(lines)
    classifier = LinkClassifier(url)
    links = (make_link(classifier, annotation.url, annotation.text) for annotation in file.links)
    page_links = [link for link in links if link is not None]
    titles = [(level, title) for level, title in file.contents if title in text]
    description = replace(
        NO_DESCRIPTION,
        created=file.created,
        updated=next(
            (time for time in (file.modified, parse_unix_time(headers.last_modified)) if time is not None), None
        ),
        language=normalise_tag(file.language) or normalise_tag(headers.language.partition(",")[0]),
        title=_clean_title(file.title) or first_paragraph(lines) or None,
        description=file.subject or find_description(lines),
        indexiness=_compute_indexiness(page_links, has_date=file.created is not None),
    )
    text_pile = Pile(
        text,
        big_headlines="\n".join(title for level, title in titles if level <= _MAX_BIG_LEVEL),
        small_headlines="\n".join(title for level, title in titles if level > _MAX_BIG_LEVEL),
    )
    findings = []
    if not text:
        findings.append(Finding("no_text", "the pages of the PDF do not contain text; it may be a scan", Level.NOTE))
    elif file.pictured:
        message = f"{counted(file.pictured, 'page')} of the PDF without text, but with pictures: perhaps scanned"
        findings.append(Finding("no_text", message, Level.NOTE))
    if file.unreadable:
        message = f"{counted(file.unreadable, 'page')} of the PDF cannot be read"
        findings.insert(0, Finding(Reason.CORRUPT.value, message, Level.NOTE))
    findings += [Finding(Reason.UNSUPPORTED.value, message, Level.NOTE) for message in file.unread]
    return replace(
        blank_document(*findings), pile=text_pile, description=description, links=page_links, left_out=file.left_out,
        refused_links=classifier.refused,
    )  # fmt: skip


def _clean_title(metadata: str) -> str:
    """Clean a title in the metadata of a PDF; return "" if it is very short or was generated, as from a file name."""
    title = _PROGRAM_PREFIX.sub("", metadata, count=1).strip()
    return "" if _GENERATED_TITLE.fullmatch(title) else title


def read_feed(raw: bytes, url: str, headers: ContentHeaders, _limits: Limits) -> PageDocument:
    """Read a feed at the address `url`; raise StepError if it cannot be read. Other XML or JSON has no text."""
    channel = feed_format.read_feed(raw)
    if channel is None:
        return blank_document()
    entry_links: list[Link] = []
    piles = [Pile("\n".join(filter(None, (channel.title, channel.description))))]
    left_out: Counter[Cap] = Counter()
    refused_links: Counter[Reason] = Counter()
    for entry in channel.entries:
        classifier = LinkClassifier(url, entry.base)
        entry_pile, links, entry_excess = _read_entry(entry, classifier)
        piles.append(entry_pile)
        entry_links += links
        left_out.update({excess.cap: excess.number for excess in entry_excess})
        refused_links.update(classifier.refused)
    times = [parse_unix_time(time) for entry in channel.entries for time in (entry.updated, entry.published)]
    newest = max((time for time in times if time is not None), default=None)
    update_times = (parse_unix_time(channel.updated), newest, parse_unix_time(headers.last_modified))
    description = replace(
        NO_DESCRIPTION,
        updated=next((time for time in update_times if time is not None), None),
        language=normalise_tag(channel.language) or normalise_tag(headers.language.partition(",")[0]),
        title=channel.title or None,
        description=channel.description or None,
        indexiness=_compute_indexiness(entry_links),
    )
    columns = zip(*(part.fields() for part in piles), strict=True)
    text_pile = Pile(*("\n".join(filter(None, column)) for column in columns))
    findings = []
    if channel.left_out and len(channel.entries) >= feed_format.MAX_ENTRIES:
        left_out[FEED_ENTRIES] += channel.left_out
    elif channel.left_out:
        message = f"{channel.left_out:,} entries of the feed cannot be read"
        findings.append(Finding(Reason.NOT_VALID.value, message, Level.NOTE))
    if not channel.is_whole:
        message = "the feed ends too early, or other bytes follow its end; entries may be missing"
        findings.append(Finding(Reason.TRUNCATED.value, message, Level.WARN))
    return replace(
        blank_document(*findings), pile=text_pile, description=description, links=remove_tags(entry_links),
        encoding="utf-8", left_out=tuple(Excess(cap, number) for cap, number in left_out.items()),
        refused_links=refused_links,
    )  # fmt: skip


def _read_entry(
    entry: feed_format.FeedEntry, classifier: LinkClassifier
) -> tuple[Pile, list[Link], tuple[Excess, ...]]:
    """Return the texts and links of an entry, and what caps leave out of it."""
    title = escape(entry.title)
    if entry.url:  # it is not relative to the base of the text
        title = f'<a href="{escape(normalise(entry.url, classifier.page_url).url or entry.url)}">{title}</a>'
    text = f"<main><article><h1>{title}</h1>{entry.html}</article></main>"
    page = read_html(text.encode("utf-8", "replace"), classifier.page_url, _HTML_TYPE)
    outline = page.outline
    entry_pile = make_pile(outline, [True] * len(outline.blocks.text))
    # The title of the entry is the first headline, which `make_pile` leaves out.
    titles = "\n".join(filter(None, (entry.title, entry_pile.big_headlines)))
    return replace(entry_pile, big_headlines=titles), find_links(outline, PageHead(), classifier), page.left_out


_FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"))
_POSSIBLE_FEED_TYPES = frozenset(("application/xml", "text/xml", "application/json", "text/json"))
_MARKDOWN_TYPES = frozenset(("text/markdown", "text/x-markdown"))
_MARKDOWN_ENDINGS = (".md", ".markdown", ".mkd", ".mdown")


def read(
    raw: bytes, url: str, fields: Mapping[str, str], site: Scope | None = None, limits: Limits = _LIMITS,
    *, ignored: Ignored = NOTHING_IGNORED,
) -> PageDocument:  # fmt: skip
    r"""Read the bytes of a document at the address `url`. Transfer and content codings must have been removed.

    `fields` are the response's headers, with names in lower case. HTML, plain text, Markdown, feeds and PDF are read. A
    document that cannot be read has an empty text and a finding with the reason; one of another type has only an empty
    text. If the server does not declare a media type, or declares one that contradicts the first bytes, the bytes
    decide (WHATWG MIME Sniffing); in the second case, `mime` is None. The locality of links depends on the hosts and
    paths of `site` if the page belongs to it, otherwise on the host of the page. `limits` has the maximum numbers of
    pages of a PDF, and of characters of a PDF or plain text, that are read. Text that is `ignored` is left out.

    >>> page = read(b"# Tea\n\nPour *hot* water.", "http://a.example/", {"content-type": "text/markdown"})
    >>> page.description.title, page.pile.text
    ('Tea', 'Tea\nPour hot water.')
    """
    content_type = fields.get("content-type", "")
    declared = parse_mime(content_type)
    headers = ContentHeaders(content_type, fields.get("last-modified", ""), fields.get("content-language", ""))
    charset = dict(declared.parameters).get("charset", "") if declared else ""
    sniffed = sniff(raw, declared.essence if declared else "", is_utf_16=charset.lower().startswith("utf-16"))
    reader = _choose_reader(sniffed.essence, raw, url)
    if reader is _read_html and ignored.selectors:
        reader = partial(_read_html, ignored=ignored.selectors)
    try:
        page = reader(raw, url, headers, limits)
    except MissingExtra as error:
        page = blank_document(Finding(Reason.UNSUPPORTED.value, f"{error}; {error.hint}", Level.WARN))
    except StepError as error:
        message = f"{error}; {error.hint}" if error.hint else str(error)
        page = blank_document(Finding(error.reason.value if error.reason else "unread", message, Level.WARN))
    if ignored.patterns:
        page = remove_ignored(page, ignored.patterns)
    return _add_type_and_language(
        _set_localities(page, url, site), sniffed.essence, declared, has_conflict=sniffed.conflict
    )


def _set_localities(page: PageDocument, url: str, site: Scope | None) -> PageDocument:
    if site is None or site.is_single_host or not page.links:
        return page
    new_links = set_localities(page.links, url, site)
    old_indexiness, new_indexiness = (
        compute_indexiness(count_links(page_links, has_date=False)) for page_links in (page.links, new_links)
    )
    description = replace(page.description, indexiness=page.description.indexiness + new_indexiness - old_indexiness)
    return replace(page, links=new_links, description=description)


def _choose_reader(essence: str, raw: bytes, url: str) -> _Reader:
    """Return the reader for the media type `essence`.

    Plain text whose path ends like a Markdown file is read as Markdown, and XML whose root is `html` as HTML.
    """
    path = url.partition("?")[0].partition("#")[0].lower()
    if essence == "text/plain" and path.endswith(_MARKDOWN_ENDINGS):
        return read_markdown
    if is_page(raw, essence):
        return _read_html
    return _READERS.get(essence, _read_unsupported)


def _read_html(
    raw: bytes, url: str, headers: ContentHeaders, _limits: Limits, *, ignored: Sequence[str] = ()
) -> PageDocument:
    return read_html_page(
        raw, url, headers.content_type, last_modified=headers.last_modified, language=headers.language, ignored=ignored
    )


def _add_type_and_language(
    page: PageDocument, essence: str, declared: Mime | None, *, has_conflict: bool
) -> PageDocument:
    """Set the media type; detect the language if the document does not declare one; add a finding for a conflict."""
    page = _mark_garbled(page)
    media_type = None if has_conflict else declared if declared and declared.essence == essence else parse_mime(essence)
    description = page.description
    if description.language is None and page.pile.text:
        description = replace(description, language=detect_language(page.pile.text))
    findings = page.findings
    if has_conflict:
        declared_type = declared.essence if declared else ""
        findings = (
            *findings,
            Finding(
                "conflict", f"the server declares {declared_type}, but the first bytes look like {essence}", Level.NOTE
            ),
        )
    return replace(page, description=description, mime=media_type, findings=findings)


_MIN_EXAMINED_CHARACTERS, _MAX_EXAMINED_CHARACTERS = 20, 2_000
_MAX_SHARE_BEYOND_ASCII = 1 / 3  # of a text in a language that windows-1252 can write


def _mark_garbled(page: PageDocument) -> PageDocument:
    """Add a finding if a text was read as windows-1252, and is probably in a language that cannot be written in it."""
    if page.encoding != "windows-1252" or page.pile.text.isascii():
        return page
    characters = "".join(page.pile.text[:_MAX_EXAMINED_CHARACTERS].split())
    if len(characters) < _MIN_EXAMINED_CHARACTERS:
        return page
    count = len(characters) - len(characters.encode("ascii", "ignore"))
    message = ""
    if count > len(characters) * _MAX_SHARE_BEYOND_ASCII:
        message = "read as windows-1252, as it declares no other encoding, but more than a third of it is not ASCII"
    elif (likely := guess_latin_encoding(page.pile.text.encode("cp1252", "ignore"))) != page.encoding:
        message = f"read as windows-1252, but its letters are those of a language in {likely}"
    if not message:
        return page
    return replace(page, findings=(*page.findings, Finding(Reason.WRONG_ENCODING.value, message, Level.WARN)))


def _read_unsupported(_raw: bytes, _url: str, _headers: ContentHeaders, _limits: Limits) -> PageDocument:
    return blank_document()


_READERS: dict[str, _Reader] = {
    "text/plain": read_plain_text,
    "application/pdf": read_pdf,
    **dict.fromkeys(_MARKDOWN_TYPES, read_markdown),
    **dict.fromkeys(_FEED_TYPES | _POSSIBLE_FEED_TYPES, read_feed),
}
