"""Suspected soft 404s: the same short text at several addresses whose names it does not have."""

from __future__ import annotations

import pytest

from windrow.collections.pages.database.soft_404s import find_suspects, name_of

SHELL = "Welcome to the town. Please enable scripts."


def suspects(text, *paths):
    return [
        paths[id_] for id_ in find_suspects([(f"https://a.example{path}", id_) for id_, path in enumerate(paths)], text)
    ]


@pytest.mark.parametrize(
    ("text", "paths", "found"),
    [
        (SHELL, ["/harbour", "/boats.html", "/fish-2", "/n/1"], ["/harbour", "/boats.html", "/fish-2"]),
        (SHELL, ["/n/1", "/n/2", "/n/3", "/1234", "/faq", "/harbour", "/boats"], []),
        (SHELL, ["/", "/harbour", "/boats", "/fish"], ["/harbour", "/boats", "/fish"]),
        (SHELL, ["/harbour", "/boats"], []),
        (SHELL, ["/harbour?a=1", "/harbour?a=2", "/harbour?a=3", "/harbour/"], []),
        (SHELL, ["/a/harbour.html", "/b/harbour.html", "/c/harbour.html"], []),
        ("All about the harbour", ["/harbour", "/harbours-print", "/en/harbour.html", "/1", "/2"], []),
        (
            "The licence of this software",
            ["/licence", "/copying", "/about", "/terms"],
            ["/copying", "/about", "/terms"],
        ),
        ("", ["/x", "/y", "/z"], []),
        ("", ["/from", "/here", "/there"], ["/from", "/here", "/there"]),
        ("Die Straße am Müller-Platz", ["/m%C3%BCller", "/strasse", "/platz-2"], []),
        (SHELL, ["/index.html", "/default.htm", "/home/", "/index.php?a=1"], []),
    ],
)
def test_suspects_are_the_addresses_of_which_a_common_text_says_nothing(text, paths, found):
    assert suspects(text, *paths) == found


def test_the_name_of_an_address_is_the_last_part_that_is_not_a_default():
    assert [name_of(f"https://a.example{path}") for path in ("/a/B.html", "/a/index.html", "/%20x/", "", "//")] == [
        "b",
        "a",
        " x",
        "",
        "",
    ]
