"""Lines of CDX and CDXJ: captures, legends, junk."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.formats.cdx import CDX_9, CDX_11, LONGEST, CdxFault, CdxLine, Layout, line, parse_line
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


def test_nine_fields_have_no_length():
    written = f"org,example)/x 20180301120000 http://example.org/x application/pdf 200 {SHA} - 456 item/file.warc.gz"
    assert parse_line(written.encode()) == FOUND._replace(length=None)


def test_a_legend_says_where_the_fields_stand():
    layout = parse_line(b" CDX N b a m s k r V g")
    assert layout == CDX_9
    assert parse_line(b"CDX N b a m s k r M S V g\n") == CDX_11
    other = parse_line(b" CDX b N g V S k s m a")
    assert isinstance(other, Layout)
    written = f"20180301120000 org,example)/x item/file.warc.gz 456 123 {SHA} 200 application/pdf http://example.org/x"
    assert parse_line(written.encode(), other) == FOUND
    lacking = parse_line(b" CDX N b a m s")
    assert isinstance(lacking, CdxFault)
    assert lacking.message == "the legend names no digest, offset, warc"


@pytest.mark.parametrize(
    "junk", [b"", b"  ", b"# comment", b"filedesc:x", b" something", b"!OpenWayback-CDXJ 1.0", b"\r\n"]
)
def test_blank_lines_and_comments_are_nothing(junk):
    assert parse_line(junk) is None


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
        ("org", "o" * LONGEST, Reason.TOO_LARGE),
    ],
)
def test_a_fault_has_its_reason(old, new, reason):
    found = parse_line(ELEVEN.replace(old, new).encode())
    assert isinstance(found, CdxFault)
    assert found.reason is reason


@pytest.mark.parametrize("told", ["{", "{}", '{"url": {}}', '{"url": 1.5}', '{"url": "' + chr(92) + 'ud800"}', "{" * 9999,
                                  '{"url": "x", "length": true}'])  # fmt: skip
def test_a_broken_object_is_a_fault(told):
    assert isinstance(parse_line(f"org,example)/ 20180301120000 {told}".encode()), CdxFault)


def test_what_is_absent_is_nothing():
    bare = ELEVEN.replace("application/pdf", "-").replace(" 200 ", " - ").replace(SHA, "-").replace("123 456", "- -")
    expected = FOUND._replace(mime="", status=None, digest="", length=None, offset=None)
    assert parse_line(bare.encode()) == expected


def test_our_own_index_lines_are_read():
    written = line("http://example.org/a b?", "2026-01-02T03:04:05Z", ("x.warc", 7, 9), status=200, mime="a/b",
                   digest="sha256:" + "0" * 64)  # fmt: skip
    found = parse_line(written.encode())
    assert isinstance(found, CdxLine)
    assert (found.url, found.timestamp, found.offset, found.length) == (
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

    def least(what):
        took = []
        for _ in range(5):
            began = time.process_time()
            for each in lines:
                what(each)
            took.append(time.process_time() - began)
        return min(took)

    assert least(parse_line) < 10 * least(lambda each: each.decode().split())
