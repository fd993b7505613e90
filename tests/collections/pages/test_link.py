"""Links: their targets, distance, kind and position."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.reading import Link
from windrow.collections.pages.reading import read as read_any
from windrow.collections.pages.reading.document import read_html_page
from windrow.collections.pages.reading.link import (
    LinkClassifier,
    LinkCounts,
    compute_indexiness,
    count_links,
    find_links,
)
from windrow.collections.pages.references import References
from windrow.content.outline import PageLocation
from windrow.content.page import read_page
from windrow.reasons import Reason

HERE = "http://a.example/dir/page?q=1"


def read_links(html: str, url: str = HERE) -> list[Link]:
    page = read_page(html.encode(), url)
    return find_links(page.outline, page.head, LinkClassifier(url, page.head.base))


def only(html: str) -> Link:
    (link,) = read_links(html)
    return link


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ("mailto:x@a.example", Locality.OUT),
        ("http://b.example/dir/page?q=1", Locality.OUT),
        ("http://a.example:8080/dir/page?q=1", Locality.OUT),
        ("ftp://a.example:80/dir/page?q=1", Locality.OUT),
        ("https://a.example/dir/page?q=1", Locality.SELF),
        ("http://a.example:80/dir/page?q=1", Locality.SELF),
        ("http://a.example/dir/page", Locality.IN),
        ("http://a.example/dir/other?q=1", Locality.IN),
        ("http://a.example", Locality.IN),
        ("http://www.a.example/dir/page?q=1", Locality.OUT),
    ],
)
def test_the_first_difference_decides_the_locality(there: str, expected: Locality) -> None:
    target = LinkClassifier(HERE).find_target(there)
    assert target is not None
    assert target.locality == expected


@pytest.mark.parametrize(
    ("written", "url", "fragment"),
    [
        ("", HERE, None),
        ("#top", HERE, "top"),
        ("#", HERE, None),
        ("other", "http://a.example/dir/other", None),
        ("../x/./y", "http://a.example/x/y", None),
        ("/a b", "http://a.example/a%20b", None),
        ("/x/../y", "http://a.example/y", None),
        ("//b.example/z", "http://b.example/z", None),
        ("//b.example", "http://b.example/", None),
        ("HTTPS://B.example/Path", "https://b.example/Path", None),
        (" \thttp://b.exam\nple/ ", "http://b.example/", None),
        ("http://user:secret@b.example/", "http://b.example/", None),
        ("?p=2", "http://a.example/dir/page?p=2", None),
        ("mailto:x@y.example?subject=a", "mailto:x@y.example?subject=a", None),
    ],
)
def test_references_are_resolved(written: str, url: str, fragment: str | None) -> None:
    target = LinkClassifier(HERE).find_target(written)
    assert target is not None
    assert target[:2] == (url, fragment)


@pytest.mark.parametrize("written", ["http://[::1", "http://a:99999/", "http://b.example:x/", "x" * 10_000])
def test_what_means_no_address_is_none(written: str) -> None:
    assert LinkClassifier(HERE).find_target(written) is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_reference_is_resolved_or_none(base: str, written: str) -> None:
    target = LinkClassifier(base, base).find_target(written)
    assert target is None or "#" not in target.url


def test_rel_becomes_three_flags() -> None:
    link = only('<a href=/x rel="NoFollow noopener me tag">t</a>')
    assert (link.nofollow, link.me, link.tag) == (True, True, True)
    assert (only("<a href=/x>t</a>").nofollow, only("<a href=/x rel=nofollowed>t</a>").nofollow) == (False, False)


@pytest.mark.parametrize(
    ("before", "where"),
    [
        ("<header>", PageLocation.HEADER),
        ("<footer>", PageLocation.FOOTER),
        ("<aside>", PageLocation.ASIDE),
        ("<nav><div>", PageLocation.NAV),
        ("<main>", PageLocation.MAIN),
        ("<article><section>", PageLocation.ARTICLE | PageLocation.SECTION),
        ("<table><tr><td>", PageLocation.TABLE),
        ("<figure>", PageLocation.FIGURE),
        ("<address>", PageLocation.ADDRESS),
        ("<code>", PageLocation.CODE),
        ("<pre>", PageLocation.CODE),
        ("<h3>", PageLocation.HEADLINE),
        ("<dl><dd>", PageLocation.LIST),
        ("<ol><li>", PageLocation.LIST),
        ("<p><b>", PageLocation.PARAGRAPH),
        ("<div role=navigation>", 0),
    ],
)
def test_a_location_flag_for_every_ancestor_with_a_meaning(before: str, where: int) -> None:
    assert only(f"{before}<a href=/x>t</a>").location == where


def test_a_form_is_a_link_and_what_lies_in_it_is_in_a_form() -> None:
    form, link = read_links("<form action=/go><a href=/x>t</a></form>")
    assert (form.html_tag, form.destination, form.location) == ("form", Destination.FORM, 0)
    assert link.location == PageLocation.FORM


@pytest.mark.parametrize(
    ("html", "destination"),
    [
        ("<a href=/x>t</a>", Destination.FILE),
        ("<a href=mailto:x@y.example>t</a>", Destination.COMMUNICATION),
        ("<a href='tel:+1 2'>t</a>", Destination.COMMUNICATION),
        ("<a href=foo:bar>t</a>", None),
        ("<iframe src=/x></iframe>", Destination.EMBEDDED),
        ("<video src=/x></video>", Destination.VIDEO),
        ("<img src=/x>", Destination.IMAGE),
        ("<video poster=/x></video>", Destination.IMAGE),
        ("<input type=image src=/x>", Destination.IMAGE),
        ("<button formaction=/x>t</button>", Destination.FORM),
        ("<input type=submit formaction=/x>", Destination.FORM),
        ("<img longdesc=/x>", Destination.FILE),
        ("<iframe longdesc=/x></iframe>", Destination.FILE),
        ("<q cite=/x>t</q>", Destination.FILE),
        ("<svg><a xlink:href=/x><text>t</text></a></svg>", Destination.FILE),
        ("<link rel='next nofollow' href=/x>", Destination.FILE),
        ("<link rel=prev type='text/html; charset=x' href=/x>", Destination.FILE),
        ("<meta http-equiv=Refresh content='5; URL=/x'>", Destination.FILE),
        ("<link rel=alternate type=application/rss+xml href=/x>", Destination.FEED),
        ("<link rel='shortcut icon' href=/x>", Destination.ICON),
        ("<link rel=Icon href=/x sizes=any>", Destination.ICON),
        ("<link rel=apple-touch-icon href=/x>", Destination.ICON),
        ("<link rel=alternate hreflang=fr href=/x>", Destination.TRANSLATION),
        ("<link rel=alternate hreflang=fr type='application/atom+xml; x=y' href=/x>", Destination.FEED),
    ],
)
def test_destinations(html: str, destination: int | None) -> None:
    assert only(html).destination == destination


def test_offers_of_the_head_come_last_and_only_those_with_an_address() -> None:
    html = """<link rel=icon href=data:,x><link rel=lexicon href=/l><link rel=icon><link rel=alternate hreflang=en>
    <link rel=icon href=i.png><link rel=alternate hreflang=fr href=//fr.a.example/ title="En français"><a href=/x>t</a>
    <link rel=alternate media=print href=/p#q><link rel=stylesheet hreflang=fr href=/s><link rel=next type=x/y href=/n>"""
    assert [(link.url, link.html_tag, link.text, link.locality) for link in read_links(html)] == [
        ("http://a.example/x", "a", "t", Locality.IN),
        ("http://a.example/p", "link", None, Locality.IN),
        ("http://fr.a.example/", "link", "En français", Locality.OUT),
        ("http://a.example/dir/i.png", "link", None, Locality.IN),
    ]


