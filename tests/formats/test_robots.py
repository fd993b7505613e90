import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.formats.robots import (
    ALLOW_ALL,
    MAX_BYTES,
    MAX_DELAY_SECONDS,
    Robots,
    parse,
    product_token,
    read_header_directives,
    read_meta_directives,
    spell_canonically,
)
from windrow.reasons import Reason

AGENT = "windrow-crawler (for https://example.org/)"


def allowed(text, target, agent=AGENT):
    return parse(text if isinstance(text, bytes) else text.encode(), agent).decide(target).allowed


def star(*rules):
    return "\n".join(("User-agent: *", *rules))


@pytest.mark.parametrize(
    ("rules", "target", "may"),
    [
        (("Disallow: /p", "Allow: /p"), "/p", True),  # of equals, the one that allows
        (("Allow: /p", "Disallow: /"), "/page", True),
        (("Allow: /page", "Disallow: /*.htm"), "/page.htm", False),  # wildcards count for the length
        (("Allow: /folder", "Disallow: /folder"), "/folder/page", True),
        (("Allow: /$", "Disallow: /"), "/", True),
        (("Allow: /$", "Disallow: /"), "/page.htm", False),
        (("Disallow: /fish",), "/fish.html", False),
        (("Disallow: /fish",), "/Fish.asp", True),
        (("Disallow: /fish/",), "/fish", True),
        (("Disallow: /*.php",), "/folder/any.php.file.html", False),
        (("Disallow: /*.php$",), "/a.php?x", True),
        (("Disallow: /fish*.php",), "/fishheads/catfish.php?parameters", False),
        (("Disallow: /a*$",), "/ab", False),
        (("Allow: /ab", "Disallow: /a*b$"), "/ab", False),
        (("Disallow: /**a",), "/xxa", False),
        (("Disallow: *.gif",), "/a.gif", False),
        (("Disallow: /*a*ab$",), "/xaab", False),
        (("Disallow: /*ab$",), "/xabab", False),
        (("Disallow: /ab*ab$",), "/ab", True),  # pieces may not overlap
        (("Disallow: /*?",), "/a?b", False),
        (("Disallow:",), "/a", True),
        (("Disallow: /", "Allow:"), "/a", False),
        (("Disallow: a",), "/a", True),
        (("Disallow: /",), "/robots.txt", True),
        (("Disallow: /",), "/robots.txt?x", False),
        (("Disallow: /a b",), "/a%20b", False),
        (("Disallow: /a$b",), "/a$b", False),
        (("Disallow: /foo/bar/\u30c4",), "/foo/bar/%E3%83%84", False),
        (("Disallow: /foo/bar/%E3%83%84",), "/foo/bar/\u30c4", False),
        (("Disallow: /foo/bar/%62%61%7A",), "/foo/bar/baz", False),
        (("Disallow: /%e3",), "/%E3", False),
        (("Disallow: /foo%2Fbar",), "/foo/bar", True),
        (("Disallow: /foo%2A",), "/foobar", True),
        (("Disallow: /foo%2A",), "/foo*", False),
        (("Disallow: /foo%24",), "/foo$x", False),
        (("Disallow: /x?q='",), "/x?q=%27", False),
        (("Disallow: /x # not y",), "/x", False),
        (("Disalow: /x",), "/x", False),
        (("Disallow /x",), "/x", False),
        (("  DISALLOW  :\t/x  ",), "/x", False),
        (("Disallow: /x\0y", "Noindex: /", "<html>"), "/z", True),
    ],
)
def test_rules(rules, target, may):
    assert allowed(star(*rules), target) is may


@pytest.mark.parametrize(
    ("text", "target", "may"),
    [
        ("User-agent: windrow-crawler\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: WINDROW-crawler\nDisallow: /b", "/a", False),
        ("User-agent: windrow-crawler\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: WINDROW-crawler\nDisallow: /b", "/b", False),
        ("User-agent: windrow\nDisallow: /", "/a", True),
        ("User-agent: windrow-crawler-image\nDisallow: /", "/a", True),
        ("User-agent: windrow-crawler/2.1 beta\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow: /\nUser-agent: windrow-crawler\nAllow: /a", "/b", True),
        ("User-agent: windrow-crawler\nUser-agent: b\nDisallow: /", "/a", False),
        ("User-agent: windrow-crawler\n\nUser-agent: *\nDisallow: /", "/a", False),  # an empty line ends nothing
        ("User-agent: b\nSitemap: https://h/\nUser-agent: windrow-crawler\nDisallow: /", "/a", False),
        ("User-agent: windrow-crawler\nSitemap: https://h/\nUser-agent: b\nDisallow: /", "/a", False),
        ("Disallow: /\nUser-agent: b\nDisallow: /x", "/a", True),
        ("User-agent: * # everyone\rDisallow: /", "/a", False),
        ("\ufeffUser-agent: *\r\nDisallow: /", "/a", False),
        ("User-agent: *\x0bDisallow: /", "/a", True),  # only CR and LF end a line
        ("", "/a", True),
    ],
)  # fmt: skip
def test_groups(text, target, may):
    assert allowed(text, target) is may


