from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.collections.pages.adapter.harvest import find_mixed_changes, judge_address
from windrow.collections.pages.code import ASSET, READABLE_TYPES, CrawlType, Mime, may_be_readable, parse_mime
from windrow.collections.pages.policy import NoveltyCount, describe_trap, make_policy
from windrow.collections.pages.scope import clean_address, make_scope
from windrow.config import load
from windrow.errors import ConfigError
from windrow.formats.robots import parse
from windrow.formats.url import normalise, parts
from windrow.ledger import Ledger
from windrow.reasons import Reason

SITE = make_scope(["https://example.org/", "https://example.net/"])
OPEN = parse(b"", "x-crawler")


def judge(url, robots=OPEN, **rules):
    return make_policy(SITE, **rules).judge(url, 2026, robots)


def test_the_order_of_the_rules():
    robots = parse(b"User-agent: *\nDisallow: /", "x-crawler")
    rules = {"do_not_crawl": ["/a/"]}
    assert judge("https://example.com/a/x.zip?q", robots, **rules).reason is Reason.OUT_OF_SCOPE
    assert judge("https://example.org/a/2999/01/x.zip?q", robots, **rules) == (Reason.POLICY_DENIED, "/a/", None)
    assert judge("https://example.org/2999/01/x.zip?q", robots, **rules).reason is Reason.QUERY_DENIED
    assert judge("https://example.org/2999/01/x.zip", robots, **rules).reason is Reason.CRAWLER_TRAP
    assert judge("https://example.org/x.zip", robots, **rules) == (Reason.UNSUPPORTED, "zip", None)
    assert judge("https://example.org/x", robots, **rules) == (Reason.ROBOTS_DENIED, "Disallow: /", 2)
    assert judge("https://example.org/x", **rules).allowed


@pytest.fixture(scope="module")
def two_sources_of_a_host(tmp_path_factory):
    root = tmp_path_factory.mktemp("workspace")
    (root / "windrow.toml").write_text(
        '[source.a]\ncollection = "pages"\nurl = "https://x.example/in/"\npaths = ["/in/"]\ndo_not_crawl = ["/in/no"]\n'
        '[source.b]\ncollection = "pages"\nurl = "https://x.example/out/"\npaths = ["/out/", "/in/no"]\n'
    )
    workspace = load(root)
    with closing(Ledger(workspace.ledger)) as ledger:
        yield workspace, ledger


def test_sources_that_read_one_page_differently_are_told(two_sources_of_a_host):
    first, second = two_sources_of_a_host[0].of("pages")
    silent = replace(first, options={**first.options, "ignore": [".clock"]})
    assert find_mixed_changes([silent, second]) == "", "their paths differ"
    everywhere = replace(second, options={**second.options, "paths": ["/"]})
    assert find_mixed_changes([first, everywhere]) == "", "they ignore the same"
    message = find_mixed_changes([everywhere, silent])
    assert message.startswith("a and b may both request https://x.example/in/, and ignore different texts in it")


@pytest.mark.parametrize(
    ("path", "known_by", "source", "reason", "rule"),
    [
        ("/in/x", (), "a", None, ""),
        ("/out/x", (), "b", None, ""),
        ("/in/no", (), "b", None, ""),
        ("/in/no", ("a",), "a", Reason.POLICY_DENIED, "do_not_crawl: /in/no"),
        ("/in/no", ("a", "b"), "b", None, ""),
        ("/in/no", ("removed",), "b", None, ""),
        ("/in/x", ("b",), "b", Reason.OUT_OF_SCOPE, "it matches none of the source's paths"),
        ("/", (), "a", Reason.OUT_OF_SCOPE, "it matches none of the source's paths"),
    ],
)
def test_an_address_is_judged_by_a_source_that_has_it_or_may_request_it(
    two_sources_of_a_host, path, known_by, source, reason, rule
):
    kinds = dict.fromkeys(known_by, CrawlType.FILE_CRAWL)
    assert judge_address(*two_sources_of_a_host, f"https://x.example{path}", kinds) == (source, reason, rule)


