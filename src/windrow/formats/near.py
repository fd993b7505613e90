"""Sketches of texts, by which texts that are nearly equal are found among many.

A text is taken for the set of its shingles: the 20 bytes that begin with each word of three bytes or more,
about three words, in lower case and without punctuation. How alike two texts are is the share of shingles that
they have in common (Broder, On the resemblance and containment of documents, 1997). A sketch keeps 96 of them,
a byte each, chosen by their hashes as in fast similarity sketching (Dahlgaard, Knudsen and Thorup, 2017): two
sketches agree in about as many places as their texts have shingles in common. Texts that are alike agree in all
five places of one of twelve bands, so that equal bands find candidates.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from operator import eq
from typing import Final
from zlib import crc32

LANES: Final = 96
"""Places of a sketch: one byte each."""

BANDS: Final = 12
ROWS: Final = 5
"""Places of a band: texts with 0.8 in common have a band in common 99 times in 100, with 0.5 once in three times."""

ALIKE: Final = 0.65
"""The similarity from which texts are near-duplicates."""

LEAST: Final = 16
"""Shingles that a text must have; shorter ones say too little to be compared."""

LONGEST: Final = 200_000
"""Characters that are looked at."""

WIDTH: Final = 20
"""Bytes of a shingle."""

ROUNDS: Final = 256
"""Times that lanes are tried to be filled: the shortest text leaves one empty once in 10^16."""

_SHINGLE = re.compile(rb" (?=([^ ]{3}.{%d}))" % (WIDTH - 3), re.DOTALL)
_PLAIN = bytes(ord(chr(code).lower()) if code < 128 else code for code in range(256)).translate(
    bytes.maketrans(b"\t\n\v\f\r", b"     ")
)
_DROPPED = bytes(code for code in range(33, 127) if not chr(code).isalnum())
_UNSPACED = re.compile("([\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
_ENOUGH = 8 * LANES  # so many of the least hashes fill all lanes but very seldom
_MASK = (1 << 64) - 1
_FACTORS = [int.from_bytes(blake2b(b"%d" % turn, digest_size=8).digest(), "big") | 1 for turn in range(ROUNDS)]


def sketch(text: str) -> bytes:
    """Return the sketch of a text, 96 bytes; empty where it has fewer than 16 shingles.

    >>> one = sketch("The ferry to the islands leaves from the old quay at nine each morning, except on "
    ...              "Sundays and in stormy weather, when nobody goes anywhere. Read 17 times.")
    >>> other = sketch("The ferry to the islands leaves from the old quay at nine each morning, except on "
    ...              "Sundays and in stormy weather, when nobody goes anywhere. Read 18 times.")
    >>> len(one), similarity(one, other) > 0.7, sketch("Not found")
    (96, True, b'')
    """
    hashes = list(map(crc32, _SHINGLE.findall(_plain(text[:LONGEST]))))
    return _chosen(hashes) if len(hashes) >= LEAST else b""


def similarity(one: bytes, other: bytes) -> float:
    """Return the share of shingles that two texts have in common, 0 to 1, as their sketches tell it.

    Its standard error is 0.04 at 0.8. A byte of different shingles is equal once in 256 times, which is taken off.
    """
    equal: int = sum(map(eq, one, other))
    return max(0.0, (equal * 256 / LANES - 1) / 255)


def bands(found: bytes) -> list[int]:
    """Return the twelve bands of a sketch as whole numbers of 44 bits; texts that are alike have one in common."""
    return [int.from_bytes(found[at * ROWS : (at + 1) * ROWS], "big") << 4 | at for at in range(BANDS)]


def _plain(text: str) -> bytes:
    """Return a text as its words, a space before each, in UTF-8."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \1", unicodedata.normalize("NFC", text).lower())
    return b" " + text.encode("utf-8", "replace").translate(_PLAIN, _DROPPED) + b" " * WIDTH


def _chosen(hashes: list[int]) -> bytes:
    """Return for each lane a byte of the least hash that falls into it.

    Lanes into which none falls are filled by another round, in which all hashes are mixed anew. So each
    lane has the least of all in the order of rounds, however many shingles there are.
    """
    lanes: dict[int, int] = {}
    some = hashes
    for turn in range(ROUNDS):
        if turn:
            some = [(hash_ * _FACTORS[turn] & _MASK) >> 32 for hash_ in hashes]
        if len(some) > _ENOUGH:
            limit = (_ENOUGH << 32) // len(some)
            lanes = _least([one for one in some if one < limit]) | lanes
        if len(lanes) < LANES:
            lanes = _least(some) | lanes
        if len(lanes) == LANES:
            break
    return bytes([lanes.get(lane, 0) // LANES & 255 for lane in range(LANES)])


def _least(hashes: list[int]) -> dict[int, int]:
    """Return the least hash of each lane that has any."""
    return {hash_ % LANES: hash_ for hash_ in sorted(hashes, reverse=True)}