def test_relations_of_the_head_are_those_of_the_link() -> None:
    html = """<link rel="Me nofollow" href=https://social.example/@a><link rel=author href=/about><link rel=tag href=/t>
    <link rel=license href=/l><link rel=help href=/h><link rel=next href=/n><link rel=preconnect href=/c>"""
    flags = [(link.url.rpartition("/")[2], link.me, link.nofollow, link.tag) for link in read_links(html)]
    assert flags[:3] == [("@a", True, True, False), ("about", False, False, False), ("t", False, False, True)]
    assert [path for path, *_ in flags[3:]] == ["l", "h", "n"]
    assert References("x")(HERE, {"content-type": "text/html"}, html.encode()).urls == ["/n"]


def test_a_frame_is_a_link_of_its_own_element() -> None:
    html = b"<frameset><frame src=/menu name=Menu><noframes><a href=/old>t</a></noframes></frameset>"
    page = read_html_page(html, HERE)
    assert [(link.url.rpartition("/")[2], link.html_tag, link.text) for link in page.links] == [
        ("menu", "frame", "Menu"), ("old", "a", "t"),
    ]  # fmt: skip


@pytest.mark.parametrize(("html", "encoding", "content_type"), [
    ("<html><frameset><frame src='x>y' name=Menu><noframes><p>No frames</noframes></frameset>", "utf-8", "text/html"),
    ("\ufeff<frameset><frame src='x&gt;y' name=Menu><noframes><p>No frames</noframes></frameset>", "utf-16", "text/html"),
    (("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head><frameset>"
     "<frame src='x&gt;y' name='Menu'/><noframes><body><p>No frames</p></body></noframes></frameset></html>"), "utf-8",
     "application/xhtml+xml"),
])  # fmt: skip
def test_frames_are_read_in_any_encoding_and_in_xhtml(html: str, encoding: str, content_type: str) -> None:
    page = read_html_page(html.encode(encoding), HERE, content_type)
    assert [(link.url, link.html_tag, link.text) for link in page.links] == [
        ("http://a.example/dir/x%3Ey", "frame", "Menu")
    ]
    assert "No frames" in f"{page.pile.text} {page.pile.secondary_text}"
    assert page.encoding.startswith(encoding)
    assert page.findings == ()


