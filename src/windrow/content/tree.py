"""HTML parsed as browsers do: what shows nothing taken from the tree, and which blocks are hidden from readers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from windrow.content.outline import Outline, PageLocation, hides
from windrow.errors import StepError
from windrow.reasons import Reason

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_SILENT = frozenset((
    "script", "style", "template", "svg", "canvas", "datalist", "iframe", "noembed", "noframes", "xmp", "plaintext",
    "rt", "rp", "annotation", "annotation-xml",
))  # fmt: skip
"""Elements whose text no reader of the page sees."""
_EDIT = "mw-editsection"  # MediaWiki
_IN_LINE = frozenset(
    ("a", "abbr", "b", "em", "font", "i", "label", "small", "span", "strong", "sub", "sup", "time", "u")
)
_SHOWN = frozenset({"plaintext", "xmp"})
"""Of the silent ones, those whose text is to be seen, as it was written."""
_SOUGHT = f"{', '.join(sorted(_SILENT))}, svg a, .{_EDIT}, [hidden], [style*=display]"

_SUSPECT = 12_000  # tags that a page may have before it is looked at for nesting
_NESTED = 512  # as deep as browsers let elements be
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>\x00]*+)[^>]*+>")
_UNNESTED = frozenset(name.encode() for name in (
    "area", "base", "body", "br", "col", "dd", "dt", "embed", "head", "hr", "html", "img", "input", "li", "link",
    "meta", "option", "p", "param", "rp", "rt", "source", "tbody", "td", "tfoot", "th", "thead", "tr",
    "track", "wbr",
))  # fmt: skip
_CHOICES = frozenset({b"option", b"optgroup"})
_WIDE = 4_000  # characters of a tag that may have hundreds of attributes
_LONG_TAG = re.compile(rb"<[a-zA-Z][^>]{%d,}+" % _WIDE)
_QUOTED = re.compile(rb""""[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)""")
_ATTRIBUTES = 400  # more than any author writes
_MOST = 1_000_000
"""Tags of a page: the tree has some 200 bytes for each."""

_FORMATS = rb"b|big|code|em|font|i|s|small|strike|strong|tt|u"
_ADORNED = re.compile(rb"<(?=[bcefistuBCEFISTU])(?i:%b)[\s/]" % _FORMATS)  # most tags fail by their first letter
_FORMAT = re.compile(rb"<(/?)(%b)(?=[\s/>])[^>]*+>" % _FORMATS, re.IGNORECASE)
_FEW = 1_500  # tags of a page in which elements cannot be repeated too often
_REPEATED = 250_000  # elements that a parser may make by opening formats anew
_OPTIONS = 10_000  # of a page: each new one of a choice is compared with all before


