"""Read articles in JATS (ANSI/NISO Z39.96), the XML of journals: metadata, text and references."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from windrow.errors import StepError
from windrow.formats.xml import parse
from windrow.model import Limits
from windrow.reasons import Reason

# A declaration that only names the public DTD is removed; one with declarations of its own remains, and is refused.
_DOCTYPE = re.compile(rb"<!DOCTYPE\s[^\[\]<>]*>")
_NAMED_REFERENCE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,30};")


_NAMES = ("name", "string-name", "name-alternatives/name", "name-alternatives/string-name")  # paths of an author's name


class JatsArticle(NamedTuple):
    """An article; missing texts are empty. `references` has the whole text of each reference, perhaps with a DOI."""

    title: str
    authors: tuple[str, ...]
    abstract: str
    doi: str
    journal: str
    year: str
    references: tuple[str, ...]
    body: str


def read_jats(content: bytes, limits: Limits) -> JatsArticle:
    """Read an article; raise StepError if it is not XML within the limits, or not JATS (WRONG_ROOT)."""
    content = _NAMED_REFERENCE.sub(_spell_reference, _DOCTYPE.sub(b"", content, count=1))
    article = parse(content, limits)
    front = article.find("front")
    if article.tag != "article" or front is None:
        raise StepError("the document is not JATS: its root is not `article`, or has no `front`", Reason.WRONG_ROOT)
    meta = front.find("article-meta")
    if meta is None:
        meta = front
    references = [text for reference in article.iterfind("back//ref-list/ref") if (text := _text(reference))]
    titles = [meta.find("title-group/article-title"), *meta.iterfind("title-group/subtitle")]
    return JatsArticle(
        ": ".join(filter(None, map(_text, titles))), tuple(_authors(meta)), _text(meta.find("abstract")),
        _text(meta.find("article-id[@pub-id-type='doi']")), _text(front.find(".//journal-title")),
        _text(meta.find("pub-date/year")), tuple(references), _body_text(article.find("body")),
    )  # fmt: skip


def _authors(meta: Any) -> list[str]:
    names = []
    for contributor in meta.iterfind("contrib-group/contrib"):
        if contributor.get("contrib-type", "author") != "author":
            continue
        person = next((element for path in _NAMES if (element := contributor.find(path)) is not None), None)
        surname = "" if person is None else _text(person.find("surname"))
        given_names = _text(person.find("given-names")) if person is not None and surname else ""
        group = _text(contributor.find("collab")) or _text(contributor.find("collab-alternatives/collab"))
        name = f"{given_names} {surname}".strip() or _text(person) or group
        names += [name] if name else []
    return names


def _spell_reference(reference: re.Match[bytes]) -> bytes:
    """Convert a named character reference to numeric ones, or return it unchanged if HTML does not have its name."""
    spelled = html.unescape(reference[0].decode())
    return reference[0] if spelled.startswith("&") else "".join(f"&#{ord(letter)};" for letter in spelled).encode()


def _text(element: Any) -> str:
    return "" if element is None else " ".join("".join(map(str, element.itertext())).split())


_LINES = frozenset((
    "attrib", "caption", "code", "def", "disp-formula", "disp-quote", "label", "list-item", "p", "preformat", "speaker",
    "td", "term", "th", "title", "verse-line",
))  # fmt: skip
"""The elements whose text is a line of its own."""
_LINE_END = "\0"  # it does not occur in XML


def _body_text(body: Any) -> str:
    """Return the whole text of an article's body once, in lines."""
    lines = (" ".join(line.split()) for line in "".join(_pieces(body)).split(_LINE_END)) if body is not None else ()
    return "\n".join(filter(None, lines))


def _pieces(element: Any) -> Iterator[str]:
    """Yield the pieces of an element's text, with `_LINE_END` before and after each line."""
    line_end = _LINE_END if element.tag in _LINES else ""
    yield line_end + (element.text or "")
    for child in element:
        yield from _pieces(child)
        yield child.tail or ""
    yield line_end
