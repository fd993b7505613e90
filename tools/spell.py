"""Spell a taught forest as `windrow.content.forest.read_forest` reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import lightgbm

MOST = 60_000  # the greatest sum of all trees, in units of a leaf


def spell_forest(booster: lightgbm.Booster, names: Sequence[str]) -> str:
    """Return a forest that was taught with these traits as a text."""
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
    lines = [f"{scale!r} {sum(low)!r}"]
    lines += [f"{names[trait]}: " + " ".join(map(str, ordered[trait])) for trait in traits]
    lines.append("")
    for tree, least in zip(trees, low, strict=True):
        lines.append(" ".join(_questions(tree, traits, ordered, least, scale)))
    return "\n".join(lines)


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


def _questions(
    tree: dict[str, Any], traits: list[int], bounds: dict[int, list[int]], least: float, scale: float
) -> Iterator[str]:
    """Spell a tree from its root: a question as `trait.bound`, a leaf as its value."""
    if "split_feature" not in tree:
        yield str(round((tree["leaf_value"] - least) / scale))
        return
    trait = tree["split_feature"]
    yield f"{traits.index(trait)}.{bounds[trait].index(_bound(tree))}"
    yield from _questions(tree["left_child"], traits, bounds, least, scale)
    yield from _questions(tree["right_child"], traits, bounds, least, scale)