def test_scripts_and_inline_images_are_no_links() -> None:
    assert read_links("<a href='javascript:void(0)'>t</a><a href=data:x>t</a><img src=data:x><a>t</a>") == []


def test_what_a_crawl_follows_is_a_link_of_the_page() -> None:
    html = """<meta http-equiv=refresh content="0;url='/r'"><link rel=next href=/n><link rel=prev href=/p><a href=/a>t</a>
    <svg><a href=/s>t</a></svg><iframe src=/i></iframe><map><area href=/m></map>"""
    followed = References("x")(HERE, {"content-type": "text/html"}, html.encode()).urls
    paths = {link.url.removeprefix("http://a.example") for link in read_links(html)}
    assert set(followed) <= paths
    assert {link.html_tag for link in read_links(html)} == {"meta", "link", "a", "iframe", "area"}


def test_a_crawl_follows_what_is_embedded() -> None:
    html = """<embed src=minutes.pdf><object data=agenda.pdf></object><iframe srcdoc="<a href=/inner>t</a>"></iframe>
    <noframes><a href=/old>t</a></noframes><svg><a xlink:href=/map>t</a></svg>"""
    references = References("x")
    for fields, body in (
        ({"content-type": "text/html"}, html.encode()),
        ({"content-type": "text/html, text/html"}, b"\xef\xbb\xbf<!doctype html>" + html.encode()),
        ({}, b"\xef\xbb\xbf<!doctype html>" + html.encode()),
    ):
        assert set(references(HERE, fields, body).urls) == {"minutes.pdf", "agenda.pdf", "/inner", "/old", "/map"}


@pytest.mark.parametrize(
    ("content", "address"),
    [("0; /en/", "/en/"), ("5, '/b'; x", "/b"), ("3 url=/c", "/c"), ('0;URL = "/d"', "/d"), ("60", ""), ("60;", "")],
)
def test_an_address_of_a_refresh_needs_no_name(content: str, address: str) -> None:
    html = f"<meta http-equiv=refresh content='{content}'>" if "'" not in content else ""
    html = html or f'<meta http-equiv=refresh content="{content}">'
    assert References("x")(HERE, {"content-type": "text/html"}, html.encode()).urls == ([address] if address else [])


def test_every_attribute_with_an_address_is_a_link_and_no_text_changes() -> None:
    html = """<article><blockquote cite=/b>Quoted</blockquote><p>re<del cite=/d>mo</del><ins cite=/i>ved</ins> <q cite=/q>so</q>
    <img src=/s longdesc=/l alt=Tea><video src=/v poster=/p title=Film><track src=/t></video><input value=x></article>"""
    page = read_page(html.encode(), HERE)
    found = [
        (link.url.rpartition("/")[2], link.html_tag, link.text)
        for link in find_links(page.outline, page.head, LinkClassifier(HERE))
    ]
    assert found == [
        ("b", "blockquote", None), ("d", "del", None), ("i", "ins", None), ("q", "q", None), ("s", "img", "Tea"),
        ("l", "img", "Tea"), ("v", "video", "Film"), ("p", "video", "Film"), ("t", "track", None),
    ]  # fmt: skip
    assert page.outline.blocks.text == ["Quoted", "removed so"]
    assert page.outline.blocks.quote == {1: ["so"]}
    tags = [page.outline.boxes.tag[box] for box in page.outline.blocks.box]
    assert tags == ["blockquote", "p"]


