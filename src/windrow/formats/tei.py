"""Convert GROBID's TEI documents to JSON, in the two shapes that readers of journal-extract tables know.

`table_shape` always has all keys, null for what is missing; `legacy_shape` is the legacy dictionary of the public
package grobid-tei-xml, which leaves out what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lxml import etree

from windrow.errors import StepError
from windrow.formats.xml import parse
from windrow.model import Limits
from windrow.reasons import Reason

_TEI = "{http://www.tei-c.org/ns/1.0}"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_ACCESSED = ".Lastaccessed"
_FULLTEXT = ("body", "annex")

Json = dict[str, Any]


def read(content: bytes, limits: Limits) -> etree._Element:
    """Parse a document; StepError if it is not XML within the limits, or WRONG_ROOT if it is not TEI."""
    root = parse(content, replace(limits, elements=max(limits.elements, 1_000_000)))
    if root.tag != f"{_TEI}TEI" or _find(root, ".//teiHeader") is None:
        raise StepError("the document is not TEI: it has no teiHeader", Reason.WRONG_ROOT)
    return root


def metadata(shape: Mapping[str, Any]) -> Json:
    """Return a shape without body and annex; abstract and acknowledgement stay."""
    return {key: value for key, value in shape.items() if key not in _FULLTEXT}


def _path(steps: str) -> str:
    """Return a path with every step in the namespace of TEI."""
    return "/".join(step if step in {".", ""} else f"{_TEI}{step}" for step in steps.split("/"))


def _find(element: etree._Element, steps: str) -> etree._Element | None:
    match: etree._Element | None = element.find(_path(steps))
    return match


def _all(element: etree._Element, steps: str) -> list[etree._Element]:
    return list(element.findall(_path(steps)))


def _text(element: etree._Element, steps: str) -> str | None:
    """Return the text of the first element at a path, which may be empty; None if no element is there."""
    text: str | None = element.findtext(_path(steps))
    return text


def _attribute(element: etree._Element, steps: str, name: str) -> str | None:
    match = _find(element, steps)
    return None if match is None else match.get(name)


def _full_text(element: etree._Element | None) -> str:
    return "" if element is None else " ".join(map(str, element.itertext())).strip()


# The shape of the table of 2018.


def table_shape(root: etree._Element) -> Json:
    """Return a document in the shape of the table of 2018, with all keys; missing values are null."""
    header = _find(root, ".//teiHeader")
    assert header is not None
    doi = _text(header, './/idno[@type="DOI"]')
    return {
        "grobid_version": _attribute(header, ".//appInfo/application", "version"),
        "grobid_timestamp": _attribute(header, ".//appInfo/application", "when"),
        "title": _text(header, ".//analytic/title"),
        "authors": _names(_find(header, ".//sourceDesc/biblStruct")),
        "journal": {
            "name": _text(header, ".//monogr/title"),
            "publisher": _text(header, ".//publicationStmt/publisher") or None,
            "issn": _text(header, './/idno[@type="ISSN"]'),
            "eissn": _text(header, './/idno[@type="eISSN"]'),
            "volume": _text(header, './/biblScope[@unit="volume"]'),
            "issue": _text(header, './/biblScope[@unit="issue"]'),
        },
        "date": _published(header),
        "fatcat_release": _text(header, './/idno[@type="fatcat"]'),
        "doi": doi.lower() if doi else None,
        "citations": [
            _citation(index, reference) for index, reference in enumerate(_all(root, ".//listBibl/biblStruct"))
        ],
        "abstract": _passage(root, ".//profileDesc/abstract"),
        "body": _passage(root, ".//text/body"),
        "acknowledgement": _passage(root, './/back/div[@type="acknowledgement"]'),
        "annex": _passage(root, './/back/div[@type="annex"]'),
    }


def _passage(root: etree._Element, steps: str) -> str | None:
    """Return a passage's text; None if it does not contain an element, as in the old table."""
    passage = _find(root, steps)
    return _full_text(passage) if passage is not None and len(passage) else None


