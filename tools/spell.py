"""Write a trained forest in the form that `windrow.content.forest.read_forest` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import lightgbm

MAX_SUM = 60_000  # the greatest sum of the values of one leaf of each tree, in the units in which leaves are written


def spell_forest(booster: lightgbm.Booster, names: Sequence[str]) -> str:
    """Return a trained forest as a text; `names` are the names of its features, in the order of its columns."""
    trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    trees = [tree for tree in trees if "split_feature" in tree]
    bounds: dict[int, set[int]] = {}
    for tree in trees:
        for node in _nodes(tree):
            bounds.setdefault(node["split_feature"], set()).add(_bound(node))
    columns = sorted(bounds)
    sorted_bounds = {column: sorted(bounds[column]) for column in columns}
    lowest = [min(_leaves(tree)) for tree in trees]
    scale = sum(max(_leaves(tree)) - least for tree, least in zip(trees, lowest, strict=True)) / MAX_SUM
    lines = [f"{scale!r} {sum(lowest)!r}"]
    lines += [f"{names[column]}: " + " ".join(map(str, sorted_bounds[column])) for column in columns]
    lines.append("")
    for tree, least in zip(trees, lowest, strict=True):
        lines.append(" ".join(_splits_and_leaves(tree, columns, sorted_bounds, least, scale)))
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


def _splits_and_leaves(
    tree: dict[str, Any], columns: list[int], bounds: dict[int, list[int]], least: float, scale: float
) -> Iterator[str]:
    """Yield a tree from its root: a split as `feature.bound`, a leaf as its value above `least` in units of `scale`."""
    if "split_feature" not in tree:
        yield str(round((tree["leaf_value"] - least) / scale))
        return
    column = tree["split_feature"]
    yield f"{columns.index(column)}.{bounds[column].index(_bound(tree))}"
    yield from _splits_and_leaves(tree["left_child"], columns, bounds, least, scale)
    yield from _splits_and_leaves(tree["right_child"], columns, bounds, least, scale)
