"""Convert HTML to Markdown: CommonMark with GitHub's tables and strike-through, without clutter.

The tree is serialised and its tags are walked over, as for an outline: that is faster than visiting node by node.
An open block element is a `Frame`, an open inline element is a `_Mark`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from unicodedata import is_normalized, normalize

from windrow.content.markdown_blocks import WRITERS, Frame, TableRow, append_to_last_item, join_item, separate_list
from windrow.content.outline import attribute, unescape
from windrow.content.tree import body, parse, silence
from windrow.content.walk import pieces
from windrow.formats.url import normalise

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_NEVER = "form, button, select, textarea, nav, dialog, [hidden], .screen-reader-text, .sr-only, .visually-hidden"
_HINTS = ("relat", "recommend", "share", "sharing", "social", "newsletter", "subscri", "promo", "advert", "addtoany",
          "a2a_", "outbrain", "taboola", "inline-editorial", "tncms", "readmore", "read-more", "also", "signup",
          "sign-up", "jp-", "sharedaddy", "comments", "ad-slot", "adsbygoogle", "teaser")  # fmt: skip
_NAMED = ", ".join(f"[class*={hint}], [id*={hint}]" for hint in _HINTS)
_CERTAIN = re.compile(
    r"(?i)\b(?:sharedaddy|sd-sharing\S*|jp-relatedposts|addtoany\S*|a2a_kit|a2a_\w+|share-?this\S*|outbrain\S*|taboola\S*"
    r"|tncms-inline-relcontent|inline-editorial\S*|adsbygoogle|yarpp\S*|related-?(?:posts?|articles?|stories|content"
    r"|links?)|recommended-?(?:posts?|articles?|stories)|social-?(?:share|sharing|links|media|icons|buttons?)|"
    r"share-?(?:buttons?|bar|links|tools|icons)|newsletter-?(?:signup|form|box)\S*|ad-slot)(?![\w-])"
)
_LIKELY = re.compile(
    r"(?i)(?:^|[\s_-])(?:related|recommend(?:ed|ations?)|sharing|share|social|newsletter|subscribe|promo|advert(?:isement)?"
    r"|read-?more|more-stories|also-?(?:read|like)|see-also|signup|sign-up|teasers?)(?=$|[\s_-])"
)
_TEXTS = frozenset(("body", "html", "main", "article", "h1", "h2", "h3", "h4", "h5", "h6", "p", "span", "b", "strong"))
_FEW = 600  # the most characters of a box that is only likely to be clutter
_PROSE = 1_500  # the least characters in a form around the whole text, as some systems have it


def declutter(tree: LexborHTMLParser, html: str) -> None:
    """Remove elements that are certainly clutter, and boxes that are named like clutter and contain little but links.

    `html` is the source of the tree.
    """
    for node in tree.css(_NEVER):
        if node.tag == "form" and len(node.text() or "") > _PROSE:
            _unwrap(node)
        elif node.parent is not None and not (node.tag == "button" and _is_headline(node)):
            node.decompose()
    lower = html.lower()
    if any(hint in lower for hint in _HINTS):
        for node in tree.css(_NAMED):
            if node.tag not in _TEXTS and node.parent is not None and _is_clutter(node):
                node.decompose()


def _unwrap(form: LexborNode) -> None:
    form.unwrap()


def _is_headline(button: LexborNode) -> bool:
    """Return whether a button expands the element below it, like the headlines of some lists of questions."""
    return "aria-expanded" in button.attributes or "aria-controls" in button.attributes


def _is_clutter(node: LexborNode) -> bool:
    attributes = node.attributes
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if _CERTAIN.search(names):
        return len(node.text() or "") <= 4 * _PROSE
    if not _LIKELY.search(names):
        return False
    size = len(" ".join((node.text() or "").split()))
    linked = sum(len(" ".join((link.text() or "").split())) for link in node.css("a"))
    return size <= _FEW and linked * 2 >= size


_DEEPEST = 24  # nested lists and quotations; deeper ones are written at this depth
_SPACE = re.compile(r"[ \t\r\n\f\u00a0\u2007\u202f]+")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\x00-\x08\x0b\x0e-\x1f\x7f]+")
_SPECIAL = re.compile(r"[*_`<&\\~\]]")
_NEEDS_ESCAPE = re.compile(
    r"[*`]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w{1,32};)|\](?=[(\[:]|$)|~(?=~)|\\(?=[!-/:-@\[-`{-~]|$)"
)
_BRACKET = re.compile(r"[\[\]]")
_START = re.compile(r"(?:#{1,6}|[-+>]|=+|-+)(?=[ \n]|$)|>|\|(?=[-:| ]*\|)|(\d{1,9})([.)])(?=[ \n]|$)")
_SURROUNDING_SPACE = re.compile(r"\A([ \n]*)(.*?)([ \n]*)\Z", re.DOTALL)
_WORD = re.compile(r"[^\W_]")
_TICKS = re.compile(r"`+")
_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_SCHEME = re.compile(r"(?i)(https?|mailto|tel|ftp|sms|geo|magnet|xmpp):")
_ABSOLUTE = re.compile(r"(?i)https?://[^\s]")
_OF_LINK = {ord(char): f"%{ord(char):02X}" for char in ' ()<>"\\^`{|}\t\n\r'}
_HREF, _SRC, _ALT, _TITLE = b' href="', b' src="', b' alt="', b' title="'
_LAZY = (b' data-src="', b' data-lazy-src="', b' data-original="', b' data-srcset="', b' srcset="')
_DOT = re.compile(rb' (?:width|height)="[01](?:px)?"')


def markdown(html: str, base: str = "") -> str:
    r"""Convert HTML to Markdown; addresses are resolved against `base`, and left out if that is impossible.

    StepError if the HTML has too many tags.

    >>> markdown("<h2>Tea</h2><p>Pour <b>hot</b> &amp; <a href=/w>water</a><ul><li>one<ul><li>two</ul></ul>", "http://a.b/")
    '## Tea\n\nPour **hot** & [water](http://a.b/w)\n\n- one\n  - two'
    """
    tree = parse(html)
    declutter(tree, html)
    silence(tree)
    writer = _Writer(base)
    markup_pieces = pieces(body(tree))
    writer.text(b"".join(markup_pieces[2:3]))
    for tag, text in zip(markup_pieces[3::2], markup_pieces[4::2], strict=False):
        writer.tag(tag)
        if text:
            writer.text(text)
    return writer.finish()


class _Mark:
    """An open inline element, which began at part `start` of the line."""

    __slots__ = ("kind", "start", "tag")

    def __init__(self, kind: str, tag: bytes, start: int) -> None:
        self.kind = kind
        self.tag = tag
        self.start = start


class _Writer:
    """The Markdown written so far, and the open blocks and inline elements."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._root = Frame("flow", b"")
        self._frames = [self._root]
        self._line: list[str] = []
        self._marks: list[_Mark] = []
        self._pre = 0  # open preformatted elements
        self._literal = 0  # open code
        self._links = 0  # open links
        self._depth = 0  # open lists and quotations
        self._wrapped: tuple[int, str] = (-1, "")  # the last part of the line with delimiters, and the delimiter

    def finish(self) -> str:
        self._border()
        while len(self._frames) > 1:
            self._close_frame()
        written = "\n\n".join(self._root.blocks)
        return written if is_normalized("NFC", written) else normalize("NFC", written)

    # Tags and texts.

    def tag(self, tag: bytes) -> None:
        name = tag.partition(b" ")[0]
        if self._pre and not (self._pre == 1 and name in _PRE_ENDS):
            self._read_preformatted(name, tag)
            return
        if name[:1] == b"/":
            kind = _KINDS.get(name[1:])
            if kind is None:
                if name[1:] in _BORDERS:
                    self._border()
            elif kind in _MARKS:
                self._close_mark()
            else:
                self._border()
                self._close_frame()
            return
        kind = _KINDS.get(name)
        if kind is None:
            act = _ACTS.get(name)
            if act is not None:
                act(self, tag)
            elif name in _BORDERS:
                self._border()
        elif kind in _MARKS:
            self._open_mark(kind, tag)
        else:
            self._border()
            self._open_frame(kind, tag)

    def text(self, serialised: bytes) -> None:
        """Process a text of the serialised tree."""
        plain = unescape(serialised.decode())
        if not plain.isascii():
            plain = _INVISIBLE.sub("", plain)
        if self._pre:
            self._frames[-1].texts.append(plain)
            return
        plain = _SPACE.sub(" ", plain)
        if plain == " " and not self._line:
            return
        if self._literal:
            self._line.append(plain)
            return
        if _SPECIAL.search(plain):
            plain = _NEEDS_ESCAPE.sub(_escape, plain)
        if self._links and ("[" in plain or "]" in plain):
            plain = _BRACKET.sub(_escape, plain.replace("\\]", "]"))
        self._line.append(plain)

    def _read_preformatted(self, name: bytes, tag: bytes) -> None:
        frame = self._frames[-1]
        content = frame.texts
        if name in _PRE_STARTS:
            self._pre += 1
        elif name in _PRE_ENDS:
            self._pre -= 1
        if name == b"code" and not content:
            frame.tag = b"%b %b" % (frame.tag, tag)  # its class names the language
        if name == b"br" or (name in _LINES and content and not content[-1].endswith("\n")):
            content.append("\n")

    # Inline elements.

    def _open_mark(self, kind: str, tag: bytes) -> None:
        if kind == "code":
            self._literal += 1
        elif kind == "link":
            self._links += 1
        self._marks.append(_Mark(kind, tag, len(self._line)))

    def _close_mark(self) -> None:
        mark = self._marks.pop()
        if mark.kind == "code":
            self._literal -= 1
        elif mark.kind == "link":
            self._links -= 1
        self._wrap(mark)

    def _wrap(self, mark: _Mark) -> None:
        """Replace the part of the line since the start of a mark by its Markdown, with delimiters or as a link."""
        line, start = self._line, mark.start
        inside = "".join(line[start:])
        del line[start:]
        match = _SURROUNDING_SPACE.match(inside)
        assert match is not None
        leading, core, trailing = match.groups()
        outer = any(outer_mark.kind == mark.kind for outer_mark in self._marks)
        if not core or outer or (self._literal and mark.kind != "code"):
            if inside:
                line.append(inside)
            return
        if leading:
            line.append(leading)
        delimiter = _DELIMITERS.get(mark.kind)
        if delimiter and not _WORD.search(core):
            line.append(core)  # bold punctuation is invisible, and delimiters around it would not count
        elif delimiter:
            wrapped_at, last_delimiter = self._wrapped
            if line and wrapped_at == len(line) - 1 and last_delimiter == delimiter and line[-1].endswith(delimiter):
                line[-1] = f"{line[-1][: -len(delimiter)]}{core}{delimiter}"
            else:
                line.append(f"{delimiter}{core}{delimiter}")
            self._wrapped = (len(line) - 1, delimiter)
        else:
            written = _WRITTEN[mark.kind](self, mark, core)
            if written.startswith("[") and line and line[-1].endswith("!"):
                line[-1] = f"{line[-1][:-1]}\\!"
            line.append(written)
        if trailing:
            line.append(trailing)

    def _link(self, mark: _Mark, core: str) -> str:
        address = self._address(attribute(mark.tag, _HREF))
        if not address:
            return core
        core = core.replace("\n", " ")
        title = _title(attribute(mark.tag, _TITLE), core)
        if core == address and not title:
            return f"<{address}>"
        return f"[{core}]({address}{title})"

    def _code(self, _mark: _Mark, core: str) -> str:
        core = core.replace("\n", " ")
        ticks = "`" * (1 + max(map(len, _TICKS.findall(core)), default=0))
        gap = " " if core[0] == "`" or core[-1] == "`" else ""
        return f"{ticks}{gap}{core}{gap}{ticks}"

    def _translate_digits(self, mark: _Mark, core: str) -> str:
        table_ = _RAISED if mark.kind == "raised" else _LOWERED
        return core.translate(table_) if all(ord(char) in table_ for char in core) else core

    def _quote(self, _mark: _Mark, core: str) -> str:
        return core if core[0] in "\"'\u201c\u00ab\u201e\u2018" else f"“{core}”"

    def _address(self, written: str) -> str:
        """Return an absolute address, escaped for round brackets, or an empty text if it cannot be resolved."""
        address = written.strip()
        if not _ABSOLUTE.match(address):
            if _SCHEME.match(address):
                if address[:4].lower() == "http":
                    return ""
            else:
                resolved = normalise(address, self._base) if self._base else None
                if resolved is None or not resolved.url:
                    return ""
                address = resolved.url + (f"#{resolved.fragment}" if resolved.fragment else "")
        return address.translate(_OF_LINK)

    # Single elements.

    def _break(self, _tag: bytes) -> None:
        line = self._line
        if not line:
            return
        if line[-1] == "\n" or (line[-1] == " " and len(line) > 1 and line[-2] == "\n"):
            self._border()
        else:
            line.append("\n")

    def _rule(self, _tag: bytes) -> None:
        self._border()
        self._frames[-1].blocks.append("---")

    def _image(self, tag: bytes) -> None:
        source = attribute(tag, _SRC)
        if not source or source.startswith("data:"):
            lazy = (attribute(tag, opening).split(",")[0].split(" ")[0] for opening in _LAZY)
            source = next((url for url in lazy if url and not url.startswith("data:")), "")
        address = self._address(source)
        if not address or self._literal or len(_DOT.findall(tag)) > 1:
            return
        alt = _BRACKET.sub(_escape, " ".join(_INVISIBLE.sub("", attribute(tag, _ALT)).split()))
        self._line.append(f"![{alt}]({address}{_title(attribute(tag, _TITLE), alt)})")

    def _embedded(self, tag: bytes) -> None:
        """Write embedded content, such as a video, as a link."""
        address = self._address(attribute(tag, _SRC) or attribute(tag, b' data="') or attribute(tag, b' data-src="'))
        if not address or not _ABSOLUTE.match(address):
            return
        label = " ".join(attribute(tag, _TITLE).split()) or address.split("/")[2]
        self._border()
        self._line.append(f"[{_BRACKET.sub(_escape, label)}]({address})")
        self._border()

    def _box(self, tag: bytes) -> None:
        """Write the checkbox of a task list."""
        if b' type="checkbox"' in tag and self._frames[-1].kind == "item" and not self._line:
            self._line.append("[x] " if b" checked" in tag else "[ ] ")

    # Blocks.

    def _border(self) -> None:
        """End the current paragraph; open inline elements continue in the next one."""
        line = self._line
        if not line:
            return
        for mark in reversed(self._marks):
            opened, self._marks = self._marks, self._marks[: self._marks.index(mark)]
            self._wrap(mark)
            self._marks = opened
        for mark in self._marks:
            mark.start = 0
        lines = [" ".join(part.split(" ")).strip(" ") for part in _collapse("".join(line)).split("\n")]
        line.clear()
        self._wrapped = (-1, "")
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        if lines:
            self._frames[-1].blocks.append("  \n".join(_START.sub(_escape_start, text, count=1) if _START.match(text)
                                                      else text for text in lines))  # fmt: skip

    def _open_frame(self, kind: str, tag: bytes) -> None:
        if kind == "item" and self._frames[-1].kind not in {"bullets", "numbers"}:
            self._push(Frame("bullets", b"li"))
            self._frames[-1].number = -1  # a list of one, closed with its item
        frame = Frame(kind, tag)
        if kind in {"bullets", "numbers", "quote"}:
            self._depth += 1
            if self._depth > _DEEPEST:
                frame.kind = "flow"
        elif kind == "pre":
            self._pre += 1
        self._push(frame)

    def _push(self, frame: Frame) -> None:
        self._frames.append(frame)

    def _close_frame(self) -> None:
        frame = self._frames.pop()
        if frame.tag.partition(b" ")[0] in _NESTING:
            self._depth -= 1
        if frame.kind == "pre":
            self._pre -= 1
        parent = self._frames[-1]
        if frame.kind in {"row", "cell"}:
            self._add_to_table(parent, frame)
            return
        written = WRITERS[frame.kind](frame)
        if frame.kind in {"bullets", "numbers"} and parent.kind in {"bullets", "numbers"}:
            append_to_last_item(parent, written)
        elif frame.kind == "item":
            parent.blocks += ["\n\n".join(join_item(written))] if written else []
            if parent.number == -1:
                self._close_frame()
        elif frame.kind in {"bullets", "numbers"}:
            parent.blocks += separate_list(parent.blocks, written)
        else:
            parent.blocks += written

    def _add_to_table(self, parent: Frame, frame: Frame) -> None:
        """Add a cell to its row, or a row to its table; outside of these their blocks are ordinary blocks."""
        if frame.kind == "cell" and parent.kind == "row":
            if not parent.rows:
                parent.rows.append(TableRow([], []))
            parent.rows[0].cells.append(frame.blocks)
            parent.rows[0].tags.append(frame.tag)
            return
        table_ = next((frame_ for frame_ in reversed(self._frames) if frame_.kind in {"table", "cell"}), None)
        if frame.kind == "row" and table_ is not None and table_.kind == "table":
            table_.rows += frame.rows
            table_.blocks += frame.blocks
        else:
            parent.blocks += frame.blocks + [block for row in frame.rows for cell in row.cells for block in cell]


