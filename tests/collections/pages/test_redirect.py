import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.collections.pages.redirect import find_canonical, find_link_targets, read_redirect
from windrow.reasons import Reason

PAGE = "https://example.org/a?x"


@pytest.mark.parametrize(
    ("status", "permanent"), [(301, True), (308, True), (302, False), (300, False), (303, False), (307, False)]
)
def test_redirects(status, permanent):
    assert read_redirect(PAGE, status, "b")[:3] == ("https://example.org/b", None, permanent)


@pytest.mark.parametrize("status", [200, 204, 304, 305, 306, 404, 500])
def test_other_answers_are_no_redirects(status):
    assert read_redirect(PAGE, status, "/b") is None
    assert read_redirect(PAGE, 300, " ") is None, "without an address it is an answer with several links"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("", Reason.BAD_ADDRESS),
        ("  ", Reason.BAD_ADDRESS),
        ("http://a b/", Reason.BAD_ADDRESS),
        ("javascript:alert(1)", Reason.NO_TRANSPORT),
        ("file:///etc/passwd", Reason.NO_TRANSPORT),
        ("/" + "x" * 3000, Reason.ADDRESS_TOO_LONG),
        ("/a?x#again", Reason.REDIRECTED),
        ("//user:pass@example.org/%61?x", Reason.REDIRECTED),
    ],
)
def test_redirects_that_lead_nowhere(location, reason):
    redirect = read_redirect(PAGE, 302, location)
    assert (redirect.url, redirect.reason) == ("", reason)


def test_canonical_addresses():
    assert find_canonical(PAGE, ["https://example.org/a"]) == "https://example.org/a"
    assert find_canonical(PAGE, ["/a", "", "mailto:x@y", "/a#b"]) == "https://example.org/a"
    assert find_canonical(PAGE, ["/a", "/b"]) == find_canonical(PAGE, []) == find_canonical(PAGE, ["?x"]) == ""


@pytest.mark.parametrize(
    ("header", "targets"),
    [
        ("<https://example.org/b>; rel=canonical", ["https://example.org/b"]),
        ('<b>; rel="Canonical"; type="text/html"', ["b"]),
        ("<b>; title=x; REL = canonical , <c>;rel=next", ["b"]),
        ("<b>; rel=next", []),
        ("<b>; xrel=canonical", []),
        ('<b>; title="; rel=canonical"', []),
        ("<b;c,d>;rel=canonical", ["b;c,d"]),
        ("b; rel=canonical", []),
        ("", []),
    ],
)
def test_link_headers(header, targets):
    assert find_link_targets(header, "canonical") == targets


@given(st.text(st.sampled_from('<>;,="\\ rel=canonical'), max_size=80))
def test_any_header_can_be_read(header):
    assert all(isinstance(target, str) for target in find_link_targets(header, "canonical"))


@pytest.mark.parametrize(
    "header",
    [
        "<" * 9000,
        "<a>" + ";a" * 4000 + "!",
        "<a>" + ' ;a="' * 2000,
        "<a>" + " " * 8000 + "x",
        "<a>;" + "a" * 8000 + "<",
    ],
)
def test_hostile_headers_cost_little(header):
    assert cpu_seconds(lambda: find_link_targets(header, "canonical")) < 1


def test_a_location_in_raw_utf_8_is_what_its_server_means():
    sent = "/caf\u00e9/\u6771".encode().decode("latin-1")
    redirect = read_redirect(PAGE, 302, sent)
    assert redirect is not None
    assert redirect.url == "https://example.org/caf%C3%A9/%E6%9D%B1"
    latin = read_redirect(PAGE, 302, "/caf\u00e9")
    assert latin is not None
    assert latin.url == "https://example.org/caf%C3%A9"
