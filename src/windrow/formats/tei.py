"""Convert GROBID's TEI documents to JSON, in the two shapes that the journal-extract table has had.

`table_shape` returns all keys, with null for most missing values. `legacy_shape` returns the legacy dictionary of the
public package grobid-tei-xml, without missing values. Names in paths such as `./persName/surname` are names of TEI.
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
_ACCESSED_SUFFIX = ".Lastaccessed"
_FULL_TEXT_KEYS = ("body", "annex")

Json = dict[str, Any]


def read_tei(content: bytes, limits: Limits) -> etree._Element:
    """Parse a document; raise StepError if it is not XML within the limits, or not TEI (WRONG_ROOT)."""
    root = parse(content, replace(limits, elements=max(limits.elements, 1_000_000)))
    if root.tag != f"{_TEI}TEI" or _find_element(root, ".//teiHeader") is None:
        raise StepError("the document is not TEI: its root is not `TEI`, or has no `teiHeader`", Reason.WRONG_ROOT)
    return root


def read_md5(root: etree._Element) -> str:
    """Return the MD5 of the processed document in hexadecimal, or "" if the TEI does not state it."""
    return (_text_at(root, './/sourceDesc//idno[@type="MD5"]') or "").strip().lower()


def further_text(root: etree._Element) -> str:
    """Return the keywords, and what is before or after the body without the references, such as appendices."""
    passages = [*_find_all(root, ".//profileDesc/textClass/keywords"), *_find_all(root, ".//text/front")]
    passages += [part for part in _find_all(root, ".//text/back/*") if part.get("type") != "references"]
    return "\n".join(filter(None, map(_all_text, passages)))


def drop_full_text(document: Mapping[str, Any]) -> Json:
    """Return a document in either shape without its body and annex; its abstract and acknowledgement remain."""
    return {key: value for key, value in document.items() if key not in _FULL_TEXT_KEYS}


def _qualify_path(path: str) -> str:
    return "/".join(step if step in {".", ""} else f"{_TEI}{step}" for step in path.split("/"))


def _find_element(element: etree._Element, path: str) -> etree._Element | None:
    match: etree._Element | None = element.find(_qualify_path(path))
    return match


def _find_all(element: etree._Element, path: str) -> list[etree._Element]:
    return list(element.findall(_qualify_path(path)))


def _text_at(element: etree._Element, path: str) -> str | None:
    """Return the text of the first element at a path, up to its first child, or None if there is no element."""
    text: str | None = element.findtext(_qualify_path(path))
    return text


def _attribute_at(element: etree._Element, path: str, name: str) -> str | None:
    match = _find_element(element, path)
    return None if match is None else match.get(name)


def _all_text(element: etree._Element | None) -> str:
    return "" if element is None else " ".join(map(str, element.itertext())).strip()


# The shape of the table of 2018.


def table_shape(root: etree._Element) -> Json:
    """Return a document in the shape that the table has had since 2018, with all keys; most missing values are null.

    A missing date of publication is false, and the key `journal` of a citation without a journal or book is missing.
    """
    header = _find_element(root, ".//teiHeader")
    assert header is not None
    doi = _text_at(header, './/idno[@type="DOI"]')
    return {
        "grobid_version": _attribute_at(header, ".//appInfo/application", "version"),
        "grobid_timestamp": _attribute_at(header, ".//appInfo/application", "when"),
        "title": _text_at(header, ".//analytic/title"),
        "authors": _author_names(_find_element(header, ".//sourceDesc/biblStruct")),
        "journal": {
            "name": _text_at(header, ".//monogr/title"),
            "publisher": _text_at(header, ".//publicationStmt/publisher") or None,
            "issn": _text_at(header, './/idno[@type="ISSN"]'),
            "eissn": _text_at(header, './/idno[@type="eISSN"]'),
            "volume": _text_at(header, './/biblScope[@unit="volume"]'),
            "issue": _text_at(header, './/biblScope[@unit="issue"]'),
        },
        "date": _published_date(header),
        "fatcat_release": _text_at(header, './/idno[@type="fatcat"]'),
        "doi": doi.lower() if doi else None,
        "citations": [
            _citation_row(index, reference) for index, reference in enumerate(_find_all(root, ".//listBibl/biblStruct"))
        ],
        "abstract": _passage_text(root, ".//profileDesc/abstract"),
        "body": _passage_text(root, ".//text/body"),
        "acknowledgement": _passage_text(root, './/back/div[@type="acknowledgement"]'),
        "annex": _passage_text(root, './/back/div[@type="annex"]'),
    }


def _passage_text(root: etree._Element, path: str) -> str | None:
    """Return the text of the passage at a path, or None if the passage is missing or has no child elements."""
    passage = _find_element(root, path)
    return _all_text(passage) if passage is not None and len(passage) else None


def _published_date(element: etree._Element) -> str | bool | None:
    """Return the date of publication, None if its `when` is missing, or False (as in 2018) if there is no date."""
    date = _find_element(element, './/date[@type="published"]')
    return False if date is None else date.get("when")


def _author_names(element: etree._Element | None) -> list[Json]:
    names = []
    for person in _find_all(element, ".//author/persName") if element is not None else ():
        forename, surname = _text_at(person, "./forename") or None, _text_at(person, "./surname") or None
        names.append({"name": f"{forename or ''} {surname or ''}".strip(), "given_name": forename, "surname": surname})
    return names


def _citation_row(index: int, reference: etree._Element) -> Json:
    """Return the fields of a reference as in `table_shape`; `index` is its position in the document, from 0."""
    title, container = _text_at(reference, ".//analytic/title"), _text_at(reference, ".//monogr/title")
    url = _attribute_at(reference, ".//ptr[@target]", "target")
    citation: Json = {
        "id": reference.get(_ID),
        "index": index,
        "title": title or container or title,
        "authors": _author_names(reference),
        "publisher": _text_at(reference, ".//publicationStmt/publisher") or None,
        "date": _published_date(reference),
        "volume": _text_at(reference, './/biblScope[@unit="volume"]'),
        "issue": _text_at(reference, './/biblScope[@unit="issue"]'),
        "url": url.removesuffix(_ACCESSED_SUFFIX) if url else None,
    }
    if container:
        citation["journal"] = container if title else None
    return citation


# The legacy shape of grobid-tei-xml.


def legacy_shape(root: etree._Element) -> Json:
    """Return a document as grobid-tei-xml's legacy dictionary, without keys for missing values.

    Raise StepError if the document does not name the application that wrote it, its version and the time.
    """
    header = _find_element(root, ".//teiHeader")
    assert header is not None
    application = _find_element(header, ".//appInfo/application")
    if application is None or not {"version", "when"} <= set(application.keys()):
        raise StepError("the element `application` is missing, or it lacks `version` or `when`", Reason.NOT_VALID)
    text = _find_element(root, ".//text")
    fields = _legacy_record(header, index=None)
    fields["journal"] = {
        "name": fields.pop("journal", None),
        **{key: fields.pop(key, None) for key in ("publisher", "issn", "volume", "issue")},
    }
    shape: Json = _drop_empty({
        "grobid_version": application.get("version", "").strip(),
        "grobid_timestamp": application.get("when", "").strip(),
        "language_code": text.get(_LANGUAGE) if text is not None and len(text) else None,
        "citations": [
            _legacy_record(reference, index)
            for index, reference in enumerate(_find_all(root, ".//listBibl/biblStruct"))
        ],
        "abstract": _all_text(_find_element(root, ".//profileDesc/abstract")),
        "body": _all_text(_find_element(root, ".//text/body")),
        "acknowledgement": _all_text(_find_element(root, './/back/div[@type="acknowledgement"]')),
        "annex": _all_text(_find_element(root, './/back/div[@type="annex"]')),
        **fields,
    })  # fmt: skip
    return shape


_IDENTIFIERS = {"doi": "DOI", "pmid": "PMID", "pmcid": "PMCID", "arxiv_id": "arXiv", "pii": "PII", "ark": "ark",
                "istex_id": "istexId", "issn": "ISSN", "eissn": "eISSN"}  # fmt: skip


def _legacy_record(element: etree._Element, index: int | None) -> Json:
    """Return the fields of a header (`index` is None) or of a reference with this index, without missing fields."""
    record: Json = {key: _text_at(element, f'.//idno[@type="{kind}"]') for key, kind in _IDENTIFIERS.items()}
    record |= {
        "index": index,
        "id": element.get(_ID),
        "unstructured": _text_at(element, './/note[@type="raw_reference"]'),
        "authors": [
            person for author in _find_all(element, ".//author") if (person := _legacy_author(author)) is not None
        ],
        "editors": _legacy_editors(element),
        "date": _attribute_at(element, './/date[@type="published"]', "when"),
        "title": _text_at(element, './/title[@type="main"]'),
        "journal": _text_at(element, './/title[@level="j"]'),
        "journal_abbrev": _text_at(element, './/title[@level="j"][@type="abbrev"]'),
        "series_title": _text_at(element, './/title[@level="s"]'),
        "publisher": _text_at(element, ".//publicationStmt/publisher") or _text_at(element, ".//imprint/publisher"),
        "institution": _text_at(element, ".//respStmt/orgName"),
        "volume": _text_at(element, './/biblScope[@unit="volume"]'),
        "issue": _text_at(element, './/biblScope[@unit="issue"]'),
        "pages": _page_range(element),
        "url": _clean_url(_attribute_at(element, ".//ptr[@target]", "target")),
    }
    record["arxiv_id"] = (record["arxiv_id"] or "").removeprefix("arXiv:")
    if record["doi"] and record["url"] and ("://doi.org/" in record["url"] or "://dx.doi.org/" in record["url"]):
        record["url"] = None  # it repeats the DOI
    book_title = _find_element(element, './/title[@level="m"]')
    untyped_title = book_title.text if book_title is not None and book_title.get("type") is None else None
    if untyped_title and not record["title"]:
        record["title"] = untyped_title
    elif not record["journal"]:
        record["journal"] = untyped_title
    kept: Json = _drop_empty(record)
    return kept


def _legacy_author(element: etree._Element) -> Json | None:
    person = _find_element(element, "./persName")
    if person is None:
        return None
    fields = _person(person)
    forename, middle = fields.pop("given_name"), fields.pop("middle_name")
    return {
        "name": fields["full_name"],
        "given_name": forename or middle,
        "surname": fields["surname"],
        "orcid": _text_at(element, './/idno[@type="ORCID"]'),
        "email": _text_at(element, "./email"),
        "affiliation": _legacy_affiliation(_find_element(element, "./affiliation")),
    }


def _person(element: etree._Element) -> Json:
    return {
        "full_name": " ".join(part for text in map(str, element.itertext()) if (part := text.strip())),
        "given_name": _text_at(element, './forename[@type="first"]'),
        "middle_name": _text_at(element, './forename[@type="middle"]'),
        "surname": _text_at(element, "./surname"),
    }


def _legacy_editors(element: etree._Element) -> list[Json] | None:
    """Return the names of the editors, or None if there are none. Without `persName`, only the full name is known."""
    editors: list[Json] = []
    for editor in _find_all(element, ".//editor"):
        persons = _find_all(editor, "./persName")
        bare_name = (editor.text or "").strip() if not len(editor) else ""
        editors += [_person(person) for person in persons] or ([{"full_name": bare_name}] if len(bare_name) > 1 else [])
    return editors or None


def _legacy_affiliation(element: etree._Element | None) -> Json | None:
    if element is None:
        return None
    names = {
        kind: organisation.text
        for organisation in _find_all(element, "./orgName")
        if (kind := organisation.get("type"))
    }
    if not names:
        return None
    affiliation: Json = {kind: names.get(kind) for kind in ("institution", "department", "laboratory")}
    address = _find_element(element, "./address")
    if address is not None:
        texts_by_name = {
            etree.QName(element_part).localname: element_part.text
            for element_part in address
            if isinstance(element_part.tag, str)
        }
        affiliation["address"] = {
            "addr_line": texts_by_name.get("addrLine"),
            "postCode": texts_by_name.get("postCode"),
            "settlement": texts_by_name.get("settlement"),
            "country": texts_by_name.get("country"),
        }
    return affiliation


def _page_range(element: etree._Element) -> str | None:
    pages = _find_element(element, './/biblScope[@unit="page"]')
    if pages is None:
        return None
    first, last = pages.get("from"), pages.get("to")
    return f"{first}-{last}" if first and last else pages.text


def _clean_url(url: str | None) -> str | None:
    """Return an address without surrounding characters that GROBID includes by mistake, or None if nothing is left."""
    text = (url or "").strip()
    if text.endswith(_ACCESSED_SUFFIX):
        text = text.replace(_ACCESSED_SUFFIX, "")
    return text.removeprefix("<").partition(">")[0] or None


def _drop_empty(value: Any) -> Any:
    """Return a JSON value without members that are null, `{}` or an empty text, at any depth."""
    if isinstance(value, dict):
        kept = {key: _drop_empty(member) for key, member in value.items()}
        return {key: member for key, member in kept.items() if member is not None and member not in ({}, "")}
    if isinstance(value, list):
        return [_drop_empty(member) for member in value]
    return value
