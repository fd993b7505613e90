"""Read articles in JATS (ANSI/NISO Z39.96), the XML of journals: metadata, text and references."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import unquote

from windrow.errors import StepError
from windrow.formats.months import month_number
from windrow.formats.xml import admit, build_tree, repair_references
from windrow.model import Limits
from windrow.reasons import Reason

_NAMES = ("name", "string-name", "name-alternatives/name", "name-alternatives/string-name")  # paths of an author's name
_OTHER_ROLES = re.compile(r"editor|reviewer|translator|illustrator", re.IGNORECASE)
"""Matches the types of groups of contributors that are not authors."""
_CITATIONS = frozenset(("citation", "citation-alternatives", "element-citation", "mixed-citation", "nlm-citation"))
_OTHER_EVENTS = frozenset((
    "accepted", "corrected", "nihms-submitted", "preprint", "received", "resubmitted", "retracted", "retraction",
    "rev-recd", "rev-request",
))  # fmt: skip
"""Types of dates that are not those of the publication."""
_DETAILS = {
    "volume": "article-meta/volume", "issue": "article-meta/issue", "first_page": "article-meta/fpage",
    "last_page": "article-meta/lpage", "article_number": "article-meta/elocation-id",
    "pmid": "article-meta/article-id[@pub-id-type='pmid']", "publisher": "journal-meta/publisher/publisher-name",
    "issn": "journal-meta/issn",
}  # fmt: skip
"""A dict from the names of further fields of an article to their paths."""
_PARTS = ("body", "back", "floats-group", "sub-article", "response")
_ISO_DATE = re.compile(r"[12]\d{3}(?:-\d\d(?:-\d\d)?)?", re.ASCII)
_YEAR_SEARCH = re.compile(r"\b[12]\d{3}\b", re.ASCII).search  # of a date that is a text, such as `1 May 2020`
_ONE_OR_TWO_DIGITS = re.compile(r"\d\d?", re.ASCII).fullmatch
_DOI = r"(10\.\d{3,9}(?:\.\d{1,9})*/\S*[^\s.,;:])"  # without the signs and words after it
_DOI_SEARCH, _DOI_ADDRESS_SEARCH = re.compile(_DOI).search, re.compile(rf"\bdoi\.org/{_DOI}", re.IGNORECASE).search
_LINK = "{http://www.w3.org/1999/xlink}href"


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

    `other_titles` are those in other languages; the first of them is the title if the article has no other title.
    `funding` are (funder, number of the award) for each award, and for each funder without a number.
    `contributors` are (name, role) of editors and others who are not its authors. `date` is that of the publication:
    YYYY-MM-DD, or without the day and the month if they are not known. `body` has the text of its body, back and
    floating parts, of its further abstracts, of the footnotes to its title, and of the articles and responses in it,
    without references.
    """

    title: str
    other_titles: tuple[str, ...]
    authors: tuple[str, ...]
    contributors: tuple[tuple[str, str], ...]
    abstract: str
    keywords: tuple[str, ...]
    doi: str
    journal: str
    date: str
    details: Mapping[str, str]
    """The fields in `_DETAILS` that the article has."""
    references: tuple[JatsReference, ...]
    funding: tuple[tuple[str, str], ...]
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
    title, *other_titles = _titles(meta) or [""]
    parts = [part for name in _PARTS for part in article.iterfind(name)]
    notes = [*meta.iterfind("title-group//fn"), *meta.iterfind("funding-group/funding-statement")]
    abstracts = [*meta.iterfind("abstract"), *meta.iterfind("trans-abstract")]
    abstracts.sort(key=lambda abstract: abstract.tag != "abstract" or "abstract-type" in abstract.attrib)
    citations = (citation for part in parts for ref in part.iterfind(".//ref") for citation in _citations(ref))
    references = [reference for citation in citations if (reference := _reference(citation)).text]
    contributors = list(_contributors(meta))
    return JatsArticle(
        title, tuple(other_titles),
        tuple(name for name, role in contributors if "author" in role),
        tuple((name, role) for name, role in contributors if "author" not in role),
        _text(next(iter(abstracts), None)), _keywords(meta),
        _doi(meta.find("article-id[@pub-id-type='doi']")), _text(front.find(".//journal-title")),
        _date(meta), {name: text for name, path in _DETAILS.items() if (text := _text(front.find(path)))},
        tuple(references), tuple(_funding(meta)),
        "\n".join(line for part in (*parts, *abstracts[1:], *notes) for line in _lines(part)),
    )  # fmt: skip


