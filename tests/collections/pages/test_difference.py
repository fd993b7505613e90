"""The difference of two versions: nothing is lost or invented, and no text takes long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.collections.pages.difference import VersionContents, compare_versions
from windrow.formats.line_difference import MAX_COMPARED_LINES
from windrow.model import DiffLine, TextChange

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "d e"]), max_size=20)


@given(LINES, LINES)
def test_both_versions_can_be_read_from_it(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    changes = compare_versions(VersionContents(text=before), VersionContents(text=after), context=1_000)
    if before.splitlines() == after.splitlines():
        assert changes.lines == ()
        assert changes.is_empty
        return
    assert [line.text for line in changes.lines if line.sign in " -"] == before.splitlines()
    assert [line.text for line in changes.lines if line.sign in " +"] == after.splitlines()
    assert changes.added == sum(line.sign == "+" for line in changes.lines)
    assert changes.removed == sum(line.sign == "-" for line in changes.lines)


@given(LINES, LINES, st.integers(0, 3))
def test_what_is_left_out_is_counted(old: list[str], new: list[str], context: int) -> None:
    short = compare_versions(
        VersionContents(text="\n".join(old)), VersionContents(text="\n".join(new)), context=context
    )
    whole = compare_versions(VersionContents(text="\n".join(old)), VersionContents(text="\n".join(new)), context=1_000)
    left_out = sum(int(line.text.split()[0]) for line in short.lines if line.sign == "@")
    assert left_out + sum(line.sign != "@" for line in short.lines) == len(whole.lines)
    assert [line for line in short.lines if line.sign in "+-"] == [line for line in whole.lines if line.sign in "+-"]


def test_short_texts_and_the_rest_are_told_apart() -> None:
    before = VersionContents((("title", "Tea"), ("description", "")), "one\ntwo", "menu\nfooter 1")
    after = VersionContents((("title", "Green tea"), ("redirect", "https://a.example/")), "one\ntwo", "menu\nfooter 2")
    changes = compare_versions(before, after)
    assert changes.changes == (
        TextChange("title", "Tea", "Green tea"),
        TextChange("redirect", "", "https://a.example/"),
    )
    assert (changes.lines, changes.elsewhere) == ((), 2)
    assert str(changes) == (
        "title 'Tea' -> 'Green tea'; now redirects to https://a.example/; 2 lines changed outside the main text"
    )
    assert str(compare_versions(before, before)) == "no difference"


def test_a_change_far_down_shows_only_what_is_near() -> None:
    old = [f"line {number}" for number in range(100)]
    new = [*old[:50], "new", *old[51:]]
    changes = compare_versions(VersionContents(text="\n".join(old)), VersionContents(text="\n".join(new)))
    assert changes.lines == (
        DiffLine("@", "48 lines"), DiffLine(" ", "line 48"), DiffLine(" ", "line 49"), DiffLine("-", "line 50"), DiffLine("+", "new"),
        DiffLine(" ", "line 51"), DiffLine(" ", "line 52"), DiffLine("@", "47 lines"),
    )  # fmt: skip


def test_texts_made_to_be_slow_are_not() -> None:
    def compare():
        for count in (MAX_COMPARED_LINES, 20 * MAX_COMPARED_LINES):
            old = "\n".join(f"{number % 7}" for number in range(count))
            new = "\n".join(f"{number % 5}x\n{number % 7}" for number in range(count))
            assert compare_versions(VersionContents(text=old), VersionContents(text=new)).added

    assert cpu_seconds(compare) < 20


def test_a_page_that_became_a_redirect_is_told_as_that_and_not_as_a_page_without_a_title() -> None:
    page = VersionContents((("title", "Tea"), ("kind", "html"), ("redirect", "")), "one\ntwo", "menu")
    moved = VersionContents((("title", ""), ("kind", ""), ("redirect", "https://a.example/tea"), ("size", "162 bytes")))
    assert str(compare_versions(page, moved)) == "now redirects to https://a.example/tea"
    assert compare_versions(page, moved).changes == (TextChange("redirect", "", "https://a.example/tea"),)
    assert str(compare_versions(moved, page)) == "no longer redirects to https://a.example/tea"
    elsewhere = VersionContents((("redirect", "https://b.example/"),))
    message = "redirect 'https://a.example/tea' -> 'https://b.example/'"
    assert message in str(compare_versions(moved, elsewhere))
    refreshing = VersionContents((("title", "Tea"), ("kind", "html"), ("redirect", "/next")), "one\ntwo", "menu")
    assert str(compare_versions(page, refreshing)) == "now redirects to /next"


def test_long_texts_are_cut_around_their_first_difference():
    start = "The council of the town decides on the budget of the harbour and of the "
    before, after = (
        VersionContents((("description", f"{start}{word} in the year to come"),)) for word in ("pier", "quay")
    )
    text = str(compare_versions(before, after))
    assert "pier in the year" in text
    assert "quay in the year" in text
