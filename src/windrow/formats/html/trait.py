"""All that can be measured of a block of text, by name, for the model that judges blocks.

A trait is of the page (one number), of the box that the block lies in, of the block itself, or a yes or no: whether a
bit is set in what the box is, or in the names around it. One that is never asked for is never computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.formats.html.blocktrait import OF_BLOCK
from windrow.formats.html.boxtrait import OF_BOX
from windrow.formats.html.mark import Mark
from windrow.formats.html.pagetrait import OF_PAGE
from windrow.formats.html.view import Column, View
from windrow.formats.html.vocabulary import GROUPS

BITS: dict[str, tuple[str, int]] = {
    **{f"in {str(mark.name).lower()}": ("marks", int(mark)) for mark in Mark},
    **{f"near {group}": ("near", 1 << at) for at, group in enumerate(GROUPS)},
    **{f"far {group}": ("far", 1 << at) for at, group in enumerate(GROUPS)},
}

NAMES = (*OF_PAGE, *OF_BOX, *OF_BLOCK, *BITS)
"""Every trait there is."""


class Traits:
    """The traits of one page, each computed when it is first asked for."""

    __slots__ = ("_columns", "_view", "homes")

    def __init__(self, view: View) -> None:
        """Look at a page that has at least one block."""
        self._view = view
        self._columns: dict[str, Column] = {}
        seat = {box: at for at, box in enumerate(view.homes)}
        self.homes: Sequence[int] = [seat[box] for box in view.outline.blocks.box]
        """For each block, the place of its box in the columns of boxes."""

    def of_page(self, name: str) -> float | None:
        """Return a trait of the page, None where it is not one."""
        trait = OF_PAGE.get(name)
        return trait(self._view) if trait is not None else None

    def of_box(self, name: str) -> Column | None:
        """Return a trait of boxes, a number for each home; None where it is not one."""
        trait = OF_BOX.get(name)
        if trait is not None:
            return trait(self._view)
        bit = BITS.get(name)
        if bit is None:
            return None
        what, mask = bit
        view = self._view
        values = (
            view.outline.boxes.marks if what == "marks" else view.around.near if what == "near" else view.around.far
        )
        return [1 if values[box] & mask else 0 for box in view.homes]

    def of_block(self, name: str) -> Column:
        """Return a trait of blocks, a number for each."""
        return OF_BLOCK[name](self._view)

    def row(self, at: int, names: Sequence[str]) -> list[float]:
        """Return the traits of one block in the order of these names, as the model was taught with them."""
        return [self._value(at, name) for name in names]

    def _value(self, at: int, name: str) -> float:
        page = self.of_page(name)
        if page is not None:
            return page
        column = self._columns.get(name)
        if column is None:
            own = self.of_box(name)
            column = self.of_block(name) if own is None else [own[home] for home in self.homes]
            self._columns[name] = column
        return column[at]
