"""SURT keys of addresses, as other programs compute them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.formats.cdx import _surt_of_bytes, surt

KEYS = [
    ("http://example.org", "org,example)/"),
    ("http://example.org/", "org,example)/"),
    ("https://example.org/posts/", "org,example)/posts"),
    ("https://example.org/posts", "org,example)/posts"),
    ("https://EXAMPLE.org/Posts/One.HTML", "org,example)/posts/one.html"),
    ("http://www.example.org/", "org,example)/"),
    ("http://www2.example.org/", "org,example)/"),
    ("http://www12.example.co.uk/a", "uk,co,example)/a"),
    ("http://www.example/", "example)/"),
    ("http://www/", "www)/"),
    ("http://wwwx.example.org/", "org,example,wwwx)/"),
    ("http://web.www.example.org/", "org,example,www,web)/"),
    ("http://example.org:80/", "org,example)/"),
    ("https://example.org:443/", "org,example)/"),
    ("http://example.org:443/", "org,example:443)/"),
    ("https://example.org:8443/x", "org,example:8443)/x"),
    ("http://example.org:/x", "org,example)/x"),
    ("http://example.org.:80/", "org,example)/"),
    ("http://example..org/", "org,example)/"),
    ("http://user:secret@example.org/x", "org,example)/x"),
    ("http://127.0.0.1/a", "1,0,0,127)/a"),
    ("http://127.0.0.1:8080/", "1,0,0,127:8080)/"),
    ("http://3232235777/", "1,1,168,192)/"),
    ("http://[::1]/", "::1)/"),
    ("http://[2001:db8::1]:8080/a", "2001:db8::1:8080)/a"),
    ("http://bücher.example/", "example,xn--bcher-kva)/"),
    ("http://xn--bcher-kva.example/", "example,xn--bcher-kva)/"),
    ("http://example.org//", "org,example)/"),
    ("http://example.org//a//b///c", "org,example)/a/b/c"),
    ("http://example.org/a//", "org,example)/a"),
    ("http://example.org/./a/./b", "org,example)/a/b"),
    ("http://example.org/a/../b", "org,example)/b"),
    ("http://example.org/../a", "org,example)/../a"),
    ("http://example.org/a/b/..", "org,example)/a"),
    ("http://example.org/a/b/../", "org,example)/a"),
    ("http://example.org/a/.", "org,example)/a"),
    ("http://example.org/..", "org,example)/.."),
    ("http://example.org/%41", "org,example)/a"),
    ("http://example.org/%7Euser/", "org,example)/~user"),
    ("http://example.org/%2541", "org,example)/a"),
    ("http://example.org/%252525", "org,example)/%25"),
    ("http://example.org/a%20b", "org,example)/a%20b"),
    ("http://example.org/a b", "org,example)/a%20b"),
    ("http://example.org/%C3%A9", "org,example)/%c3%a9"),
    ("http://example.org/é", "org,example)/%c3%a9"),
    ("http://example.org/É", "org,example)/%c3%89"),
    ("http://example.org/%23x", "org,example)/%23x"),
    ("http://example.org/a%3Fb", "org,example)/a?b"),
    ("http://example.org/a%2Fb", "org,example)/a/b"),
    ("http://example.org/a+b", "org,example)/a+b"),
    ("http://example.org/a|b", "org,example)/a|b"),
    ("http://example.org/[a]", "org,example)/[a]"),
    ("http://example.org/#top", "org,example)/"),
    ("http://example.org/a#top", "org,example)/a"),
    ("http://example.org/?", "org,example)/"),
    ("http://example.org/a?", "org,example)/a"),
    ("http://example.org/?b=2&a=1", "org,example)/?a=1&b=2"),
    ("http://example.org/?B=2&a=1", "org,example)/?a=1&b=2"),
    ("http://example.org/?a=2&a=1", "org,example)/?a=1&a=2"),
    ("http://example.org/?b&a=&a", "org,example)/?a&a=&b"),
    ("http://example.org/?a=b=c&a=b", "org,example)/?a=b&a=b=c"),
    ("http://example.org/?&&", "org,example)/?&&"),
    ("http://example.org/?&b&a", "org,example)/?&a&b"),
    ("http://example.org/a/?q=1", "org,example)/a?q=1"),
    ("http://example.org/a?q=%41%26", "org,example)/a?&q=a"),
    ("http://example.org/a?q=a b", "org,example)/a?q=a%20b"),
    ("http://example.org/a?q=é", "org,example)/a?q=%c3%a9"),
    ("http://example.org/a?u=http://b.example/?c=d", "org,example)/a?u=http://b.example/?c=d"),
    ("http://example.org/a?q=1#x?y", "org,example)/a?q=1"),
    ("http://example.org/a?sid=0123456789abcdef0123456789abcdef", "org,example)/a"),
    (
        "http://example.org/a?x=1&PHPSES0123456789abcdef0123456789abcdef=0123456789abcdef0123456789abcdef&y=2",
        "org,example)/a?phpses0123456789abcdef0123456789abcdef=0123456789abcdef0123456789abcdef&x=1&y=2",
    ),
    ("http://example.org/a?jsessionid=0123456789abcdef0123456789abcdef&b=1&a=2", "org,example)/a?a=2&b=1"),
    (
        "http://example.org/a;jsessionid=0123456789abcdef0123456789abcdef",
        "org,example)/a;jsessionid=0123456789abcdef0123456789abcdef",
    ),
    ("http://example.org/a?cfid=1&cftoken=2&z=3", "org,example)/a?z=3"),
    ("http://example.org/a?z=3&cfid=1&cftoken=2", "org,example)/a?&z=3"),
    ("http://example.org/a?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&q=1", "org,example)/a?q=1"),
    ("http://example.org/(S(abcdefghijklmnopqrstuvwx))/p.aspx", "org,example)/p.aspx"),
    ("http://example.org/(abcdefghijklmnopqrstuvwx)/p.ASPX?a=1", "org,example)/p.aspx?a=1"),
    ("http://example.org/p.aspx", "org,example)/p.aspx"),
    ("http://example.org/a?sid=short", "org,example)/a?sid=short"),
    ("HTTP://EXAMPLE.ORG/A", "org,example)/a"),
    ("ftp://ftp.example.org/add/a b.zip", "org,example,ftp)/add/a%20b.zip"),
    ("ftp://ftp.example.org:21/x", "org,example,ftp:21)/x"),
    ("ftp://www.example.org/x", "org,example)/x"),
    ("sftp://drops.example.org:2222/add/X.zip", "org,example,drops:2222)/add/x.zip"),
    ("file:///srv/drop/x.zip", "file:/srv/drop/x.zip"),
    ("dns:example.org", "dns:example.org"),
    ("urn:pageinfo:http://A.example/x/", "urn:pageinfo:http://a.example/x"),
    ("http://example.org/wiki/Main_Page", "org,example)/wiki/main_page"),
    (
        "http://example.org/w/index.php?title=Tea&oldid=12&action=history",
        "org,example)/w/index.php?action=history&oldid=12&title=tea",
    ),
    ("http://example.org/a.php?id=1&amp;b=2", "org,example)/a.php?amp;b=2&id=1"),
    ("http://example.org/~u/", "org,example)/~u"),
    ("http://example.org/a,b;c", "org,example)/a,b;c"),
    ("http://example.org/'q'", "org,example)/'q'"),
    ("http://example.org/a=b&c", "org,example)/a=b&c"),
    ("http://example.org/a:b@c", "org,example)/a:b@c"),
    ("http://example.org/calendar/2024/03/", "org,example)/calendar/2024/03"),
    ("http://localhost/", "localhost)/"),
    ("http://localhost:8000/a/", "localhost:8000)/a"),
    ("http://a_b.example.org/", "org,example,a_b)/"),
    ("http://example.org/%", "org,example)/%25"),
    ("http://example.org/%zz", "org,example)/%25zz"),
    ("http://example.org/?%", "org,example)/?%25"),
    ("http://example.org/a/%2E%2E/b", "org,example)/b"),
    ("http://example.org/\\x", "org,example)/\\x"),
    ("http://example.org/tea?q=caf%C3%A9", "org,example)/tea?q=caf%c3%a9"),
    ("http://example.org/tea?q=caf%E9", "org,example)/tea?q=caf%e9"),
    ("http://example.org/%E9", "org,example)/%e9"),
    ("http://sub.sub2.example.co.uk/a/b/c.html", "uk,co,example,sub2,sub)/a/b/c.html"),
]
"""Addresses, and their keys by PyPI's surt 0.3.1, by which pywb looks pages up."""


