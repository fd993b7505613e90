"""Which captures are papers, and why the others are not."""

from __future__ import annotations

from collections import Counter

import pytest

from windrow.collections.papers.capture_rules import PATTERNS, media_type, select, wanted_types
from windrow.collections.papers.row_keys import hex_of
from windrow.errors import ConfigError
from windrow.formats.cdx import CdxFault, parse_line
from windrow.model import CdxLine, Site, Source
from windrow.reasons import Reason

SHA = "MPCXVWMUTRUGFP36SLPHKDLY6NGU4S3J"
LINE = CdxLine(
    "org,example)/a.pdf",
    "20180301120000",
    "http://example.org/a.pdf",
    "application/pdf",
    200,
    SHA,
    123,
    7,
    "item/x.warc.gz",
)


def source(**options) -> Source:
    return Source("library", "papers", Site("", ""), options=options)


def outcomes(lines: list[bytes], **options) -> Counter[str]:
    rule, counted = select(source(**options), {}), Counter[str]()
    for line in lines:
        read = parse_line(line)
        if isinstance(read, CdxFault):
            counted[str(read.reason)] += 1
        elif isinstance(read, CdxLine):
            refused = rule(read)
            counted[refused.message if refused else "wanted"] += 1
    return counted


def test_the_sample_of_20_lines_has_7_papers_and_a_reason_for_each_other(shared):
    lines = (shared / "data" / "papers" / "cdx" / "example.cdx").read_bytes().splitlines()
    assert outcomes(lines) == {"wanted": 7, "its media type is not wanted": 13}
    html = {"wanted": 1, "its media type is not wanted": 13, "its status is not 200": 6}
    assert outcomes(lines, media_types=["text/html"]) == html


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mime": "text/html"}, "its media type is not wanted"),
        ({"mime": ""}, "its media type is not wanted"),
        ({"status": 301}, "its status is not 200"),
        ({"status": None}, "its status is not 200"),
        ({"digest": "0" + SHA[1:]}, "its digest is not a SHA-1 in base 32 or hexadecimal"),
        ({"digest": ""}, "its digest is not a SHA-1 in base 32 or hexadecimal"),
        ({"digest": "sha1:"}, "its digest is not a SHA-1 in base 32 or hexadecimal"),
        ({"digest": hex_of(SHA)[1:]}, "its digest is not a SHA-1 in base 32 or hexadecimal"),
        ({"digest": "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"}, "the file is empty"),
        ({"offset": None}, "the line lacks an offset or a file"),
        ({"warc": ""}, "the line lacks an offset or a file"),
        ({"mime": "application/postscript"}, None),
        ({"mime": "Application/PDF;charset=x"}, None),
        ({"mime": "application/x-pdf"}, None),
        ({"mime": "warc/revisit", "status": None}, None),
        ({"mime": "warc/revisit"}, None),
        ({"length": None}, None),
        ({"offset": 2**40}, None),
        ({"digest": f"sha1:{SHA}"}, None),
        ({"digest": SHA.lower()}, None),
        ({"digest": hex_of(SHA)}, None),
        ({"digest": f"SHA1:{hex_of(SHA).upper()}"}, None),
        ({"digest": "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"}, "the file is empty"),
        ({"digest": f"md5:{hex_of(SHA)[:32]}"}, None),
    ],
)  # fmt: skip
def test_each_field_is_asked_strictly(changed, message):
    refused = select(source(), {})(LINE._replace(**changed))
    assert (refused.message if refused else None) == message


def test_dates_of_12_digits_which_the_original_misread_are_faults():
    for stamp in ("201707060059", "2017070600595", "20170230120000", "00000101000000"):
        read = parse_line(f"k {stamp} http://x/ application/pdf 200 {SHA} - - 1 2 w".encode())
        assert read.reason is Reason.BAD_DATE


@pytest.mark.parametrize(("name", "file"), [
    ("edu-tilde", "pig_papers_edu_tilde"), ("host-words", "pig_papers_domain_words"), ("url-doi", "pig_papers_url_doi"),
    ("url-words", "pig_papers_url_words")])  # fmt: skip
def test_patterns_find_the_lines_that_the_originals_were_made_for(shared, name, file):
    """The originals' samples mark in comments which of their lines must be found."""
    lines = (shared / "data" / "papers" / "cdx" / f"{file}.cdx").read_bytes().splitlines()
    skips = outcomes(lines, patterns=[name], media_types=["application/pdf"])
    assert skips["wanted"] > 0
    assert not PATTERNS[name]("com,example)/shop/page.pdf")


def test_lists_and_patterns_of_a_source_narrow_what_is_found(shared):
    digests = (shared / "data" / "papers" / "cdx" / "pig_example.sha1b32").read_text().split()
    rule = select(source(digests=digests), {})
    assert rule(LINE).message == "its digest is not in `digests`"
    assert rule(LINE._replace(digest=digests[0])) is None
    for spelling in (f"sha1:{SHA}", hex_of(SHA)):
        rule = select(source(digests=[spelling]), {})
        assert [rule(LINE._replace(digest=digest)) for digest in (SHA, f"sha1:{SHA}", hex_of(SHA))] == [None] * 3
    with pytest.raises(ConfigError, match="`digests`: 'sha256:00' is not a SHA-1"):
        select(source(digests=["sha256:00"]), {})
    assert select(source(patterns=[r"\.pdf$"]), {})(LINE) is None
    assert select(source(patterns=["url-doi"]), {})(LINE).message == "its address matches none of `patterns`"
    with pytest.raises(ConfigError, match="neither one of"):
        select(source(patterns=["("]), {})


def test_media_types_are_called_by_one_name():
    spellings = {"application/octet-stream": ["unk", "application/download", "binary/octet-stream"], "text/xml": ["application/xml"],
            "application/pdf": [".pdf", "image/pdf", "'application/pdf'"], "": ["", "image/png", "text/plain", "warc/revisit"]}  # fmt: skip
    for name, written in spellings.items():
        assert {media_type(spelling) for spelling in written} == {name}


def test_a_media_type_that_no_file_can_have_is_refused():
    with pytest.raises(ConfigError, match="image/png"):
        wanted_types({"media_types": ["application/pdf", "image/png"]})
    assert wanted_types({"media_types": ["application/x-pdf"]}) == {"application/pdf"}
