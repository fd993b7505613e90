"""Read records of Crossref, DataCite, OpenAlex, Semantic Scholar, arXiv and fatcat, and records with windrow's keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from windrow.collections.papers.work_files import RawWork
from windrow.errors import StepError
from windrow.reasons import Reason

_CROSSREF_TYPES = frozenset({
    "book", "book-chapter", "dataset", "dissertation", "journal-article", "letter", "monograph", "posted-content",
    "pre-print", "proceedings-article", "report", "working-paper",
})  # fmt: skip
_NAMES_SPLIT = re.compile(r";|\s+(?:and|&)\s+").split
_MAX_PMID_DIGITS = 18
_YEAR_SEARCH = re.compile(r"\b(?:19|20)\d\d\b").search
_DOI_PREFIX = r"10\.\d{3,9}(?:\.\d{1,9})*/"
_DOI = re.compile(rf"{_DOI_PREFIX}\S+?(?=[.,;]*(?:\s|$|[,;]{_DOI_PREFIX}))")  # without the signs after it
MAX_AUTHORS = 200
"""The maximum number of authors that the index stores for a work. A work with more is counted as shortened."""
_ARXIV_SEARCH = re.compile(r"(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?(?:\s*\[[\w.-]+\])?$", re.IGNORECASE).search


class CatalogueRecord(NamedTuple):
    """A published work. `name` is made from its id, or empty; `identifiers` are `doi:...`, `arxiv:...`, `pmid:...`.

    `other_titles` are its further titles, such as the original of a translated one.
    """

    name: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    journal: str
    kind: str
    identifiers: tuple[str, ...]
    other_titles: tuple[str, ...] = ()

    @property
    def doi(self) -> str:
        """The DOI of the work, or an empty text if it has none."""
        return next((identifier[4:] for identifier in self.identifiers if identifier.startswith("doi:")), "")


def parse_record(raw: RawWork) -> CatalogueRecord:
    """Parse the record of a work; raise `StepError` if it is not a JSON object, or cannot be matched with papers."""
    try:
        record = json.loads(raw) if isinstance(raw, bytes) else raw
    except (ValueError, RecursionError):
        raise StepError("the line is not JSON", Reason.BAD_LINE) from None
    if not isinstance(record, dict):
        raise StepError("the record is not a JSON object", Reason.BAD_LINE)
    record = _object(record.get("message", record)) if "message-type" in record else record
    if isinstance(record.get("data"), dict):  # the answer of DataCite for one DOI
        record = record["data"]
    work = _read_record(record)
    if not work.title and work.other_titles:
        work = work._replace(title=work.other_titles[0], other_titles=work.other_titles[1:])
    if not work.title:
        raise StepError("the record has no title", Reason.NOT_WANTED)
    if not work.identifiers and not work.name:
        raise StepError("the record has neither an id nor an identifier such as a DOI", Reason.NOT_WANTED)
    return work


def _read_record(record: Mapping[str, Any]) -> CatalogueRecord:  # noqa: PLR0911 one return for each catalogue
    if "DOI" in record:
        return _read_crossref(record)
    if isinstance(record.get("attributes"), dict):
        return _read_datacite(record["attributes"])
    if "corpusid" in record or "paperId" in record:
        return _read_semantic_scholar(record)
    if "categories" in record and "update_date" in record:
        return _read_arxiv(record)
    if "ident" in record or "ext_ids" in record:
        return _read_fatcat(record)
    if str(record.get("id", "")).startswith("https://openalex.org/"):
        return _read_openalex(record)
    return _read_plain(record)


def _read_crossref(record: Mapping[str, Any]) -> CatalogueRecord:
    kind = _text(record.get("type"))
    if kind not in _CROSSREF_TYPES:
        raise StepError(f"papers are not matched with records of type {kind[:40]!r}", Reason.NOT_WANTED)
    people = _objects(record.get("author"))
    names = [f"{_text(author.get('given'))} {_text(author.get('family'))}".strip()
             for author in people if _text(author.get("family"))]  # fmt: skip
    names = names or [name for author in people if (name := _text(author.get("name") or author.get("given")))]
    if not names:
        raise StepError("the record has no author with a name", Reason.NOT_WANTED)
    title, subtitle = _first_text(record.get("title")), _first_text(record.get("subtitle"))
    titles = [_whole_title(title, subtitle), *_texts(record.get("title"))[1:], *_texts(record.get("original-title"))]
    date_parts = _object(record.get("published") or record.get("issued") or record.get("created")).get("date-parts")
    doi = _text(record.get("DOI")).lower()
    return CatalogueRecord(
        doi, titles[0], tuple(names),
        _year(_first_element(_first_element(date_parts))), _first_text(record.get("container-title")), kind,
        tuple(identifiers_of(doi=doi)), _other_titles(titles),
    )  # fmt: skip


def _read_fatcat(record: Mapping[str, Any]) -> CatalogueRecord:
    ids = _object(record.get("ext_ids"))
    title, subtitle = _text(record.get("title")), _text(record.get("subtitle"))
    names = [
        _text(contributor.get("raw_name") or _object(contributor.get("creator")).get("display_name"))
        for contributor in _objects(record.get("contribs"))
    ]
    container = _object(record.get("container"))
    titles = [_whole_title(title, subtitle), _text(record.get("original_title"))]
    return CatalogueRecord(
        _name("release_", _text(record.get("ident"))), titles[0],
        tuple(filter(None, names)), _year(record.get("release_year")), _text(container.get("name")),
        _text(record.get("release_type")),
        tuple(identifiers_of(doi=_text(ids.get("doi")), arxiv=_text(ids.get("arxiv")), pmid=_text(ids.get("pmid")))),
        _other_titles(titles),
    )  # fmt: skip


def _read_openalex(record: Mapping[str, Any]) -> CatalogueRecord:
    ids = _object(record.get("ids"))
    journal = _object(_object(record.get("primary_location")).get("source"))
    names = [
        name
        for authorship in _objects(record.get("authorships"))
        if (name := _text(_object(authorship.get("author")).get("display_name")))
    ]
    pmid = _text(ids.get("pmid")).rstrip("/").rpartition("/")[2]
    return CatalogueRecord(
        _text(record.get("id")).rpartition("/")[2], _text(record.get("title") or record.get("display_name")),
        tuple(names), _year(record.get("publication_year")), _text(journal.get("display_name")),
        _text(record.get("type")), tuple(identifiers_of(doi=_text(record.get("doi") or ids.get("doi")), pmid=pmid)),
    )  # fmt: skip


def _read_datacite(record: Mapping[str, Any]) -> CatalogueRecord:
    elements = _objects(record.get("titles"))
    subtitle = next((_text(element.get("title")) for element in elements if element.get("titleType") == "Subtitle"), "")
    elements = [element for element in elements if element.get("titleType") != "Subtitle" and element.get("title")]
    elements.sort(key=lambda element: bool(element.get("titleType")))  # the main title has no type
    main, *others = [_text(element["title"]) for element in elements] or [""]
    titles = [_whole_title(main, subtitle), *others]
    names = [name for creator in _objects(record.get("creators")) if (name := _text(creator.get("name")))]
    types = _object(record.get("types"))
    doi = _text(record.get("doi")).lower()
    return CatalogueRecord(
        doi, titles[0], tuple(names), _year(record.get("publicationYear")),
        _text(_object(record.get("container")).get("title")), _text(types.get("resourceTypeGeneral")),
        tuple(identifiers_of(doi=doi)), _other_titles(titles),
    )  # fmt: skip


def _read_semantic_scholar(record: Mapping[str, Any]) -> CatalogueRecord:
    ids = _object(record.get("externalids") or record.get("externalIds"))
    names = [name for author in _objects(record.get("authors")) if (name := _text(author.get("name")))]
    journal = _text(_object(record.get("journal")).get("name")) or _text(record.get("venue"))
    doi, arxiv, pmid = (str(ids.get(name) or "") for name in ("DOI", "ArXiv", "PubMed"))
    return CatalogueRecord(
        _name("s2:", str(record.get("corpusid") or record.get("paperId") or "")), _text(record.get("title")),
        tuple(names), _year(record.get("year")), journal, "article",
        tuple(identifiers_of(doi=doi, arxiv=arxiv, pmid=pmid)),
    )  # fmt: skip


def _read_arxiv(record: Mapping[str, Any]) -> CatalogueRecord:
    """Read a work of arXiv. Its year is that of the first version or, if no version is known, of the last update."""
    parsed = record.get("authors_parsed")
    names = [", ".join(filter(None, map(_text, name[:2]))) for name in parsed if isinstance(name, list)] \
        if isinstance(parsed, list) else []  # fmt: skip
    versions = _objects(record.get("versions"))
    first_date = _text(versions[0].get("created")) if versions else _text(record.get("update_date"))
    year = _YEAR_SEARCH(first_date)
    return CatalogueRecord(
        _name("arxiv:", _text(record.get("id"))), _text(record.get("title")),
        tuple(filter(None, names)), _year(year[0]) if year else None,
        _text(record.get("journal-ref")), "article",
        tuple(identifiers_of(doi=_text(record.get("doi")), arxiv=_text(record.get("id")))),
    )  # fmt: skip


def _read_plain(record: Mapping[str, Any]) -> CatalogueRecord:
    """Read an object with windrow's own keys: id, title, authors, year, journal, type, doi, arxiv, pmid, other_titles.

    The id and the PMID may be numbers. If the authors are one text, they are separated by `;` or `and`.
    """
    numbers = {name: str(number) for name in ("id", "pmid") if type(number := record.get(name)) is int}
    record = {**record, **numbers}
    names = record.get("authors")
    names = names if isinstance(names, list) else _NAMES_SPLIT(_text(names))
    authors = [author for name in names if (author := _text(name))]
    titles = [_text(record.get("title")), *_texts(record.get("other_titles"))]
    return CatalogueRecord(
        _text(record.get("id") or record.get("doi")), titles[0], tuple(authors),
        _year(record.get("year")), _text(record.get("journal")), _text(record.get("type")),
        tuple(identifiers_of(**{name: _text(record.get(name)) for name in ("doi", "arxiv", "pmid")})),
        _other_titles(titles),
    )  # fmt: skip


def _name(prefix: str, id_: str) -> str:
    """Return a name made from a work's id; empty if it has no id, since works without an id must not share a name."""
    return f"{prefix}{id_}" if id_ else ""