def parse(text: str | bytes) -> LexborHTMLParser:
    """Parse a page, given as text or in UTF-8; any text of not too many tags makes a tree.

    The parser takes time by the square of the depth of elements, and of the number of one element's attributes; and
    formats that are not closed are opened anew in every paragraph (HTML standard, section 13.2.4.3). Tags nested
    deeper than browsers allow are left out, so are formats that would be repeated a million times, and a tag with
    hundreds of attributes loses them. Raises StepError with TOO_MANY_ELEMENTS, MEMORY_LIMIT.
    """
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    tags = raw.count(b"<")
    if tags > _MOST:
        raise StepError(f"{tags} tags, at most {_MOST} are read", Reason.TOO_MANY_ELEMENTS)
    if tags > _SUSPECT:
        raw = _flatten(raw)
    if tags > _FEW and len(_ADORNED.findall(raw)) * tags > _REPEATED:
        raw = _plainer(raw, max(4, _REPEATED // tags))
    try:
        return LexborHTMLParser(_narrowed(raw))
    except SelectolaxError:
        raise StepError("no memory is left for its tree", Reason.MEMORY_LIMIT) from None


def search(tree: LexborHTMLParser, selectors: str) -> list[LexborNode]:
    """Return the elements that fit any of some selectors, each once, in their order in the page.

    Lexbor yields an element for each selector that it fits, one time after the other.
    """
    nodes = tree.css(selectors)
    return [node for at, node in enumerate(nodes) if not at or node.mem_id != nodes[at - 1].mem_id]


def silence(tree: LexborHTMLParser) -> None:
    """Take out what shows no text: scripts, styles, drawings. Whoever wants their content reads it before.

    The few elements whose text is written without escapes lose it, or become `pre` where it is to be seen. The links
    of a drawing stay, and so do elements within the line that are hidden, or that edit a section of a wiki; their
    text goes.
    """
    silent = []
    mute = []
    for node in search(tree, _SOUGHT):  # all in one, which takes more than what is done with what it yields
        tag = node.tag
        if tag in _SILENT:
            silent.append(node)
            continue
        if tag == "a":
            _unfold(tree, node)
        attributes = node.attributes
        if (tag in _IN_LINE and _hidden(attributes)) or _EDIT in (attributes.get("class") or "").split():
            mute.append(node)
    for node in mute:
        _hush(node)
    for node in reversed(silent):  # what lies within another goes first
        tag = node.tag
        if tag == "iframe":
            while (child := node.first_child) is not None:
                child.decompose()
        elif tag in _SHOWN:
            shown = tree.create_node("pre")
            shown.insert_child(node.text() or "")
            node.replace_with(shown)
        else:
            node.decompose()


def _unfold(tree: LexborHTMLParser, link: LexborNode) -> None:
    """Put a link before the drawing that it lies in, if in any, labelled with its text."""
    drawing = link.parent
    while drawing is not None and drawing.tag != "svg":
        drawing = drawing.parent
    href = link.attributes.get("href") or link.attributes.get("xlink:href")
    if href and drawing is not None:
        bare = tree.create_node("a")
        bare.attrs["href"] = href
        bare.attrs["aria-label"] = " ".join((link.text() or "").split())
        drawing.insert_before(bare)


def _hush(node: LexborNode) -> None:
    """Take the text out of an element, and leave what it refers to."""
    for inner in list(node.traverse(include_text=True)):
        if inner.tag == "-text":
            inner.decompose()


def _hidden(attributes: Mapping[str, str | None]) -> bool:
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found"
    return hides((attributes.get("style") or "").encode("utf-8", "replace"))


def body(tree: LexborHTMLParser) -> bytes:
    """Write out the body again, as well-formed markup in UTF-8."""
    markup = tree.body.html if tree.body is not None else None
    return (markup or "").encode("utf-8", "replace")


def _flatten(raw: bytes) -> bytes:
    """Leave out start tags that would lie deeper than `_NESTED` elements, and those of too many options."""
    opened: Counter[bytes] = Counter()
    depth = options = 0
    cuts: list[tuple[int, int]] = []
    for tag in _TAG.finditer(raw, 0, raw.rfind(b">") + 1):  # behind it no tag is whole
        name = tag[2].lower()
        if name in _CHOICES and not tag[1]:
            options += 1
            if options > _OPTIONS:
                cuts.append(tag.span())
                continue
        if name in _UNNESTED:
            continue
        if tag[1]:
            if opened[name]:
                opened[name] -= 1
                depth -= 1
        elif depth >= _NESTED:
            cuts.append(tag.span())
        else:
            opened[name] += 1
            depth += 1
    return _without(raw, cuts)


def _plainer(raw: bytes, most: int) -> bytes:
    """Leave out start tags of formats while `most` others are open."""
    opened: Counter[bytes] = Counter()
    cuts: list[tuple[int, int]] = []
    for tag in _FORMAT.finditer(raw, 0, raw.rfind(b">") + 1):
        name = tag[2].lower()
        if tag[1]:
            opened[name] -= opened[name] > 0
        elif opened.total() >= most:
            cuts.append(tag.span())
        else:
            opened[name] += 1
    return _without(raw, cuts)


def _without(raw: bytes, cuts: list[tuple[int, int]]) -> bytes:
    """Leave out some pieces."""
    kept, at = [], 0
    for start, end in cuts:
        kept.append(raw[at:start])
        at = end
    return b"".join([*kept, raw[at:]]) if cuts else raw


def _narrowed(raw: bytes) -> bytes:
    """Look where so many characters go without a `>`, and cut tags with hundreds of attributes."""
    kept: list[bytes] = []
    done = at = 0
    while len(raw) - at > _WIDE:
        end = raw.rfind(b">", at, at + _WIDE) + 1
        if not end:
            end = raw.find(b">", at) % (len(raw) + 1)
            kept += raw[done:at], _LONG_TAG.sub(_narrow, raw[at:end])
            done = end
        at = end
    return b"".join([*kept, raw[done:]]) if kept else raw


def _narrow(tag: re.Match[bytes]) -> bytes:
    """Cut a tag with hundreds of attributes; a single long value is no harm."""
    written = tag[0]
    words = _QUOTED.sub(b" ", written).replace(b"/", b" ").split()
    return written if len(words) < _ATTRIBUTES else words[0]


HIDDEN = int(PageLocation.UNSEEN | PageLocation.UNSTYLED | PageLocation.NOSCRIPT)
"""`hidden`, `display: none`, `noscript`."""
_SENTENCE = 12  # words of a block that is prose
_PASSAGE = 50  # words of prose that are written to be read, and hidden until a script shows them


def unseen(outline: Outline) -> frozenset[int]:
    """Return the blocks that lie in something hidden."""
    marks = outline.boxes.marks
    if not any(each & HIDDEN for each in marks):
        return frozenset()
    return frozenset(at for at, box in enumerate(outline.blocks.box) if marks[box] & HIDDEN)


def silent(outline: Outline) -> frozenset[int]:
    """Return the hidden blocks that can be no main content.

    A page may write its text into a hidden box and have a script show it: the panels of tabs, text that is streamed, a
    whole forum for those without scripts. So a hidden box that holds a passage of prose may be content, unless what is
    shown says the same.
    """
    hidden = unseen(outline)
    if not hidden:
        return hidden
    boxes, blocks = outline.boxes, outline.blocks
    shown = {text for at, text in enumerate(blocks.text) if at not in hidden}
    found = set(hidden)
    for box, mark in enumerate(boxes.marks):
        if not mark & HIDDEN or (box and boxes.marks[boxes.up[box]] & HIDDEN):
            continue
        inside = range(boxes.first[box], boxes.last[box])
        prose = [at for at in inside if blocks.words[at] >= _SENTENCE and blocks.linked[at] * 3 < blocks.words[at]]
        if sum(blocks.words[at] for at in prose if blocks.text[at] not in shown) >= _PASSAGE:
            found.difference_update(at for at in inside if blocks.text[at] not in shown)
    return frozenset(found)
