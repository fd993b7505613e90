"""Keys and encoded cells of the table."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.papers.collection import KeyForm
from windrow.collections.papers.columns import (
    ENCODINGS,
    FAMILIES,
    FoundCapture,
    check_families,
    decode,
    decode_row,
    encode,
    make_cells,
)
from windrow.collections.papers.row_keys import base32_of, digest_of, hex_of, parse_digest, row_key


@given(st.binary(min_size=20, max_size=20))
def test_a_key_is_read_in_all_three_forms(raw):
    base32 = base32_of(raw.hex())
    assert hex_of(base32) == raw.hex()
    assert len(row_key(base32, KeyForm.PREFIXED)) == 37
    for form in KeyForm:
        assert digest_of(row_key(base32, form)) == base32
    for spelled in (raw.hex().upper(), base32.lower(), f"SHA1:{base32}", f"sha1:{raw.hex()}"):
        assert parse_digest(spelled) == base32


def test_what_is_no_digest_is_none():
    assert [parse_digest(text) for text in ("", "sha1:", "3I42H3S6", "g" * 40, "1" * 32)] == [""] * 5
    assert digest_of(b"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBY1") == ""


def test_the_vectors_of_keys_and_numbers(shared):
    vectors = json.loads((shared / "data" / "papers" / "expected" / "vectors.json").read_text())
    for base32, hexadecimal in vectors["b32_hex"].items():
        assert hex_of(base32) == hexadecimal
    for number, written in vectors["int64_be"].items():
        assert encode("file:size", int(number)).hex() == written
        assert decode("grobid0:status_code", bytes.fromhex(written)) == int(number)


def test_families_and_columns_are_those_of_the_standard_and_one_of_our_own():
    check_families(FAMILIES)
    columns = {f"{family.name}:{column}" for family in FAMILIES for column in family.columns}
    assert columns == set(ENCODINGS)
    assert {family.name: family.compressed for family in FAMILIES} == {
        "f": False, "file": False, "grobid0": True, "match0": False, "text0": True}  # fmt: skip


def test_rows_that_the_original_wrote_are_read(shared):
    rows = (shared / "data" / "papers" / "tsv" / "example_ungrobided.tsv").read_text().splitlines()
    assert len(rows) == 20
    for row in rows:
        key, history, mime, cdx = row.split("\t")
        read = decode_row({"f:c": history.encode(), "file:mime": mime.encode(), "file:cdx": cdx.encode()})
        assert len(digest_of(key.encode())) == 32
        assert read["f:c"]["u"] == read["file:cdx"]["url"]
        assert read["file:mime"] == "application/pdf"
        assert type(read["file:cdx"]["offset"]) is int  # the original wrote numbers, its standard says texts


def test_values_that_cannot_be_read_are_nothing_and_harm_nobody():
    assert decode("file:cdx", b"[1]") is None
    assert decode("file:cdx", b"\xff{") is None
    assert decode("file:cdx", b"[" * 100_000) is None
    assert decode("file:size", b"1234567") is None
    assert decode("other:column", b"\xff") == b"\xff"
    assert encode("f:c", {"b": 1, "a": "ü"}) == b'{"a": "\\u00fc", "b": 1}'


def test_json_of_a_long_tei_in_another_script_has_room_in_its_cell():
    body = "\u0436" * 1_950_000  # its TEI is below the 4,000,000 bytes that are stored
    shape = {"title": "\u0436", "body": body, "annex": None}
    record = {"file": {"size": 1, "mime": "application/pdf"},
             "grobid": {"status_code": 200, "status": {"status": "success"}, "quality": "good", "passing": False}}  # fmt: skip
    row = make_cells(record, {"tei": "<TEI/>", "tei_json": shape}, FoundCapture({}, 1), None)
    assert decode("grobid0:tei_json", row["grobid0:tei_json"]) == shape
    assert row["grobid0:metadata"] == b'{"title": "\\u0436"}'