_SHARED_NAME = re.compile(rf"{_DOI_PREFIX}|release_|s2:|arxiv:|pmid:|W\d+$").match


def is_shared_name(name: str, work: CatalogueRecord) -> bool:
    """Return whether works with this name in several files are one: it is an identifier, or the id of a catalogue.

    The ids in other records may be numbers of lines, with which each file begins anew.
    """
    return bool(_SHARED_NAME(name)) or any(name in {full, full.partition(":")[2]} for full in work.identifiers)


def _whole_title(title: str, subtitle: str) -> str:
    """Join a title and its subtitle, unless the title already ends with the subtitle.

    >>> _whole_title("Main", "Sub"), _whole_title("Main: sub", "Sub"), _whole_title("Main", "")
    ('Main:Sub', 'Main: sub', 'Main')
    """
    return title if title.casefold().endswith(subtitle.casefold()) else f"{title}:{subtitle}"


def _other_titles(titles: Sequence[str]) -> tuple[str, ...]:
    """Return the titles after the first one, without empty and repeated ones."""
    return tuple(title for title in dict.fromkeys(titles[1:]) if title not in {"", titles[0]})


def identifiers_of(*, doi: str = "", arxiv: str = "", pmid: str = "") -> Iterator[str]:
    """Yield the identifiers in texts from a record or a paper: `doi:...`, `arxiv:...`, `pmid:...`."""
    for number in dict.fromkeys(_dois_in(doi)):
        yield f"doi:{number}"
        if number.startswith("10.48550/arxiv."):
            arxiv = arxiv or number.removeprefix("10.48550/arxiv.")
    if arxiv := arxiv_of(arxiv):
        yield f"arxiv:{arxiv}"
    if pmid.isdecimal() and len(pmid) <= _MAX_PMID_DIGITS:
        yield f"pmid:{int(pmid)}"