def _escape(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _escape_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[0]}"


def _collapse(line: str) -> str:
    while "  " in line:
        line = line.replace("  ", " ")
    return line


def _title(title: str, text: str) -> str:
    title = " ".join(_INVISIBLE.sub("", title).split()).replace("\\", "\\\\").replace('"', '\\"')
    return f' "{title}"' if title and title != text else ""


_DELIMITERS = {"strong": "**", "emphasis": "*", "struck": "~~"}
_WRITTEN: dict[str, Callable[[_Writer, _Mark, str], str]] = {
    "link": _Writer._link,  # noqa: SLF001 the writer's own table
    "code": _Writer._code,  # noqa: SLF001
    "raised": _Writer._translate_digits,  # noqa: SLF001
    "lowered": _Writer._translate_digits,  # noqa: SLF001
    "quoted": _Writer._quote,  # noqa: SLF001
}
_MARKS = frozenset((*_DELIMITERS, *_WRITTEN))
_KINDS: dict[bytes, str] = {
    **dict.fromkeys((b"b", b"strong"), "strong"),
    **dict.fromkeys((b"i", b"em", b"cite", b"var", b"dfn"), "emphasis"),
    **dict.fromkeys((b"del", b"s", b"strike"), "struck"),
    **dict.fromkeys((b"code", b"kbd", b"samp", b"tt"), "code"),
    b"a": "link", b"sup": "raised", b"sub": "lowered", b"q": "quoted",
    **dict.fromkeys((b"h1", b"h2", b"h3", b"h4", b"h5", b"h6"), "heading"),
    b"figcaption": "caption", b"caption": "caption",
    b"dt": "term", b"summary": "term",
    b"blockquote": "quote",
    b"pre": "pre", b"listing": "pre",
    **dict.fromkeys((b"ul", b"menu", b"dir"), "bullets"),
    b"ol": "numbers", b"li": "item",
    b"table": "table", b"tr": "row", b"td": "cell", b"th": "cell",
}  # fmt: skip
"""The kind of each element whose Markdown is written at its end."""
_NESTING = frozenset((b"ul", b"menu", b"dir", b"ol", b"blockquote"))
_ACTS: dict[bytes, Callable[[_Writer, bytes], None]] = {
    b"br": _Writer._break,  # noqa: SLF001 the writer's own table
    b"hr": _Writer._rule,  # noqa: SLF001
    b"img": _Writer._image,  # noqa: SLF001
    b"iframe": _Writer._embedded,  # noqa: SLF001
    b"embed": _Writer._embedded,  # noqa: SLF001
    b"object": _Writer._embedded,  # noqa: SLF001
    b"video": _Writer._embedded,  # noqa: SLF001
    b"audio": _Writer._embedded,  # noqa: SLF001
    b"input": _Writer._box,  # noqa: SLF001
}
_BORDERS = frozenset(name.encode() for name in (
    "address", "article", "aside", "body", "center", "colgroup", "dd", "details", "dialog", "div", "dl", "fieldset",
    "figure", "footer", "form", "header", "hgroup", "html", "legend", "main", "nav", "noscript", "option", "p",
    "search", "section", "tbody", "tfoot", "thead",
))  # fmt: skip
"""Elements that only end a paragraph."""
_PRE_STARTS, _PRE_ENDS = frozenset((b"pre", b"listing")), frozenset((b"/pre", b"/listing"))
_LINES = frozenset((b"div", b"p", b"li", b"tr", b"/div", b"/p", b"/li", b"/tr"))
"""Tags that begin a line in preformatted text."""
