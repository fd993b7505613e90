"""The metadata of a file, read in one pass."""

from __future__ import annotations

import hashlib
import io
import json

import pytest

from windrow.collections.papers.file_meta import file_meta, sniff_type
from windrow.errors import StepError
from windrow.reasons import Reason


def test_the_vector_of_a_known_file(shared):
    folder = shared / "data" / "papers"
    expected = json.loads((folder / "expected" / "vectors.json").read_text())["file_meta"]["pdf/dummy.pdf"]
    with (folder / "pdf" / "dummy.pdf").open("rb") as file:
        meta = file_meta(file, 1 << 30)
    assert meta == {
        "size": expected["size_bytes"], "mime": expected["mimetype"], "magic": "PDF document, version 1.4", "magic_mime": "application/pdf",
        "sha1": expected["sha1hex"], "md5": expected["md5hex"], "sha256": expected["sha256hex"]}  # fmt: skip


def test_a_large_file_is_read_in_blocks_and_bounded():
    content = b"%!PS-Adobe" + bytes(3 << 20)
    meta = file_meta(io.BytesIO(content), len(content))
    assert (meta["size"], meta["mime"]) == (len(content), "application/postscript")
    assert meta["sha1"] == hashlib.sha1(content).hexdigest()
    for bad, most, reason in ((content, len(content) - 1, Reason.TOO_LARGE), (b"", 10, Reason.TRUNCATED)):
        with pytest.raises(StepError) as refused:
            file_meta(io.BytesIO(bad), most)
        assert refused.value.reason is reason


@pytest.mark.parametrize(
    ("head", "mime", "magic_mime"),
    [
        (b"\n\n%PDF-1.7", "application/pdf", "application/pdf"),
        (b"<!DOCTYPE html><html>", "text/html", "text/html"),
        (b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml", "text/xml"),
        (b'<?xml version="1.0"?><article article-type="x">', "application/jats+xml", "text/xml"),
        (b'<?xml version="1.0"?>\n<!-- ' + b"x" * 9_000 + b" --><article>", "application/jats+xml", "text/xml"),
        (b'<!DOCTYPE article PUBLIC "a" "b"><article>', "application/jats+xml", "text/xml"),
        (b"<?xml version='1.0'?>" + b"<!--" * 5_000 + b"-->" * 5_000 + b"<articles/>", "text/xml", "text/xml"),
        (b"<?xml version='1.0'?><a/>", "text/xml", "text/xml"),
        (b"\x1f\x8b\x08", "application/gzip", "application/gzip"),
        (b"PK\x03\x04", "application/zip", "application/zip"),
        (b"\x89PNG\r\n", "image/png", "image/png"),
        (b"plain words", "text/plain", "text/plain"),
        (b"\0\1\2", "application/octet-stream", "application/octet-stream"),
        (b"\xff\xfe\xfd lies", "application/octet-stream", "application/octet-stream"),
    ],
)
def test_types_are_told_by_bytes_not_by_words(head, mime, magic_mime):
    meta = file_meta(io.BytesIO(head), 1 << 20)
    assert (meta["mime"], meta["magic_mime"]) == (mime, magic_mime)
    assert sniff_type(head[:4096])[0] == magic_mime
