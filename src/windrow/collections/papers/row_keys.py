"""Convert the digests of papers between their forms, and to the keys of rows."""

from __future__ import annotations

import base64
import re

from windrow.collections.papers.collection import KeyForm

EMPTY_FILE_DIGEST = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
"""The SHA-1 of an empty file, in base 32."""

_BASE32_MATCH = re.compile("[A-Z2-7]{32}").fullmatch
_HEX_MATCH = re.compile("[0-9a-f]{40}").fullmatch
_PREFIX = b"sha1:"
_SHA1_BYTES = 20


def is_base32(digest: str) -> bool:
    """Return whether a text is a SHA-1 in upper-case base 32, the form used in CDX files."""
    return _BASE32_MATCH(digest) is not None


def hex_of(base32: str) -> str:
    """Convert a digest from base 32 to hexadecimal.

    >>> hex_of("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    'da39a3ee5e6b4b0d3255bfef95601890afd80709'
    """
    return base64.b32decode(base32).hex()


def base32_of(hexadecimal: str) -> str:
    """Convert a digest from hexadecimal to base 32.

    >>> base32_of("da39a3ee5e6b4b0d3255bfef95601890afd80709")
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return base64.b32encode(bytes.fromhex(hexadecimal)).decode()


def row_key(base32: str, form: KeyForm) -> bytes:
    """Return the key of a paper's row in the form that the table uses, from the paper's digest in base 32.

    >>> row_key("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", KeyForm.PREFIXED)
    b'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    if form is KeyForm.RAW:
        return base64.b32decode(base32)
    return (b"" if form is KeyForm.BARE else _PREFIX) + base32.encode()


def digest_of(key: bytes) -> str:
    """Return the digest in the key of a row, in base 32; empty if the key has none of the forms.

    >>> digest_of(bytes.fromhex("da39a3ee5e6b4b0d3255bfef95601890afd80709"))
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    if len(key) == _SHA1_BYTES:
        return base64.b32encode(key).decode()
    text = key.removeprefix(_PREFIX).decode("ascii", "replace")
    return text if is_base32(text) else ""


def key_text(key: bytes) -> str:
    """Return the key of a row as exports write it: `sha1:` and base 32, or hexadecimal if the key has no digest."""
    return f"sha1:{digest_of(key)}" if digest_of(key) else key.hex()


def parse_digest(name: str) -> str:
    """Convert a SHA-1 in base 32 or hexadecimal, with or without `sha1:`, to base 32; empty for any other text.

    >>> parse_digest("sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj"), parse_digest("DA39A3EE5E6B4B0D3255BFEF95601890AFD80709")
    ('3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ', '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ')
    """
    text = name.strip()
    if text[:5].lower() == "sha1:":
        text = text[5:]
    if is_base32(text.upper()):
        return text.upper()
    return base32_of(text.lower()) if _HEX_MATCH(text.lower()) else ""
