"""Read articles in JATS (ANSI/NISO Z39.96), the XML of journals: metadata, text and references."""

from __future__ import annotations

import html
import re
from typing import Any, NamedTuple

from windrow.errors import StepError
from windrow.formats.xml import parse
from windrow.model import Limits
from windrow.reasons import Reason

# A declaration of the public DTD is of no use without it; one with declarations of its own is refused.
_DOCTYPE = re.compile(rb"<!DOCTYPE\s[^\[\]<>]*>")
_NAMED_REFERENCE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,30};")


class JatsArticle(NamedTuple):
    """An article; missing texts are empty. Each reference is a text, with its identifier if it has a DOI."""

    title: str
    authors: tuple[str, ...]
    abstract: str
    doi: str
    journal: str
    year: str
    references: tuple[str, ...]
    body: str


def read_jats(content: bytes, limits: Limits) -> JatsArticle:
    """Read an article; raise StepError if it is not XML within the limits, or with WRONG_ROOT if it is not JATS."""
    content = _NAMED_REFERENCE.sub(_spell_reference, _DOCTYPE.sub(b"", content, count=1))
    article = parse(content, limits)
    front = article.find("front")
    if article.tag != "article" or front is None:
        raise StepError("the document is not JATS: it is not an article with a front", Reason.WRONG_ROOT)
    meta = front.find("article-meta")
    if meta is None:
        meta = front
    references = [
        text for citation in article.iterfind("back/ref-list/ref") if (text := _text(citation))
    ]  # fmt: skip
    return JatsArticle(
        _text(meta.find("title-group/article-title")), tuple(_authors(meta)), _text(meta.find("abstract")),
        _text(meta.find("article-id[@pub-id-type='doi']")), _text(front.find(".//journal-title")),
        _text(meta.find("pub-date/year")), tuple(references), _paragraphs(article.find("body")),
    )  # fmt: skip


def _authors(meta: Any) -> list[str]:
    names = []
    for person in meta.iterfind("contrib-group/contrib"):
        if person.get("contrib-type", "author") != "author":
            continue
        surname = _text(person.find("name/surname"))
        name = (
            f"{_text(person.find('name/given-names'))} {surname}".strip() if surname else _text(person.find("collab"))
        )
        names += [name] if name else []
    return names


def _spell_reference(reference: re.Match[bytes]) -> bytes:
    """Return the letters of a named character of HTML, which the DTD of JATS defines too, as a numeric reference."""
    spelled = html.unescape(reference[0].decode())
    return reference[0] if spelled.startswith("&") else "".join(f"&#{ord(letter)};" for letter in spelled).encode()


def _text(element: Any) -> str:
    """Return the text in an element with single spaces, or an empty text for None."""
    return "" if element is None else " ".join("".join(map(str, element.itertext())).split())


def _paragraphs(body: Any) -> str:
    """Return the titles and paragraphs of a body, one in a line."""
    if body is None:
        return ""
    return "\n".join(text for element in body.iter("title", "p") if (text := _text(element)))
