"""Teach the model that tells a page's main content: `python tools/teach.py FOLDER` writes `weight.py`.

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
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from align import align, tokens
from windrow.formats.html.content import threshold
from windrow.formats.html.page import read
from windrow.formats.html.trait import NAMES, Traits
from windrow.formats.html.view import view

try:
    import lightgbm
    import numpy as np
except ImportError:  # the examples run without them
    lightgbm = np = None  # type: ignore[assignment]

WEIGHT = Path(__file__).parent.parent / "src/windrow/formats/html/weight.py"
TREES, TRAITS = 100, 64
MOST = 60_000  # the greatest sum of all trees, in units of a leaf
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


def pages(folder: Path) -> Iterator[Page]:
    """Read every page of the folder that has any text."""
    for path in sorted((folder / "ground-truth").glob("*.json")):
        truth = json.loads(path.read_text())
        raw = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        page = read(raw, truth["url"] or "")
        if not page.outline.blocks.text:
            continue
        gold = tokens(truth["ground_truth"]["main_content"] or "")
        blocks = [tokens(text) for text in page.outline.blocks.text]
        share = align(blocks, gold)
        seen = view(page.outline, page.hint)
        traits = Traits(seen)
        rows = np.stack([np.frombuffer(traits.column(name), dtype=np.uint8) for name in NAMES], axis=1)
        kind = truth["_internal"]["page_type"]["primary"]
        yield Page(
            path.stem,
            kind,
            site(truth["url"] or ""),
            gold,
            [blocks[at] for at in seen.kept],
            rows,
            np.array([share[at] for at in seen.kept]),
        )


def site(url: str) -> str:
    """Return the last two names of a host, or three where the second is as short as in `co.uk`.

    >>> site("https://www.example.co.uk/a")
    'example.co.uk'
    """
    names = (urlsplit(url).hostname or "").split(".")
    return ".".join(names[-3:] if len(names) > 2 and len(names[-2]) <= 3 else names[-2:])


def teach(taught: Sequence[Page], traits: Sequence[int], trees: int = TREES) -> lightgbm.Booster:
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
    return lightgbm.train(SETTING, table, trees)


def choose(found: Sequence[Page]) -> list[int]:
    """Return the traits worth most to a first forest, which has seen all of them."""
    first = teach(found, range(len(NAMES)), 60)
    gain = first.feature_importance("gain")
    return sorted(int(at) for at in np.argsort(-gain, kind="stable")[:TRAITS])


def f1(mine: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F measure of two bags of words."""
    if not mine or not gold:
        return float(not mine and not gold)
    both = (Counter(mine) & Counter(gold)).total()
    return 2 * both / (len(mine) + len(gold))


def check(found: Sequence[Page], traits: Sequence[int], folds: int) -> dict[str, float]:
    """Score each page by a forest that has not seen its site: with two folds, taught on the other half."""
    scores: dict[str, list[float]] = {}
    for fold in range(folds):
        out = [zlib.crc32(page.site.encode()) % folds == fold for page in found]
        forest = teach([page for page, left in zip(found, out, strict=True) if not left], traits)
        for page, left in zip(found, out, strict=True):
            if left:
                likely = [float(each) for each in np.asarray(forest.predict(page.rows[:, traits]))]
                least = threshold(likely, [max(len(block), 1) for block in page.blocks])
                mine = [
                    word for each, block in zip(likely, page.blocks, strict=True) if each >= least for word in block
                ]
                score = f1(mine, page.gold)
                scores.setdefault(page.kind, []).append(score)
                scores.setdefault("all", []).append(score)
    return {kind: round(sum(each) / len(each), 4) for kind, each in sorted(scores.items())}


def written(booster: lightgbm.Booster, names: Sequence[str], said: str) -> str:
    """Return the module that holds a taught model, as `windrow.formats.html.forest.grown` reads it."""
    trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    trees = [tree for tree in trees if "split_feature" in tree]
    bounds: dict[int, set[int]] = {}
    for tree in trees:
        for node in _nodes(tree):
            bounds.setdefault(node["split_feature"], set()).add(_bound(node))
    traits = sorted(bounds)
    ordered = {trait: sorted(bounds[trait]) for trait in traits}
    low = [min(_leaves(tree)) for tree in trees]
    scale = sum(max(_leaves(tree)) - least for tree, least in zip(trees, low, strict=True)) / MOST
    lines = ['"""The forest that tells main content, made by `tools/teach.py`.', "", said, '"""', ""]
    lines += ["from windrow.formats.html.forest import Forest, grown", "", 'FOREST: Forest = grown("""']
    lines += [f"{scale!r} {sum(low)!r}"]
    for trait in traits:
        lines += _folded(f"{names[trait]}: " + " ".join(map(str, ordered[trait])))
    lines.append("")
    for tree, least in zip(trees, low, strict=True):
        lines += _folded(" ".join(_spelled(tree, traits, ordered, least, scale)))
    return "\n".join([*lines, '""")', ""])


def _bound(node: dict[str, Any]) -> int:
    return int(node["threshold"])  # grades are whole numbers


def _nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "split_feature" in tree:
        yield tree
        yield from _nodes(tree["left_child"])
        yield from _nodes(tree["right_child"])


def _leaves(tree: dict[str, Any]) -> list[float]:
    if "split_feature" not in tree:
        return [tree["leaf_value"]]
    return _leaves(tree["left_child"]) + _leaves(tree["right_child"])


def _spelled(
    tree: dict[str, Any], traits: list[int], bounds: dict[int, list[int]], least: float, scale: float
) -> Iterator[str]:
    """Spell a tree from its root: a question as `trait.bound`, a leaf as its value."""
    if "split_feature" not in tree:
        yield str(round((tree["leaf_value"] - least) / scale))
        return
    trait = tree["split_feature"]
    yield f"{traits.index(trait)}.{bounds[trait].index(_bound(tree))}"
    yield from _spelled(tree["left_child"], traits, bounds, least, scale)
    yield from _spelled(tree["right_child"], traits, bounds, least, scale)


def _folded(line: str) -> list[str]:
    """Fold a line at 118 characters; what goes on in the next line is marked by a backslash."""
    found = []
    while len(line) > 118:
        cut = line.rindex(" ", 0, 117)
        found.append(line[:cut] + " \\")
        line = line[cut + 1 :]
    return [*found, line]


def main() -> int:
    """Teach, or check what teaching is worth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="score by sites never seen; write nothing")
    parser.add_argument("--folds", type=int, default=5, help="into how many parts the sites are divided")
    chosen = parser.parse_args()
    found = list(pages(chosen.folder))
    traits = choose(found)
    scores = check(found, traits, chosen.folds)
    print(json.dumps(scores))
    if not chosen.check:
        said = f"Mean F1 on sites never seen, by {chosen.folds} folds over {len(found)} pages: {scores['all']:.3f}."
        WEIGHT.write_text(written(teach(found, traits), [NAMES[at] for at in traits], said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
