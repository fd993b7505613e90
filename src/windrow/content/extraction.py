"""Extract the main content of HTML with one call: as text and Markdown, with metadata and the fate of each block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from windrow.caps import Excess
from windrow.content.article import read_article_and_choice
from windrow.content.outline import Outline
from windrow.content.page import BlockFate, Choice
from windrow.content.tree import parse
from windrow.formats.moment import read_page_time
from windrow.formats.url import normalise


class ContentLink(NamedTuple):
    """A link in the main content: its absolute address and its text."""

    url: str
    text: str


class ContentImage(NamedTuple):
    """A picture in the main content: its absolute address and its alternative text."""

    url: str
    text: str


class JudgedBlock(NamedTuple):
    """A block of a page: its text, where it is, and whether it is main content.

    `path` has the tags of the boxes around the block, from the body down. `likelihood` is the estimated probability
    that the block is main content, from 0 to 1, or None if it was not estimated.
    """

    text: str
    path: str
    fate: BlockFate
    likelihood: float | None


class ContentOmission(NamedTuple):
    """Something of a page that is left out of its Extract: what it is, and how many there are."""

    what: str
    number: int


@dataclass(frozen=True)
class Extract:
    """The content and metadata of a page; missing fields are empty. Addresses are absolute except in `markup`."""

    url: str
    title: str
    """The headline, or the page's title without the site's name."""
    authors: tuple[str, ...]
    site: str
    published: str
    """A day or a time in ISO 8601, with a zone if the page names one. `modified` is in the same form."""
    modified: str
    description: str
    keywords: tuple[str, ...]
    language: str
    """The language tag (BCP 47), as written."""
    image: str
    canonical: str
    encoding: str
    markup: str
    """The main content as HTML, with the captions of its pictures; addresses in it are as written."""
    blocks: tuple[JudgedBlock, ...]
    """All blocks of the page in order, including those that are not main content."""
    base: str
    """The address against which relative addresses in `markup` are resolved, or "" if it is not known."""
    excess: tuple[Excess, ...] = ()
    """For each cap that the page exceeds, how much is left out."""
    unread_scripts: int = 0
    """The number of scripts with JSON-LD of which at least a part cannot be read."""
    fault: str = ""
    """Why a page that should be XML was read as HTML, or empty."""
    is_cut: bool = False
    """Whether the response ended too early, so that the rest of the page is missing; false for bytes and files."""

    @cached_property
    def text(self) -> str:
        """The main content as plain text: a paragraph for each block. Captions in an article are left out."""
        return "\n\n".join(block.text for block in self.blocks if block.fate.taken)

    @cached_property
    def markdown(self) -> str:
        """The main content as Markdown: CommonMark with GitHub's tables and strike-through."""
        from windrow.content.markdown import html_to_markdown  # noqa: PLC0415 a tenth of this package's import time, and seldom used

        return html_to_markdown(self.markup, self.base)

    @cached_property
    def left_out(self) -> tuple[ContentOmission, ...]:
        """What is left out: words of the body that are not in `text`, by reason, JSON-LD, and what exceeds a cap.

        Words of forms, navigation and the like within the main content are in `text`, but not in `markdown`.
        """
        from windrow.content.clutter import count_clutter_words  # noqa: PLC0415 seldom used

        words: Counter[str] = Counter()
        for block in self.blocks:
            if not block.fate.taken:
                words[f"words: {block.fate}"] += len(block.text.split())
        words["words: forms, navigation and the like, left out of the Markdown only"] = count_clutter_words(self.markup)
        words["scripts with JSON-LD that cannot be read"] = self.unread_scripts
        words[f"faults of its XML, so that it is read as HTML: {self.fault}"] = int(bool(self.fault))
        words.update({excess.cap.rule: excess.number for excess in self.excess})
        return tuple(ContentOmission(what, number) for what, number in words.items() if number)

    @cached_property
    def links(self) -> tuple[ContentLink, ...]:
        """The links in the main content to web addresses, in order, each address once."""
        return tuple(ContentLink(url, text) for url, text in self._unique_addresses("a[href]", "href"))

    @cached_property
    def images(self) -> tuple[ContentImage, ...]:
        """The pictures in the main content in order, each address once."""
        return tuple(ContentImage(url, text) for url, text in self._unique_addresses("img[src]", "src"))

    def _unique_addresses(self, selector: str, attribute: str) -> Iterator[tuple[str, str]]:
        """Yield the address and the text of the main content's elements that match `selector`, each address once."""
        known_urls = set()
        for node in parse(self.markup).css(selector):
            url = normalise(node.attributes.get(attribute) or "", self.base).url
            if url and url not in known_urls:
                known_urls.add(url)
                text = node.attributes.get("alt") if attribute == "src" else node.text()
                yield url, " ".join((text or "").split())


def extract(html: bytes | str, *, url: str = "", content_type: str = "") -> Extract:
    r"""Extract the content and metadata of a page, in time linear in its size.

    `html` is the body of a response, or text. `url` is the page's own address, against which relative addresses are
    resolved. `content_type` is the value of Content-Type, which may name the encoding of bytes. Raise StepError with
    TOO_MANY_ELEMENTS or MEMORY_LIMIT for a page that is too large.

    >>> page = extract("<title>Tea | Site</title><main><h1>Tea</h1><p>Pour <b>hot</b> <a href=/water>water</a>.</main>",
    ...     url="https://tea.example/")
    >>> page.title, page.markdown
    ('Tea', '# Tea\n\nPour **hot** [water](https://tea.example/water).')
    >>> page.links
    (ContentLink(url='https://tea.example/water', text='water'),)
    """
    if isinstance(html, str):
        html, content_type = html.encode("utf-8", "replace"), "text/html; charset=utf-8"
    own_url = normalise(url).url or ""
    article, outline, choice = read_article_and_choice(html, content_type, own_url)
    base = normalise(article.base, own_url).url or own_url

    def resolve(address: str) -> str:
        return normalise(address, base).url or "" if address else ""

    return Extract(
        url=own_url,
        title=article.title,
        authors=article.authors,
        site=article.site,
        published=_spell_date(article.published),
        modified=_spell_date(article.modified),
        description=article.description,
        keywords=article.keywords,
        language=article.language,
        image=resolve(article.image),
        canonical=resolve(article.canonical),
        encoding=article.encoding,
        markup=article.markup,
        blocks=tuple(_judged_blocks(outline, choice)),
        base=base,
        excess=article.left_out,
        unread_scripts=article.unread_scripts,
        fault=article.fault,
    )


def _spell_date(date: str) -> str:
    """Return a date in ISO 8601, without the time if it is midnight and has no zone, or "" if it is not a date."""
    time = read_page_time(date)
    if time is None:
        return ""
    is_day = time.tzinfo is None and (time.hour, time.minute, time.second) == (0, 0, 0)
    return time.date().isoformat() if is_day else time.isoformat()


def _judged_blocks(outline: Outline, choice: Choice) -> Iterator[JudgedBlock]:
    boxes, blocks = outline.boxes, outline.blocks
    paths: list[str] = []
    shared_paths: dict[str, str] = {}  # equal paths are one object: a page may have a hundred thousand boxes
    for tag, parent in zip(boxes.tag, boxes.parent, strict=True):
        path = f"{paths[parent]} > {tag}" if parent >= 0 else tag
        paths.append(shared_paths.setdefault(path, path))
    for block, (text, box) in enumerate(zip(blocks.text, blocks.box, strict=True)):
        yield JudgedBlock(text, paths[box], choice.fates[block], choice.likelihoods.get(block))
