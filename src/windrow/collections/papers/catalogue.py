"""Records of a catalogue, as they are in the JSON lines of Crossref, fatcat and OpenAlex."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from windrow.errors import StepError
from windrow.reasons import Reason

_CROSSREF_TYPES = frozenset({
    "book", "book-chapter", "dataset", "dissertation", "journal-article", "letter", "monograph", "posted-content",
    "pre-print", "proceedings-article", "report", "working-paper",
})  # fmt: skip
_AUTHORS = 200  # of a record; more are cut
_PMID = 18  # digits of a number of PubMed at most
_DOI = re.compile(r"10\.\d{3,9}/\S+").search
_ARXIV = re.compile(r"(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?$", re.IGNORECASE).search


class CatalogueRecord(NamedTuple):
    """A published work. `name` is what its catalogue calls it; identifiers are `doi:...`, `arxiv:...`, `pmid:...`."""

    name: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    journal: str
    kind: str
    identifiers: tuple[str, ...]

    @property
    def doi(self) -> str:
        """The record's DOI, empty where it has none."""
        return next((identifier[4:] for identifier in self.identifiers if identifier.startswith("doi:")), "")


def parse(line: bytes) -> CatalogueRecord:
    """Read a line; raises `StepError` for what is no record, or not one to be matched."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        raise StepError("the line is not JSON", Reason.BAD_LINE) from None
    if not isinstance(told, dict):
        raise StepError("the line is no object", Reason.BAD_LINE)
    told = _object(told.get("message", told)) if "message-type" in told else told
    made = _made(told)
    if not made.title:
        raise StepError("the record has no title", Reason.NOT_WANTED)
    if not made.identifiers and not made.name:
        raise StepError("the record has neither identifier nor name", Reason.NOT_WANTED)
    return made


def _made(told: Mapping[str, Any]) -> CatalogueRecord:
    if "DOI" in told:
        return _crossref(told)
    if "ident" in told or "ext_ids" in told:
        return _fatcat(told)
    if str(told.get("id", "")).startswith("https://openalex.org/"):
        return _openalex(told)
    return _plain(told)


def _crossref(told: Mapping[str, Any]) -> CatalogueRecord:
    kind = _text(told.get("type"))
    if kind not in _CROSSREF_TYPES:
        raise StepError(f"records of type {kind[:40]!r} are not matched", Reason.NOT_WANTED)
    names = [f"{_text(one.get('given'))} {_text(one.get('family'))}".strip()
             for one in _objects(told.get("author")) if _text(one.get("family"))]  # fmt: skip
    if not names:
        raise StepError("the record has no author with a family name", Reason.NOT_WANTED)
    title, subtitle = _first(told.get("title")), _first(told.get("subtitle"))
    parts = _object(told.get("published") or told.get("issued") or told.get("created")).get("date-parts")
    doi = _text(told.get("DOI")).lower()
    return CatalogueRecord(
        doi, f"{title}:{subtitle}" if subtitle else title, tuple(names[:_AUTHORS]), _year(_first_of(_first_of(parts))),
        _first(told.get("container-title")), kind, tuple(_identifiers(doi=doi)),
    )  # fmt: skip


def _fatcat(told: Mapping[str, Any]) -> CatalogueRecord:
    ids = _object(told.get("ext_ids"))
    title, subtitle = _text(told.get("title")), _text(told.get("subtitle"))
    names = [name for one in _objects(told.get("contribs")) if (name := _text(one.get("raw_name")))]
    container = _object(told.get("container"))
    return CatalogueRecord(
        f"release_{_text(told.get('ident'))}", f"{title}:{subtitle}" if subtitle else title, tuple(names[:_AUTHORS]),
        _year(told.get("release_year")), _text(container.get("name")), _text(told.get("release_type")),
        tuple(_identifiers(doi=_text(ids.get("doi")), arxiv=_text(ids.get("arxiv")), pmid=_text(ids.get("pmid")))),
    )  # fmt: skip


def _openalex(told: Mapping[str, Any]) -> CatalogueRecord:
    ids = _object(told.get("ids"))
    journal = _object(_object(told.get("primary_location")).get("source"))
    names = [
        name
        for one in _objects(told.get("authorships"))
        if (name := _text(_object(one.get("author")).get("display_name")))
    ]
    pmid = _text(ids.get("pmid")).rstrip("/").rpartition("/")[2]
    return CatalogueRecord(
        _text(told.get("id")).rpartition("/")[2], _text(told.get("title") or told.get("display_name")),
        tuple(names[:_AUTHORS]), _year(told.get("publication_year")), _text(journal.get("display_name")),
        _text(told.get("type")), tuple(_identifiers(doi=_text(told.get("doi") or ids.get("doi")), pmid=pmid)),
    )  # fmt: skip


def _plain(told: Mapping[str, Any]) -> CatalogueRecord:
    """Read an object that has title, authors, year, journal and DOI by these names."""
    written = told.get("authors")
    authors = [_text(one) for one in written if _text(one)] if isinstance(written, list) else []
    return CatalogueRecord(
        _text(told.get("id") or told.get("doi")), _text(told.get("title")), tuple(authors[:_AUTHORS]),
        _year(told.get("year")), _text(told.get("journal")), _text(told.get("type")),
        tuple(_identifiers(doi=_text(told.get("doi")), arxiv=_text(told.get("arxiv")), pmid=_text(told.get("pmid")))),
    )  # fmt: skip


def _identifiers(*, doi: str = "", arxiv: str = "", pmid: str = "") -> Iterator[str]:
    if found := doi_of(doi):
        yield f"doi:{found}"
        if found.startswith("10.48550/arxiv."):
            arxiv = arxiv or found.removeprefix("10.48550/arxiv.")
    if found := arxiv_of(arxiv):
        yield f"arxiv:{found}"
    if pmid.isdecimal() and len(pmid) <= _PMID:
        yield f"pmid:{int(pmid)}"


def doi_of(written: str) -> str:
    """Return the DOI in a text, in lower case; empty where there is none.

    >>> doi_of("https://doi.org/10.1000/ABC")
    '10.1000/abc'
    """
    found = _DOI(written[:500])
    return found[0].lower() if found else ""


def arxiv_of(written: str) -> str:
    """Return the number of a preprint at arXiv, without its version.

    >>> arxiv_of("arXiv:0908.0054v2")
    '0908.0054'
    """
    found = _ARXIV(written.strip()[:100])
    return found[1].lower() if found else ""


def _text(value: Any) -> str:
    """Return a text without halves of pairs, which no database takes; empty where it is none."""
    return " ".join(value.encode("utf-8", "replace").decode().split()) if isinstance(value, str) else ""


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> Sequence[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _first_of(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _first(value: Any) -> str:
    return _text(_first_of(value) if isinstance(value, list) else value)


def _year(value: Any) -> int | None:
    try:
        year = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return year if 1000 <= year <= 2200 else None