def _titles(meta: Any) -> list[str]:
    """Return the title of an article and those in other languages, each once and with its subtitles."""
    group = meta.find("title-group")
    if group is None:
        return []
    paths = [("article-title", "subtitle"), ("trans-title", "trans-subtitle")]  # the second pair as in JATS before 1.0
    parts = [[*group.iterfind(title), *group.iterfind(subtitle)] for title, subtitle in paths]
    parts += [[*translated.iter("trans-title", "trans-subtitle")] for translated in group.iterfind("trans-title-group")]
    titles = (": ".join(filter(None, (_text(part, _NOTES) for part in title))) for title in parts)
    return list(dict.fromkeys(filter(None, titles)))


def _funding(meta: Any) -> Iterator[tuple[str, str]]:
    """Yield (funder, number) for each award of an article, and (funder, "") for each award without a number."""
    for group in meta.iterfind("funding-group/award-group"):
        sources = (_text(source.find(".//institution")) or _text(source) for source in group.iterfind("funding-source"))
        funder = ", ".join(filter(None, sources))
        numbers = [number for award in group.iterfind("award-id") if (number := _text(award))]
        yield from ((funder, number) for number in numbers or [""] if funder or number)


def _citations(ref: Any) -> list[Any]:
    """Return the citations and notes of a reference that has several citations; otherwise the reference itself."""
    has_several = sum(child.tag in _CITATIONS for child in ref) > 1
    return [child for child in ref if child.tag != "label"] if has_several else [ref]


def _reference(citation: Any) -> JatsReference:
    """Read a citation. If it is there both marked up and as it is printed, its text is the printed one."""
    both = citation if citation.tag == "citation-alternatives" else citation.find("citation-alternatives")
    is_printed = both is not None and both.find("mixed-citation") is not None
    marked = both.find("element-citation") if is_printed else None
    ref = citation if marked is None else marked
    title = _first_text(ref, ".//article-title", ".//chapter-title", ".//data-title", ".//part-title")
    source = _first_text(ref, ".//source")
    persons = [
        person for person in ref.iter("name", "string-name", "collab")
        if person.getparent().get("person-group-type", "author") == "author"
    ]  # fmt: skip
    links = ref.iter("pub-id", "ext-link", "uri")
    doi = next(filter(None, map(_doi, sorted(links, key=lambda link: link.tag != "pub-id"))), "")
    authors = tuple(dict.fromkeys(filter(None, map(_name, persons))))
    year = _first_text(ref, ".//year")
    text = _text(citation, () if marked is None else ("element-citation",))
    return JatsReference(text, title or source, authors, doi, source if title else "", year)


def _first_text(element: Any, *paths: str) -> str:
    return next((text for path in paths if (text := _text(element.find(path), _NOTES))), "")


def _doi(element: Any) -> str:
    """Return the DOI that an element has as a text or link, maybe as an address of doi.org; empty if it has none."""
    if element is None:
        return ""
    is_typed = "doi" in {element.get("pub-id-type"), element.get("ext-link-type")}
    search = _DOI_SEARCH if is_typed else _DOI_ADDRESS_SEARCH
    text = _text(element)
    match = search(unquote(text) if "://" in text else text) or search(unquote(element.get(_LINK, "")))
    return match[1] if match else ""


def _keywords(meta: Any) -> tuple[str, ...]:
    """Return the keywords in all languages, each once; those that are not marked up are separated by commas."""
    words = [_text(word) for word in meta.iterfind("kwd-group//*") if word.tag in {"kwd", "compound-kwd"}]
    groups = (_text(group, ("title",)) for group in meta.iterfind("unstructured-kwd-group"))
    words += [word.strip(" .") for group in groups for word in re.split("[,;]", group)]
    return tuple(dict.fromkeys(filter(None, words)))


def _date(meta: Any) -> str:
    """Return the first date of publication, without dates of other events: the first one of its year with a day.

    An issue may have only a year, beside the day on which the article appeared.
    """
    elements = (element for element in meta.iterfind("pub-date") if not _OTHER_EVENTS & {*element.attrib.values()})
    dates = [_existing_part(stated) for stated in map(_iso_date, elements) if stated]
    of_year = (stated for stated in dates if stated.startswith(dates[0][:4]) and len(stated) == len("2004-05-03"))
    return next(of_year, dates[0] if dates else "")


def _iso_date(element: Any) -> str:
    if _ISO_DATE.fullmatch(stated := element.get("iso-8601-date", "")[:10]):
        return str(stated)
    year, month, day = (_text(element.find(f".//{name}")) for name in ("year", "month", "day"))
    number = int(month) if _ONE_OR_TWO_DIGITS(month) else month_number(month[:3])
    if not year or not 1 <= number <= 12:
        match = _YEAR_SEARCH(year or _text(element))
        return match[0] if match else year
    return f"{year}-{number:02}-{int(day):02}" if _ONE_OR_TWO_DIGITS(day) else f"{year}-{number:02}"


