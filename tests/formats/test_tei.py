"""TEI to JSON: both shapes, compared with the originals' output."""

from __future__ import annotations

import json

import grobid_tei_xml
import pytest

from windrow.errors import StepError
from windrow.formats.tei import drop_full_text, legacy_shape, read_tei, table_shape
from windrow.model import Limits
from windrow.reasons import Reason

HEAD = '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><encodingDesc><appInfo><application version="1" when="2"/></appInfo></encodingDesc>'
TAIL = "</teiHeader><text xml:lang='en'><body><p>b</p></body></text></TEI>"


def tei_document(inner: str = "", text: str = "") -> bytes:
    return (HEAD + inner + (f"</teiHeader>{text}</TEI>" if text else TAIL)).encode()


def test_the_shape_of_2018_is_that_of_the_original(shared):
    folder = shared / "data" / "papers" / "tei"
    root = read_tei((folder / "small_2018.tei.xml").read_bytes(), Limits())
    expected = json.loads((folder / "small_2018.expected.json").read_text())
    assert table_shape(root) == expected
    assert set(expected) - set(drop_full_text(table_shape(root))) == {"body", "annex"}


def test_all_keys_of_the_shape_of_2018_are_there_when_nothing_is_said():
    shape = table_shape(read_tei(tei_document(), Limits()))
    assert shape["date"] is False
    assert shape["journal"] == dict.fromkeys(("name", "publisher", "issn", "eissn", "volume", "issue"))
    assert shape["body"] == "b"
    empty = {key for key, value in shape.items() if value is None}
    assert empty == {"title", "fatcat_release", "doi", "abstract", "acknowledgement", "annex"}


REFERENCE = """<text><back><div type="references"><listBibl>
<biblStruct xml:id="b0"><monogr><title>Only a book</title><imprint/></monogr><ptr target="http://x.example/a.Lastaccessed"/></biblStruct>
<biblStruct><analytic><title/><author><persName><surname>Li</surname></persName></author></analytic>
<idno type="DOI">10.1/X</idno></biblStruct></listBibl></div></back></text>"""


def test_references_of_books_and_of_nothing_have_the_keys_of_old():
    first, second = table_shape(read_tei(tei_document(text=REFERENCE), Limits()))["citations"]
    assert (first["title"], first["journal"], first["url"], first["id"]) == (
        "Only a book",
        None,
        "http://x.example/a",
        "b0",
    )
    assert first["date"] is False
    assert "journal" not in second
    assert second["authors"] == [{"name": "Li", "given_name": None, "surname": "Li"}]
    assert second["index"] == 1


def test_the_later_shape_is_the_dictionary_of_grobid_tei_xml(shared):
    compared = 0
    for path in sorted((shared / "data" / "papers").glob("**/*.tei.xml")):
        content = path.read_bytes()
        if b"<application" in content:
            assert (
                legacy_shape(read_tei(content, Limits())) == grobid_tei_xml.parse_document_xml(content).to_legacy_dict()
            )
            compared += 1
    assert compared == 19


@pytest.mark.parametrize(
    "inner",
    [
        "",
        ("<fileDesc><sourceDesc><biblStruct><analytic><author><persName><forename type='first'>A</forename>"
        "<forename type='middle'>B</forename><surname>C</surname></persName><email>e@x</email>"
        "<idno type='ORCID'>1</idno><affiliation><orgName type='institution'>I</orgName><address>"
        "<postCode>9</postCode><addrLine>l</addrLine></address></affiliation></author><author>x</author>"
        "<editor>E F</editor><editor><persName><surname>G</surname></persName></editor></analytic>"
        "<idno type='DOI'>10.1/a</idno><idno type='eISSN'>1-2</idno><ptr target='https://doi.org/10.1/a'/></biblStruct>"
        "</sourceDesc></fileDesc>"),
        ("<fileDesc><sourceDesc><biblStruct><monogr><title level='m'>Book</title><imprint><publisher>P</publisher>"
        "<biblScope unit='page'>7</biblScope><date type='published'/></imprint></monogr>"
        "<idno type='arXiv'>arXiv:1</idno><note>n</note><note type='raw_reference'>raw</note>"
        "<ptr target=' &lt;http://x> y'/></biblStruct></sourceDesc></fileDesc>"),
        ("<fileDesc><sourceDesc><biblStruct><analytic><title type='main'>T</title></analytic><monogr>"
        "<title level='m'>Book</title><title level='j' type='abbrev'/><imprint><biblScope unit='page' from='1' to='2'/>"
        "</imprint></monogr></biblStruct></sourceDesc></fileDesc>"),
    ],
)  # fmt: skip
def test_the_later_shape_of_made_headers_is_that_of_grobid_tei_xml(inner):
    content = tei_document(inner)
    assert legacy_shape(read_tei(content, Limits())) == grobid_tei_xml.parse_document_xml(content).to_legacy_dict()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html/>", Reason.WRONG_ROOT),
        (b"<TEI/>", Reason.WRONG_ROOT),
        (tei_document()[:-30], Reason.NOT_WELL_FORMED),
        (b'<!DOCTYPE x [<!ENTITY a "b">]>' + tei_document(), Reason.DTD_FORBIDDEN),
        (b"@article{x}", Reason.NOT_WELL_FORMED),
    ],
)
def test_what_is_no_tei_is_refused_with_its_reason(content, reason):
    with pytest.raises(StepError) as refused:
        read_tei(content, Limits())
    assert refused.value.reason is reason
