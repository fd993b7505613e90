"""TEI documents as GROBID writes them, as JSON, in the two shapes that readers of journal-extract tables know.

`table_shape` has all keys always, null where nothing is said; `later_shape` is the legacy dictionary of the public
package grobid-tei-xml, which has only what is said. Both can be made anew from the TEI at any time.
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
    """Parse a document; raises `StepError`, NOT_WELL_FORMED and the like, and WRONG_ROOT for what is not TEI."""
    root = parse(content, replace(limits, elements=max(limits.elements, 1_000_000)))
    if root.tag != f"{_TEI}TEI" or _find(root, ".//teiHeader") is None:
        raise StepError("the document is not TEI: it has no teiHeader", Reason.WRONG_ROOT)
    return root


def metadata(shape: Mapping[str, Any]) -> Json:
    """Return a shape without its full text; abstract and acknowledgement stay."""
    return {key: value for key, value in shape.items() if key not in _FULLTEXT}


def _path(steps: str) -> str:
    """Give every element of a path the namespace of TEI."""
    return "/".join(step if step in {".", ""} else f"{_TEI}{step}" for step in steps.split("/"))


def _find(element: etree._Element, steps: str) -> etree._Element | None:
    found: etree._Element | None = element.find(_path(steps))
    return found


def _all(element: etree._Element, steps: str) -> list[etree._Element]:
    return list(element.findall(_path(steps)))


def _said(element: etree._Element, steps: str) -> str | None:
    """Return the text of the first element at a path; None where there is none, empty where it has no text."""
    found: str | None = element.findtext(_path(steps))
    return found


def _attribute(element: etree._Element, steps: str, name: str) -> str | None:
    found = _find(element, steps)
    return None if found is None else found.get(name)


def _joined(element: etree._Element | None) -> str:
    return "" if element is None else " ".join(map(str, element.itertext())).strip()


# The shape of the table, as it was in 2018.


def table_shape(root: etree._Element) -> Json:
    """Return all keys that the table has, null where the document says nothing."""
    header = _find(root, ".//teiHeader")
    assert header is not None
    doi = _said(header, './/idno[@type="DOI"]')
    return {
        "grobid_version": _attribute(header, ".//appInfo/application", "version"),
        "grobid_timestamp": _attribute(header, ".//appInfo/application", "when"),
        "title": _said(header, ".//analytic/title"),
        "authors": _names(_find(header, ".//sourceDesc/biblStruct")),
        "journal": {
            "name": _said(header, ".//monogr/title"),
            "publisher": _said(header, ".//publicationStmt/publisher") or None,
            "issn": _said(header, './/idno[@type="ISSN"]'),
            "eissn": _said(header, './/idno[@type="eISSN"]'),
            "volume": _said(header, './/biblScope[@unit="volume"]'),
            "issue": _said(header, './/biblScope[@unit="issue"]'),
        },
        "date": _published(header),
        "fatcat_release": _said(header, './/idno[@type="fatcat"]'),
        "doi": doi.lower() if doi else None,
        "citations": [_citation(at, one) for at, one in enumerate(_all(root, ".//listBibl/biblStruct"))],
        "abstract": _passage(root, ".//profileDesc/abstract"),
        "body": _passage(root, ".//text/body"),
        "acknowledgement": _passage(root, './/back/div[@type="acknowledgement"]'),
        "annex": _passage(root, './/back/div[@type="annex"]'),
    }


def _passage(root: etree._Element, steps: str) -> str | None:
    """Return a passage's text; null where it has no element in it, as it has always been."""
    found = _find(root, steps)
    return _joined(found) if found is not None and len(found) else None


def _published(element: etree._Element) -> str | bool | None:
    """Return the date of publication; false, not null, where there is none, as it has always been."""
    found = _find(element, './/date[@type="published"]')
    return False if found is None else found.get("when")


def _names(element: etree._Element | None) -> list[Json]:
    found = []
    for person in _all(element, ".//author/persName") if element is not None else ():
        given, surname = _said(person, "./forename") or None, _said(person, "./surname") or None
        found.append({"name": f"{given or ''} {surname or ''}".strip(), "given_name": given, "surname": surname})
    return found


def _citation(index: int, one: etree._Element) -> Json:
    title, container = _said(one, ".//analytic/title"), _said(one, ".//monogr/title")
    url = _attribute(one, ".//ptr[@target]", "target")
    told: Json = {
        "id": one.get(_ID),
        "index": index,
        "title": title or container or title,
        "authors": _names(one),
        "publisher": _said(one, ".//publicationStmt/publisher") or None,
        "date": _published(one),
        "volume": _said(one, './/biblScope[@unit="volume"]'),
        "issue": _said(one, './/biblScope[@unit="issue"]'),
        "url": url.removesuffix(_ACCESSED) if url else None,
    }
    if container:
        told["journal"] = container if title else None
    return told


# The later shape.


