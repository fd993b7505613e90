"""Listings as servers print them, well and badly."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.errors import TerminalFailure
from windrow.formats import listing
from windrow.model import ListingEntry
from windrow.reasons import Reason

PAGE = "https://h/drop/add/"


@pytest.mark.parametrize(
    ("line", "name", "size", "is_file"),
    [
        ("-rw-r--r--    1 1000     1000        20480 Nov 21 11:35 a.zip", "a.zip", 20480, True),
        ("-rw-r--r-- 1 u g 5 Jan  2  2024  two blanks.zip", " two blanks.zip", 5, True),
        ("-rw-r--r--+ 1 DOM\\user Domain Users 7 Nov 21 11:35 acl.zip", "acl.zip", 7, True),
        ("-rw-r--r-- 1 owner 7 Nov 21 11:35 nogroup.zip", "nogroup.zip", 7, True),
        ("drwxr-xr-x 2 u g 4096 Nov 21 2025 sub", "sub", None, False),
        ("lrwxrwxrwx 1 u g 9 Nov 21 11:35 link.zip -> small.zip", "link.zip", None, False),
        ("prw-r--r-- 1 u g 0 Nov 21 11:35 pipe", "pipe", None, False),
        ("-rw-r--r-- 1 u g 3 Nov 21 11:35 100 Jan 1 2020 x.zip", "100 Jan 1 2020 x.zip", 3, True),
        ("-rw-r--r-- 1 u g 3 déc 21 11:35 é.zip", "é.zip", 3, True),
        ("11-21-26  11:35AM                20480 dos name.zip", "dos name.zip", 20480, True),
        ("11-21-2026  23:35    <DIR>          sub", "sub", None, False),
        ("-rw-r--r-- 1 u g 20480 2026-11-21 11:35 iso.zip", "iso.zip", 20480, True),
        ("-rw-r--r-- 1 u g 20480 2026-11-21 11:35:07.123456789 +0100 iso.zip", "iso.zip", 20480, True),
        ("-rw-r--r-- 1 u g 20480 11-21 11:35 iso.zip", "iso.zip", 20480, True),
        ("-rw-r--r-- 1 - - - Nov 21 11:35 dash.zip", "dash.zip", None, True),
        ("-rw-r--r-- 1 u g 1,441,792 Nov 21 11:35 commas.zip", "commas.zip", 1441792, True),
        ("11-21-26  11:35AM  1,441 dos.zip", "dos.zip", 1441, True),
        ("2026-11-21  11:35  1441 dos.zip", "dos.zip", 1441, True),
        ("-rw-r--r-- 1 u g 5 21 Nov 11:35 day first.zip", "day first.zip", 5, True),
        ("-rw-r--r-- 1 u g 5 21. Nov  2025 day first.zip", "day first.zip", 5, True),
        ("-rw-r--r-- 1 20 5 11 Nov 21 2025 numbers.zip", "numbers.zip", 11, True),
        ("-rw-r--r-- 1 u g 5 2026-11-21 no hour.zip", "no hour.zip", 5, True),
    ],
)
def test_list(line: str, name: str, size: int | None, is_file: bool) -> None:
    assert listing.read_list("add", ["total 8", line]) == [ListingEntry("add", name, size, None, is_file)]


def test_list_that_is_empty_or_strange() -> None:
    assert listing.read_list("add", []) == []
    assert listing.read_list("add", ["total 0"]) == []
    assert listing.read_list("add", ["who knows"]) == [ListingEntry("add", "who knows", reason=Reason.PROTOCOL_ERROR)]


def test_a_line_of_list_that_cannot_be_read_is_told_beside_the_others() -> None:
    good = "-rw-r--r-- 1 u g 5 Nov 21 11:35 a.zip"
    entries = listing.read_list("add", ["total 8", "", good, *["-rw? 5 b.zip"] * 1000, good])
    assert [entry.name for entry in entries if entry.reason is None] == ["a.zip", "a.zip"]
    reasons = [(entry.name, entry.reason) for entry in entries if entry.reason]
    assert reasons == [
        *[("-rw? 5 b.zip", Reason.PROTOCOL_ERROR)] * listing.MAX_UNREADABLE_LINES,
        ("and 900 more lines that cannot be read", Reason.PROTOCOL_ERROR),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Type=file;Size=3;Modify=20260102030405.1; a.zip", ("a.zip", 3, True)),
        ("type=dir;sizd=4096; sub", ("sub", None, False)),
        ("size=3; untyped.zip", ("untyped.zip", 3, True)),
        (" nothing known.zip", ("nothing known.zip", None, True)),
        ("type=file;size=-1; minus", ("minus", None, True)),
        ("type=file;size=99999999999999999999999; huge", ("huge", 99999999999999999999999, True)),
        ("type=file;size=\u0663; arabic", ("arabic", None, True)),
        ("type=OS.unix=slink:/etc; link", ("link", None, False)),
        ("type=file;modify=20261399999999; when", ("when", None, True)),
    ],
)
def test_mlsd(line: str, expected: tuple[str, int | None, bool]) -> None:
    (entry,) = listing.read_mlsd("add", [line, "type=cdir; .", "type=pdir; ..", "type=dir; ..", ""])
    assert (entry.name, entry.size, entry.is_file) == expected


def test_a_line_of_mlsd_that_cannot_be_read_is_told_beside_the_others() -> None:
    lines = ["type=file;size=3; a", "b.zip", "rest of a name.zip", "type=file;size=3;", *["garbage"] * 1000]
    entry, *strange = listing.read_mlsd("add", lines)
    assert (entry.name, entry.size, entry.reason) == ("a", 3, None)
    assert [listed.name for listed in strange] == [
        *lines[1:4],
        *["garbage"] * (listing.MAX_UNREADABLE_LINES - 3),
        "and 903 more lines that cannot be read",
    ]
    assert {listed.reason for listed in strange} == {Reason.PROTOCOL_ERROR}


@given(st.lists(st.text(alphabet="-drwx 0123456789:NovabJan<DIR>;=\t\x00", max_size=80)))
def test_no_line_breaks_the_reading(lines: list[str]) -> None:
    listing.read_list("", lines)
    listing.read_mlsd("", lines)
    listing.read_nlst(lines)


@pytest.mark.parametrize(
    "line",
    [
        "-" + "r" * 9 + " " * 8000,
        "-rw-r--r-- " + "1 " * 4000,
        "-rwxr-xr-x " + "a " * 4000,
        "-rw-r--r-- " + "1 1 Nov " * 1000,
    ],
)
def test_a_hostile_line_takes_no_time(line: str) -> None:
    assert cpu_seconds(lambda: listing.read_list("", [line] * 50)) < 1


def test_lines_are_bounded() -> None:
    lines = listing.LineSplitter("ftp://h")
    with pytest.raises(TerminalFailure):
        for _ in range(listing.MAX_BYTES // (8000 * 100) + 1):
            lines.feed((b"x" * 7999 + b"\n") * 100)
    with pytest.raises(TerminalFailure, match="a line of the listing has more than 8,192 bytes"):
        listing.LineSplitter("ftp://h").feed(b"x" * 8193)
    with pytest.raises(TerminalFailure, match="a line of the manifest has more than 8,192 characters"):
        listing.read_manifest("", "https://h/list.txt", b"x" * 8193)
    with pytest.raises(TerminalFailure, match="the manifest has more than 1,000,000 lines"):
        listing.read_manifest("add", "https://h/list.txt", b"zx\n" * 1_000_001)


APACHE = b"""<html><body><table>
<tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
<tr><td><img src="/i.gif"></td><td><a href="/drop/">Parent Directory</a></td><td>&nbsp;</td><td>  - </td></tr>
<tr><td><img src="/i.gif"></td><td><a href="a.zip">a.zip</a></td><td align="right">2026-11-21 11:35  </td>
<td align="right"> 20K</td><td>Batch 12</td></tr>
<tr><td><img src="/i.gif"></td><td><a href="b.zip">b.zip</a></td><td align="right">2026-11-21 11:36  </td>
<td align="right">123 </td></tr>
<tr><td><img src="/i.gif"></td><td><a href="sub/">sub/</a></td><td align="right">2026-11-21 11:35  </td>
<td align="right">  - </td></tr></table></body></html>"""


def test_apache_table() -> None:
    entries_by_name = {entry.name: entry for entry in listing.read_index_page("add", PAGE, APACHE)}
    assert set(entries_by_name) == {"a.zip", "b.zip", "sub"}
    assert entries_by_name["a.zip"] == ListingEntry(
        "add", "a.zip", None, datetime(2026, 11, 21, 11, 35, tzinfo=UTC), is_file=True
    )
    assert entries_by_name["b.zip"].size == 123
    assert not entries_by_name["sub"].is_file


@pytest.mark.parametrize(
    ("href", "names"),
    [
        ("a.zip", ["a.zip"]),
        ("./a.zip", ["a.zip"]),
        ("/drop/add/a.zip", ["a.zip"]),
        ("https://h/drop/add/a.zip", ["a.zip"]),
        ("https://h/drop/add/a.zip#x", []),
        ("https://other/drop/add/a.zip", []),
        ("http://h/drop/add/a.zip", ["a.zip"]),  # behind a proxy for TLS
        ("https://H:443/drop/add/a.zip", ["a.zip"]),
        ("https://h:8443/drop/add/a.zip", []),
        ("/dr%6Fp/add/a.zip", ["a.zip"]),
        ("//other/a.zip", []),
        ("/etc/passwd", []),
        ("../add/a.zip", ["a.zip"]),
        ("../edit/a.zip", []),
        ("sub/a.zip", []),
        ("javascript:alert(1)", []),
        ("", []),
        ("?C=N", []),
        ("..%2f..%2fetc%2fpasswd", ["../../etc/passwd"]),  # told as it is, to be refused on record
        ("%2e%2e", [".."]),
        ("a%0d%0ab.zip", ["a\r\nb.zip"]),
        ("%ff.zip", ["\udcff.zip"]),
        ("a%20b+c.zip", ["a b+c.zip"]),
        ("https://[", []),
    ],
)
def test_links(href: str, names: list[str]) -> None:
    page = f'<title>Index of /</title><a href="{href}">x</a>'.encode()
    entries = listing.read_index_page("add", PAGE, page)
    assert [entry.name for entry in entries if entry.reason is None] == names
    if ".zip" in href and not names:  # it may be a file of the folder
        assert entries == [ListingEntry("add", href, reason=Reason.PROTOCOL_ERROR)]


ROW = (
    b'<tr><td valign="top"><img src="/icons/compressed.gif" alt="[   ]"></td><td><a href="%d.zip">%d.zip</a></td>'
    b'<td align="right">2026-11-21 11:35  </td><td align="right">%d </td><td>&nbsp;</td></tr>\n'
)
PEAK = r"""
import pickle, re, sys
from pathlib import Path
from windrow.formats.listing import read_index_page
def read_peak():
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
page = sys.stdin.buffer.read()
before = read_peak()
entries = read_index_page("add", "https://h/drop/add/", page)
sys.stdout.buffer.write(pickle.dumps((read_peak() - before, entries)))
"""


def test_a_table_of_30_000_files_is_read_whole_in_little_memory() -> None:
    page = b"<title>Index of /</title><table>" + b"".join(ROW % (at, at, at) for at in range(30_000))
    child = subprocess.run([sys.executable, "-c", PEAK], input=page, stdout=subprocess.PIPE, check=True)
    kib, entries = pickle.loads(child.stdout)
    assert [(entry.name, entry.size) for entry in entries] == [(f"{at}.zip", at) for at in range(30_000)]
    assert {entry.modified for entry in entries} == {datetime(2026, 11, 21, 11, 35, tzinfo=UTC)}
    assert 0 < kib < 30 * 1024


@pytest.mark.parametrize("count", [300, 5_000])
@pytest.mark.parametrize("unclosed", [b"<font>", b"<nobr>", b"<li><b>"])
def test_tags_that_are_not_closed_hide_no_file(unclosed: bytes, count: int) -> None:
    rows = b"".join(b'%s<a href="%d.zip">%d.zip</a>\n' % (unclosed, at, at) for at in range(count))
    entries = listing.read_index_page("add", PAGE, b"<html><title>Index of /</title>" + rows + b"</html>")
    assert [entry.name for entry in entries] == [f"{at}.zip" for at in range(count)]


def test_a_page_too_deep_to_be_parsed_is_a_failure_and_no_empty_folder() -> None:
    with pytest.raises(TerminalFailure, match="a part of the page cannot be parsed"):
        listing.read_index_page("add", PAGE, b'<a href="a.zip">a</a>' + b"<div>" * 5_000 + b"<a href='b.zip'>b</a>")


def test_a_page_that_was_cut_has_an_entry_for_what_is_missing() -> None:
    cut = APACHE[: APACHE.index(b'<tr><td><img src="/i.gif"></td><td><a href="b.zip"')]
    a_zip, missing = listing.read_index_page("add", PAGE, cut)
    assert (a_zip.name, a_zip.reason) == ("a.zip", None)
    assert missing == ListingEntry("add", "the page ends before </html>", reason=Reason.PROTOCOL_ERROR)
    assert all(entry.reason is None for entry in listing.read_index_page("add", PAGE, APACHE + b"\n<!-- nginx -->\n"))


@pytest.mark.parametrize("tag", [b"<a>", b"<A>", b"<td>"])
def test_a_flood_of_tags_is_refused_before_it_is_parsed(tag: bytes) -> None:
    def read() -> None:
        with pytest.raises(TerminalFailure, match="the listing has more than") as failure:
            listing.read_index_page("add", PAGE, b"<title>Index of</title>" + tag * 2_000_000)
        assert failure.value.reason is Reason.TOO_LARGE

    assert cpu_seconds(read) < 1


def test_a_page_that_is_no_index() -> None:
    login = b'<html><a href="/forgot">x</a><a href="https://status.example/">x</a><a href="?lang=de">x</a></html>'
    down = b'<html><title>Down</title><a href="contact.html">x</a><a href="imprint/">x</a><a href="help">x</a></html>'
    for page in (b"", b"   ", b"\x00\x01", b"<a", b"<!-- ", login, down):
        with pytest.raises(TerminalFailure, match="not an index of a folder"):
            listing.read_index_page("add", PAGE, page)
    for href in ("../", "..", "/drop/", "https://h/drop/"):
        assert listing.read_index_page("add", PAGE, f'<a href="{href}">Parent</a>'.encode()) == []
    assert listing.read_index_page("add", PAGE, b"<title>h - /drop/add/</title>") == []  # as IIS writes
    for own in (
        b'<a href="a.xml">a</a>',
        b'<a href="a.html">a</a>  20480',
    ):
        assert len(listing.read_index_page("add", PAGE, own)) == 1


@pytest.mark.parametrize(
    ("href", "is_further_page"),
    [
        ("?page=2", True), ("/drop/add/?sort=name&amp;offset=100", True), ("index.php?p=2", True), ("./?marker=x.zip", True),
        ("?C=M;O=A", False), ("?sort=size&amp;order=desc", False), ("/drop/?page=2", False), ("https://h/x?page=2", False),
    ],
)  # fmt: skip
def test_a_further_page_of_a_listing_is_told(href: str, is_further_page: bool) -> None:
    """Its files were told as gone, or by nothing."""
    page = f'<a href="../">../</a><a href="a.zip">a.zip</a><a href="{href}">x</a>'.encode()
    entries = listing.read_index_page("add", PAGE, page)
    assert [entry.reason for entry in entries] == [None, *[Reason.PROTOCOL_ERROR] * is_further_page]


def test_a_web_page_in_place_of_a_manifest_is_a_failure() -> None:
    with pytest.raises(TerminalFailure, match="the manifest is a web page"):
        listing.read_manifest("", "https://h/list.txt", b"\xef\xbb\xbf\n<!doctype html>\nadd/a.zip\n")
