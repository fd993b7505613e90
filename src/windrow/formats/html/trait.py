"""All that can be measured of a block of text, by name, for the model that judges blocks.

A trait is of the page (one grade), of the box that the block lies in, of the block itself, or a yes or no: whether a
bit is set in what the box is, or in the names around it. One that is never asked for is never computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.formats.html.blocktrait import OF_BLOCK
from windrow.formats.html.boxtrait import OF_BOX
from windrow.formats.html.mark import PageLocation
from windrow.formats.html.opinion import OF_OPINION, Likelihoods
from windrow.formats.html.pagetrait import OF_PAGE
from windrow.formats.html.view import View
from windrow.formats.html.vocabulary import GROUPS

BITS: dict[str, tuple[str, int]] = {
    **{f"in {str(mark.name).lower()}": ("marks", int(mark)) for mark in PageLocation},
    **{f"near {group}": ("near", 1 << at) for at, group in enumerate(GROUPS)},
    **{f"far {group}": ("far", 1 << at) for at, group in enumerate(GROUPS)},
}
_OWN = OF_BLOCK | OF_BOX

NAMES = (*OF_PAGE, *OF_BOX, *OF_BLOCK, *BITS)
"""Every trait there is before any judgement."""
OPINIONS = tuple(OF_OPINION)
"""Those that a first judgement adds."""


class Traits:
    """The traits of one page, in grades; what is asked of them is what `forest.Source` says."""

    __slots__ = ("_bits", "_known", "_opinion", "_shared", "_view", "count")

    def __init__(self, view: View) -> None:
        """Look at a page that has at least one block."""
        self._view = view
        self._opinion: Likelihoods | None = None
        self._known: dict[str, bytes] = {}
        self._shared: dict[str, int] = {}
        self.count = len(view.kept)
        home = view.above[0]
        every = {"marks": view.outline.boxes.marks, "near": view.around.near, "far": view.around.far}
        self._bits: dict[str, Sequence[int]] = {what: home(values) for what, values in every.items()}

    def hear(self, likely: Sequence[float]) -> None:
        """Add the traits that follow from a first judgement: what it said of each block that is kept."""
        self._opinion = Likelihoods(self._view, likely)

    def of_page(self, name: str) -> int | None:
        """Return a trait of the page, None where it is not one."""
        if name not in OF_PAGE:
            return None
        found = self._shared.get(name)
        if found is None:
            found = self._shared[name] = OF_PAGE[name](self._view)
        return found

    def of_block(self, name: str) -> bytes:
        """Return a trait of blocks or of their boxes, a grade for each block."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._of_bit(*BITS[name]) if name in BITS else self._measured(name)
        return found

    def _of_bit(self, what: str, bit: int) -> bytes:
        return bytes([value & bit != 0 for value in self._bits[what]])

    def _measured(self, name: str) -> bytes:
        heard = OF_OPINION.get(name)
        return _OWN[name](self._view) if heard is None or self._opinion is None else heard(self._opinion)

    def column(self, name: str) -> bytes:
        """Return any trait, a grade for each block, as the model is taught with them."""
        page = self.of_page(name)
        return self.of_block(name) if page is None else bytes([page]) * self.count
