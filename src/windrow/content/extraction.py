"""Main content of a page by one call: text, Markdown, what the page says of itself, and why it was chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from windrow.content.article import examine
from windrow.content.outline import Outline
from windrow.content.page import BlockFate, Choice
from windrow.content.tree import parse
from windrow.formats.moment import written
from windrow.formats.url import normalise


class ContentLink(NamedTuple):
    """A link of the main content: its whole address, and the text that it stands under."""

    url: str
    text: str


class ContentImage(NamedTuple):
    """A picture of the main content: its whole address, and the text that stands for it."""

    url: str
    text: str


class JudgedBlock(NamedTuple):
    """A block of a page: its text, where it stands, and what became of it.

    `path` has the tags of the boxes around it, from the body down; `likelihood` is what the second forest gives it,
    from 0 to 1, None for a block that was not judged.
    """

    text: str
    path: str
    fate: BlockFate
    likelihood: float | None


@dataclass(frozen=True)
class Extract:
    """What a page holds and says of itself; an empty text where it says nothing. Addresses are whole."""

    url: str
    title: str
    """The headline, without the site's name."""
    authors: tuple[str, ...]
    site: str
    published: str
    """A day, or a time with its zone where the page tells one, in ISO 8601; so is `modified`."""
    modified: str
    description: str
    keywords: tuple[str, ...]
    language: str
    """The tag (BCP 47), as written."""
    image: str
    canonical: str
    encoding: str
    markup: str
    """The main content as HTML, with the captions of its pictures; addresses in it are as written."""
    blocks: tuple[JudgedBlock, ...]
    """Every block of the page in its order, also what was left out, and why."""
    base: str
    """What the addresses in `markup` start from."""

    @cached_property
    def text(self) -> str:
        """The main content as plain text: a paragraph for each block, without captions."""
        return "\n\n".join(block.text for block in self.blocks if block.fate.taken)

    @cached_property
    def markdown(self) -> str:
        """The main content as Markdown: CommonMark, with the tables and the strike-through of GitHub."""
        from windrow.content.markdown import markdown  # noqa: PLC0415 a tenth of this room's import, and few ask for it

        return markdown(self.markup, self.base)

    @cached_property
    def links(self) -> tuple[ContentLink, ...]:
        """The links of the main content to the web, each address once, in its order."""
        return tuple(ContentLink(*each) for each in self._addresses("a[href]", "href"))

    @cached_property
    def images(self) -> tuple[ContentImage, ...]:
        """The pictures of the main content, each address once, in its order."""
        return tuple(ContentImage(*each) for each in self._addresses("img[src]", "src"))

    def _addresses(self, selector: str, attribute: str) -> Iterator[tuple[str, str]]:
        known = set()
        for node in parse(self.markup).css(selector):
            url = normalise(node.attributes.get(attribute) or "", self.base).url
            if url and url not in known:
                known.add(url)
                shown = node.attributes.get("alt") if attribute == "src" else node.text()
                yield url, " ".join((shown or "").split())


def extract(html: bytes | str, *, url: str = "", content_type: str = "") -> Extract:
    r"""Read a page; any bytes give an extract, in time that grows with their number.

    `html` is what a server sent, or text; `url` the page's own address, by which relative ones are made whole, and
    `content_type` that header, where it is known: of bytes it may tell the encoding.

    >>> page = extract("<title>Tea | Site</title><main><h1>Tea</h1><p>Pour <b>hot</b> <a href=/water>water</a>.</main>",
    ...     url="https://tea.example/")
    >>> page.title, page.markdown
    ('Tea', '# Tea\n\nPour **hot** [water](https://tea.example/water).')
    >>> page.links
    (ContentLink(url='https://tea.example/water', text='water'),)
    """
    if isinstance(html, str):
        html, content_type = html.encode("utf-8", "replace"), "text/html; charset=utf-8"
    own = normalise(url).url or ""
    found, outline, choice = examine(html, content_type, own)
    base = normalise(found.base, own).url or own

    def whole(address: str) -> str:
        return normalise(address, base).url or "" if address else ""

    return Extract(
        own,
        found.title,
        found.authors,
        found.site,
        _iso(found.published),
        _iso(found.modified),
        found.description,
        found.keywords,
        found.language,
        whole(found.image),
        whole(found.canonical),
        found.encoding,
        found.markup,
        tuple(_blocks(outline, choice)),
        base,
    )


def _iso(date: str) -> str:
    """Spell a date as a page writes it in ISO 8601, a day where it says no more; empty where it is none."""
    moment = written(date)
    if moment is None:
        return ""
    day = moment.tzinfo is None and (moment.hour, moment.minute, moment.second) == (0, 0, 0)
    return moment.date().isoformat() if day else moment.isoformat()


def _blocks(outline: Outline, choice: Choice) -> Iterator[JudgedBlock]:
    boxes, blocks = outline.boxes, outline.blocks
    paths: list[str] = []
    known: dict[str, str] = {}  # equal ones are kept once: a page may have a hundred thousand boxes
    for tag, up in zip(boxes.tag, boxes.up, strict=True):
        path = f"{paths[up]} > {tag}" if up >= 0 else tag
        paths.append(known.setdefault(path, path))
    for at, (text, box) in enumerate(zip(blocks.text, blocks.box, strict=True)):
        yield JudgedBlock(text, paths[box], choice.fates[at], choice.likely.get(at))
