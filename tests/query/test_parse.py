"""Parsing queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.query import And, Filter, Not, Or, Phrase, Word, parse
from windrow.query.parse import MAX_QUERY_LENGTH, MAX_TERMS
from windrow.query.tree import HostFilter, LinkFilter, TimeSpan, searched_terms
from windrow.query.word import words

A, B, C = Word("aa"), Word("bb"), Word("cc")


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("", None),
        ("  \n\t ", None),
        ("aa", A),
        ("aa\u2003bb", And((A, B))),
        ("aa OR bb", Or((A, B))),
        ("aa | bb", Or((A, B))),
        ("cc aa OR bb", And((C, Or((A, B))))),
        ("aa AND bb", And((A, B))),
        ("OR aa", And((Word("OR"), A))),
        ("aa OR", And((A, Word("OR")))),
        ("(aa OR bb) cc", And((Or((A, B)), C))),
        ("aa OR (bb cc)", Or((A, And((B, C))))),
        ("((aa)", A),
        ("aa) bb", And((Word("aa)"), B))),
        ("main(x) aa", And((Word("main(x)"), A))),
        ("-(aa bb) cc", And((Not(And((A, B))), C))),
        ("aa -bb", And((A, Not(B)))),
        ("-bb", Word("-bb")),
        ("aa -b", And((A, Word("-b")))),
        ("aa -5", And((A, Word("-5")))),
        ("aa - bb", And((A, B))),
        ('-"aa"', Not(Phrase("aa"))),
        ('aa"bb', Word('aa"bb')),
        ('"aa bb"', Phrase("aa bb")),
        ("»aa bb«", Phrase("aa bb")),
        ("«aa bb»", Phrase("aa bb")),
        ('"aa \\" bb"', Phrase('aa " bb')),
        ('"aa \\\\" bb', And((Phrase("aa \\"), B))),
        ('"aa \\n bb"', Phrase("aa \\n bb")),
        ('"aa"bb cc"', Phrase('aa"bb cc')),
        ('"aa bb', And((Word('"aa'), B))),
        ('("aa bb")', Phrase("aa bb")),
        ("harv*", Word("harv", prefix=True)),
        ("*", None),
        ("a*", Word("a", prefix=True)),
        ("aa -c++", And((A, Not(Word("c++"))))),
        ("title:te*", Filter("title", "te*", "title:te*")),
        ("+++ aa", A),
        ("nokey:aa", Word("nokey:aa")),
        ("title:aa", Filter("title", "aa", "title:aa")),
        ('title:"aa bb"', Filter("title", "aa bb", "title:aa bb")),
        ("Title:aa", Filter("title", "aa", "title:aa")),
        ("-lang:de aa", And((Not(Filter("lang", "de", "lang:de")), A))),
        ("!leaf", Filter("is", "leaf", "is:leaf")),
        ("-!leaf", Not(Filter("is", "leaf", "is:leaf"))),
        ("!important", Word("!important")),
        ("(site:a.example OR aa)", Or((Filter("site", HostFilter("a.example"), "site:a.example"), A))),
        ("host:.org", Filter("host", HostFilter(".org", before=True), "host:.org")),
        ("links-to:a.example/b", Filter("links-to", LinkFilter(None, "a.example/b"), "links-to:a.example/b")),
        ("before:2024", Filter("before", TimeSpan(1704067200, 1735689600), "before:2024")),
    ],
)
def test_meaning(text: str, root: object) -> None:
    assert parse(text).root == root


@pytest.mark.parametrize(
    "text",
    [
        "ld: cannot find -lssl",
        "cannot find -lssl",
        "gcc -Wall -o x main.c",
        "tar --extract -verbose x",
        "error[E0599]: no method -foo",
        "std::vector -foo",
        "/usr/bin/x -foo aa",
        "[error] -foo aa",
        "main.py:12 -foo aa",
    ],
)
def test_a_dash_in_a_pasted_message_excludes_nothing(text: str) -> None:
    assert not any(isinstance(node, Not) for node in getattr(parse(text).root, "parts", ()))
    assert any("-" in node.text for node in searched_terms(parse(text).root))


def test_as_of_is_taken_out_of_the_tree() -> None:
    query = parse("aa as-of:2024-06-01")
    assert query.root == A
    assert query.as_of == 1717286399
    assert query.history
    assert parse("aa seen:2024").history
    assert not parse("aa").history


@pytest.mark.parametrize(
    "text", ["before:soon", "before:2024-13", "before:2023-02-29", "lang:1", "is:good", "host:a/b"]
)
def test_a_value_without_sense_is_searched_for_and_told(text: str) -> None:
    query = parse(text)
    assert query.root == Word(text)
    assert text in query.notes[0]


def test_what_is_too_long_is_left_out_and_told() -> None:
    query = parse("aa " * MAX_TERMS * 2)
    assert isinstance(query.root, And)
    assert len(query.root.parts) == MAX_TERMS
    assert len(query.notes) == 1
    assert len(parse("a" * MAX_QUERY_LENGTH * 2).notes) == 2


def test_deep_parentheses_do_no_harm() -> None:
    assert parse("(" * 900 + "aa" + ")" * 900).root is not None


PIECES = st.sampled_from(
    (
        *('"', "»", "«", "(", ")", "-", "!", "*", "OR", "|", "AND", " ", "\\", "NEAR", "^", "{", "}", "+", "\0"),
        *("title:", "site:", "before:2024", "as-of:2020", "a.example", "word", "any"),
        *("é", "東京", "\ud800", "²", "\u017f", "\u0300", "😀"),
    )
)
TYPED = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join), st.lists(PIECES, max_size=30).map(" ".join))


@given(TYPED)
def test_every_text_is_a_query(text: str) -> None:
    query = parse(text)
    assert parse(text) == query
    assert all(words(node.text) for node in searched_terms(query.root))
