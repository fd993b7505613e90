"""Lines of CDX and CDXJ: captures, legends, junk."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.formats.cdx import (
    CDX_9,
    CDX_11,
    MAX_LINE_BYTES,
    CaptureColumns,
    CdxFault,
    CdxLine,
    Layout,
    format_cdxj_line,
    parse_line,
    parse_lines,
)
from windrow.reasons import Reason

SHA = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
ELEVEN = f"org,example)/x 20180301120000 http://example.org/x application/pdf 200 {SHA} - - 123 456 item/file.warc.gz"
FOUND = CdxLine("org,example)/x", "20180301120000", "http://example.org/x", "application/pdf", 200, SHA, 123, 456,
                "item/file.warc.gz")  # fmt: skip


@pytest.mark.parametrize(
    "written",
    [
        ELEVEN,
        ELEVEN + " more fields",
        ELEVEN.replace(" ", "\t"),
        ELEVEN + "\r\n",
        (
            f'org,example)/x 20180301120000 {{"url": "http://example.org/x", "mime": "application/pdf", "status": "200",'
            f' "digest": "{SHA}", "length": "123", "offset": 456, "filename": "item/file.warc.gz", "more": [1]}}'
        ),
    ],
)
def test_a_capture_is_read_from_cdx_and_cdxj(written):
    assert parse_line(written.encode()) == FOUND


def test_a_space_before_the_first_field_means_nothing():
    assert parse_line(f" {ELEVEN}".encode()) == FOUND
    incomplete = parse_line(f" {ELEVEN.partition(' ')[2]}".encode())  # without its key
    assert isinstance(incomplete, CdxFault)
    assert incomplete.message == "the line has 10 fields; it must have at least 11"


@pytest.mark.parametrize("control", "\x1c\x1d\x1e\x1f\x85\u2028")
def test_only_white_space_separates_fields(control):
    lines = [ELEVEN.replace("org/x", f"org/x{control}y").encode()] * 6
    capture = FOUND._replace(url=f"{FOUND.url}{control}y")
    assert parse_line(lines[0]) == capture
    assert list(parse_lines(lines)) == [capture] * 6


def test_nine_fields_have_no_length():
    written = f"org,example)/x 20180301120000 http://example.org/x application/pdf 200 {SHA} - 456 item/file.warc.gz"
    assert parse_line(written.encode()) == FOUND._replace(length=None)


def test_a_legend_says_where_the_fields_stand():
    layout = parse_line(b" CDX N b a m s k r V g")
    assert layout == CDX_9
    assert parse_line(b"CDX N b a m s k r M S V g\n") == CDX_11
    reordered = parse_line(b" CDX b N g V S k s m a")
    assert isinstance(reordered, Layout)
    written = f"20180301120000 org,example)/x item/file.warc.gz 456 123 {SHA} 200 application/pdf http://example.org/x"
    assert parse_line(written.encode(), reordered) == FOUND
    lacking = parse_line(b" CDX N b a m s")
    assert isinstance(lacking, CdxFault)
    assert lacking.message == "the legend does not name digest, offset, warc"
    malformed = parse_line(b"CDX N b a m s sha1 r M S V g x")
    assert isinstance(malformed, CdxFault)
    assert malformed.message == "the line begins like a legend, but does not name fields by single letters"


@pytest.mark.parametrize(
    "junk", [b"", b"  ", b"# comment", b"filedesc:x", b" # comment", b"!OpenWayback-CDXJ 1.0", b"\r\n"]
)
def test_blank_lines_and_comments_are_nothing(junk):
    assert parse_line(junk) is None


@pytest.mark.parametrize(
    "header",
    [
        ELEVEN.replace("org,example)/x", "!org,example)/x"),
        ELEVEN.replace("org,example)/x", "#org,example)/x"),
        ELEVEN.replace("org,example)/x", "filedesc:example.arc.gz").replace("http:", "filedesc:"),
        '!meta 0 {"type": "index"}',
        "# by {key}",
    ],
)
def test_a_header_with_the_fields_of_a_capture_is_nothing(header):
    assert parse_line(header.encode()) is None
    for key in ("com,example)/x", FOUND.key):
        lines = [ELEVEN.replace(FOUND.key, key).encode()] * 6
        assert list(together([*lines, header.encode()])) == [FOUND._replace(key=key)] * 6


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("20180301120000", "201803011200", Reason.BAD_DATE),
        ("20180301120000", "2018030112000", Reason.BAD_DATE),
        ("20180301120000", "20180230120000", Reason.BAD_DATE),
        ("20180301120000", "20180301240000", Reason.BAD_DATE),
        ("http://example.org/x", "-", Reason.BAD_ADDRESS),
        (" 200 ", " OK ", Reason.BAD_LINE),
        (" 200 ", " -1 ", Reason.BAD_LINE),
        (" 456 ", " 4_5 ", Reason.BAD_LINE),
        (" 456 ", " 99999999999999999999 ", Reason.BAD_LINE),
        (" item/file.warc.gz", "", Reason.BAD_LINE),
        ("org", "o" * MAX_LINE_BYTES, Reason.TOO_LARGE),
    ],
)
def test_a_fault_has_its_reason(old, new, reason):
    parsed = parse_line(ELEVEN.replace(old, new).encode())
    assert isinstance(parsed, CdxFault)
    assert parsed.reason is reason


@pytest.mark.parametrize("fields", ["{", "{}", '{"url": {}}', '{"url": 1.5}', '{"url": "' + chr(92) + 'ud800"}', "{" * 9999,
                                  '{"url": "x", "length": true}'])  # fmt: skip
def test_a_broken_object_is_a_fault(fields):
    assert isinstance(parse_line(f"org,example)/ 20180301120000 {fields}".encode()), CdxFault)


def test_what_is_absent_is_nothing():
    bare = ELEVEN.replace("application/pdf", "-").replace(" 200 ", " - ").replace(SHA, "-").replace("123 456", "- -")
    expected = FOUND._replace(mime="", status=None, digest="", length=None, offset=None)
    assert parse_line(bare.encode()) == expected


def test_our_own_index_lines_are_read():
    written = format_cdxj_line("http://example.org/a b?", "2026-01-02T03:04:05Z", ("x.warc", 7, 9), status=200, mime="a/b",
                   digest="sha256:" + "0" * 64)  # fmt: skip
    parsed = parse_line(written.encode())
    assert isinstance(parsed, CdxLine)
    assert (parsed.url, parsed.timestamp, parsed.offset, parsed.length) == (
        "http://example.org/a b?",
        "20260102030405",
        7,
        9,
    )


@given(st.one_of(st.binary(max_size=300), st.text(alphabet='{}":, 0123-aCDX', max_size=200).map(str.encode)))
def test_nothing_in_a_line_is_fatal(content):
    assert parse_line(content) is None or isinstance(parse_line(content), (CdxLine, CdxFault, Layout))


def test_a_line_costs_no_more_than_a_few_times_its_splitting():
    # The goal is 300,000 lines a second on a core of 2020; splitting takes some 0.4 microseconds there.
    lines = [ELEVEN.encode()] * 20_000

    def least(line_end):
        return min(cpu_seconds(lambda: [line_end(each) for each in lines]) for _ in range(5))

    assert least(parse_line) < 10 * least(lambda each: each.decode().split())


def one_by_one(lines):
    """Parse lines as `parse_line` does, each by itself."""
    layout = None
    for text in lines:
        parsed = parse_line(text, layout)
        if isinstance(parsed, Layout):
            layout = parsed
        if isinstance(parsed, CdxFault):
            parsed = parsed._replace(line=text[:200].decode("utf-8", "replace"))
        if parsed is not None:
            yield parsed


def together(lines):
    for parsed in parse_lines(lines):
        yield from parsed.lines(range(len(parsed.key))) if isinstance(parsed, CaptureColumns) else [parsed]


NINE = f"org,example)/x 20180301120000 http://example.org/x text/html 301 {SHA} - 456 item/file.warc.gz"
ODD = ["", "  ", "# comment", " CDX N b a m s k r V g", " CDX N b a m s k r M S V g", "CDX N b a m s k r M S V g",
       "junk", NINE, NINE.replace("text/html 301 ", "text/html 301 - "), " " + ELEVEN, "#" + ELEVEN, ELEVEN.replace("org,", "CDX "),
       ELEVEN + " more", ELEVEN.replace(" ", "\t"), ELEVEN.replace(" ", "  "), ELEVEN + "\r", ELEVEN + " ",
       ELEVEN.replace("http", "{http"), ELEVEN.replace("http://example.org/x", '{"url":"u"}'), ELEVEN.replace("123", "-"),
       ELEVEN.replace("123", "9" * 19), ELEVEN.replace("456", "4_5"), ELEVEN.replace("200", "2OO"), ELEVEN.replace("200", "-"),
       ELEVEN.replace("20180301", "20180229"), ELEVEN.replace("20180301", "20160229"), ELEVEN.replace("20180301", "00000301"),
       ELEVEN.replace("120000", "126000"), ELEVEN.replace("120000", "240000"), ELEVEN.replace("120000", "1200"),
       ELEVEN.replace("120000", "1200001"), ELEVEN.replace("http://example.org/x", "-"), ELEVEN.replace("org/x", "org/\u00fc"),
       ELEVEN.replace(SHA, "\0"), "\0", "\0 " + ELEVEN, ELEVEN + " \0 " + ELEVEN, "o" * (MAX_LINE_BYTES + 1),
       'org,example)/x 20180301120000 {"url": "http://example.org/x", "status": "200"}']  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.one_of(st.just(ELEVEN), st.just(ELEVEN), st.sampled_from(ODD), st.text(" \t\0{#-0129CDXkx", max_size=40)), max_size=60),
       st.integers(2, 40))  # fmt: skip
def test_many_lines_are_parsed_together_as_they_are_one_by_one(lines, size):
    written = [text.encode() for text in lines]
    with patch("windrow.formats.cdx._BLOCK_LINES", size):
        assert [*together(written)] == [*one_by_one(written)]


def test_real_lines_are_parsed_together_as_they_are_one_by_one(shared):
    files = sorted((shared / "data" / "papers" / "cdx").glob("*.cdx"))
    assert files
    for path in files:
        lines = path.read_bytes().split(b"\n")
        assert [*together(lines)] == [*one_by_one(lines)]


def test_good_lines_come_as_columns_and_a_bad_one_costs_only_its_neighbours_that():
    lines = [ELEVEN.encode()] * 256
    lines[77] = b"junk"
    entries = [*parse_lines(lines)]
    assert sum(len(entry.key) for entry in entries if isinstance(entry, CaptureColumns)) >= 248
    assert [entry.line for entry in entries if isinstance(entry, CdxFault)] == ["junk"]
