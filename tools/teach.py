"""Teach the model that tells a page's main content: `python tools/teach.py FOLDER` writes `weights.txt` and its digest.

FOLDER is laid out as `data/extraction` of the shared folder: `html/ID.html.gz` and `ground-truth/ID.json`. With
`--check` nothing is written: the model is taught on all folds of the sites but one and scored on that, in turn, so
that no page is scored by a model that has seen its site. Needs lightgbm and numpy, which windrow itself does not.
"""

# /// script
# dependencies = ["lightgbm>=4.5", "numpy>=2"]
# ///

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from align import align, tokens
from spell import spell_forest
from windrow.content.features import FIRST_FEATURE_NAMES, SECOND_FEATURE_NAMES, Features
from windrow.content.forest import FOREST_SEPARATOR
from windrow.content.measures import PageMeasures, measure_page
from windrow.content.page import choose_blocks, read_page

try:
    import lightgbm
    import numpy as np
except ImportError:  # the examples run without them
    lightgbm = np = None  # type: ignore[assignment]

ROOM = Path(__file__).parent.parent / "src/windrow/content"
TREES = 60  # of each forest
CHOOSING = 40  # trees of a forest that chooses traits
TRAITS = 64
UNADDRESSED = 3  # one page of so many is taught without its address, since not every reader knows it
PARTS = 3  # of the sites, each told the opinion of a judge that has seen the others
POWER = 0.6  # a block weighs by this power of its words
SETTING = {
    "objective": "binary",
    "num_leaves": 16,
    "learning_rate": 0.1,
    "min_data_in_leaf": 150,
    "feature_fraction": 0.3,
    "feature_fraction_bynode": 0.6,
    "lambda_l2": 5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "max_bin": 63,
    "num_threads": 1,
    "deterministic": True,
    "seed": 1,
    "verbose": -1,
}


class Page(NamedTuple):
    """A page with the traits of the blocks worth judging, and what a person took for its main content."""

    name: str
    kind: str
    site: str
    gold: list[str]
    blocks: list[list[str]]
    rows: np.ndarray[Any, Any]
    share: np.ndarray[Any, Any]
    view: PageMeasures

    def part(self, parts: int, salt: str = "") -> int:
        """Return the part that the page's site falls into."""
        return zlib.crc32(f"{salt}{self.site}".encode()) % parts

    def with_opinions(self, likely: Sequence[float]) -> Page:
        """Return the page with the features added that are computed from a score for each block."""
        traits = Features(self.view)
        traits.add_likelihoods(likely)
        return self._replace(rows=np.concatenate([self.rows, _rows(traits, SECOND_FEATURE_NAMES)], axis=1))


def pages(folder: Path) -> Iterator[Page]:
    """Read every page of the folder that has any text."""
    for path in sorted((folder / "ground-truth").glob("*.json")):
        truth = json.loads(path.read_text())
        raw = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        page = read_page(raw, truth["url"] or "")
        if not page.outline.blocks.text:
            continue
        gold = tokens(truth["ground_truth"]["main_content"] or "")
        blocks = [tokens(text) for text in page.outline.blocks.text]
        share = align(blocks, gold)
        known = page.traits
        if zlib.crc32(path.stem.encode()) % UNADDRESSED == 0:
            known = known._replace(steps=0, digits=0, address=0)
        seen = measure_page(page.outline, known)
        kind = truth["_internal"]["page_type"]["primary"]
        yield Page(
            path.stem,
            kind,
            site(truth["url"] or ""),
            gold,
            [blocks[at] for at in seen.judged],
            _rows(Features(seen), FIRST_FEATURE_NAMES),
            np.array([share[at] for at in seen.judged]),
            seen,
        )


def _rows(traits: Features, names: Sequence[str]) -> np.ndarray[Any, Any]:
    return np.stack([np.frombuffer(traits.column(name), dtype=np.uint8) for name in names], axis=1)


def site(url: str) -> str:
    """Return the last two names of a host, or three where the second is as short as in `co.uk`.

    >>> site("https://www.example.co.uk/a")
    'example.co.uk'
    """
    names = (urlsplit(url).hostname or "").split(".")
    return ".".join(names[-3:] if len(names) > 2 and len(names[-2]) <= 3 else names[-2:])


class Judge(NamedTuple):
    """A forest, and which columns of a page's rows it was taught with."""

    forest: lightgbm.Booster
    traits: list[int]

    def likely(self, page: Page) -> list[float]:
        """Return its score for each block."""
        return [float(each) for each in np.asarray(self.forest.predict(page.rows[:, self.traits]))]


