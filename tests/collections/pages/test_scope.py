import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.pages.code import Locality
from windrow.collections.pages.scope import find_locality, make_scope
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import host_matches, host_pattern
from windrow.formats.url import normalise, parts


def holds(site, url):
    return site.contains(parts(normalise(url).url))


def test_a_seed_stands_for_its_origin():
    site = make_scope(["https://Example.org/start", "http://127.0.0.1:8080/"])
    assert site.seeds == ("https://example.org/start", "http://127.0.0.1:8080/")
    assert holds(site, "https://example.org/other?x")
    assert holds(site, "http://example.org/")
    assert holds(site, "https://www.example.org/")
    assert holds(site, "http://127.0.0.1:8080/x")
    for url in (
        "https://blog.example.org/",
        "https://example.org:8443/",
        "http://127.0.0.1/",
        "https://127.0.0.1:8080/",
    ):
        assert not holds(site, url)


def test_several_hosts_as_one_site():
    site = make_scope(["https://example.org/"], hosts=[".b\u00fccher.example", "example.net"])
    for inner in ("https://bücher.example/", "http://a.b.bücher.example/", "https://example.net/"):
        assert holds(site, inner)
    for outer in ("https://xbücher.example/", "https://www.example.net/", "https://example.net:8080/"):
        assert not holds(site, outer)
    assert holds(make_scope(["https://example.org/"], hosts=["*"]), "https://anything.example/")


def test_a_host_with_a_port_as_a_site():
    site = make_scope(["https://example.org/"], hosts=["example.net:8080", ".example.com:8443", "[::1]:8080"])
    for inner in ("http://example.net:8080/", "https://a.example.com:8443/", "http://[::1]:8080/"):
        assert holds(site, inner)
    for outer in ("http://example.net/", "http://example.net:8081/", "https://example.com/", "http://[::1]/"):
        assert not holds(site, outer)


def test_a_path_as_a_site():
    site = make_scope(["https://example.org/blog/"], paths=["/blog/", "/about$"])
    assert holds(site, "https://example.org/blog/2024/")
    assert holds(site, "https://example.org/about")
    for outer in (
        "https://example.org/",
        "https://example.org/blog",
        "https://example.org/about/x",
        "https://example.org/about?x",
    ):
        assert not holds(site, outer)


@pytest.mark.parametrize(
    ("seeds", "more"),
    [
        ([], {}),
        (["example.org"], {}),
        (["ftp://example.org/"], {}),
        (["https://example.org/"], {"hosts": ["https://example.org"]}),
        (["https://example.org/"], {"hosts": ["a*.org"]}),
        (["https://example.org/"], {"hosts": ["."]}),
        (["https://example.org/"], {"hosts": ["example.org:0"]}),
        (["https://example.org/"], {"hosts": ["example.org:99999"]}),
        (["https://example.org/"], {"hosts": ["example.org:"]}),
        (["https://example.org/"], {"paths": ["blog/"]}),
        (["https://example.org/"], {"paths": ["/blog/"]}),
    ],
)
def test_what_is_not_well_written_is_refused(seeds, more):
    with pytest.raises(ConfigError):
        make_scope(seeds, **more)


@given(st.text(st.sampled_from("ab.-"), min_size=1, max_size=8))
def test_a_name_fits_itself_and_a_dot_all_below(host):
    try:
        name = host_pattern(host.strip("."), "hosts")
    except ConfigError:
        return
    assert host_matches(name, name)
    assert host_matches(f".{name}", name)
    assert host_matches(f".{name}", f"x.{name}")
    assert not host_matches(f".{name}", f"x{name}")


@pytest.mark.parametrize(
    ("page", "link", "reach"),
    [
        ("http://h/a", "http://h/a", Locality.SELF),
        ("http://h/a", "https://h/a", Locality.SELF),  # a trailing s and the usual ports do not count
        ("http://h/a", "http://h/b", Locality.IN),
        ("http://h/a?x", "http://h/a?y", Locality.IN),
        ("http://h/a?x", "http://h/a", Locality.IN),
        ("http://h/a", "http://i/a", Locality.OUT),
        ("http://h/a", "http://h:8080/a", Locality.OUT),
        ("http://h:443/a", "https://h/b", Locality.OUT),
    ],
)
def test_locality(page, link, reach):
    assert find_locality(parts(page), parts(link)) is reach


def test_locality_within_a_configured_site():
    site = make_scope(["https://h/blog/"], hosts=["i"], paths=["/blog/"])
    page = parts("https://h/blog/a")
    assert find_locality(page, parts("https://i/blog/b"), site) is Locality.IN
    assert find_locality(page, parts("https://h/shop/"), site) is Locality.OUT
    assert find_locality(page, page, site) is Locality.SELF
    assert find_locality(parts("https://h/shop/"), parts("https://h/shop/x"), site) is Locality.IN