def test_the_verdict_names_the_line():
    robots = parse(b"# hello\nUser-agent: *\n\n  Disallow: /a # why\nAllow: /a/b\n", AGENT)
    assert robots.decide("/a/c") == (Reason.ROBOTS_DENIED, 4, "Disallow: /a # why")
    assert robots.decide("/a/b/c") == (None, 5, "Allow: /a/b")
    assert robots.decide("/x") == (None, None, "")
    assert robots.agent == "*"


def test_delays():
    assert parse(b"User-agent: *\nCrawl-delay: 2.5\n", AGENT).delay == 2.5
    assert parse(b"User-agent: *\nCrawl-delay: 86400\n", AGENT).delay == MAX_DELAY_SECONDS
    assert (
        parse(b"User-agent: *\nCrawl-delay: 1\nCrawl-delay: 3\nCrawl-delay: -9\nCrawl-delay: nan", AGENT).delay == 3.0
    )
    for wrong in (b"", b"x", b"-1", b"inf", b"1e9", "\u0663".encode()):
        assert parse(b"User-agent: *\nCrawl-delay: " + wrong, AGENT).delay is None
    text = b"User-agent: slow\nCrawl-delay: 10\nUser-agent: *\nDisallow: /x"
    assert parse(text, AGENT).delay is None
    assert (parse(text, "slow").delay, parse(text, "slow").decide("/x").allowed) == (10.0, False)


def test_sitemaps_stand_outside_of_groups():
    text = b"Sitemap: https://Example.org/s.xml\nUser-agent: other\nsitemap:https://h/s?b\nSitemap: /relative\nSitemap: ftp://h/"
    assert parse(text, AGENT).sitemaps == ("https://example.org/s.xml", "https://h/s?b")
    many = b"".join(b"Sitemap: https://h/%d\n" % number for number in range(2000))
    assert len(parse(many, AGENT).sitemaps) == 500


def test_the_cap_counts_whole_lines():
    filler = b"#" * (MAX_BYTES - 40) + b"\n"
    text = filler + b"User-agent: *\nDisallow: /a\nDisallow: /abcdef\n"
    assert len(text) > MAX_BYTES
    robots = parse(text, AGENT)
    assert [rule.pattern.text for rule in robots.rules] == ["/a"]
    assert parse(filler + b"User-agent: *\nDisallow: /a", AGENT).rules[0].pattern.text == "/a"


def test_other_encodings():
    assert not allowed(star("Disallow: /").encode("utf-16"), "/a")
    assert not allowed(b"User-agent: *\nDisallow: /caf\xe9", "/caf%E9")


def test_a_refusal_of_everything():
    shut = Robots(refusal=Reason.ROBOTS_UNREACHABLE)
    assert shut.decide("/a").reason is Reason.ROBOTS_UNREACHABLE
    assert shut.decide("/robots.txt").allowed
    assert ALLOW_ALL.decide("/a").allowed


@pytest.mark.parametrize(
    "pattern",
    ["/" + "*a" * 100_000, "/" + "*" * 400_000, "*" + "a" * 50 + "b", "/" + "a*" * 1000 + "b$"],
)
def test_hostile_patterns_cost_little(pattern):
    robots = parse(star(f"Disallow: {pattern}").encode(), AGENT)
    assert cpu_seconds(lambda: [robots.decide("/" + "a" * 2000) for _ in range(10)]) < 1


def test_many_rules_cost_little():
    text = star(*(f"Disallow: /d{number}/" for number in range(20_000))).encode()
    robots = parse(text, AGENT)
    verdicts = []
    assert cpu_seconds(lambda: verdicts.extend(robots.decide(f"/x{number}/page") for number in range(1000))) < 1
    assert all(verdict.allowed for verdict in verdicts)
    assert robots.decide("/d19999/x").line == 20_001


SIMPLE = st.text(st.sampled_from("/ab*$"), max_size=6).map("/".__add__)


@settings(max_examples=500)
@given(
    st.lists(st.tuples(st.booleans(), SIMPLE), max_size=6),
    st.text(st.sampled_from("/ab$"), max_size=8).map("/".__add__),
)
def test_matching_agrees_with_a_plain_reading_of_the_rfc(rules, target):
    robots = parse(
        star(*(f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules)).encode(), AGENT
    )
    best = (-1, True)
    for allow, pattern in rules:
        spelt = spell_canonically(pattern)
        body = "".join(".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", spelt.removesuffix("$")))
        if re.match(body + (r"\Z" if spelt.endswith("$") else ""), spell_canonically(target, is_literal=True)):
            best = max(best, (len(spelt), allow))
    assert robots.decide(target).allowed is best[1]


@given(st.binary(max_size=300), st.text(max_size=20))
def test_any_bytes_can_be_read(content, target):
    for text in (content, b"User-agent: *\nDisallow: " + content):
        assert parse(text, AGENT).decide("/" + target.encode("utf-8", "replace").decode()).reason in {
            None,
            Reason.ROBOTS_DENIED,
        }


def test_tokens():
    assert product_token("Web2-Crawler/1 (for x)") == "web2-crawler"
    assert product_token("") == product_token("  / ") == ""


def test_a_directive_at_the_end_of_a_long_value_counts():
    value = "index, " + "max-snippet:-1, " * 4_000 + "noindex"
    assert read_meta_directives([("robots", value)], AGENT).noindex
    assert read_header_directives([value], AGENT).noindex
    assert not read_header_directives([f"other: {value}"], AGENT).noindex