def _published(element: etree._Element) -> str | bool | None:
    """Return the date of publication; False, not None, if it is missing, as in the old table."""
    date = _find(element, './/date[@type="published"]')
    return False if date is None else date.get("when")


def _names(element: etree._Element | None) -> list[Json]:
    names = []
    for person in _all(element, ".//author/persName") if element is not None else ():
        forename, surname = _text(person, "./forename") or None, _text(person, "./surname") or None
        names.append({"name": f"{forename or ''} {surname or ''}".strip(), "given_name": forename, "surname": surname})
    return names


def _citation(index: int, reference: etree._Element) -> Json:
    title, container = _text(reference, ".//analytic/title"), _text(reference, ".//monogr/title")
    url = _attribute(reference, ".//ptr[@target]", "target")
    citation: Json = {
        "id": reference.get(_ID),
        "index": index,
        "title": title or container or title,
        "authors": _names(reference),
        "publisher": _text(reference, ".//publicationStmt/publisher") or None,
        "date": _published(reference),
        "volume": _text(reference, './/biblScope[@unit="volume"]'),
        "issue": _text(reference, './/biblScope[@unit="issue"]'),
        "url": url.removesuffix(_ACCESSED) if url else None,
    }
    if container:
        citation["journal"] = container if title else None
    return citation


# The legacy shape of grobid-tei-xml.


def legacy_shape(root: etree._Element) -> Json:
    """Return a document as grobid-tei-xml's legacy dictionary, without keys for missing values.

    Raises StepError if the document does not name the application that wrote it.
    """
    header = _find(root, ".//teiHeader")
    assert header is not None
    application = _find(header, ".//appInfo/application")
    if application is None or not {"version", "when"} <= set(application.keys()):
        raise StepError(
            "the document does not name the application that wrote it, its version and the time", Reason.NOT_VALID
        )
    text = _find(root, ".//text")
    fields = _record(header, None)
    fields["journal"] = {
        "name": fields.pop("journal", None),
        **{key: fields.pop(key, None) for key in ("publisher", "issn", "volume", "issue")},
    }
    shape: Json = _without_empty({
        "grobid_version": application.get("version", "").strip(),
        "grobid_timestamp": application.get("when", "").strip(),
        "language_code": text.get(_LANGUAGE) if text is not None and len(text) else None,
        "citations": [_record(reference, n) for n, reference in enumerate(_all(root, ".//listBibl/biblStruct"))],
        "abstract": _full_text(_find(root, ".//profileDesc/abstract")),
        "body": _full_text(_find(root, ".//text/body")),
        "acknowledgement": _full_text(_find(root, './/back/div[@type="acknowledgement"]')),
        "annex": _full_text(_find(root, './/back/div[@type="annex"]')),
        **fields,
    })  # fmt: skip
    return shape


_IDENTIFIERS = {"doi": "DOI", "pmid": "PMID", "pmcid": "PMCID", "arxiv_id": "arXiv", "pii": "PII", "ark": "ark",
                "istex_id": "istexId", "issn": "ISSN", "eissn": "eISSN"}  # fmt: skip