def test_a_sitemap_and_an_asset_are_judged_by_their_own_rules(two_sources_of_a_host):
    for kind in (CrawlType.METADATA_CRAWL, ASSET):
        assert judge_address(*two_sources_of_a_host, "https://x.example/s", {"b": kind}) == ("b", None, "")
    elsewhere = "https://y.example/"
    assert (
        judge_address(*two_sources_of_a_host, elsewhere, {}).rule == "it belongs to none of the sites of this workspace"
    )


@pytest.mark.parametrize(
    ("rule", "url", "may"),
    [
        ("/private", "https://example.org/private/x", False),
        ("/private$", "https://example.org/private/x", True),
        ("/*/print", "https://example.net/a/print?x", False),
        ("example.net/shop", "https://example.net/shop/1", False),
        ("example.net/shop", "https://example.org/shop/1", True),
        ("example.net", "https://example.net/", False),
        (".example.net", "https://example.net/x", False),
        ("*/feed$", "https://example.org/a/feed", False),
        ("/caf\u00e9", "https://example.org/caf%C3%A9s", False),
        ("*?print=", "https://example.org/a?print=1", False),
    ],
)
def test_do_not_crawl(rule, url, may):
    assert judge(url, do_not_crawl=[rule], url_query_parameters=["*"]).allowed is may


@pytest.mark.parametrize(
    ("rules", "url", "may"),
    [
        ([], "https://example.org/?a", False),
        (["a"], "https://example.org/?a", True),
        (["a b"], "https://example.org/?b=1&a=2", True),
        (["a", "b"], "https://example.org/?b=1&a=2", False),  # one rule must allow them all
        (["/search q"], "https://example.org/search?q=x", True),
        (["/search q"], "https://example.org/other?q=x", False),
        (["f_*"], "https://example.org/?f_a=1&f_b=2", True),
        (["f_*"], "https://example.org/?g=1", False),
        (["*"], "https://example.org/?anything", True),
        (["c d"], "https://example.org/?%63=1", True),
        (["a"], "https://example.org/?a=1&A=1", False),
    ],
)
def test_query_parameters(rules, url, may):
    assert judge(normalise(url).url, url_query_parameters=rules).allowed is may


@pytest.mark.parametrize("text", ["", "/search", "a=b", "a&b", "a**b", "?a"])
def test_rules_of_queries_that_are_not_well_written(text):
    with pytest.raises(ConfigError):
        make_policy(SITE, url_query_parameters=[text])


@pytest.mark.parametrize("text", ["", "a b/c", "https://example.org/"])
def test_rules_that_are_not_well_written(text):
    with pytest.raises(ConfigError):
        make_policy(SITE, do_not_crawl=[text])


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://h/?PHPSESSID=abc", "https://h/"),
        ("https://h/a?x=1&utm_campaign=z&y=2", "https://h/a?x=1&y=2"),
        ("https://h/a;jsessionid=F00?x", "https://h/a?x"),
        ("https://h/(S(lit3py55t21z5v55vlm25s55))/a", "https://h/a"),
        ("https://h/(S(lit3py55t21z5v55vlm25s55))", "https://h/"),
        ("https://h/?sid=4711", "https://h/?sid=4711"),
        ("https://h/?session_id=118", "https://h/?session_id=118"),
        ("https://h/?session_id=0123456789abcdef0123456789abcdef", "https://h/"),
        ("https://h/?sid=0123456789abcdef0123456789abcdef", "https://h/"),
        ("https://h/a;b=c/d", "https://h/a;b=c/d"),
        ("https://h/?b&a&b", "https://h/?b&a&b"),
        ("https://h/?&&", "https://h/"),
    ],
)
def test_session_ids_and_marks_of_advertisers_go(url, kept):
    assert clean_address(url) == kept


@given(st.text(st.sampled_from("ab;=&?/()S_sid123utm_x.%"), max_size=40))
def test_a_clean_address_is_clean_and_normal(text):
    url = normalise(f"https://h/{text}").url
    if not url:
        return
    once = clean_address(url)
    assert clean_address(once) == once
    assert normalise(once).url == once
    assert len(once) <= len(url)


