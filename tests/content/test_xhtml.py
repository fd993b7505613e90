"""XHTML is read by the rules of XML, as in browsers, and HTML by its own, whatever it says of itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.collections.pages.reading import PageDocument, read
from windrow.collections.pages.references import LinkMemo, References, find_assets
from windrow.content import extract
from windrow.content.article import read_article
from windrow.content.page import read_page
from windrow.content.xhtml import decode_page
from windrow.reasons import Reason

URL = "http://a.example/x/"
XHTML = "application/xhtml+xml"
DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
)
START = f'<?xml version="1.0" encoding="utf-8"?>\n{DOCTYPE}\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="de">'
PAGE = (
    f"{START}<head><title>Tee &amp; Kaffee</title><script src='a.js'/><style/></head><body><div/><textarea/>"
    "<p>Der&nbsp;Tee ist <![CDATA[<heiß> & gut]]>.<br/>Mehr <a href='/mehr'>hier</a>.</p></body></html>"
)


def read_as(markup: str | bytes, content_type: str) -> PageDocument:
    raw = markup.encode() if isinstance(markup, str) else markup
    return read(raw, URL, {"content-type": content_type})


@pytest.mark.parametrize("content_type", [XHTML, f"{XHTML}; charset=utf-8", "text/xml", "application/xml", ""])
def test_empty_tags_swallow_nothing_where_browsers_use_the_rules_of_xml(content_type: str) -> None:
    page = read_as(PAGE, content_type)
    assert page.pile.text == "Der Tee ist <heiß> & gut.\nMehr hier."
    assert [link.url for link in page.links] == ["http://a.example/mehr"]
    assert (page.description.title, page.description.language) == ("Tee & Kaffee", "de")
    assert page.findings == ()
    fields = {"content-type": content_type} if content_type else {}
    assert References("test")(URL, fields, PAGE.encode())[1] == ["/mehr"]


def test_a_page_declared_as_html_is_html_whatever_its_document_type() -> None:
    assert "heiß" not in read_as(PAGE, "text/html").pile.text
    assert read_as("<title>T</title><p>one<p>two", "text/html").findings == ()


def test_xhtml_with_prefixes_has_the_same_links_and_texts_as_without() -> None:
    page = (
        '<h:html xmlns:h="http://www.w3.org/1999/xhtml" xmlns:s="http://www.w3.org/2000/svg" xmlns:x="urn:x">'
        '<h:head><h:base href="/b/"/><h:title/></h:head><h:body><h:p>one <h:a href="c">two</h:a></h:p><x:script>three'
        '</x:script><s:svg><s:path d=""/><s:title>silent</s:title></s:svg><h:IMG src="i.png"/></h:body></h:html>'
    )
    assert References("test")(URL, {"content-type": XHTML}, page.encode()) == ("http://a.example/b/", ["c"], [])
    assert read_page(page.encode(), URL, XHTML).outline.blocks.text == ["one two", "three"]
    assert find_assets(URL, {"content-type": XHTML}, page.encode()).urls == ["http://a.example/b/i.png"]


def test_scripts_are_read_as_xml_writes_them() -> None:
    head = """<script type="application/ld+json">//<![CDATA[
        {"@type": "Article", "headline": "Tea &amp; </script> <!-- cups", "author": "Ann"}
        //]]></script>"""
    article = read_article(f"{START}<head>{head}</head><body><p>Text.</p></body></html>".encode(), XHTML)
    assert (article.title, article.authors, article.unread_scripts) == ("Tea & </script> <!-- cups", ("Ann",), 0)


def test_a_page_that_is_not_well_formed_is_read_as_html_with_a_mark() -> None:
    page = read_as(f"{START}<body><p>one<p>two</body></html>", XHTML)
    assert (page.pile.text, page.pile.secondary_text) == ("one", "two")
    (finding,) = page.findings
    assert finding.kind == Reason.NOT_WELL_FORMED
    assert "(line 3: mismatched tag)" in finding.message
    _, omission = extract(b"<p>one<p>two", content_type=XHTML).left_out
    assert omission == ("faults of its XML, so that it is read as HTML: line 1: no element found", 1)


def test_the_declaration_of_xml_names_the_encoding() -> None:
    raw = '<?xml version="1.0" encoding="koi8-r"?><html><body><p>чай</p></body></html>'.encode("koi8-r")
    for content_type in (XHTML, "text/html", ""):
        assert read_page(raw, URL, content_type).outline.blocks.text == ["чай"]
    utf_16 = '<?xml version="1.0"?><html><body><p>чай</p></body></html>'.encode("utf-16-le")
    assert read_page(utf_16, URL, XHTML).outline.blocks.text == ["чай"]


@pytest.mark.parametrize(
    ("subset", "text"),
    [
        ('<!ENTITY tea "hot tea">', "hot tea"),
        ('<!ENTITY a "aaaaaaaaaa"><!ENTITY tea "&a;&a;&a;&a;">', "&tea;"),
        (f'<!ENTITY tea "{"x" * 1_100_000}">', "&tea;"),
        ('<!ENTITY tea SYSTEM "file:///etc/passwd">', "&tea;"),
        ('<!ENTITY % tea SYSTEM "http://a.example/"> %tea;', "&tea;"),
    ],
)
def test_entities_are_expanded_within_bounds_and_nothing_is_requested(subset: str, text: str) -> None:
    raw = f"<!DOCTYPE html [{subset}]><html><body><div/><p id='&tea;'>&tea;</p></body></html>".encode()
    page = read_page(raw, URL, XHTML)
    assert page.outline.blocks.text[-1].endswith(text)
    assert bool(page.fault) is (text == "&tea;")


def test_attributes_that_a_document_type_adds_to_each_element_are_left_out() -> None:
    subset = f'<!ATTLIST p title CDATA "{"x" * 100_000}">'
    page = f"<!DOCTYPE html [{subset}]><html><body>{'<p>a</p>' * 1_000}</body></html>"
    assert len(decode_page(page.encode(), XHTML).html) < 20_000


def test_tags_of_xhtml_are_not_taken_for_known_tags_of_html() -> None:
    memo = LinkMemo(References("test"))
    assert memo(URL, {"content-type": "text/html"}, b"<a href='/a'>a</a>")[1] == ["/a"]
    page = b"<h:html xmlns:h='http://www.w3.org/1999/xhtml'><a href='/a'/><h:a href='/b'>b</h:a></h:html>"
    assert memo(URL, {"content-type": XHTML}, page)[1] == ["/b"]


piece = st.sampled_from([
    "<p>", "</p>", "<br/>", "<script/>", "<title>", "</title>", "<plaintext/>", "<XMP>", "</XMP>", "<a href='/&amp;'>", "</a>",
    "<iframe>", "</iframe>", "&lt;", "&nbsp;", "&no;", "<![CDATA[</p>]]>", "<s:svg xmlns:s='http://www.w3.org/2000/svg'/>",
    "<é/>", "text", "<!-- -->", "<?pi?>", "<table><tr/></table>",
])  # fmt: skip


@settings(max_examples=100)
@given(st.lists(piece, max_size=12).map("".join))
def test_text_after_any_xhtml_is_kept(markup: str) -> None:
    page = read_page(f"<html><body><div>{markup}</div><p>the end</p></body></html>".encode(), URL, XHTML)
    if not page.fault:
        assert page.outline.blocks.text[-1] == "the end"
