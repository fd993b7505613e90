"""A page as the model that judges its blocks looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from windrow.formats.html.extent import Around, Extent, around, extent
from windrow.formats.html.hint import Hint
from windrow.formats.html.mark import LEVELS
from windrow.formats.html.outline import Outline

Column = Sequence[float]

TAGS = ["p", "li", "td", "th", "dt", "dd", "pre", "blockquote", "figcaption", "button", "option", "label", "summary", "h1", "h2", "h3", "h4", "h5", "h6", "div", "section", "article", "form", "address", "caption", "legend", "textarea", "noscript", "select", "main"]  # fmt: skip
_TAG = {tag: at + 1 for at, tag in enumerate(TAGS)}
ABOVE = 4


@dataclass(frozen=True, slots=True)
class View:
    """All that a block's traits are computed from."""

    outline: Outline
    sums: Extent
    around: Around
    hint: Hint
    homes: list[int]
    """The boxes that blocks lie in, each once, in order."""
    above: list[list[int]]
    """For each number of steps, from 0, the boxes that lie so much above the homes."""
    tags: list[int] = field(repr=False)
    """By box, a number for its tag; 0 where the tag is none of those that hold text."""

    def level(self, box: int) -> int:
        """Return the level of the headline that this box is, or lies directly in; 0 where it does not."""
        boxes = self.outline.boxes
        found = LEVELS.get(boxes.tag[box], 0)
        return found or (LEVELS.get(boxes.tag[boxes.up[box]], 0) if box > 0 else 0)


def view(outline: Outline, hint: Hint) -> View:
    """Sum up a page that was laid flat."""
    sums = extent(outline)
    homes = sorted(set(outline.blocks.box))
    above = [homes]
    up = outline.boxes.up
    for _ in range(1, ABOVE):
        above.append([up[box] if box > 0 else 0 for box in above[-1]])
    tags = [_TAG.get(tag, 0) for tag in outline.boxes.tag]
    return View(outline, sums, around(outline, sums), hint, homes, above, tags)
