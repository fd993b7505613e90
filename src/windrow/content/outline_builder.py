"""Build a page's outline from its tags and texts in document order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from unicodedata import is_normalized, normalize

from windrow.content.outline import BODY, Anchor, Blocks, Boxes, Outline, PageLocation, Shape, read_attribute, unescape
from windrow.formats.srcset import parse_srcset

_HREF, _REL, _ALT, _SRC = b' href="', b' rel="', b' alt="', b' src="'
_SRCSET = b' srcset="'
_CITE, _LONGDESC, _POSTER, _FORMACTION = b' cite="', b' longdesc="', b' poster="', b' formaction="'
_FURTHER_ATTRIBUTES = {opening: opening[1:-2].decode() for opening in (_CITE, _LONGDESC, _POSTER, _FORMACTION)}
_SRC_ONLY = (_SRC,)
_ADDRESS_ATTRIBUTES = {
    b"area": (_HREF,), b"form": (b' action="',), b"object": (b' data="',), b"video": (_SRC, _POSTER),
    b"img": (_LONGDESC,),
    b"iframe": (_SRC, _LONGDESC), b"frame": (_SRC, _LONGDESC), b"input": (_SRC, _FORMACTION),
    b"button": (_FORMACTION,), **dict.fromkeys((b"blockquote", b"q", b"del", b"ins"), (_CITE,)),
}  # fmt: skip
"""A dict from elements to their attributes with addresses; for all other elements it is `src`."""
_MAX_DEPTH = 200  # boxes
_START, _END = b"\x02", b"\x03"
"""In a line, these characters mark the start and the end of a span or link. Browsers show a gap between two spans."""
_END_THEN_START = re.compile("\x03[\x02\x03]*\x02")
_GAP = re.compile(r"(?<=[^\s(\[{«“\u2018¿¡/\x01])\x01+(?![\s)\]}»”\u2019,.;:!?%…/\x01])")
_LONE_LETTER = re.compile(r"\b([^\W\d_])\x01+(?=[^\W\d_])")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""Matches text in scripts without spaces, in which a word has about two ideographs or five letters."""
_FIRST_SYLLABIC = "\u3040"  # from here on in Unicode, a word has about two characters; before, five
_MEDIA = frozenset((b"audio", b"video"))
_PARAGRAPH_TAGS = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6"))
_CODE, _HEADLINE = int(PageLocation.CODE), int(PageLocation.HEADLINE)

_BoxRow = tuple[str, int, int, int, int, int, str, int, bytes]
"""A box: its values for the columns of `Boxes`, in their order, except `stop`."""
# The positions of some columns in a row, which is a plain tuple since there are many rows.
_TAG_NAME: Final = 0
_LOCATIONS: Final = 3
_PATH: Final = 5
_FIRST_BLOCK: Final = 7
_BlockRow = tuple[str, int, int, int, int, int]
"""A block: its values for the columns of `Blocks`, up to `end_tag`, here the number of tags after the block."""


class OpenInline:
    """An open inline element (a link, code, or a quotation) and its words so far."""

    __slots__ = ("anchor_index", "fallback", "headline", "locations", "nested_count", "start", "tag", "words")

    def __init__(self, start: int, tag: bytes = b"", anchor_index: int = 0, locations: int = 0) -> None:
        """Begin at part `start` of the line; `anchor_index` and `locations` are for the `Anchor` of a link."""
        self.start = start
        self.tag = tag
        self.anchor_index = anchor_index
        self.nested_count = 0  # open elements of the same kind within this one; only for code and quotations
        self.locations = locations
        self.words: list[str] = []
        self.headline = False  # it contains a headline
        self.fallback = ""  # the alternative text of a picture in it

    def add_words(self, parts: list[bytes]) -> int:
        """Append the line's words from part `start` on to `words`; return their number, and set `start` to 0."""
        start = self.start
        text = visible_text(parts[start] if start == len(parts) - 1 else b"".join(parts[start:]))
        words = text.split()
        self.start = 0
        self.words += words
        return len(words) if text.isascii() else _count_words(words)


