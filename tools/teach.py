"""Train the model that finds the main content of pages; `python tools/teach.py FOLDER` writes `weights.txt`.

FOLDER has the pages as `html/ID.html.gz` and their main contents as `ground-truth/ID.json`. The digest of `weights.txt`
is written into `forest.py`. With `--check` nothing is written: in turn, the model is trained without one part of the
sites and scored on this part, so that no page is scored by a model that was trained with its site. Needs lightgbm and
numpy, which windrow itself does not.
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

CONTENT_FOLDER = Path(__file__).parent.parent / "src/windrow/content"
TREES = 60  # of each forest
CHOOSING_TREES = 40  # of the forest by which features are chosen
CHOSEN_FEATURES = 64
UNADDRESSED = 3  # one page of so many is used without its address, since not every caller has the address
PARTS = 3  # of the sites: each gets scores from a forest that was trained with the others
WORDS_EXPONENT = 0.6  # the weight of a block is the number of its words to this power
PARAMETERS = {  # of lightgbm
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
    """A page: the words of its main content (`gold`), and the features (`rows`) and share in `gold` of its blocks."""

    name: str
    kind: str
    site: str
    gold: list[str]
    blocks: list[list[str]]
    rows: np.ndarray[Any, Any]
    share: np.ndarray[Any, Any]
    view: PageMeasures

    def part(self, parts: int, salt: str = "") -> int:
        """Return to which of `parts` parts, from 0, the page's site belongs; another `salt` makes other parts."""
        return zlib.crc32(f"{salt}{self.site}".encode()) % parts

    def with_scores(self, scores: Sequence[float]) -> Page:
        """Return the page with the features added that are computed from a score for each block."""
        features = Features(self.view)
        features.add_likelihoods(scores)
        return self._replace(rows=np.concatenate([self.rows, _rows(features, SECOND_FEATURE_NAMES)], axis=1))


def pages(folder: Path) -> Iterator[Page]:
    """Yield the pages of a folder that have text."""
    for path in sorted((folder / "ground-truth").glob("*.json")):
        truth = json.loads(path.read_text())
        raw = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        page = read_page(raw, truth["url"] or "")
        if not page.outline.blocks.text:
            continue
        gold = tokens(truth["ground_truth"]["main_content"] or "")
        blocks = [tokens(text) for text in page.outline.blocks.text]
        share = align(blocks, gold)
        traits = page.traits
        if zlib.crc32(path.stem.encode()) % UNADDRESSED == 0:
            traits = traits._replace(steps=0, digits=0, address=0)
        measures = measure_page(page.outline, traits)
        kind = truth["_internal"]["page_type"]["primary"]
        yield Page(
            path.stem,
            kind,
            site(truth["url"] or ""),
            gold,
            [blocks[index] for index in measures.judged],
            _rows(Features(measures), FIRST_FEATURE_NAMES),
            np.array([share[index] for index in measures.judged]),
            measures,
        )


def _rows(features: Features, names: Sequence[str]) -> np.ndarray[Any, Any]:
    return np.stack([np.frombuffer(features.column(name), dtype=np.uint8) for name in names], axis=1)


def site(url: str) -> str:
    """Return the last two labels of a URL's host name, or three if the second last is short, as in `co.uk`.

    >>> site("https://www.example.co.uk/a")
    'example.co.uk'
    """
    names = (urlsplit(url).hostname or "").split(".")
    return ".".join(names[-3:] if len(names) > 2 and len(names[-2]) <= 3 else names[-2:])


class Judge(NamedTuple):
    """A forest, and the columns of a page's rows with which it was trained."""

    forest: lightgbm.Booster
    columns: list[int]

    def score_blocks(self, page: Page) -> list[float]:
        """Return the score of each block, from 0 to 1."""
        return [float(score) for score in np.asarray(self.forest.predict(page.rows[:, self.columns]))]


class Model(NamedTuple):
    """The two forests that score blocks; the second one's input includes the first one's scores."""

    first: Judge
    second: Judge

    def score_blocks(self, page: Page) -> list[float]:
        """Return the score of each block by the second forest."""
        return self.second.score_blocks(page.with_scores(self.first.score_blocks(page)))


