"""Content hashing: every algorithm and spelling in one place, one pass over the bytes."""

import hashlib
from base64 import b32encode
from collections.abc import Iterable
from contextlib import suppress

ALGORITHM = "sha256"
"""The algorithm of digests in the ledger and the archive."""


class Hasher:
    """Digest and count a stream in one pass.

    >>> h = Hasher()
    >>> h.update(b"abc"); h.size
    3
    >>> h.digest()[:15]
    'sha256:ba7816bf'
    """

    def __init__(self, *others: str) -> None:
        """Compute `ALGORITHM` and, in the same pass, the others named (`md5`, `sha1`, ...)."""
        self._main = hashlib.new(ALGORITHM)
        self._others = {name: hashlib.new(name, usedforsecurity=False) for name in others}
        self.size = 0

    def update(self, block: bytes | memoryview) -> None:
        """Add the next block."""
        self.size += len(block)
        self._main.update(block)
        for hasher in self._others.values():
            hasher.update(block)

    def digest(self) -> str:
        """Return the content's name: `sha256:` and 64 hex digits."""
        return f"{ALGORITHM}:{self._main.hexdigest()}"

    def hex(self, name: str) -> str:
        """Return one of the other digests in hex."""
        return self._others[name].hexdigest()


def digest(content: bytes) -> str:
    """Return the name of these bytes, as `Hasher.digest` spells it."""
    return f"{ALGORITHM}:{hashlib.sha256(content).hexdigest()}"


def combine(parts: Iterable[str]) -> str:
    """Name a thing made of several named parts, in their order."""
    return digest("\n".join(parts).encode())


def number(text: str) -> int:
    """Return a signed 64-bit number for a text, for keys of very large tables: BLAKE2b of 8 bytes.

    Two of ten million texts share one by chance in three of a million cases.

    >>> number("https://example.org/")
    7982605172991246264
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), signed=True)


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_TENS = [first + second for first in _LETTERS for second in _LETTERS]
"""Ten bits in base 32: it is written for every page of a crawl."""


def warc(name: str) -> str:
    """Spell a digest as WARC headers do: the algorithm, a colon and base 32.

    >>> warc(digest(b""))
    'sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ===='
    """
    algorithm, _, text = name.partition(":")
    if len(text) != 64:
        return f"{algorithm}:{b32encode(bytes.fromhex(text)).decode()}"
    bits = int(text, 16) << 4  # 260 of them: 26 times ten
    return f"{algorithm}:{''.join([_TENS[bits >> at & 1023] for at in range(250, -1, -10)])}===="


def spelled_alike(name: str) -> str:
    """Return a digest in the one spelling that is compared: WARC files have hex or base 32, in either case.

    >>> spelled_alike("SHA1:da39a3ee5e6b4b0d3255bfef95601890afd80709")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    algorithm, mark, text = name.strip().partition(":")
    if not mark:
        return name.strip()
    algorithm, length = algorithm.lower().replace("sha-", "sha"), _HEX.get(algorithm.lower().replace("sha-", "sha"))
    if len(text) == length:
        with suppress(ValueError):
            text = b32encode(bytes.fromhex(text)).decode()
    return f"{algorithm}:{text.upper()}"


_HEX = {"md5": 32, "sha1": 40, "sha256": 64, "sha384": 96, "sha512": 128}
"""How many hex digits the digests of WARC files have."""

NOTHING = frozenset(
    f"{name}:{b32encode(hashlib.new(name, b'', usedforsecurity=False).digest()).decode()}" for name in _HEX
)
"""The digests of an empty payload, as `warc` spells them."""


def short(name: str) -> str:
    """Spell a digest for people: the first 12 hex digits."""
    return name.partition(":")[2][:12]
