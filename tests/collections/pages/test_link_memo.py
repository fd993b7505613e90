"""Links that were seen are not offered again, and new ones are never missed, on any pages."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from windrow.collections.pages.references import LinkMemo, References

HTML = {"content-type": "text/html; charset=utf-8"}
URL = "https://h.example/a/b.html"


def reader(calls=None):
    exact = References("test")

    def read(url, fields, body):
        if calls is not None:
            calls.append(body)
        return exact(url, fields, body)

    return read


def test_a_page_of_known_links_is_not_parsed():
    calls = []
    memo = LinkMemo(reader(calls))
    page = b'<title>1</title><a href="/x">x</a><A HREF=y.html>y</A><a href="#top">t</a><link rel=stylesheet href=/s>'
    assert memo(URL, HTML, page)[:2] == (URL, ["/x", "y.html", "#top"])
    before = len(calls)
    assert memo("https://h.example/a/c.html", HTML, page.replace(b"1", b"2"))[:2] == ("https://h.example/a/c.html", [])
    assert len(calls) == before
    assert memo("https://h.example/other/", HTML, page)[:2] == ("https://h.example/other/", ["y.html"])


def test_what_was_in_a_comment_is_offered_when_it_is_a_link():
    memo = LinkMemo(reader())
    link = b'<a href="/hidden">x</a>'
    assert memo(URL, HTML, b"<p><!-- " + link + b" --><script>'" + link + b"'</script>")[1] == []
    assert memo(URL, HTML, b"<p>" + link)[1] == ["/hidden"]


def test_what_was_not_to_be_followed_is_offered_when_it_is():
    memo = LinkMemo(reader())
    assert memo(URL, HTML, b'<a rel=nofollow href="/x">x</a>')[1] == []
    assert memo(URL, HTML, b'<meta name=robots content=nofollow><a href="/x">x</a>')[1] == []
    assert memo(URL, HTML, b'<a href="/x">x</a>')[1] == ["/x"]


def test_an_end_of_a_tag_in_a_value_is_none():
    memo = LinkMemo(reader())
    assert memo(URL, HTML, b'<a title="a > b" href="/x">x</a>')[1] == ["/x"]
    assert memo(URL, HTML, b'<a title="a > b" href="/y">x</a>')[1] == ["/y"]


def test_a_base_is_minded():
    memo = LinkMemo(reader())
    page = b'<a href="y.html">y</a>'
    assert memo(URL, HTML, page)[1] == ["y.html"]
    assert memo(URL, HTML, b'<base href="/z/">' + page)[:2] == ("https://h.example/z/", ["y.html"])


def test_a_known_path_is_offered_again_if_its_base_is_on_another_origin():
    memo = LinkMemo(reader())
    page = b'<a href="/x">x</a>'
    assert memo(URL, HTML, page)[1] == ["/x"]
    assert memo(URL, HTML, b'<base href="https://o.example/">' + page)[:2] == ("https://o.example/", ["/x"])


def test_other_encodings_are_read_in_full():
    memo = LinkMemo(reader())
    assert memo(URL, HTML, b'<a href="/x">x</a>')[1] == ["/x"]
    page = "\ufeff<a href='/x'>x</a><a href='/y'>y</a>".encode("utf-16")
    assert memo(URL, {"content-type": "text/html"}, page)[1] == ["/y"]


def test_forgetting_offers_everything_again():
    memo = LinkMemo(reader())
    for _ in range(2):
        assert memo(URL, HTML, b'<a href="/x">x</a>')[1] == ["/x"]
        memo.forget()


HREFS = ["/x", "/y?a=1&amp;b=2", "z.html", "?page=2", "#t", "https://o.example/", "//o.example/q", "", " /w ", "\u00e9"]
PIECES = [
    *(f'<a href="{href}">' for href in HREFS), *(f"<a href='{href}'>" for href in HREFS),
    "<a title='>' href=/v>", "<a rel=nofollow href=/x>", "<!--", "-->", "<script>", "</script>", "<iframe src=/f>",
    "</iframe>", "<textarea>", "</textarea>", "<select>", "</select>", "<link rel=next href=/n>", "<p>", '"', "'", ">",
    "<meta http-equiv=refresh content='0; url=/r'>", "<svg><a href=/svg>", "</svg>", "<template>", "</template>",
    "<a href=/u\" title='a>b'>", "<area href=/m>", "<frameset><frame src=/fr>", "<title>", "</title>", "<a\nhref=/nl>",
    "<embed src=/e>", "<object data=/o>", "</object>", "<noframes>", "</noframes>", "<svg><a xlink:href=/xs>",
    "<iframe srcdoc='<a href=/sd>'>", '<iframe srcdoc="<a href=/sd>&lt;a href=/sd2>">', "<A XLINK:HREF=/XS>", "<math>",
    "<!x", "<?x", "<![CDATA[", "]]>", "<!--[if IE]>", "<![endif]-->", "<!-->", "<noscript>", "</noscript>", "<noembed>",
    "<xmp>", "<plaintext>", "<link href=/rss>", "<link href=rss>", "<link>/text</link>", "<rss><channel><item>",
    "<a rel=nofollow href=w.html>", "<base href=/>", "<base href=/z/>", "<a href=/end-of-tag-0>", "<svg><desc>",
    "<a href=/end-of-tag-x>", "<meta name=robots content=nofollow>", "<p title='", "<math><annotation-xml>",
]  # fmt: skip

IN_COMMENT = ("a", ["<!--", "<svg><a xlink:href=/xs>"])
WITHHELD_IN_TEXT = ("a", ["<noembed>", "<a rel=nofollow href=/x>"])


@settings(max_examples=400)
@given(pages=st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from(PIECES), max_size=9)), max_size=7))
@example(pages=[IN_COMMENT, ("a", ["<svg><a xlink:href=/xs>"])])
@example(pages=[("a", ["<a XLINK:HREF=/xs>"]), ("a", ["<math>"]), ("a", ["<svg><a XLINK:HREF=/xs>"])])
@example(pages=[WITHHELD_IN_TEXT, ("a", ["<a rel=nofollow href=/x>"])])
@example(pages=[(folder, ["<a rel=nofollow href=w.html>"]) for folder in "ab"])
@example(pages=[(folder, ['<iframe srcdoc="<a href=/q>">' * 2, "<a href=z.html>"]) for folder in "ab"])
@example(pages=[("a", ["<rss><channel><item>", f"<link>/{number}</link>"]) for number in (1, 2)])
@example(pages=[(folder, ["<feed><entry>", "<link href=x />"]) for folder in "ab"])
@example(pages=[("a", ['<a href="#t">']), ("a", ["<base href=/z/>", '<a href="#t">'])])
@example(pages=[("a", ["<!--", "<a href=/end-of-tag-0>"]), ("a", ["<a href=/end-of-tag-0>"])])
def test_nothing_is_missed_that_reading_in_full_finds(pages):
    exact, memo = References("test"), LinkMemo(reader())
    offered: set[tuple[str, str]] = set()
    withheld: set[tuple[str, str]] = set()
    for at, (folder, pieces) in enumerate(pages):
        url, body = f"https://h.example/{folder}/{at}", "".join(pieces).encode()
        new, whole = memo(url, HTML, body), exact(url, HTML, body)
        assert new.base == whole.base
        assert set(new.urls) <= set(whole.urls)
        assert {reference for reference in whole.urls if reference.startswith("?")} <= set(new.urls)
        offered |= {locate(reference, whole.base, url) for reference in new.urls}
        withheld |= {locate(reference, whole.base, url) for reference in new.withheld}
        assert {locate(reference, whole.base, url) for reference in whole.urls} <= offered
        assert {locate(reference, whole.base, url) for reference in whole.withheld} <= withheld | offered


def locate(reference, base, url):
    """Return a reference with the folder on which its target depends; a fragment of the page itself is no other page."""
    if reference.startswith(("/", "http://", "https://")) or (reference.startswith("#") and base == url):
        return reference, ""
    return reference, base.rpartition("/")[0]
