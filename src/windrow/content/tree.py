"""Parse HTML as browsers do, within limits; remove elements whose text is not shown; find hidden blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from windrow.caps import PAGE_LEVELS, PAGE_OPTIONS, PAGE_TAGS, TAG_ATTRIBUTES, Cap, Excess
from windrow.content.outline import Outline, PageLocation, hides
from windrow.errors import StepError
from windrow.reasons import Reason

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_SILENT_ELEMENTS = frozenset((
    "script", "style", "template", "svg", "canvas", "datalist", "iframe", "noembed", "noframes", "xmp", "plaintext",
    "rt", "rp", "annotation", "annotation-xml", "title",
))  # fmt: skip
"""Elements whose text is not shown, and those in `_SHOWN_ELEMENTS`."""
_EDIT_LINK_CLASS = "mw-editsection"  # of MediaWiki's links to edit a section
_INLINE_ELEMENTS = frozenset(
    ("a", "abbr", "b", "em", "font", "i", "label", "small", "span", "strong", "sub", "sup", "time", "u")
)
_SHOWN_ELEMENTS = frozenset({"plaintext", "xmp"})
"""The elements in `_SILENT_ELEMENTS` whose text is shown as it is written."""
_TAGS_OF_COPIES = {"a": "a", "text": "span", "foreignObject": "div"}
"""A dict from what is shown in a drawing to the element to which it is copied."""
_DRAWN_ELEMENTS = frozenset(_TAGS_OF_COPIES)
_UNDRAWN_ELEMENTS = _DRAWN_ELEMENTS | {"defs", "symbol", "clipPath", "mask", "marker", "pattern"}
"""Elements of a drawing whose content is not shown, or is copied with them."""
HIDING_SELECTOR = "[hidden], [popover], [style*=display]"
"""Selects the elements that `is_hidden` may call hidden."""
CHANGED_SELECTOR = ", ".join((
    *sorted(_SILENT_ELEMENTS), "svg a", "svg text", "svg foreignObject", f".{_EDIT_LINK_CLASS}", HIDING_SELECTOR,
))  # fmt: skip
"""Selects the elements that `remove_silent_elements` examines."""

_MAX_UNCHECKED_TAGS = 12_000  # pages with more tags are checked for deep nesting
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>\x00]*+)[^>]*+>")
_UNNESTED_TAGS = frozenset(name.encode() for name in (
    "a", "area", "base", "body", "br", "col", "dd", "dt", "embed", "head", "hr", "html", "iframe", "img",
    "input", "li", "link", "meta", "option", "p", "param", "rp", "rt", "source", "tbody", "td", "tfoot", "th",
    "thead", "tr", "track", "wbr",
))  # fmt: skip
_SHAPES = (
    rb"animate\w*|circle|ellipse|fe\w+|g|image|line|(?:linear|radial)gradient|mpath|mprescripts|mspace|none|path|polygon"
    rb"|polyline|rect|set|stop|symbol|textpath|tspan|use"
)
_EMPTY_SHAPE = re.compile(rb"<((%b)(?=[\s/])[^<>]*+)(?<=/)>" % _SHAPES, re.IGNORECASE)
"""Matches an empty element of a drawing or formula, such as `<path/>`. Without an end tag, it would seem to be open."""
_CHOICES = frozenset({b"option", b"optgroup"})
_MAX_UNCHECKED_BYTES = 4_000  # a longer tag may have hundreds of attributes
_LONG_TAG = re.compile(rb"<[a-zA-Z][^>]{%d,}+" % _MAX_UNCHECKED_BYTES)
_ATTRIBUTE = rb"""[\s/]*+[^\s/>=][^\s/>=]*+(?>(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"']*+))?)"""
_TAG_START = re.compile(rb"<[^\s/>]++(?>(?:%b){0,%d})" % (_ATTRIBUTE, TAG_ATTRIBUTES.number))
_SCRIPT_TAG = re.compile(rb"<(/?)(?:script|style)(?=[\s/>])", re.IGNORECASE)
_TEXT_ENDING = re.compile(
    rb"(?:</(?:script|style|title|textarea|xmp|iframe|noembed|noframes)\s*+|--!?|\]\])\Z", re.IGNORECASE
)
"""Matches the end, without its `>`, of what has only text: a script, a comment, a section of CDATA."""
_QUOTED = re.compile(rb""""[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)""")
_MAX_TAGS = PAGE_TAGS.number
"""The maximum number of tags of a page. In a parsed page, each takes about 200 bytes."""

_TEMPLATE_TAG = re.compile(rb"<(/?)template(?=[\s/>])[^>]*+>", re.IGNORECASE)
_FORMAT_NAMES = rb"b|big|code|em|font|i|s|small|strike|strong|tt|u"
_FORMAT_START = re.compile(
    rb"<(?=[bcefistuBCEFISTU])(?i:%b)[\s/]" % _FORMAT_NAMES
)  # most tags are excluded by their first letter
_FORMAT = re.compile(rb"<(/?)(%b)(?=[\s/>])[^>]*+>" % _FORMAT_NAMES, re.IGNORECASE)
_MIN_REPEATING_TAGS = 1_500  # pages with fewer tags cannot repeat formats too often
_MAX_REOPENED = 250_000  # the most elements that the parser may create when it reopens formats


def parse(text: str | bytes) -> LexborHTMLParser:
    """Parse a page, given as text or in UTF-8; raise StepError with TOO_MANY_ELEMENTS or MEMORY_LIMIT.

    `parse_counting` has what is left out of the tree.
    """
    return parse_counting(text)[0]


def parse_counting(text: str | bytes) -> tuple[LexborHTMLParser, tuple[Excess, ...]]:
    """Parse a page as `parse` does; return its tree, and for each cap that it exceeds, how much is left out.

    The parser takes time quadratic in the depth of elements, in the number of options, and in the number of attributes
    of one element. It also reopens unclosed formatting elements (`b`, ...) in every paragraph (HTML, section 13.2.4.3).
    So on large pages, tags that are nested deeper than browsers allow, options after the first PAGE_OPTIONS, and
    formats that would be reopened too often are removed; their text remains, and so do links. A tag loses its
    attributes after the first TAG_ATTRIBUTES.
    """
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    tags = raw.count(b"<")
    if tags > _MAX_TAGS:
        raise StepError(f"the page has {tags} tags; the limit is {_MAX_TAGS}", Reason.TOO_MANY_ELEMENTS)
    left_out: Counter[Cap] = Counter()
    if tags > _MAX_UNCHECKED_TAGS:
        raw = _limit_depth(raw, left_out)
    if tags > _MIN_REPEATING_TAGS and len(_FORMAT_START.findall(raw)) * tags > _MAX_REOPENED:
        raw = _limit_formats(raw, max(4, _MAX_REOPENED // tags))
    raw = _cut_attributes(raw, left_out)
    if b"shadowrootmode" in raw.lower():
        raw = _show_shadow_trees(raw)
    try:
        return LexborHTMLParser(raw), tuple(Excess(cap, number) for cap, number in left_out.items())
    except SelectolaxError:
        raise StepError("the page's tree does not fit into memory", Reason.MEMORY_LIMIT) from None


def _show_shadow_trees(raw: bytes) -> bytes:
    """Return markup in which templates that browsers show, as the content of an element, are `div` elements.

    >>> _show_shadow_trees(b"<a-b><template shadowrootmode=open><p>Tea</template></a-b><template>No</template>")
    b'<a-b><div><p>Tea</div></a-b><template>No</template>'
    """
    pieces: list[bytes] = []
    are_shown: list[bool] = []  # for each open template
    end = 0
    for tag in _TEMPLATE_TAG.finditer(raw):
        is_end = bool(tag[1])
        if not is_end:
            are_shown.append(b"shadowrootmode" in tag[0].lower())
        is_shown = bool(are_shown) and (are_shown.pop() if is_end else are_shown[-1])
        if is_shown:
            pieces += [raw[end : tag.start()], b"</div>" if is_end else b"<div>"]
            end = tag.end()
    return b"".join((*pieces, raw[end:]))


def select_once(tree: LexborHTMLParser, selectors: str) -> list[LexborNode]:
    """Return the elements that match any of several selectors, each once, in document order.

    Lexbor returns an element once for each selector that it matches; these repetitions follow each other.
    """
    nodes = tree.css(selectors)
    return [node for index, node in enumerate(nodes) if not index or node.mem_id != nodes[index - 1].mem_id]


def remove_silent_elements(tree: LexborHTMLParser) -> None:
    """Remove elements whose text is not shown, such as scripts and styles.

    `plaintext` and `xmp`, whose text is shown, become `pre`. An `iframe`, hidden inline elements and MediaWiki's edit
    links remain without their text. The text of a drawing, and the links and HTML in it, are moved before it, and the
    page in the attribute `srcdoc` of an `iframe` is moved after it.
    """
    has_moved = True
    while has_moved:  # what was moved is examined, too
        silent, text_to_remove, has_moved = [], [], False
        for node in select_once(tree, CHANGED_SELECTOR):  # one search, which takes longer than all that follows
            tag = node.tag
            if tag in _SILENT_ELEMENTS:
                silent.append(node)
                continue
            if tag in _DRAWN_ELEMENTS:
                has_moved |= _copy_out_of_drawing(tree, node)
            attributes = node.attributes
            if (tag in _INLINE_ELEMENTS and is_hidden(attributes)) or _EDIT_LINK_CLASS in (
                attributes.get("class") or ""
            ).split():
                text_to_remove.append(node)
        for node in text_to_remove:
            _remove_text(node)
        for node in reversed(silent):  # nested ones first
            tag = node.tag
            if tag == "iframe":
                has_moved |= _show_embedded_page(tree, node)
            elif tag in _SHOWN_ELEMENTS:
                preformatted = tree.create_node("pre")
                preformatted.insert_child(node.text() or "")
                node.replace_with(preformatted)
            else:
                node.decompose()


def _show_embedded_page(tree: LexborHTMLParser, frame: LexborNode) -> bool:
    """Remove what is in a frame, and insert the page in its `srcdoc` after it; return whether it has one."""
    while (child := frame.first_child) is not None:
        child.decompose()
    page = frame.attributes.get("srcdoc")
    if page is None:
        return False
    del frame.attrs["srcdoc"]
    body = parse(page).body
    shown = tree.create_node("div")
    shown.inner_html = (body.inner_html if body is not None else "") or ""
    frame.insert_after(shown)
    return True


def _copy_out_of_drawing(tree: LexborHTMLParser, node: LexborNode) -> bool:
    """Insert the link, text or HTML before the drawing in which it is shown; return whether it is HTML."""
    drawing = node.parent
    while drawing is not None and drawing.tag != "svg":
        if drawing.tag in _UNDRAWN_ELEMENTS:
            return False
        drawing = drawing.parent
    href = node.attributes.get("href") or node.attributes.get("xlink:href")
    if drawing is None or (node.tag == "a" and not href):
        return False
    copy = tree.create_node(_TAGS_OF_COPIES[node.tag or ""])
    if node.tag == "foreignObject":
        copy.inner_html = node.inner_html or ""
    else:
        copy.insert_child(f" {' '.join(node.text(separator=' ').split())} ")
    if href:
        copy.attrs["href"] = href
    drawing.insert_before(copy)
    return node.tag == "foreignObject"


def _remove_text(node: LexborNode) -> None:
    """Remove the text within an element; the elements in it, such as links, remain."""
    for inner in list(node.traverse(include_text=True)):
        if inner.tag == "-text":
            inner.decompose()


def remove_texts(tree: LexborHTMLParser, selectors: Iterable[str]) -> None:
    """Remove the text in all elements that match one of the CSS `selectors`; links in them remain without text."""
    for selector in selectors:
        for node in tree.css(selector):
            _remove_text(node)


def is_hidden(attributes: Mapping[str, str | None]) -> bool:
    """Return whether an element with these attributes is hidden, by `hidden`, `popover` or its style."""
    if "popover" in attributes or attributes.get("hidden", "until-found") != "until-found":
        return True
    return hides((attributes.get("style") or "").encode("utf-8", "replace"))


def serialise_body(tree: LexborHTMLParser) -> bytes:
    """Return the body as well-formed markup in UTF-8, or b"" if there is no body."""
    markup = tree.body.html if tree.body is not None else None
    return (markup or "").encode("utf-8", "replace")


def _limit_depth(raw: bytes, left_out: Counter[Cap]) -> bytes:
    """Return markup without start tags deeper than PAGE_LEVELS, and without options after the first PAGE_OPTIONS.

    What is removed is counted in `left_out`.
    """
    raw = _EMPTY_SHAPE.sub(lambda tag: b"<%b></%b>" % (tag[1][:-1], tag[2]), raw)
    open_by_name: Counter[bytes] = Counter()
    depth = option_count = 0
    cuts: list[tuple[int, int]] = []
    for tag_match in _TAG.finditer(raw, 0, raw.rfind(b">") + 1):  # a tag after the last ">" is incomplete
        name = tag_match[2].lower()
        if name in _CHOICES and not tag_match[1]:
            option_count += 1
            if option_count > PAGE_OPTIONS.number:
                left_out[PAGE_OPTIONS] += 1
                cuts.append(tag_match.span())
                continue
        if name in _UNNESTED_TAGS:
            continue
        if tag_match[1]:
            if open_by_name[name]:
                open_by_name[name] -= 1
                depth -= 1
        elif depth >= PAGE_LEVELS.number:
            left_out[PAGE_LEVELS] += 1
            cuts.append(tag_match.span())
        else:
            open_by_name[name] += 1
            depth += 1
    return _remove_ranges(raw, cuts)


def _limit_formats(raw: bytes, max_open: int) -> bytes:
    """Remove start tags of formatting elements, such as `b`, that follow while `max_open` of these are open."""
    open_by_name: Counter[bytes] = Counter()
    cuts: list[tuple[int, int]] = []
    for tag in _FORMAT.finditer(raw, 0, raw.rfind(b">") + 1):
        name = tag[2].lower()
        if tag[1]:
            open_by_name[name] -= open_by_name[name] > 0
        elif open_by_name.total() >= max_open:
            cuts.append(tag.span())
        else:
            open_by_name[name] += 1
    return _remove_ranges(raw, cuts)


def _remove_ranges(raw: bytes, cuts: list[tuple[int, int]]) -> bytes:
    """Return markup without the tags at these ranges; the end of a script or comment that looks like one is kept."""
    kept, position = [], 0
    for start, end in cuts:
        kept.append(raw[position:start])
        ending = _TEXT_ENDING.search(raw, start, end - 1)
        position = ending.start() if ending else end
    return b"".join([*kept, raw[position:]]) if cuts else raw


def _cut_attributes(raw: bytes, left_out: Counter[Cap]) -> bytes:
    """Return markup in which tags have at most TAG_ATTRIBUTES attributes; count the others in `left_out`.

    Only tags longer than `_MAX_UNCHECKED_BYTES` are checked. What looks like one in a script or comment is cut, too,
    because the parser may see more tags than are found here; but it keeps the end of the script or comment, and is not
    counted.
    """
    scripts = _ScriptFinder(raw)

    def shorten(tag: re.Match[bytes]) -> bytes:
        """Return a tag up to its `>`, without the attributes after the first TAG_ATTRIBUTES."""
        start = _TAG_START.match(tag[0]) if _count_words(tag[0]) > TAG_ATTRIBUTES.number else None
        further_words = _count_words(tag[0][start.end() :]) if start else 0
        if start is None or not further_words:
            return tag[0]
        if ending := _TEXT_ENDING.search(tag[0], start.end()):
            return start[0] + ending[0]
        if not scripts.covers(position + tag.start()):
            left_out[TAG_ATTRIBUTES] += further_words
        return start[0]

    pieces: list[bytes] = []
    copied_to = position = 0
    while len(raw) - position > _MAX_UNCHECKED_BYTES:
        end = raw.rfind(b">", position, position + _MAX_UNCHECKED_BYTES) + 1
        if not end:
            end = raw.find(b">", position) % (len(raw) + 1)
            pieces += raw[copied_to:position], _LONG_TAG.sub(shorten, raw[position:end])
            copied_to = end
        position = end
    return b"".join([*pieces, raw[copied_to:]]) if pieces else raw


class _ScriptFinder:
    """Tells for positions in a page, in ascending order, whether they are in a script or style."""

    __slots__ = ("_is_inside", "_position", "_raw")

    def __init__(self, raw: bytes) -> None:
        self._raw, self._position, self._is_inside = raw, 0, False

    def covers(self, position: int) -> bool:
        for tag in _SCRIPT_TAG.finditer(self._raw, self._position, position):
            self._is_inside = not tag[1]
        self._position = max(position, self._position)
        return self._is_inside


def _count_words(tag: bytes) -> int:
    return len(_QUOTED.sub(b" ", tag).replace(b"/", b" ").split())


HIDDEN = int(PageLocation.UNSEEN | PageLocation.UNSTYLED | PageLocation.NOSCRIPT)
"""The locations whose text is not shown: `hidden`, `popover`, a closed `dialog`, `display: none`, `noscript`."""
MIN_PROSE_WORDS = 12
"""The fewest words of a block of prose."""
MIN_PASSAGE_WORDS = 50
"""The fewest words of hidden prose that a script is assumed to show."""


def find_unseen_blocks(outline: Outline) -> frozenset[int]:
    """Return the numbers of the blocks in hidden elements."""
    locations = outline.boxes.locations
    if not any(location & HIDDEN for location in locations):
        return frozenset()
    return frozenset(block for block, box in enumerate(outline.blocks.box) if locations[box] & HIDDEN)


def find_excluded_blocks(outline: Outline) -> frozenset[int]:
    """Return the numbers of the hidden blocks that cannot be main content.

    Some pages put their text into a hidden box that a script shows: panels of tabs, streamed text, a whole forum in
    `noscript`. So the blocks of a hidden box with much prose may be main content, unless their text is also visible.
    Boxes at the same path count together, such as the answers in a list of questions.
    """
    hidden = find_unseen_blocks(outline)
    if not hidden:
        return hidden
    boxes, blocks = outline.boxes, outline.blocks
    shown_texts = {text for block, text in enumerate(blocks.text) if block not in hidden}
    unshown_blocks: dict[int, list[int]] = {}  # by the path of the outermost hidden box
    for box, location in enumerate(boxes.locations):
        if location & HIDDEN and not (box and boxes.locations[boxes.parent[box]] & HIDDEN):
            inside = range(boxes.first[box], boxes.stop[box])
            unshown = [block for block in inside if blocks.text[block] not in shown_texts]
            unshown_blocks.setdefault(boxes.path[box], []).extend(unshown)
    excluded = set(hidden)
    for unshown in unshown_blocks.values():
        prose = (
            blocks.words[block]
            for block in unshown
            if blocks.words[block] >= MIN_PROSE_WORDS and blocks.linked[block] * 3 < blocks.words[block]
        )
        if sum(prose) >= MIN_PASSAGE_WORDS:
            excluded.difference_update(unshown)
    return frozenset(excluded)