class Model(NamedTuple):
    """The two forests that score blocks; the second one's input includes the first one's scores."""

    first: Judge
    second: Judge

    def likely(self, page: Page) -> list[float]:
        """Return their scores for each block."""
        return self.second.likely(page.with_opinions(self.first.likely(page)))


def learn(samples: Sequence[Page]) -> Model:
    """Teach both judges; the second learns from opinions about pages of sites that the first had not seen."""
    traits = choose(samples, TRAITS)
    labelled: list[Page] = []
    for part in range(PARTS):
        own = [page for page in samples if page.part(PARTS, "opinion") == part]
        judge = teach([page for page in samples if page.part(PARTS, "opinion") != part], traits)
        labelled += [page.with_opinions(judge.likely(page)) for page in own]
    heard = range(len(FIRST_FEATURE_NAMES), len(FIRST_FEATURE_NAMES) + len(SECOND_FEATURE_NAMES))
    return Model(teach(samples, traits), teach(labelled, [*traits, *heard]))


def teach(taught: Sequence[Page], traits: Sequence[int], trees: int = TREES) -> Judge:
    """Teach a forest with these pages, each of which weighs the same."""
    rows = np.concatenate([page.rows[:, traits] for page in taught])
    share = np.concatenate([page.share for page in taught])
    weights = []
    for page in taught:
        words = np.array([max(len(block), 0.3) for block in page.blocks]) ** POWER
        weights.append(words / max(words.sum(), 1) if page.gold else words * 0)
    weight = np.concatenate(weights)
    known = (share >= 0) & (weight > 0)
    weight *= len(weight) / weight.sum()
    table = lightgbm.Dataset(rows[known], share[known] > 0.5, weight=weight[known], params=SETTING)
    return Judge(lightgbm.train(SETTING, table, trees), list(traits))


def choose(samples: Sequence[Page], count: int) -> list[int]:
    """Return the traits worth most to a forest that has seen all of them."""
    first = teach(samples, range(samples[0].rows.shape[1]), CHOOSING)
    gain = first.forest.feature_importance("gain")
    return sorted(int(at) for at in np.argsort(-gain, kind="stable")[:count])


def f1(mine: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F measure of two bags of words."""
    if not mine or not gold:
        return float(not mine and not gold)
    both = (Counter(mine) & Counter(gold)).total()
    return 2 * both / (len(mine) + len(gold))


def check(samples: Sequence[Page], folds: int) -> dict[str, float]:
    """Score each page by a model that has not seen its site, not even to choose its traits."""
    scores: dict[str, list[float]] = {}
    for fold in range(folds):
        model = learn([page for page in samples if page.part(folds) != fold])
        for page in samples:
            if page.part(folds) == fold:
                chosen = choose_blocks(page.view.outline, page.view.traits, page.view.judged, model.likely(page))
                both = zip(page.view.outline.blocks.text, chosen, strict=True)
                taken = [word for text, keep in both if keep for word in tokens(text)]
                score = f1(taken, page.gold)
                scores.setdefault(page.kind, []).append(score)
                scores.setdefault("all", []).append(score)
                if page.kind == "article":
                    right = (Counter(taken) & Counter(page.gold)).total()
                    scores.setdefault("article precision", []).append(right / max(1, len(taken)))
                    scores.setdefault("article recall", []).append(right / max(1, len(page.gold)))
    return {kind: round(sum(each) / len(each), 4) for kind, each in sorted(scores.items())}


def main() -> int:
    """Teach, or check what teaching is worth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="score by sites never seen; write nothing")
    parser.add_argument("--folds", type=int, default=5, help="into how many parts the sites are divided")
    chosen = parser.parse_args()
    samples = list(pages(chosen.folder))
    if chosen.check:
        print(json.dumps(check(samples, chosen.folds)))
        return 0
    names = (*FIRST_FEATURE_NAMES, *SECOND_FEATURE_NAMES)
    texts = [spell_forest(judge.forest, [names[at] for at in judge.traits]) for judge in learn(samples)]
    written = FOREST_SEPARATOR.join(texts)
    (ROOM / "weights.txt").write_text(written)
    module = ROOM / "forest.py"
    digest = hashlib.sha256(written.encode()).hexdigest()
    module.write_text(re.sub(r'(?m)^DIGEST = ".*"$', f'DIGEST = "{digest}"', module.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
