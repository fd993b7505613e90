"""The key of a paper: the SHA-1 of its bytes, in the three forms that tables have it in."""

from __future__ import annotations

import base64
import re
from enum import StrEnum

EMPTY = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
"""The digest of no bytes at all, in base 32."""

_BASE32 = re.compile("[A-Z2-7]{32}").fullmatch
_HEX = re.compile("[0-9a-f]{40}").fullmatch
_PREFIX = b"sha1:"
_RAW, _BARE = 20, 32


class KeyForm(StrEnum):
    """How a table spells its keys."""

    PREFIXED = "sha1:base32"
    BARE = "base32"
    RAW = "raw"


def is_base32(digest: str) -> bool:
    """Tell whether a text is a SHA-1 as indexes of captures spell it."""
    return _BASE32(digest) is not None


def hex_of(base32: str) -> str:
    """Spell a digest in base 16.

    >>> hex_of("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    'da39a3ee5e6b4b0d3255bfef95601890afd80709'
    """
    return base64.b32decode(base32).hex()


def base32_of(hexadecimal: str) -> str:
    """Spell a digest in base 32.

    >>> base32_of("da39a3ee5e6b4b0d3255bfef95601890afd80709")
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return base64.b32encode(bytes.fromhex(hexadecimal)).decode()


def row_key(base32: str, form: KeyForm) -> bytes:
    """Return the key of a row.

    >>> row_key("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", KeyForm.PREFIXED)
    b'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    if form is KeyForm.RAW:
        return base64.b32decode(base32)
    return (b"" if form is KeyForm.BARE else _PREFIX) + base32.encode()


def digest_of(key: bytes) -> str:
    """Return the digest that a row's key has, in base 32, whichever form it is in; empty where it is none.

    >>> digest_of(bytes.fromhex("da39a3ee5e6b4b0d3255bfef95601890afd80709"))
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    if len(key) == _RAW:
        return base64.b32encode(key).decode()
    text = key.removeprefix(_PREFIX).decode("ascii", "replace")
    return text if is_base32(text) else ""


def named(name: str) -> str:
    """Return the digest in base 32 that a person means, who may spell it as keys, WARC files or SHA-1 sums do.

    >>> named("sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj") == named("DA39A3EE5E6B4B0D3255BFEF95601890AFD80709") == EMPTY
    True
    """
    text = name.strip()
    if text[:5].lower() == "sha1:":
        text = text[5:]
    if is_base32(text.upper()):
        return text.upper()
    return base32_of(text.lower()) if _HEX(text.lower()) else ""
