"""Read articles in JATS (ANSI/NISO Z39.96), the XML of journals: metadata, text and references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from windrow.errors import StepError
from windrow.formats.xml import admit, build_tree, repair_references
from windrow.model import Limits
from windrow.reasons import Reason

_NAMES = ("name", "string-name", "name-alternatives/name", "name-alternatives/string-name")  # paths of an author's name
_OTHER_EVENTS = frozenset(("corrected", "nihms-submitted", "preprint", "retracted", "retraction"))
"""Types of dates that are not those of the publication."""
_PARTS = ("body", "back", "floats-group", "sub-article", "response")
_DOI_SEARCH = re.compile(r"10\.\d{3,9}/.*").search


class JatsReference(NamedTuple):
    """A reference: its whole text, and its fields as far as its XML states them; missing fields are empty.

    `title` is that of the source, such as a book, if the reference has no title of its own.
    """

    text: str
    title: str
    authors: tuple[str, ...]
    doi: str
    journal: str
    year: str

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that are not empty, with the keys that GROBID's citations have."""
        fields = {"title": self.title, "authors": [*self.authors], "doi": self.doi.lower(),
                  "journal": self.journal, "date": self.year}  # fmt: skip
        return {name: field for name, field in fields.items() if field}


class JatsArticle(NamedTuple):
    """An article; missing texts are empty.

    `body` has the text of its body, back and floating parts, of its further abstracts, and of the articles and
    responses in it, without references.
    """

    title: str
    authors: tuple[str, ...]
    abstract: str
    doi: str
    journal: str
    year: str
    references: tuple[JatsReference, ...]
    body: str


def read_jats(content: bytes, limits: Limits) -> JatsArticle:
    """Read an article; raise StepError if it is not XML within the limits, or not JATS (WRONG_ROOT)."""
    article = build_tree(repair_references(admit(content, limits, may_name_dtd=True).content))
    front = article.find("front")
    if article.tag != "article" or front is None:
        raise StepError("the document is not JATS: its root is not `article`, or has no `front`", Reason.WRONG_ROOT)
    meta = front.find("article-meta")
    if meta is None:
        meta = front
    titles = [meta.find("title-group/article-title"), *meta.iterfind("title-group/subtitle")]
    parts = [part for name in _PARTS for part in article.iterfind(name)]
    abstracts = [*meta.iterfind("abstract"), *meta.iterfind("trans-abstract")]
    abstracts.sort(key=lambda abstract: abstract.tag != "abstract" or "abstract-type" in abstract.attrib)
    references = [reference for part in parts for ref in part.iterfind(".//ref") if (reference := _reference(ref)).text]
    return JatsArticle(
        ": ".join(filter(None, map(_text, titles))), tuple(_authors(meta)), _text(next(iter(abstracts), None)),
        _doi(meta.find("article-id[@pub-id-type='doi']")), _text(front.find(".//journal-title")),
        _year(meta), tuple(references), "\n".join(line for part in (*parts, *abstracts[1:]) for line in _lines(part)),
    )  # fmt: skip


def _reference(ref: Any) -> JatsReference:
    title = _first_text(ref, ".//article-title", ".//chapter-title", ".//data-title", ".//part-title")
    source = _first_text(ref, ".//source")
    persons = [
        person for person in ref.iter("name", "string-name")
        if person.getparent().get("person-group-type", "author") == "author"
    ]  # fmt: skip
    doi = _doi(ref.find(".//pub-id[@pub-id-type='doi']")) or _doi(ref.find(".//ext-link[@ext-link-type='doi']"))
    authors = tuple(dict.fromkeys(filter(None, map(_name, persons))))
    year = _first_text(ref, ".//year")
    return JatsReference(_text(ref), title or source, authors, doi, source if title else "", year)


def _first_text(element: Any, *paths: str) -> str:
    return next((text for path in paths if (text := _text(element.find(path)))), "")


def _doi(element: Any) -> str:
    """Return the DOI in an element, which may have it as an address; the whole text if it has no DOI."""
    text = _text(element)
    match = _DOI_SEARCH(text)
    return match[0] if match else text


def _year(meta: Any) -> str:
    """Return the year of the first date of publication, without dates of other events."""
    dates = [date for date in meta.iterfind("pub-date") if not _OTHER_EVENTS & {*date.attrib.values()}]
    return next((year for date in dates if (year := _text(date.find("year")))), "")


def _authors(meta: Any) -> list[str]:
    names = []
    for contributor in meta.iterfind("contrib-group/contrib"):
        if "author" not in contributor.get("contrib-type", "author").lower():
            continue
        person = next((element for path in _NAMES if (element := contributor.find(path)) is not None), None)
        groups = (_text(contributor.find(path), "contrib-group") for path in ("collab", "collab-alternatives/collab"))
        name = _name(person) if person is not None else next(filter(None, groups), "")
        names += [name] if name else []
    return names


def _name(person: Any) -> str:
    """Return a name with the given names first; a name of which the XML marks only a part is returned as it is."""
    given_names, surname, suffix = (_text(person.find(tag)) for tag in ("given-names", "surname", "suffix"))
    return f"{given_names} {surname} {suffix}".strip() if given_names and surname else _text(person)


def _text(element: Any, left_out: str = "") -> str:
    return "" if element is None else " ".join("".join(_pieces(element, left_out)).replace(_LINE_END, " ").split())


_INLINE = frozenset((
    "bold", "ext-link", "inline-formula", "italic", "monospace", "named-content", "overline", "roman", "sans-serif",
    "sc", "strike", "styled-content", "sub", "sup", "underline", "uri", "xref",
))  # fmt: skip
"""The elements within words: no space is added between one of them and the next element."""
_LINES = frozenset((
    "attrib", "caption", "code", "def", "disp-formula", "disp-quote", "label", "list-item", "p", "preformat", "speaker",
    "td", "term", "th", "title", "verse-line",
))  # fmt: skip
"""The elements whose text is a line of its own."""
_LINE_END = "\0"  # it does not occur in XML


def _lines(part: Any) -> Iterator[str]:
    """Yield the whole text of a part of an article once, in lines, without its references."""
    lines = (" ".join(line.split()) for line in "".join(_pieces(part, "ref")).split(_LINE_END))
    return filter(None, lines)


def _pieces(element: Any, left_out: str) -> Iterator[str]:
    """Yield the pieces of an element's text, with `_LINE_END` before and after each line.

    Elements without text between them, such as the fields of a reference, are separated by a space. Elements with the
    name `left_out` are left out.
    """
    line_end = _LINE_END if element.tag in _LINES else ""
    yield line_end + (element.text or "")
    for child in element:
        if child.tag != left_out:
            yield from _pieces(child, left_out)
        yield child.tail or ("" if child.tag in _INLINE or child.tag[0] == "{" else " ")  # in braces: a formula
    yield line_end
