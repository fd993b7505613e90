"""How well copies are told apart from other pages: `python -m benchmarks.pages.near FOLDER [--json]`.

FOLDER is laid out as `data/extraction`. Its main texts, whole and cut to 40, 80, 150 and 400 words, are edited as
copies are: another date, another counter, a paragraph of 5, 10 or 20 % more, 2 % of the words changed. Against them
stand pairs of other pages, of pages of which 30 or 50 % is the same, and pages whose half is new. Recall and precision
are over all pairs; milliseconds are the CPU time of one process for one whole text. The peer is SimHash (Charikar,
2002) of 64 bits over the same shingles, equal up to 10 bits, made here.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from benchmarks.pages.sample import samples
from windrow.formats import sketch

SIZES = (40, 80, 150, 400, 100_000)
BITS = 10
_SPREAD = [sum((byte >> bit & 1) << 16 * bit for bit in range(8)) for byte in range(256)]


class Pair(NamedTuple):
    """Two texts, and whether one is a copy of the other."""

    kind: str
    left: str
    right: str
    copy: bool


def pairs(texts: Sequence[str], chance: random.Random) -> Iterator[Pair]:
    """Yield pairs of each kind for each text and size."""
    words = [text.split() for text in texts]
    pool = [word for vocabulary in words for word in vocabulary]

    def others(count: int) -> list[str]:
        start = chance.randrange(len(pool) - count)
        return pool[start : start + count]

    for whole in words:
        for size in SIZES:
            text = whole[:size]
            if len(text) < min(size, SIZES[0]):
                continue
            count, replacements = len(text), others(len(text))
            at = chance.randrange(count)
            yield _pair(
                "date", ["Posted", "on", *_date(chance), *text], ["Posted", "on", *_date(chance), *text], copy=True
            )
            yield _pair("counter", [*text, *_counter(chance)], [*text, *_counter(chance)], copy=True)
            for share in (5, 10, 20):
                more = others(max(1, count * share // 100))
                yield _pair(f"{share} % more", text, [*text[:at], *more, *text[at:]], copy=True)
            yield _pair("2 % other words", text, _misspelt(text, chance), copy=True)
            yield _pair("other", text, replacements, copy=False)
            for share in (30, 50):
                kept = count * share // 100
                yield _pair(f"{share} % shared", text, text[:kept] + replacements[kept:], copy=False)
            yield _pair("half new", text, [*text, *others(count)], copy=False)


def _pair(kind: str, left: list[str], right: list[str], *, copy: bool) -> Pair:
    return Pair(kind, " ".join(left), " ".join(right), copy)


def _date(chance: random.Random) -> list[str]:
    months = ("January", "February", "March", "April", "May", "June", "July", "August")
    return [str(chance.randrange(1, 29)), chance.choice(months), str(chance.randrange(2000, 2027))]


def _counter(chance: random.Random) -> list[str]:
    return ["Read", str(chance.randrange(10, 100_000)), "times,", str(chance.randrange(400)), "comments"]


def _misspelt(text: list[str], chance: random.Random) -> list[str]:
    edited = list(text)
    for at in chance.sample(range(len(edited)), max(1, len(edited) // 50)):
        edited[at] = edited[at][::-1] + "x"
    return edited


def ours(left: str, right: str) -> bool:
    """Return whether two texts are judged copies."""
    a, b = sketch.make_sketch(left), sketch.make_sketch(right)
    return (
        bool(set(sketch.split_bands(a)) & set(sketch.split_bands(b)))
        and sketch.estimate_similarity(a, b) >= sketch.NEAR_DUPLICATE_SIMILARITY
    )


def simhash(text: str) -> int:
    """Return the SimHash of a text: each byte of the hashes is summed in one large number of eight lanes."""
    shingles = sketch._SHINGLE.findall(sketch._spell_plainly(text))  # noqa: SLF001
    hashes = [crc32(shingle) * 0x9E3779B97F4A7C15 & (1 << 64) - 1 for shingle in shingles]
    signature = 0
    for byte in range(8):
        counted = sum(_SPREAD[hash_ >> 8 * byte & 255] for hash_ in hashes)
        for bit in range(8):
            signature |= int(2 * (counted >> 16 * bit & 0xFFFF) > len(hashes)) << 8 * byte + bit
    return signature


def theirs(left: str, right: str) -> bool:
    """Return the same by SimHash."""
    return (simhash(left) ^ simhash(right)).bit_count() <= BITS


def measured(
    who: str, decide: Callable[[str, str], bool], make: Callable[[str], object], texts: list[str], seed: int
) -> dict[str, object]:
    """Return recall, precision, the share of each kind that was found, and milliseconds for a text."""
    hits: dict[str, list[bool]] = defaultdict(list)
    copies: dict[str, bool] = {}
    for pair in pairs(texts, random.Random(seed)):
        hits[pair.kind].append(decide(pair.left, pair.right))
        copies[pair.kind] = pair.copy
    right = sum(sum(verdicts) for kind, verdicts in hits.items() if copies[kind])
    wrong = sum(sum(verdicts) for kind, verdicts in hits.items() if not copies[kind])
    count = sum(len(verdicts) for kind, verdicts in hits.items() if copies[kind])
    begun = time.process_time()
    for text in texts:
        make(text)
    took = (time.process_time() - begun) * 1000 / len(texts)
    shares = {kind: sum(verdicts) / len(verdicts) for kind, verdicts in hits.items()}
    figures = {"who": who, "pairs": sum(map(len, hits.values())), "recall": right / count}
    return figures | {"precision": right / (right + wrong), "milliseconds": took, "found": shares}


def main() -> int:
    """Measure both, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    texts = [sample.gold for sample in samples(arguments.folder) if len(sample.gold.split()) >= SIZES[0]]
    for figures in (
        measured("windrow", ours, sketch.make_sketch, texts, arguments.seed),
        measured("simhash", theirs, simhash, texts, arguments.seed),
    ):
        if arguments.json:
            print(json.dumps(figures))
            continue
        similar = "  ".join(f"{kind} {share:.3f}" for kind, share in figures["found"].items())  # type: ignore[attr-defined]
        print(
            f"{figures['who']:8} recall {figures['recall']:.4f}  precision {figures['precision']:.4f}"
            f"  {figures['milliseconds']:.2f} ms a text  ({similar})"
        )
    words = sum(len(text.split()) for text in texts) // len(texts)
    print(f"{len(texts)} texts of {words} words on average", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
