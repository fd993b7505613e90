"""WARC records as other programs write them."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b32encode
from collections.abc import Iterable

HTML = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: "1"\r\n\r\n'


def sha1(body: bytes) -> str:
    return f"sha1:{b32encode(hashlib.sha1(body).digest()).decode()}"


def make_record(
    kind: str, block: bytes = b"", *, version: str = "1.0", length: int | None = None, **fields: str
) -> bytes:
    """Return a record; `target_uri="..."` becomes WARC-Target-URI."""
    names = {"content_type": "Content-Type"}
    headers = {"date": "2024-03-01T12:00:00Z", "record_id": "<urn:uuid:1>"} | fields
    lines = [f"WARC/{version}", f"WARC-Type: {kind}"]
    for name, text in headers.items():
        spelled = names.get(name) or "WARC-" + "-".join(
            {"uri": "URI", "id": "ID"}.get(word, word.title()) for word in name.split("_")
        )
        lines.append(f"{spelled}: {text}")
    lines.append(f"Content-Length: {len(block) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def response_record(url: str, body: bytes, head: bytes = HTML, *, length: int | None = None, **fields: str) -> bytes:
    headers = {"target_uri": url, "content_type": "application/http; msgtype=response", "payload_digest": sha1(body)}
    return make_record("response", head + body, length=length, **(headers | fields))


def revisit_record(url: str, body: bytes, head: bytes = HTML, **fields: str) -> bytes:
    """Return a revisit record: its body was seen before."""
    headers = {
        "target_uri": url, "content_type": "application/http; msgtype=response", "payload_digest": sha1(body),
        "profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
    }  # fmt: skip
    return make_record("revisit", head, length=None, **(headers | fields))


def warcinfo_record() -> bytes:
    return make_record("warcinfo", b"software: Heritrix/3.4\r\n", content_type="application/warc-fields")


def pack_records(records: Iterable[bytes]) -> bytes:
    return b"".join(gzip.compress(record) for record in records)