def _existing_part(stated: str) -> str:
    """Return a date without a day or a month that is not in the calendar; another text is returned as it is.

    >>> _existing_part("2019-02-31"), _existing_part("2019-13"), _existing_part("Spring")
    ('2019-02', '2019', 'Spring')
    """
    if _ISO_DATE.fullmatch(stated):
        try:
            date.fromisoformat(f"{stated}-01-01"[: len("2004-05-03")])
        except ValueError:
            return _existing_part(stated[: -len("-31")])
    return stated


def _contributors(meta: Any) -> Iterator[tuple[str, str]]:
    """Yield (name, role) for each contributor; one without a role is an author, unless its group says otherwise."""
    for group in meta.iterfind("contrib-group"):
        group_role = group.get("content-type", "")
        default = group_role if _OTHER_ROLES.search(group_role) else "author"
        for contributor in group.iterfind("contrib"):
            person = next((element for path in _NAMES if (element := contributor.find(path)) is not None), None)
            paths = ("collab", "collab-alternatives/collab")
            collaborations = (_text(contributor.find(path), {"contrib-group", *_NOTES}) for path in paths)
            if name := _name(person) if person is not None else next(filter(None, collaborations), ""):
                yield name, contributor.get("contrib-type", default).lower()


def _name(person: Any) -> str:
    """Return a name with the given names first; a name of which the XML marks only a part is returned as it is.

    A prefix in lower case, such as `van den`, is a part of the surname; others are titles, such as `Dr.`.
    """
    tags = ("given-names", "prefix", "surname", "suffix")
    given_names, prefix, surname, suffix = (_text(person.find(tag), _NOTES) for tag in tags)
    if not (given_names and surname):
        return _text(person, _NOTES)
    return " ".join(filter(None, (given_names, prefix if prefix.islower() else "", surname, suffix)))


def _text(element: Any, left_out: Container[str] = ()) -> str:
    return "" if element is None else " ".join("".join(_pieces(element, left_out)).replace(_LINE_END, " ").split())


_NOTES = frozenset(("fn", "xref"))
"""What is left out of titles and names: footnotes, and the marks of notes (`_MARKS`)."""
_MARKS = frozenset(("aff", "author-notes", "corresp", "fn"))
"""The types of references that are marks of notes, where `xref` is left out; others are words, such as `Smith 2001`."""
_FORMULAS = ("{http://www.w3.org/1998/Math/MathML}math", "textual-form", "tex-math")
"""The forms of a formula, of which there may be several; the first of them is read."""
_TEX_FRAME = re.compile(r".*\\begin\{document\}|\\end\{document\}.*", re.DOTALL)
_INLINE = frozenset((
    "alternatives", "bold", "ext-link", "inline-formula", "italic", "monospace", "named-content", "overline", "roman",
    "sans-serif", "sc", "strike", "styled-content", "sub", "sup", "underline", "uri", "xref",
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
    lines = (" ".join(line.split()) for line in "".join(_pieces(part, ("ref",))).split(_LINE_END))
    return filter(None, lines)


def _pieces(element: Any, left_out: Container[str]) -> Iterator[str]:
    """Yield the pieces of an element's text, with `_LINE_END` before and after each line.

    Elements without text between them, such as the fields of a reference, are separated by a space. Elements with a
    name in `left_out` are left out, of `xref` only marks. Of a formula in several forms, one is read.
    """
    line_end = _LINE_END if element.tag in _LINES else ""
    text = element.text or ""
    yield line_end + (_TEX_FRAME.sub("", text) if element.tag == "tex-math" else text)
    for child in _one_form(element) if element.tag == "alternatives" else element:
        if child.tag not in left_out or (child.tag == "xref" and child.get("ref-type") not in _MARKS):
            yield from _pieces(child, left_out)
        if child.tag == "break":
            yield " "
        yield child.tail or ("" if child.tag in _INLINE or child.tag[0] == "{" else " ")  # in braces: a formula
    yield line_end


def _one_form(alternatives: Any) -> Any:
    """Return a list with the best form of a formula that has text; all alternatives if none of them is a formula."""
    formulas = (alternatives.find(name) for name in _FORMULAS)
    best = next((formula for formula in formulas if formula is not None and "".join(formula.itertext()).strip()), None)
    return alternatives if best is None else [best]