def test_a_picture_in_a_link_is_a_link_of_its_own() -> None:
    picture, link = sorted(
        read_links("<a href=/x><img src=/y.png alt=Tea></a>"), key=lambda offered: offered.html_tag, reverse=True
    )
    assert (picture.url, picture.html_tag, picture.text) == ("http://a.example/y.png", "img", "Tea")
    assert (link.url, link.text) == ("http://a.example/x", "Tea")


def test_links_of_feeds_and_markdown_have_no_tag_of_html() -> None:
    feed = (
        b"<rss><channel><item><title>T</title><link>/a</link><description>&lt;a href='/b'&gt;b&lt;/a&gt;</description>"
    )
    for kind, body in (
        ("application/rss+xml", feed + b"</item></channel></rss>"),
        ("text/markdown", b"[a](/a) ![b](/b)"),
    ):
        any_links = read_any(body, HERE, {"content-type": kind}).links
        assert {link.url for link in any_links} == {"http://a.example/a", "http://a.example/b"}
        assert {link.html_tag for link in any_links} == {""}


def test_the_base_element_moves_relative_links_and_not_the_locality() -> None:
    link = only("<base href=//b.example/deep/><a href=x>t</a>")
    assert (link.url, link.locality) == ("http://b.example/deep/x", Locality.OUT)


def test_text_is_null_without_a_label() -> None:
    assert only("<a href=/x><i></i></a>").text is None


def test_indexiness_counts_each_link_once_and_only_in_the_content() -> None:
    html = """<nav><a href=/0>n</a></nav><header><a href=/0>h</a></header><main>
    <h2><a href=/1>1</a></h2><ul><li><a href=/2>2</a><li><h3><a href=/3>3</a></h3></ul><a href=/4><h2>4</h2></a>
    <ul><li><a href=#a>a</a></ul><h2><a href=#b>b</a></h2><p><a href=/5>5</a> <a href=http://b.example/>o</a>
    <header><ul><li><a href=/6>6</a></ul></header><ul><li><a href=/7></a></ul></main>"""
    counted = count_links(read_links(html), has_date=True)
    assert counted == LinkCounts(
        True, self_in_headlines=1, self_in_lists=1, site_in_headlines=3, site_in_lists=2, out_of_site=1
    )
    assert compute_indexiness(counted) == 2 * 3 + 2 - 2 - 1 - 1 - 10


def test_every_size_of_a_picture_is_a_link() -> None:
    picture = (
        "<picture><source srcset='a.webp, b.webp 2x'><img src=c.png srcset='c.png 1x, d.png 2x' alt=Tea></picture>"
    )
    links = read_links(f"<p>{picture}<video><source src=e.mp4></video><audio><source src=f.mp3></audio>")
    assert [(link.url.rpartition("/")[2], link.html_tag, link.text) for link in links] == [
        ("a.webp", "img", None), ("b.webp", "img", None), ("c.png", "img", "Tea"), ("d.png", "img", "Tea"),
        ("e.mp4", "source", None), ("f.mp3", "source", None),
    ]  # fmt: skip
    assert [link.destination for link in links] == [*[Destination.IMAGE] * 4, Destination.VIDEO, Destination.AUDIO]


def test_links_that_are_not_addresses_are_counted():
    long = "x" * 3_000
    html = f"""<link rel=icon href='http://['><link rel=canonical href='http://]'><a href='mailto:{long}'>a</a>
    <a href='http://b.example/{long}'>b</a><a href='http://['>c</a><img src='http://[x'><a href='javascript:{long}'>d</a>
    <a href=' DATA:text/html,{long}'>e</a><img src='data:image/png;base64,{long}'><a href='tel:12'>f</a>"""
    page = read_html_page(html.encode(), HERE)
    assert [link.url for link in page.links] == ["tel:12"]
    assert page.refused_links == {Reason.ADDRESS_TOO_LONG: 2, Reason.BAD_ADDRESS: 4}