@pytest.mark.parametrize(
    "path",
    [
        "/" + "a/" * 4,
        "/" + "/".join(map(str, range(17))),
        "/" + "x" * 256,
        "/events/2031-05/",
        "/events/2031/5",
        "/1812/06/24/",
        "/c?date=2044-01-02",
        "/c?month=5&year=2099",
        "/c?cal_year=1500",
        "/c?" + "&".join(f"p{number}=1" for number in range(9)),
        "/c?a=1&a=2&a=3&a=4",
        "/a/b" * 4,
    ],
)
def test_traps(path):
    assert describe_trap(parts(f"https://h{path}"), 2026)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/2024/02/29/a",
        "/events/2027-05/",
        "/item/9876-05",
        "/item/20990101",
        "/isbn/2099/99",
        "/a/a/a",
        "/c?year=2026&month=2",
        "/c?id=2099",
        "/" + "/".join(map(str, range(16))),
    ],
)
def test_no_traps(path):
    assert describe_trap(parts(f"https://h{path}"), 2026) == ""


def test_an_endless_calendar_ends():
    year, month, steps = 2026, 11, 0
    while not describe_trap(parts(f"https://h/calendar/{year}/{month:02}/"), 2026):
        year, month, steps = (year, month + 1, steps + 1) if month < 12 else (year + 1, 1, steps + 1)
        assert steps < 20
    assert steps == 14


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_address_can_be_judged(path, search):
    url = normalise(f"https://example.org/{path}?{search}").url
    if url:
        judge(clean_address(url), url_query_parameters=["a"], do_not_crawl=["/*x*y$"])


def test_judging_is_fast():
    site = make_policy(
        SITE, do_not_crawl=["/tag/", "*/print$", ".example.net/x"], url_query_parameters=["page", "/s q"]
    )
    robots = parse(b"User-agent: *\nDisallow: /x/*.y$\nDisallow: /wp-admin/", "x-crawler")
    urls = [f"https://example.org/blog/2024/05/post-{number}.html" for number in range(5000)]
    verdicts = []
    assert cpu_seconds(lambda: verdicts.extend(site.judge(url, 2026, robots) for url in urls)) < 5000 / 5_000
    assert all(verdict.allowed for verdict in verdicts)


def test_types():
    assert parse_mime("text/html; charset=utf-8") == Mime("text", "html", None, (("charset", "utf-8"),))
    assert parse_mime('Text/HTML;a="x;y\\"z";b=1;A=2') == Mime("text", "html", None, (("a", 'x;y"z'), ("b", "1")))
    assert parse_mime("application/vnd.api+json").suffix == "json"
    assert parse_mime("image/svg+xml").essence == "image/svg+xml"
    assert parse_mime("application/a+b+c")[:3] == ("application", "a+b", "c")
    for wrong in ("", "text", "text/", "/html", "text/html/x", "te xt/html", "text/html, text/plain"):
        assert parse_mime(wrong) is None
    assert parse_mime("Application/RSS+XML").essence in READABLE_TYPES


@given(st.text(max_size=60))
def test_any_text_is_a_type_or_none(text):
    media_type = parse_mime(text)
    assert media_type is None or media_type.essence == media_type.essence.lower()


def test_endings():
    assert not may_be_readable("/a/b.tar.GZ")
    assert may_be_readable("/index.php")
    assert may_be_readable("/a.b/")
    assert may_be_readable("/release-1.0")


def test_short_pages_that_differ_in_numbers_of_their_own_are_not_endless():
    def is_endless(text):
        count = NoveltyCount()
        return any(count.add_page(text(n).encode(), f"http://a.example/station/{n}") for n in range(400))

    assert not is_endless(lambda n: f"<p>Station {n}: level {7 * n + 3} cm")
    assert is_endless(lambda n: f"<p>Nothing at station {n}. <a href=/station/{n + 1}>{n + 1}</a>")
