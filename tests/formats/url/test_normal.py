import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windrow.formats.url import MAX_CHARACTERS, normalise, parts
from windrow.reasons import Reason

BASE = "https://example.org/a/b?c=d"

# RFC 3986, section 5.4, over http instead of its own base's spelling of the same path
RFC = {
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g/",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    "": "http://a/b/c/d;p?q",
    ";x": "http://a/b/c/;x",
    "g;x?y": "http://a/b/c/g;x?y",
    ".": "http://a/b/c/",
    "..": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    "..g": "http://a/b/c/..g",
    "./g/.": "http://a/b/c/g/",
    "g/../h": "http://a/b/c/h",
    "g;x=1/../y": "http://a/b/c/y",
}


@pytest.mark.parametrize(("href", "url"), RFC.items())
def test_relative_links_resolve_as_the_rfc_lists_them(href, url):
    assert normalise(href, "http://a/b/c/d;p?q").url == url


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("HTTPS://EXAMPLE.ORG:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org", "http://example.org/"),
        ("http://example.org./x", "http://example.org/x"),
        ("http://example.org.:8080/x", "http://example.org:8080/x"),
        ("http://me:pass@word@example.org/", "http://example.org/"),
        ("http://@example.org/", "http://example.org/"),
        ("/a%7eb%2fc%zz%", "https://example.org/a~b%2Fc%25zz%25"),
        ("/%2e%2E/x/%2e", "https://example.org/x/"),
        ("/a%252e", "https://example.org/a%252e"),
        ("/x?", "https://example.org/x"),
        ("/x?b=2&a=1&a=0", "https://example.org/x?b=2&a=1&a=0"),
        ("/x?q=%41%20+'", "https://example.org/x?q=A%20+%27"),
        ("/a[1]|?b[]={x}^\\`", "https://example.org/a%5B1%5D%7C?b%5B%5D=%7Bx%7D%5E%5C%60"),
        ("\\x\\y", "https://example.org/x/y"),
        ("  /x\n\t/y ", "https://example.org/x/y"),
        ("/caf\u00e9", "https://example.org/caf%C3%A9"),
        ("//\u4f8b\u3048.jp/", "https://xn--r8jz45g.jp/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://\uff11\uff10.0.0.1/", "http://10.0.0.1/"),
        ("http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"),
        ("/x\ud800y", "https://example.org/x%EF%BF%BDy"),
        ("http://a_b.example.org/", "http://a_b.example.org/"),
    ],
)
def test_one_spelling(href, url):
    assert normalise(href, BASE).url == url


@pytest.mark.parametrize(
    ("href", "reason"),
    [
        ("mailto:a@b", Reason.NO_TRANSPORT),
        ("javascript:void(0)", Reason.NO_TRANSPORT),
        (" \tJava\nScript:alert(1)", Reason.NO_TRANSPORT),
        ("data:text/html," + "x" * 1_000_000, Reason.NO_TRANSPORT),
        ("ftp://example.org/", Reason.NO_TRANSPORT),
        ("blob:https://example.org/1", Reason.NO_TRANSPORT),
        ("http://", Reason.BAD_ADDRESS),
        ("http://a b/", Reason.BAD_ADDRESS),
        ("http://ex..org/", Reason.BAD_ADDRESS),
        ("http://.org/", Reason.BAD_ADDRESS),
        ("http://" + "a" * 64 + ".org/", Reason.BAD_ADDRESS),
        ("http://" + "a." * 127 + "org/", Reason.BAD_ADDRESS),
        ("http://1.2.3.4.5/", Reason.BAD_ADDRESS),
        ("http://example.org:65536/", Reason.BAD_ADDRESS),
        ("http://example.org:0/", Reason.BAD_ADDRESS),
        ("http://[fe80::1%25eth0]/", Reason.BAD_ADDRESS),
        ("http://a{b}.org/", Reason.BAD_ADDRESS),
        ("/x%00y", Reason.BAD_ADDRESS),
        ("/x?y=%0D%0ASet-Cookie:z", Reason.BAD_ADDRESS),
        ("/x\x07y", Reason.BAD_ADDRESS),
        ("/" + "a" * MAX_CHARACTERS, Reason.ADDRESS_TOO_LONG),
        ("/" + "\u00e9" * (MAX_CHARACTERS // 5), Reason.ADDRESS_TOO_LONG),
        ("x" * 1_000_000, Reason.ADDRESS_TOO_LONG),
    ],
)
def test_what_is_refused(href, reason):
    assert normalise(href, BASE) == ("", None, reason)


def test_without_a_base_a_relative_link_is_no_address():
    assert normalise("/x").reason is Reason.BAD_ADDRESS
    assert normalise("http://example.org/x#y") == ("http://example.org/x", "y", None)


def test_fragments_are_split_off():
    assert normalise("#a b", BASE) == ("https://example.org/a/b?c=d", "a%20b", None)
    assert normalise("#", BASE).fragment is None
    assert normalise("#" + "x" * (MAX_CHARACTERS + 1), BASE).fragment is None


PIECES = st.lists(
    st.sampled_from(
        ["%", "%2", "%25", "%34", "%41", "%2e", "%7E", "%e9", "%00", "/", "//", ".", "..", "?", "&", "=", "#", "@", ":", ";",
         "\\", " ", "\t", "a", "B", "0", "\u00e9", "\ud800", "[", "]", "http:", "https://", "xn--", "\u3002", "'", "|", "example.org"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(st.one_of(PIECES, st.text(max_size=60)))
@example("%%34%31")
@example("%2%35")
@example("?\\")
def test_a_normal_address_is_normal(href):
    once = normalise(href, BASE)
    assert (once.url == "") == (once.reason is not None)
    if once.url:
        assert normalise(once.url) == (once.url, None, None)
        assert normalise(once.url, "http://other.example/") == (once.url, None, None)
        assert parts(once.url).text == once.url
        assert once.url.isascii()
        assert "#" not in once.url
        assert "@" not in once.url.split("/")[2]
        assert not set(once.url) & set(' \t\n\r"<>\\^`{|}')


NO_END = st.text(st.characters(exclude_characters="/\\?#"), max_size=30)


@given(NO_END, NO_END)
@example("a@b", "c:d@")
def test_credentials_never_stay(user, password):
    resolved = normalise(f"https://{user}:{password}@example.org/x")
    assert resolved.url == "https://example.org/x"


def test_parts():
    whole = parts("http://[::1]:8080/p?q=r")
    assert whole[1:] == ("http", "[::1]", 8080, "/p", "q=r")
    assert whole.origin == "http://[::1]:8080"


def test_a_byte_that_could_not_be_decoded_is_escaped_as_itself() -> None:
    assert normalise(b"http://a.example/caf\xe9".decode("utf-8", "surrogateescape")).url == "http://a.example/caf%E9"
    assert normalise("http://a.example/\ud83d").url == "http://a.example/%EF%BF%BD"
