"""Sketches of texts, to find near-duplicates among many texts.

A text is represented by the set of its shingles: the 20 bytes from the start of each word of three bytes or more (about
three words), in lower case and without ASCII punctuation. The similarity of two texts is the share of shingles that
they have in common (Broder, On the resemblance and containment of documents, 1997). A sketch has a byte of the hash of
each of 96 shingles, chosen as in fast similarity sketching (Dahlgaard, Knudsen and Thorup, 2017). The share of equal
bytes of two sketches estimates the similarity of their texts. The sketches of similar texts usually agree in all five
bytes of at least one of twelve bands, so only texts with an equal band need to be compared.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from operator import eq
from typing import Final
from zlib import crc32

LANES: Final = 96
"""The number of bytes of a sketch; a lane is one byte."""

BANDS: Final = 12
"""The number of bands of a sketch."""

BAND_BYTES: Final = 5
"""The number of bytes of a band. Two texts share a band in 99 of 100 cases if their similarity is 0.8, and in 32 of 100
if it is 0.5."""

NEAR_DUPLICATE_SIMILARITY: Final = 0.65
"""Texts are near-duplicates if their similarity is at least this."""

MIN_SHINGLES: Final = 16
"""The minimum number of shingles of a text that has a sketch; shorter texts are not compared."""

MAX_CHARACTERS: Final = 200_000
"""The maximum number of characters of a text that are used for its sketch; the rest of the text is ignored."""

SHINGLE_BYTES: Final = 20
"""The number of bytes of a shingle."""

MAX_ROUNDS: Final = 256
"""The maximum number of rounds to fill all lanes. After them, one in 10^16 of the shortest texts has an empty lane."""

_SHINGLE = re.compile(rb" (?=([^ ]{3}.{%d}))" % (SHINGLE_BYTES - 3), re.DOTALL)
_LOWER_CASE = bytes(ord(chr(code).lower()) if code < 128 else code for code in range(256)).translate(
    bytes.maketrans(b"\t\n\v\f\r", b"     ")
)
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())
_UNSPACED = re.compile("([\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
_MIN_HASHES_TO_FILL = 8 * LANES  # as many of the smallest hashes nearly always fill all lanes
_MASK_64_BITS = (1 << 64) - 1
_FACTORS = [int.from_bytes(blake2b(b"%d" % turn, digest_size=8).digest(), "big") | 1 for turn in range(MAX_ROUNDS)]


def make_sketch(text: str) -> bytes:
    """Return the sketch of a text, which has 96 bytes, or b"" if the text has fewer than 16 shingles.

    >>> first = make_sketch("The ferry to the islands leaves from the old quay at nine each morning, except on "
    ...              "Sundays and in stormy weather, when nobody goes anywhere. Read 17 times.")
    >>> second = make_sketch("The ferry to the islands leaves from the old quay at nine each morning, except on "
    ...              "Sundays and in stormy weather, when nobody goes anywhere. Read 18 times.")
    >>> len(first), estimate_similarity(first, second) > 0.7, make_sketch("Not found")
    (96, True, b'')
    """
    hashes = list(map(crc32, _SHINGLE.findall(_spell_plainly(text[:MAX_CHARACTERS]))))
    return _fill_lanes(hashes) if len(hashes) >= MIN_SHINGLES else b""


def estimate_similarity(first: bytes, second: bytes) -> float:
    """Estimate from two sketches the share of shingles that their texts have in common, from 0 to 1.

    The standard error is 0.04 at 0.8. One in 256 bytes of different shingles is equal by chance; this is subtracted.
    """
    equal_count: int = sum(map(eq, first, second))
    return max(0.0, (equal_count * 256 / LANES - 1) / 255)


def split_bands(sketch: bytes) -> list[int]:
    """Return the twelve bands of a sketch as integers of 44 bits; similar texts usually have at least one in common."""
    return [
        int.from_bytes(sketch[band * BAND_BYTES : (band + 1) * BAND_BYTES], "big") << 4 | band for band in range(BANDS)
    ]


def _spell_plainly(text: str) -> bytes:
    """Return a text in UTF-8, in lower case and without ASCII punctuation, with a space before and spaces after it."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \1", unicodedata.normalize("NFC", text).lower())
    return b" " + text.encode("utf-8", "replace").translate(_LOWER_CASE, _PUNCTUATION) + b" " * SHINGLE_BYTES


def _fill_lanes(hashes: list[int]) -> bytes:
    """Return, for each lane, a byte of the smallest hash that is assigned to the lane.

    If a lane is empty, all hashes are mixed and tried again, so that a text with few shingles fills all lanes, too. A
    lane keeps the hash of the first round in which it was not empty.
    """
    lanes: dict[int, int] = {}
    round_hashes = hashes
    for round_ in range(MAX_ROUNDS):
        if round_:
            round_hashes = [(hash_ * _FACTORS[round_] & _MASK_64_BITS) >> 32 for hash_ in hashes]
        if len(round_hashes) > _MIN_HASHES_TO_FILL:
            hash_limit = (_MIN_HASHES_TO_FILL << 32) // len(round_hashes)
            lanes = _smallest_by_lane([hash_ for hash_ in round_hashes if hash_ < hash_limit]) | lanes
        if len(lanes) < LANES:
            lanes = _smallest_by_lane(round_hashes) | lanes
        if len(lanes) == LANES:
            break
    # a hash modulo LANES is its lane, so the quotient's lowest byte is the one that is kept
    return bytes([lanes.get(lane, 0) // LANES & 255 for lane in range(LANES)])


def _smallest_by_lane(hashes: list[int]) -> dict[int, int]:
    return {hash_ % LANES: hash_ for hash_ in sorted(hashes, reverse=True)}
