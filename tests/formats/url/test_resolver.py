import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.formats.url import MAX_CHARACTERS, Resolver, normalise, resolve_safe
from windrow.reasons import Reason

BASES = (
    "https://example.org/",
    "https://example.org/a/b.html?c=/d/",
    "http://h:8080/x//y",
    "http://127.0.0.1:81/p/q;r",
)
COMMON = "/. ..:;?#%&=@'~-_!$()*+,aZ09"
LINKS = st.one_of(
    st.text(st.sampled_from(COMMON), max_size=20),
    st.lists(st.sampled_from(["/", "a", "b.html", "%C3%A9", "%20", "%2F", "%41", "%7e", "?x=1", "&y", "#top", "..", ".", ":", "'"]), max_size=8).map("".join),
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["https://example.org", "http://h:8080", "http://127.0.0.1:81", "https://a.b.co.uk", "http://xn--a.org", "http://A.org", "http://1.2", "http://a.b.c.d.e.org", "https://-a-.org"]),
        st.sampled_from(["", "/", "//", "/a/", "/a/../"]),
        st.text(st.sampled_from(COMMON), max_size=12),
        st.sampled_from(["", "?", "?a='b'", "#", "#f"]),
    ),
)  # fmt: skip


@settings(max_examples=1500)
@given(LINKS, st.sampled_from(BASES))
def test_the_fast_way_leads_where_the_slow_one_does(href, base):
    origin = "/".join(base.split("/")[:3])
    resolved = resolve_safe(href, base, origin)
    if resolved is not None:
        assert resolved == normalise(href, base)


@settings(max_examples=300)
@given(st.lists(st.tuples(LINKS, st.sampled_from(BASES[:2])), max_size=30))
def test_memory_changes_no_answer(asked):
    site = Resolver("https://example.org", max_links=5)
    for href, base in asked * 2:
        assert site.resolve(base, [href]) == [normalise(href, base)]


@pytest.mark.parametrize(
    "href",
    ["/", "/a/b", "/wiki/Talk:X", "c.html", "c/d?e=f&g", "#top", "?p=2", "https://example.org/x", "/caf%C3%A9",
     "https://www.example.co.uk/a?b#c", "/a%20b"],
)  # fmt: skip
def test_common_links_go_the_fast_way(href):
    assert resolve_safe(href, BASES[1], "https://example.org") is not None


@pytest.mark.parametrize(
    "href", ["//h/", "../x", "/a/./b", "/%41", "x:y", "/a b", "/" + "x" * MAX_CHARACTERS, "https://xn--a.org/"]
)
def test_all_others_do_not(href):
    assert resolve_safe(href, BASES[1], "https://example.org") is None


def test_a_base_elsewhere_is_heeded():
    site = Resolver("https://example.org")
    assert site.resolve("https://other.example/d/", ["/x", "y"]) == [
        ("https://other.example/x", None, None),
        ("https://other.example/d/y", None, None),
    ]
    assert site.resolve("https://example.org/", ["/x"])[0].url == "https://example.org/x"


def test_targets_are_told_once_and_in_order():
    site = Resolver("https://example.org")
    hrefs = ["/b", "/a", "/b#c", "mailto:x@y", "b", "http://[", "/a?"]
    assert site.targets("https://example.org/", hrefs) == ["https://example.org/b", "https://example.org/a"]


def test_the_memory_is_bounded():
    site = Resolver("https://example.org", max_links=100)
    site.resolve("https://example.org/", [f"/{number}" for number in range(1000)])
    site.resolve("https://example.org/", ["/" + "x" * 300, *("y" * 300,) * 3])
    assert len(site._resolved_by_href) <= 100
    assert max(map(len, site._resolved_by_href)) <= 200


def test_refusals_are_remembered_too():
    site = Resolver("https://example.org")
    for _ in range(2):
        assert site.resolve("https://example.org/", ["http://a b/"])[0].reason is Reason.BAD_ADDRESS