def doi_of(text: str) -> str:
    """Return the first DOI in the first 500 characters of a text, in lower case; empty if there is none.

    >>> doi_of("https://doi.org/10.1000/ABC"), doi_of("10.1000.10/a, 10.1000/b")
    ('10.1000/abc', '10.1000.10/a')
    """
    return next(_dois_in(text), "")


def _dois_in(text: str) -> Iterator[str]:
    return (match[0].lower() for match in _DOI.finditer(text[:500]))


def arxiv_of(text: str) -> str:
    """Return the arXiv identifier at the end of a text, without its version; empty if there is none.

    >>> arxiv_of("arXiv:0908.0054v2"), arxiv_of("arXiv:0908.0054v1 [math.NA]")
    ('0908.0054', '0908.0054')
    """
    match = _ARXIV_SEARCH(text.strip()[:100])
    return match[1].lower() if match else ""


def _text(raw: Any) -> str:
    """Return `raw` with single spaces and without lone surrogates, which databases refuse; "" if it is not a text."""
    return " ".join(raw.encode("utf-8", "replace").decode().split()) if isinstance(raw, str) else ""


def _object(raw: Any) -> Mapping[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _objects(raw: Any) -> Sequence[Mapping[str, Any]]:
    return [element for element in raw if isinstance(element, dict)] if isinstance(raw, list) else []


def _texts(raw: Any) -> list[str]:
    return [_text(element) for element in (raw if isinstance(raw, list) else [raw])]


def _first_element(raw: Any) -> Any:
    return raw[0] if isinstance(raw, list) and raw else None


def _first_text(raw: Any) -> str:
    return next(iter(_texts(raw)), "")


def _year(raw: Any) -> int | None:
    try:
        year = int(raw)
    except (TypeError, ValueError, OverflowError):
        return None
    return year if 1000 <= year <= 2200 else None