class OutlineBuilder:
    """Builds the outline of a page. Methods for a tag take the tag without brackets, and the shape of its box."""

    __slots__ = (
        "_anchors", "_blocks", "_box_rows", "_code_texts", "_component_is_box", "_ended_lines", "_link_count",
        "_linked_words", "_medium", "_open_boxes", "_open_code", "_open_link", "_open_quote", "_paths", "_quote_texts",
        "_stops", "_unrecorded_boxes", "count_tags_left", "parts", "word_gap",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        """The parts of the current line of text, as in the markup."""
        self.word_gap = b" "
        """The separator of words in the line; it is empty in code."""
        self.count_tags_left: Callable[[], int] = int
        """Returns the number of tags after the current one; set by the caller."""
        self._blocks: list[_BlockRow] = []
        self._code_texts: dict[int, list[str]] = {}
        self._quote_texts: dict[int, list[str]] = {}
        self._anchors: list[Anchor] = []
        self._ended_lines: list[bytes] = []
        self._paths: dict[tuple[int, str], int] = {(-1, BODY.kind): 0}
        self._box_rows: list[_BoxRow] = [("body", -1, 0, 0, 0, 0, BODY.kind, 0, b"body")]
        self._stops = [0]  # the column `stop` of `Boxes`
        self._open_boxes = [0]  # the numbers of the open boxes
        self._unrecorded_boxes = 0  # open boxes that are nested too deeply
        self._medium = ""  # the name of the last `audio` or `video` element
        self._component_is_box: list[bool] = []  # for each open custom element
        self._open_link: OpenInline | None = None
        self._open_code: OpenInline | None = None
        self._open_quote: OpenInline | None = None
        self._linked_words = self._link_count = 0

    def finish(self) -> Outline:
        """End the open block and boxes, and return the outline. `blocks.end_tag` counts the tags after each block."""
        self.end_block()
        while len(self._open_boxes) > 1:
            self.close()
        self._stops[0] = len(self._blocks)
        tag, parent, depth, locations, names, path, kind, first, start = map(list, zip(*self._box_rows, strict=True))
        boxes = Boxes(tag, parent, depth, locations, names, path, kind, first, self._stops, start)
        if not self._blocks:
            return Outline(boxes, Blocks(), self._anchors)
        text, words, linked, links, box, end_tag = map(list, zip(*self._blocks, strict=True))
        blocks = Blocks(text, words, linked, links, box, end_tag, self._code_texts, self._quote_texts)
        return Outline(boxes, blocks, self._anchors)

    def separate_words(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """Separate the words before and after the tag, except in code."""
        if self.parts:
            self.parts.append(self.word_gap)

    def end_block(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """End the block at the tag."""
        if self.parts or self._ended_lines:
            self._add_block()

    def open(self, tag: bytes, shape: Shape) -> None:
        """End the open block and open a box. A box that is nested deeper than `_MAX_DEPTH` boxes is only counted."""
        if self.parts or self._ended_lines:
            self._add_block()
        rows, stack = self._box_rows, self._open_boxes
        depth = len(stack)
        if depth > _MAX_DEPTH:
            self._unrecorded_boxes += 1
            return
        name, own_locations, name_groups, kind = shape
        parent_number = stack[-1]
        parent = rows[parent_number]
        locations, paths, key = parent[_LOCATIONS] | own_locations, self._paths, (parent[_PATH], kind)
        path = paths.get(key)
        if path is None:
            path = paths[key] = len(paths)
        if self._open_code:
            locations |= _CODE
        if self._open_link and own_locations & _HEADLINE:
            self._open_link.headline = True
        stack.append(len(rows))
        self._stops.append(0)
        rows.append((name, parent_number, depth, locations, name_groups, path, kind, len(self._blocks), tag))

    def close(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """End the open block and close the innermost box; remove the box if it has no text."""
        if self.parts or self._ended_lines:
            self._add_block()
        if self._unrecorded_boxes:
            self._unrecorded_boxes -= 1
        elif len(self._open_boxes) > 1:
            box = self._open_boxes.pop()
            next_block = len(self._blocks)
            if self._box_rows[box][_FIRST_BLOCK] == next_block:
                del self._box_rows[box:], self._stops[box:]
            else:
                self._stops[box] = next_block

    def open_component(self, tag: bytes, shape: Shape) -> None:
        """Open a custom element; it is a box unless the innermost open box is a paragraph or headline."""
        is_box = self._box_rows[self._open_boxes[-1]][_TAG_NAME] not in _PARAGRAPH_TAGS
        self._component_is_box.append(is_box)
        if is_box:
            self.open(tag, shape)

    def close_component(self, tag: bytes = b"", shape: Shape = BODY) -> None:
        """Close a custom element."""
        if self._component_is_box and self._component_is_box.pop():
            self.close(tag, shape)

    def open_spaced(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """Begin an inline element that browsers separate from the inline element before it by a gap."""
        if self.parts and self.word_gap:
            self.parts.append(_START)

    def close_spaced(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """End an inline element that browsers separate from the next inline element by a gap."""
        if self.parts and self.word_gap:
            self.parts.append(_END)

    def open_with_address(self, tag: bytes, shape: Shape) -> None:
        """Open a box that has an address, such as a form."""
        self.add_reference(tag, shape)
        self.open(tag, shape)

    def add_track(self, tag: bytes, shape: Shape) -> None:
        """Add the address of the subtitles of a film to the anchors, and end the block."""
        self.add_addresses(tag, shape)
        self.end_block()

    def end_line(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """End the current line of the block, at a `br`."""
        if self.parts:
            self._add_words()
            self._ended_lines.append(b"".join(self.parts))
            self.parts.clear()

    def add_reference(self, tag: bytes, shape: Shape) -> None:
        """Add the addresses of an element to the anchors; remember an image's alternative text for a link around it."""
        self.separate_words()
        name = tag.partition(b" ")[0]
        if name in _MEDIA:
            self._medium = name.decode()
        if name == b"img":
            link, locations, text = self._open_link, self._open_locations(), read_attribute(tag, _ALT)
            if link is not None and not link.fallback:
                link.fallback = text
            if _SRC in tag and b' src="data:' not in tag:
                href, label = read_attribute(tag, _SRC), _collapse_spaces(text)
                self._anchors.append(Anchor("img", href, "", label, locations, headline=False))
            if _SRCSET in tag:
                self._add_candidates(tag, _collapse_spaces(text))
        if name != b"img" or _LONGDESC in tag:
            self.add_addresses(tag, shape)

    def add_addresses(self, tag: bytes, _shape: Shape) -> None:
        """Add the addresses of an element within words to the anchors."""
        name = tag.partition(b" ")[0]
        for opening in _ADDRESS_ATTRIBUTES.get(name, _SRC_ONLY):
            if opening in tag:
                href, rel = read_attribute(tag, opening), _FURTHER_ATTRIBUTES.get(opening) or read_attribute(tag, _REL)
                label = _collapse_spaces(_label(tag) or read_attribute(tag, _ALT))
                self._anchors.append(Anchor(name.decode(), href, rel, label, self._open_locations(), headline=False))

    def add_source(self, tag: bytes, _shape: Shape) -> None:
        """Add the addresses in the `srcset` of a `source` element to the anchors, or else the one in its `src`.

        One with a `src` is in the `audio` or `video` that began last.
        """
        self.separate_words()
        if _SRCSET in tag:
            self._add_candidates(tag, "")
        elif _SRC in tag:
            href = read_attribute(tag, _SRC)
            self._anchors.append(Anchor("source", href, self._medium, "", self._open_locations(), headline=False))

    def _add_candidates(self, tag: bytes, label: str) -> None:
        """Add the addresses in a picture's `srcset` to the anchors, each once, except the address in its `src`."""
        hrefs = dict.fromkeys(parse_srcset(read_attribute(tag, _SRCSET)))
        hrefs.pop(read_attribute(tag, _SRC), None)
        locations = self._open_locations()
        self._anchors += [Anchor("img", href, "", label, locations, headline=False) for href in hrefs]

    def open_anchor(self, tag: bytes, _shape: Shape) -> None:
        """Close the open link, if there is one, and open a new link if the tag has an address."""
        if self._open_link is not None:
            self.close_anchor()
        if self.parts and self.word_gap:
            self.parts.append(_START)
        if _HREF in tag:
            self._link_count += 1
            self._open_link = OpenInline(len(self.parts), tag, len(self._anchors), self._open_locations())

    def close_anchor(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """Close the open link, if there is one, and add it to the anchors; if `_is_headline_link`, remove its text."""
        link = self._open_link
        if link is not None:
            tag, start = link.tag, link.start
            self._linked_words += link.add_words(self.parts)
            if _is_headline_link(link, self._box_rows[self._open_boxes[-1]]):
                del self.parts[start:]
            text = " ".join(link.words) or _collapse_spaces(_label(tag) or link.fallback)
            href, rel = read_attribute(tag, _HREF), read_attribute(tag, _REL) if _REL in tag else ""
            self._anchors.insert(link.anchor_index, Anchor("a", href, rel, text, link.locations, link.headline))
            self._open_link = None
        self.parts.append(self.word_gap and _END)  # so that the line is not empty: a link without text ends a block too

    def open_code_or_quotation(self, tag: bytes, _shape: Shape) -> None:
        """Open inline code or an inline quotation."""
        if _is_quotation(tag):
            if _CITE in tag:
                self.add_addresses(tag, _shape)
            self._open_quote = self._open_or_count(self._open_quote)
        else:
            self._open_code = self._open_or_count(self._open_code)
            self.word_gap = b""

    def close_code_or_quotation(self, tag: bytes, _shape: Shape) -> None:
        """Close inline code or an inline quotation."""
        if _is_quotation(tag):
            self._open_quote = self._close_or_uncount(self._open_quote, self._quote_texts)
        else:
            self._open_code = self._close_or_uncount(self._open_code, self._code_texts)
            self.word_gap = b"" if self._open_code else b" "

    def _open_or_count(self, element: OpenInline | None) -> OpenInline:
        """Return the open element, with one more element counted within it, or a new element if it is None."""
        if element is None:
            return OpenInline(len(self.parts))
        element.nested_count += 1
        return element

    def _close_or_uncount(self, element: OpenInline | None, texts: dict[int, list[str]]) -> OpenInline | None:
        """Close the element, add its text to `texts`, and return None.

        If an element of its kind is nested in it, only count one less, and return the element.
        """
        if element is not None and element.nested_count:
            element.nested_count -= 1
            return element
        if element is not None:
            element.add_words(self.parts)
            if element.words:
                texts.setdefault(len(self._blocks), []).append(" ".join(element.words))
        return None

    def _open_locations(self) -> int:
        return self._box_rows[self._open_boxes[-1]][_LOCATIONS] | (_CODE if self._open_code else 0)

    def _add_words(self) -> None:
        """Add the words of the line, which ends here, to the open inline elements, and count those in a link."""
        if self._open_link is not None:
            self._linked_words += self._open_link.add_words(self.parts)
        for element in (self._open_code, self._open_quote):
            if element is not None:
                element.add_words(self.parts)

    def _add_block(self) -> None:
        """End the block, and add it if it has words. An open link continues in the next block with its words so far."""
        parts, ended_lines = self.parts, self._ended_lines
        if self._open_link or self._open_code or self._open_quote:
            self._add_words()
            for element in (self._open_code, self._open_quote):
                if element is not None:
                    element.words.clear()
        text = visible_text(parts[0] if len(parts) == 1 else b"".join(parts))
        box = self._open_boxes[-1]
        if self._box_rows[box][_TAG_NAME] == "pre":
            text = "\n".join(
                line.rstrip() for line in "\n".join([*map(visible_text, ended_lines), text]).split("\n")
            ).strip("\n")
            words = text.split()
        elif ended_lines:
            rows = [line.split() for line in (*map(visible_text, ended_lines), text)]
            text = "\n".join(" ".join(line) for line in rows if line)
            words = [word for line in rows for word in line]
        else:
            words = text.split()
            text = " ".join(words)
        parts.clear()
        ended_lines.clear()
        if words:
            word_count = len(words) if text.isascii() else _count_words(words)
            linked_words = min(self._linked_words, word_count)
            self._blocks.append((text, word_count, linked_words, self._link_count, box, self.count_tags_left()))
        self._linked_words = self._link_count = 0


def visible_text(serialised: bytes) -> str:
    """Return a piece of a serialised line as browsers show it, without soft hyphens, in NFC.

    Two links, or spans with a class, without a space between them are mostly shown with a gap. So a space is inserted,
    except after opening and before closing brackets, before punctuation, and after a single letter that begins a word.
    """
    text = serialised.decode()
    if "&" in text:
        text = unescape(text)
    if "\x03" in text:
        if "\x02" in text:
            text = _END_THEN_START.sub("\x01", text).replace("\x02", "")
            if "\x01" in text:
                text = _GAP.sub(" ", _LONE_LETTER.sub(_join_lone_letter, text)).replace("\x01", "")
        text = text.replace("\x03", "")
    elif "\x02" in text:
        text = text.replace("\x02", "")
    if not text.isascii():
        text = text.replace("\xad", "").replace("\ufeff", "")
        if not is_normalized("NFC", text):
            text = normalize("NFC", text)
    return text


def _join_lone_letter(match: re.Match[str]) -> str:
    return match[1] if match.string[match.end()].islower() else match[0]


def _is_headline_link(link: OpenInline, box_row: _BoxRow) -> bool:
    """Return whether a link is in a headline or term, has no letters or digits, and leads to a place on its page."""
    if not (box_row[_LOCATIONS] & _HEADLINE or box_row[_TAG_NAME] == "dt") or b' href="#' not in link.tag:
        return False
    return not any(map(str.isalnum, "".join(link.words)))


def _count_words(words: list[str]) -> int:
    """Return the number of words; in scripts without spaces, estimate it from the number of letters."""
    total = len(words)
    for unspaced in _UNSPACED.findall("".join(words)):
        total += len(unspaced) // (2 if unspaced >= _FIRST_SYLLABIC else 5)
    return total


def _is_quotation(tag: bytes) -> bool:
    return tag.removeprefix(b"/").partition(b" ")[0] == b"q"


def _label(tag: bytes) -> str:
    return read_attribute(tag, b' aria-label="') or read_attribute(tag, b' title="')


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())