def train_model(samples: Sequence[Page]) -> Model:
    """Train both forests: the second with scores of a first one that was trained without the sites of the pages."""
    columns = choose_features(samples, CHOSEN_FEATURES)
    scored_pages: list[Page] = []
    for part in range(PARTS):
        pages_of_part = [page for page in samples if page.part(PARTS, "opinion") == part]
        judge = train([page for page in samples if page.part(PARTS, "opinion") != part], columns)
        scored_pages += [page.with_scores(judge.score_blocks(page)) for page in pages_of_part]
    score_columns = range(len(FIRST_FEATURE_NAMES), len(FIRST_FEATURE_NAMES) + len(SECOND_FEATURE_NAMES))
    return Model(train(samples, columns), train(scored_pages, [*columns, *score_columns]))


def train(samples: Sequence[Page], columns: Sequence[int], trees: int = TREES) -> Judge:
    """Train a forest with these columns of the pages' rows; all pages have the same weight."""
    rows = np.concatenate([page.rows[:, columns] for page in samples])
    share = np.concatenate([page.share for page in samples])
    weights = []
    for page in samples:
        words = np.array([max(len(block), 0.3) for block in page.blocks]) ** WORDS_EXPONENT
        weights.append(words / max(words.sum(), 1) if page.gold else words * 0)
    weight = np.concatenate(weights)
    is_used = (share >= 0) & (weight > 0)
    weight *= len(weight) / weight.sum()
    table = lightgbm.Dataset(rows[is_used], share[is_used] > 0.5, weight=weight[is_used], params=PARAMETERS)
    return Judge(lightgbm.train(PARAMETERS, table, trees), list(columns))


def choose_features(samples: Sequence[Page], count: int) -> list[int]:
    """Return the columns of the `count` features with the most gain in a forest that is trained with all features."""
    judge = train(samples, range(samples[0].rows.shape[1]), CHOOSING_TREES)
    gain = judge.forest.feature_importance("gain")
    return sorted(int(column) for column in np.argsort(-gain, kind="stable")[:count])


def f1(words: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F measure of two bags of words, from 0 to 1."""
    if not words or not gold:
        return float(not words and not gold)
    common_count = (Counter(words) & Counter(gold)).total()
    return 2 * common_count / (len(words) + len(gold))


def check(samples: Sequence[Page], folds: int) -> dict[str, float]:
    """Return the mean scores by kind of page; each page is scored by a model that was trained without its site."""
    scores: dict[str, list[float]] = {}
    for fold in range(folds):
        model = train_model([page for page in samples if page.part(folds) != fold])
        for page in samples:
            if page.part(folds) == fold:
                block_scores = model.score_blocks(page)
                choice = choose_blocks(page.view.outline, page.view.traits, page.view.judged, block_scores)
                blocks = zip(page.view.outline.blocks.text, choice.taken(), strict=True)
                words = [word for text, is_chosen in blocks if is_chosen for word in tokens(text)]
                score = f1(words, page.gold)
                scores.setdefault(page.kind, []).append(score)
                scores.setdefault("all", []).append(score)
                if page.kind == "article":
                    common_count = (Counter(words) & Counter(page.gold)).total()
                    scores.setdefault("article precision", []).append(common_count / max(1, len(words)))
                    scores.setdefault("article recall", []).append(common_count / max(1, len(page.gold)))
    return {kind: round(sum(values) / len(values), 4) for kind, values in sorted(scores.items())}


def main() -> int:
    """Train the model and write it, or print its scores with `--check`; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--check",
        action="store_true",
        help="print scores of the model for sites that it was not trained with; write nothing",
    )
    parser.add_argument("--folds", type=int, default=5, help="the number of parts into which the sites are divided")
    chosen = parser.parse_args()
    samples = list(pages(chosen.folder))
    if chosen.check:
        print(json.dumps(check(samples, chosen.folds)))
        return 0
    names = (*FIRST_FEATURE_NAMES, *SECOND_FEATURE_NAMES)
    model = train_model(samples)
    texts = [spell_forest(judge.forest, [names[column] for column in judge.columns]) for judge in model]
    written = FOREST_SEPARATOR.join(texts)
    (CONTENT_FOLDER / "weights.txt").write_text(written)
    module = CONTENT_FOLDER / "forest.py"
    digest = hashlib.sha256(written.encode()).hexdigest()
    module.write_text(re.sub(r'(?m)^DIGEST = ".*"$', f'DIGEST = "{digest}"', module.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
