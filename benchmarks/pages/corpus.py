"""PageRow-up documents whose words are as unevenly common as those of a language (Zipf)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from benchmarks.pages.filler import PageRow

NOW = 1_760_000_000
LANGUAGES = ("en", "de", "fr", "es", "pt-BR")
_CONSONANTS, _VOWELS = "bcdfghklmnprstvz", "aeiou"


def word(number: int) -> str:
    """Return a made-up word; each number gives another one, small numbers short ones."""
    letters, rest = "", number + 30
    while rest:
        letters += _CONSONANTS[rest % 16] + _VOWELS[rest // 16 % 5]
        rest //= 80
    return letters


class Vocabulary:
    """Words, drawn as often as their rank says: the n-th is drawn 1/n times as often as the first."""

    def __init__(self, seed: int, size: int = 60_000) -> None:
        """Make the words."""
        self.random = random.Random(seed)
        self.words = [word(number) for number in range(size)]
        self._weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(size)))

    def draw(self, count: int) -> list[str]:
        """Draw words."""
        return self.random.choices(self.words, cum_weights=self._weights, k=count)

    def text(self, count: int) -> str:
        """Draw a text in sentences."""
        drawn = self.draw(count)
        ends = range(0, count, 12)
        return " ".join(" ".join(drawn[start : start + 12]).capitalize() + "." for start in ends)


def documents(count: int, *, mean: int = 380, hosts: int = 200, seed: int = 7) -> Iterator[PageRow]:
    """Yield documents of about 2 kB; each hundredth repeats another's text, each twentieth has an ended version."""
    vocabulary = Vocabulary(seed)
    draw, text = vocabulary.random, ""
    for number in range(count):
        host = f"site{number % hosts}.example"
        url = f"https://{host}/{'/'.join(vocabulary.draw(2))}/{number}"
        if number % 100 or not text:
            text = vocabulary.text(draw.randint(mean // 2, mean * 3 // 2))
        language, created = LANGUAGES[number % 5], NOW - draw.randint(0, 1_500) * 86_400
        title = " ".join(vocabulary.draw(draw.randint(3, 8))).title()
        menu = f"Home News About {vocabulary.text(12)}"
        first = 1_650_000_000 + draw.randint(0, 100) * 86_400
        if number % 20 == 0:
            old = f"{vocabulary.text(40)} {text}"
            yield PageRow(
                url, old, title, menu, language=language, created=created, first=first - 10**7, end=first
            )  # fmt: skip
        links = ((f"https://{host}/", "Home"),)
        yield PageRow(url, text, title, menu, title, vocabulary.text(15), language, created, first, links=links)