def _record(element: etree._Element, index: int | None) -> Json:
    """Return the fields of a header, or of a reference with its index."""
    record: Json = {key: _text(element, f'.//idno[@type="{kind}"]') for key, kind in _IDENTIFIERS.items()}
    record |= {
        "index": index,
        "id": element.get(_ID),
        "unstructured": _text(element, './/note[@type="raw_reference"]'),
        "authors": [person for author in _all(element, ".//author") if (person := _author(author)) is not None],
        "editors": _editors(element),
        "date": _attribute(element, './/date[@type="published"]', "when"),
        "title": _text(element, './/title[@type="main"]'),
        "journal": _text(element, './/title[@level="j"]'),
        "journal_abbrev": _text(element, './/title[@level="j"][@type="abbrev"]'),
        "series_title": _text(element, './/title[@level="s"]'),
        "publisher": _text(element, ".//publicationStmt/publisher") or _text(element, ".//imprint/publisher"),
        "institution": _text(element, ".//respStmt/orgName"),
        "volume": _text(element, './/biblScope[@unit="volume"]'),
        "issue": _text(element, './/biblScope[@unit="issue"]'),
        "pages": _pages(element),
        "url": _clean_url(_attribute(element, ".//ptr[@target]", "target")),
    }
    record["arxiv_id"] = (record["arxiv_id"] or "").removeprefix("arXiv:")
    if record["doi"] and record["url"] and ("://doi.org/" in record["url"] or "://dx.doi.org/" in record["url"]):
        record["url"] = None  # it repeats the DOI
    book_title = _find(element, './/title[@level="m"]')
    untyped_title = book_title.text if book_title is not None and book_title.get("type") is None else None
    if untyped_title and not record["title"]:
        record["title"] = untyped_title
    elif not record["journal"]:
        record["journal"] = untyped_title
    kept: Json = _without_empty(record)
    return kept


def _author(element: etree._Element) -> Json | None:
    person = _find(element, "./persName")
    if person is None:
        return None
    fields = _person(person)
    forename, middle = fields.pop("given_name"), fields.pop("middle_name")
    return {
        "name": fields["full_name"],
        "given_name": forename or middle,
        "surname": fields["surname"],
        "orcid": _text(element, './/idno[@type="ORCID"]'),
        "email": _text(element, "./email"),
        "affiliation": _affiliation(_find(element, "./affiliation")),
    }


def _person(element: etree._Element) -> Json:
    return {
        "full_name": " ".join(part for text in map(str, element.itertext()) if (part := text.strip())),
        "given_name": _text(element, './forename[@type="first"]'),
        "middle_name": _text(element, './forename[@type="middle"]'),
        "surname": _text(element, "./surname"),
    }


def _editors(element: etree._Element) -> list[Json] | None:
    editors: list[Json] = []
    for editor in _all(element, ".//editor"):
        persons = _all(editor, "./persName")
        bare_name = (editor.text or "").strip() if not len(editor) else ""
        editors += [_person(person) for person in persons] or ([{"full_name": bare_name}] if len(bare_name) > 1 else [])
    return editors or None


def _affiliation(element: etree._Element | None) -> Json | None:
    if element is None:
        return None
    names = {
        kind: organisation.text for organisation in _all(element, "./orgName") if (kind := organisation.get("type"))
    }
    if not names:
        return None
    affiliation: Json = {kind: names.get(kind) for kind in ("institution", "department", "laboratory")}
    address = _find(element, "./address")
    if address is not None:
        parts = {etree.QName(part).localname: part.text for part in address if isinstance(part.tag, str)}
        affiliation["address"] = {
            "addr_line": parts.get("addrLine"),
            "postCode": parts.get("postCode"),
            "settlement": parts.get("settlement"),
            "country": parts.get("country"),
        }
    return affiliation


def _pages(element: etree._Element) -> str | None:
    pages = _find(element, './/biblScope[@unit="page"]')
    if pages is None:
        return None
    first, last = pages.get("from"), pages.get("to")
    return f"{first}-{last}" if first and last else pages.text


def _clean_url(url: str | None) -> str | None:
    text = (url or "").strip()
    if text.endswith(_ACCESSED):
        text = text.replace(_ACCESSED, "")
    return text.removeprefix("<").partition(">")[0] or None


def _without_empty(value: Any) -> Any:
    """Return a value without the empty members of its objects, also of objects in lists; empty lists stay."""
    if isinstance(value, dict):
        kept = {key: _without_empty(member) for key, member in value.items()}
        return {key: member for key, member in kept.items() if member is not None and member not in ({}, "")}
    if isinstance(value, list):
        return [_without_empty(member) for member in value]
    return value