@pytest.mark.parametrize(("address", "key"), KEYS)
def test_the_key_is_that_of_surt(address, key):
    assert surt(address) == key


def test_names_that_are_no_text_have_a_key():
    assert surt("ftp://h/\udcff.zip") == "h)/%ff.zip"
    assert re.fullmatch(r"[!-~]+", surt("http://h/\x00\x1f ü\udc80"))
    assert surt("") == ""


@pytest.mark.parametrize("piece", ["a", "/", "%25", "/..", "&a=b", "sid=", "cfid=1&", "(", "."])
def test_long_addresses_take_time_in_proportion(piece):
    times = []
    for count in (2_000, 8_000):
        address, path = "http://h/x.aspx?" + piece * count, "http://h/" + piece * count
        times.append(cpu_seconds(surt, address) + cpu_seconds(surt, path))
    assert times[1] < 16 * times[0] + 0.05


@given(
    scheme=st.sampled_from(["http", "https", "ftp", "ftps", "sftp", "file"]),
    host=st.text("aB1.-w", max_size=8),
    port=st.sampled_from(["", ":", ":80", ":021", ":2222", ":443", ":70000"]),
    path=st.text("/aB.~-_(x", max_size=12),
)
def test_a_plain_address_of_any_scheme_has_the_key_that_the_long_way_gives(
    scheme: str, host: str, port: str, path: str
) -> None:
    address = f"{scheme}://{host}{port}{path}"
    assert surt(address) == _surt_of_bytes(address.encode())