def later_shape(root: etree._Element) -> Json:
    """Return what the legacy dictionary of grobid-tei-xml has; what is not said has no key."""
    header = _find(root, ".//teiHeader")
    assert header is not None
    application = _find(header, ".//appInfo/application")
    if application is None or not {"version", "when"} <= set(application.keys()):
        raise StepError("the document does not say what wrote it and when", Reason.NOT_VALID)
    text = _find(root, ".//text")
    told = _record(header, None)
    told["journal"] = {
        "name": told.pop("journal", None),
        **{key: told.pop(key, None) for key in ("publisher", "issn", "volume", "issue")},
    }
    found: Json = _without_empty({
        "grobid_version": application.get("version", "").strip(),
        "grobid_timestamp": application.get("when", "").strip(),
        "language_code": text.get(_LANGUAGE) if text is not None and len(text) else None,
        "citations": [_record(one, at) for at, one in enumerate(_all(root, ".//listBibl/biblStruct"))],
        "abstract": _joined(_find(root, ".//profileDesc/abstract")),
        "body": _joined(_find(root, ".//text/body")),
        "acknowledgement": _joined(_find(root, './/back/div[@type="acknowledgement"]')),
        "annex": _joined(_find(root, './/back/div[@type="annex"]')),
        **told,
    })  # fmt: skip
    return found


_IDENTIFIERS = {"doi": "DOI", "pmid": "PMID", "pmcid": "PMCID", "arxiv_id": "arXiv", "pii": "PII", "ark": "ark",
                "istex_id": "istexId", "issn": "ISSN", "eissn": "eISSN"}  # fmt: skip


def _record(element: etree._Element, index: int | None) -> Json:
    """Return a header, or a reference."""
    told: Json = {key: _said(element, f'.//idno[@type="{kind}"]') for key, kind in _IDENTIFIERS.items()}
    told |= {
        "index": index,
        "id": element.get(_ID),
        "unstructured": _said(element, './/note[@type="raw_reference"]'),
        "authors": [found for one in _all(element, ".//author") if (found := _author(one)) is not None],
        "editors": _editors(element),
        "date": _attribute(element, './/date[@type="published"]', "when"),
        "title": _said(element, './/title[@type="main"]'),
        "journal": _said(element, './/title[@level="j"]'),
        "journal_abbrev": _said(element, './/title[@level="j"][@type="abbrev"]'),
        "series_title": _said(element, './/title[@level="s"]'),
        "publisher": _said(element, ".//publicationStmt/publisher") or _said(element, ".//imprint/publisher"),
        "institution": _said(element, ".//respStmt/orgName"),
        "volume": _said(element, './/biblScope[@unit="volume"]'),
        "issue": _said(element, './/biblScope[@unit="issue"]'),
        "pages": _pages(element),
        "url": _cleaned(_attribute(element, ".//ptr[@target]", "target")),
    }
    told["arxiv_id"] = (told["arxiv_id"] or "").removeprefix("arXiv:")
    if told["doi"] and told["url"] and ("://doi.org/" in told["url"] or "://dx.doi.org/" in told["url"]):
        told["url"] = None  # it says the same
    book = _find(element, './/title[@level="m"]')
    name = book.text if book is not None and book.get("type") is None else None
    if name and not told["title"]:
        told["title"] = name
    elif not told["journal"]:
        told["journal"] = name
    kept: Json = _without_empty(told)
    return kept


def _author(element: etree._Element) -> Json | None:
    person = _find(element, "./persName")
    if person is None:
        return None
    told = _person(person)
    given, middle = told.pop("given_name"), told.pop("middle_name")
    return {
        "name": told["full_name"],
        "given_name": given or middle,
        "surname": told["surname"],
        "orcid": _said(element, './/idno[@type="ORCID"]'),
        "email": _said(element, "./email"),
        "affiliation": _affiliation(_find(element, "./affiliation")),
    }


def _person(element: etree._Element) -> Json:
    return {
        "full_name": " ".join(part for text in map(str, element.itertext()) if (part := text.strip())),
        "given_name": _said(element, './forename[@type="first"]'),
        "middle_name": _said(element, './forename[@type="middle"]'),
        "surname": _said(element, "./surname"),
    }


def _editors(element: etree._Element) -> list[Json] | None:
    found: list[Json] = []
    for one in _all(element, ".//editor"):
        persons = _all(one, "./persName")
        bare = (one.text or "").strip() if not len(one) else ""
        found += [_person(person) for person in persons] or ([{"full_name": bare}] if len(bare) > 1 else [])
    return found or None


def _affiliation(element: etree._Element | None) -> Json | None:
    if element is None:
        return None
    names = {kind: one.text for one in _all(element, "./orgName") if (kind := one.get("type"))}
    if not names:
        return None
    told: Json = {kind: names.get(kind) for kind in ("institution", "department", "laboratory")}
    address = _find(element, "./address")
    if address is not None:
        parts = {etree.QName(one).localname: one.text for one in address if isinstance(one.tag, str)}
        told["address"] = {
            "addr_line": parts.get("addrLine"),
            "postCode": parts.get("postCode"),
            "settlement": parts.get("settlement"),
            "country": parts.get("country"),
        }
    return told


def _pages(element: etree._Element) -> str | None:
    found = _find(element, './/biblScope[@unit="page"]')
    if found is None:
        return None
    first, last = found.get("from"), found.get("to")
    return f"{first}-{last}" if first and last else found.text


def _cleaned(url: str | None) -> str | None:
    text = (url or "").strip()
    if text.endswith(_ACCESSED):
        text = text.replace(_ACCESSED, "")
    return text.removeprefix("<").partition(">")[0] or None


def _without_empty(value: Any) -> Any:
    """Leave out what is empty in objects, and in objects of lists, but no list itself."""
    if isinstance(value, dict):
        kept = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one is not None and one not in ({}, "")}
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    return value
