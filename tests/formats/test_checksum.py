"""Checksum files as people and tools write them."""

import pytest

from windrow.formats.listing import read_checksum

ONE, OTHER = "9" * 32, "b" * 32


@pytest.mark.parametrize(
    ("content", "digest"),
    [
        (f"{ONE}  a.zip\n".encode(), ONE),
        (f"{ONE.upper()} *a.zip\r\n".encode(), ONE),
        (f"MD5 (a.zip) = {ONE}".encode(), ONE),
        (ONE.encode(), ONE),
        (f"{ONE}  a.zip\n".encode("utf-16"), ONE),
        (f"\ufeff{ONE}  a.zip\n".encode(), ONE),
        (f"{OTHER}  other.zip\n{ONE}  add/a.zip\n".encode(), ONE),
        (f"{OTHER}  aa.zip\n{ONE}  b.zip\n".encode(), ""),  # none of several lines is about it
        (f"{OTHER}  a.zip\n{ONE}  a.zip\n".encode(), ""),  # two that contradict each other
        (f"{ONE}0  a.zip".encode(), ""),
        (b"\x00\xff none here", ""),
        (b"", ""),
    ],
)
def test_the_checksum_of_a_sidecar_is_that_of_its_own_file(content: bytes, digest: str) -> None:
    assert read_checksum(content, "add/a.zip.md5") == (f"md5:{digest}" if digest else "")
