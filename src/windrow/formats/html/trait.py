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
from windrow.formats.html.view import Column, View, picker
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

    __slots__ = ("_bits", "_columns", "_pick", "_view", "homes")

    def __init__(self, view: View) -> None:
        """Look at a page that has at least one block."""
        self._view = view
        self._columns: dict[str, Column] = {}
        every = {"marks": view.outline.boxes.marks, "near": view.around.near, "far": view.around.far}
        self._bits = {what: view.pick[0](values) for what, values in every.items()}
        seat = {box: at for at, box in enumerate(view.homes)}
        self._pick = picker(view.kept)
        self.homes: Sequence[int] = [seat[box] for box in self._pick(view.outline.blocks.box)]
        """For each block that is kept, the place of its box in the columns of boxes."""

    def of_page(self, name: str) -> float | None:
        """Return a trait of the page, None where it is not one."""
        trait = OF_PAGE.get(name)
        return trait(self._view) if trait is not None else None

    def of_bit(self, name: str) -> tuple[Sequence[int], int] | None:
        """Return for a yes or no of boxes the integer of each home and the bit that counts; else None."""
        bit = BITS.get(name)
        return None if bit is None else (self._bits[bit[0]], bit[1])

    def of_box(self, name: str) -> Column | None:
        """Return a trait of boxes, a number for each home; None where it is not one."""
        trait = OF_BOX.get(name)
        return None if trait is None else trait(self._view)

    def of_block(self, name: str) -> Column:
        """Return a trait of blocks, a number for each that is kept."""
        return self._pick(OF_BLOCK[name](self._view))

    def row(self, at: int, names: Sequence[str]) -> list[float]:
        """Return the traits of one kept block in the order of these names, as the model was taught with them."""
        return [self._value(at, name) for name in names]

    def _value(self, at: int, name: str) -> float:
        page = self.of_page(name)
        if page is not None:
            return page
        column = self._columns.get(name)
        if column is None:
            bit, own = self.of_bit(name), self.of_box(name)
            if bit is not None:
                column = [float(bool(bit[0][home] & bit[1])) for home in self.homes]
            else:
                column = self.of_block(name) if own is None else [own[home] for home in self.homes]
            self._columns[name] = column
        return column[at]
