"""Compute digests and hashes, and write digests as the ledger and WARC files do."""

import hashlib
from base64 import b32encode
from collections.abc import Iterable
from contextlib import suppress

ALGORITHM = "sha256"
"""The algorithm of the digests by which the ledger and the archive identify content."""


class Hasher:
    """Computes the digests and the size in bytes of a stream in one pass.

    >>> h = Hasher()
    >>> h.update(b"abc"); h.size
    3
    >>> h.digest()[:15]
    'sha256:ba7816bf'
    """

    def __init__(self, *other_algorithms: str) -> None:
        """Prepare to compute digests with `ALGORITHM` and each of `other_algorithms`, such as `md5`."""
        self._main = hashlib.new(ALGORITHM)
        self._others = {name: hashlib.new(name, usedforsecurity=False) for name in other_algorithms}
        self.size = 0

    def update(self, block: bytes | memoryview) -> None:
        """Add the next bytes of the stream."""
        self.size += len(block)
        self._main.update(block)
        for hasher in self._others.values():
            hasher.update(block)

    def digest(self) -> str:
        """Return the SHA-256 that identifies the content: `sha256:` and 64 hex digits."""
        return f"{ALGORITHM}:{self._main.hexdigest()}"

    def hex(self, algorithm: str) -> str:
        """Return the hex digits of the digest computed with `algorithm`, one of the `other_algorithms`."""
        return self._others[algorithm].hexdigest()


def digest(content: bytes) -> str:
    """Return the SHA-256 that identifies these bytes: `sha256:` and 64 hex digits."""
    return f"{ALGORITHM}:{hashlib.sha256(content).hexdigest()}"


def combine_digests(digests: Iterable[str]) -> str:
    """Return one digest for content in several parts, computed from the digests of the parts in order."""
    return digest("\n".join(digests).encode())


def hash64(text: str) -> int:
    """Return a hash of a text as a signed 64-bit integer (BLAKE2b of 8 bytes): a key for very large tables.

    The chance that any two of ten million texts have the same hash is three in a million.

    >>> hash64("https://example.org/")
    7982605172991246264
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), signed=True)


_BASE32_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32_PAIRS = [first + second for first in _BASE32_DIGITS for second in _BASE32_DIGITS]
"""All ten-bit numbers in base 32: a table is fast, and a digest is written for every page of a crawl."""


def warc_digest(hex_digest: str) -> str:
    """Return a digest in the form of WARC headers (`ALGORITHM:BASE32`); `hex_digest` is `ALGORITHM:HEX`.

    >>> warc_digest(digest(b""))
    'sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ===='
    """
    algorithm, _, hex_digits = hex_digest.partition(":")
    if len(hex_digits) != 64:
        return f"{algorithm}:{b32encode(bytes.fromhex(hex_digits)).decode()}"
    padded_bits = int(hex_digits, 16) << 4  # 260 bits: 26 times ten
    return f"{algorithm}:{''.join([_BASE32_PAIRS[padded_bits >> shift & 1023] for shift in range(250, -1, -10)])}===="


def normalise_digest(written: str) -> str:
    """Return a digest from a WARC file in the form that `warc_digest` returns.

    In files, digests are in hex or base 32, in upper or lower case. Hex digits of an algorithm that is not one of
    `PAYLOAD_ALGORITHMS` are kept as hex, in upper case. A text without an algorithm is only stripped of blanks.

    >>> normalise_digest("SHA1:da39a3ee5e6b4b0d3255bfef95601890afd80709")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    algorithm, colon, hash_text = written.strip().partition(":")
    if not colon:
        return written.strip()
    algorithm = algorithm.lower().replace("sha-", "sha")
    if len(hash_text) == _HEX_DIGITS.get(algorithm):
        with suppress(ValueError):
            hash_text = b32encode(bytes.fromhex(hash_text)).decode()
    return f"{algorithm}:{hash_text.upper()}"


_HEX_DIGITS = {"md5": 32, "sha1": 40, "sha256": 64, "sha384": 96, "sha512": 128}
"""The number of hex digits of each algorithm's digests."""

PAYLOAD_ALGORITHMS = frozenset(_HEX_DIGITS)
"""The algorithms of payload digests that windrow can compute."""

EMPTY_DIGESTS = frozenset(
    f"{name}:{b32encode(hashlib.new(name, b'', usedforsecurity=False).digest()).decode()}" for name in _HEX_DIGITS
)
"""The digest of an empty payload for each algorithm, as `warc_digest` returns it."""


def shorten_digest(hex_digest: str) -> str:
    """Return the first 12 hex digits of a digest (`ALGORITHM:HEX`), for messages."""
    return hex_digest.partition(":")[2][:12]
