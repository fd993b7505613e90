"""Write HTML out as Markdown: CommonMark, with the tables and the strike-through of GitHub.

The tree is written out again and its tags are walked over, as for an outline: that is quicker than asking a tree for
node after node. What opens a block of its own is a frame; what stands in the line is open in the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from unicodedata import is_normalized, normalize

from windrow.formats.html.clutter import declutter
from windrow.formats.html.element import attribute, plain
from windrow.formats.html.tables import Row, table
from windrow.formats.html.tree import body, parse, silence
from windrow.formats.html.walk import pieces
from windrow.formats.url import normalise

_DEEPEST = 24  # lists and quotations within each other; what lies deeper is written as if it lay there
_SPACE = re.compile(r"[ \t\r\n\f\u00a0\u2007\u202f]+")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\x00-\x08\x0b\x0e-\x1f\x7f]+")
_SPECIAL = re.compile(r"[*_`<&\\~\]]")
_MEANT = re.compile(
    r"[*`]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w{1,32};)|\](?=[(\[:]|$)|~(?=~)|\\(?=[!-/:-@\[-`{-~]|$)"
)
_BRACKET = re.compile(r"[\[\]]")
_START = re.compile(r"(?:#{1,6}|[-+>]|=+|-+)(?=[ \n]|$)|>|\|(?=[-:| ]*\|)|(\d{1,9})([.)])(?=[ \n]|$)")
_AROUND = re.compile(r"\A([ \n]*)(.*?)([ \n]*)\Z", re.DOTALL)
_STRESSED = re.compile(r"(?<![*\\])\*(?!\*)")
_WORD = re.compile(r"[^\W_]")
_HASHES = re.compile(r"^#{1,6} ")
_BLOCK = re.compile(r"!\[|[-#>|`]|\d+[.)] ")
_TICKS = re.compile(r"`+")
_LANGUAGE = re.compile(r"(?:lang(?:uage)?-|brush:\s*|highlight-(?:source|text)-|sourceCode\s+)([A-Za-z0-9+#_-]{1,30})")
_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_SCHEME = re.compile(r"(?i)(https?|mailto|tel|ftp|sms|geo|magnet|xmpp):")
_ABSOLUTE = re.compile(r"(?i)https?://[^\s]")
_OF_LINK = {ord(one): f"%{ord(one):02X}" for one in ' ()<>"\\^`{|}\t\n\r'}
_HREF, _SRC, _ALT, _TITLE = b' href="', b' src="', b' alt="', b' title="'
_LAZY = (b' data-src="', b' data-lazy-src="', b' data-original="', b' data-srcset="', b' srcset="')
_DOT = re.compile(rb' (?:width|height)="[01](?:px)?"')


def markdown(html: str, base: str = "") -> str:
    r"""Return HTML as Markdown; addresses are made absolute with `base`, the address that they are relative to.

    Raises StepError where the HTML has too many tags.

    >>> markdown("<h2>Tea</h2><p>Pour <b>hot</b> &amp; <a href=/w>water</a><ul><li>one<ul><li>two</ul></ul>", "http://a.b/")
    '## Tea\n\nPour **hot** & [water](http://a.b/w)\n\n- one\n  - two'
    """
    tree = parse(html)
    declutter(tree, html)
    silence(tree, html)
    writer = _Writer(base)
    split = pieces(body(tree))
    writer.text(b"".join(split[2:3]))
    for tag, text in zip(split[3::2], split[4::2], strict=False):
        writer.tag(tag)
        if text:
            writer.text(text)
    return writer.done()


class _Frame:
    """A block that is open: the blocks in it, and what its kind needs to be written."""

    __slots__ = ("blocks", "data", "kind", "number", "rows", "tag")

    def __init__(self, kind: str, tag: bytes) -> None:
        self.kind = kind
        self.tag = tag
        self.blocks: list[str] = []
        self.data: list[str] = []  # of preformatted text
        self.rows: list[Row] = []  # of a table
        self.number = 0


class _Mark:
    """Something that is open in the line, from a part of it on."""

    __slots__ = ("kind", "start", "tag")

    def __init__(self, kind: str, tag: bytes, start: int) -> None:
        self.kind = kind
        self.tag = tag
        self.start = start


class _Writer:
    """What has been written so far, and what is open."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._root = _Frame("flow", b"")
        self._frames = [self._root]
        self._line: list[str] = []
        self._marks: list[_Mark] = []
        self._pre = 0
        self._literal = 0
        self._links = 0
        self._depth = 0
        self._wrapped: tuple[int, str] = (-1, "")

    def done(self) -> str:
        """Return all that was written."""
        self._border()
        while len(self._frames) > 1:
            self._close_frame()
        written = "\n\n".join(self._root.blocks)
        return written if is_normalized("NFC", written) else normalize("NFC", written)

    # Tags and texts.

    def tag(self, tag: bytes) -> None:
        """Take a tag, without its brackets."""
        name = tag.partition(b" ")[0]
        if self._pre and not (self._pre == 1 and name in _PRE_ENDS):
            self._in_pre(name, tag)
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

    def text(self, written: bytes) -> None:
        """Take text as the tree writes it."""
        said = plain(written)
        if not said.isascii():
            said = _INVISIBLE.sub("", said)
        if self._pre:
            self._frames[-1].data.append(said)
            return
        said = _SPACE.sub(" ", said)
        if said == " " and not self._line:
            return
        if self._literal:
            self._line.append(said)
            return
        if _SPECIAL.search(said):
            said = _MEANT.sub(_escaped, said)
        if self._links and ("[" in said or "]" in said):
            said = _BRACKET.sub(_escaped, said.replace("\\]", "]"))
        self._line.append(said)

    def _in_pre(self, name: bytes, tag: bytes) -> None:
        frame = self._frames[-1]
        data = frame.data
        if name in _PRE_STARTS:
            self._pre += 1
        elif name in _PRE_ENDS:
            self._pre -= 1
        if name == b"code" and not data:
            frame.tag = b"%b %b" % (frame.tag, tag)  # its class names the language
        if name == b"br" or (name in _LINES and data and not data[-1].endswith("\n")):
            data.append("\n")

    # What stands in the line.

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
        """Write what is in the line since a mark was opened with what the mark stands for around it."""
        line, start = self._line, mark.start
        inside = "".join(line[start:])
        del line[start:]
        found = _AROUND.match(inside)
        assert found is not None
        before, core, after = found.groups()
        outer = any(one.kind == mark.kind for one in self._marks)
        if not core or outer or (self._literal and mark.kind != "code"):
            if inside:
                line.append(inside)
            return
        if before:
            line.append(before)
        delimiter = _DELIMITERS.get(mark.kind)
        if delimiter and not _WORD.search(core):
            line.append(core)  # nobody sees that a comma is bold, and marks around it would not hold
        elif delimiter:
            at, last = self._wrapped
            if line and at == len(line) - 1 and last == delimiter and line[-1].endswith(delimiter):
                line[-1] = f"{line[-1][: -len(delimiter)]}{core}{delimiter}"
            else:
                line.append(f"{delimiter}{core}{delimiter}")
            self._wrapped = (len(line) - 1, delimiter)
        else:
            written = _WRITTEN[mark.kind](self, mark, core)
            if written.startswith("[") and line and line[-1].endswith("!"):
                line[-1] = f"{line[-1][:-1]}\\!"
            line.append(written)
        if after:
            line.append(after)

    def _link(self, mark: _Mark, core: str) -> str:
        where = self._address(attribute(mark.tag, _HREF))
        if not where:
            return core
        core = core.replace("\n", " ")
        title = _title(attribute(mark.tag, _TITLE), core)
        if core == where and not title:
            return f"<{where}>"
        return f"[{core}]({where}{title})"

    def _code(self, _mark: _Mark, core: str) -> str:
        core = core.replace("\n", " ")
        ticks = "`" * (1 + max(map(len, _TICKS.findall(core)), default=0))
        gap = " " if core[0] == "`" or core[-1] == "`" else ""
        return f"{ticks}{gap}{core}{gap}{ticks}"

    def _raise(self, mark: _Mark, core: str) -> str:
        table_ = _RAISED if mark.kind == "raised" else _LOWERED
        return core.translate(table_) if all(ord(one) in table_ for one in core) else core

    def _quote(self, _mark: _Mark, core: str) -> str:
        return core if core[0] in "\"'\u201c\u00ab\u201e\u2018" else f"“{core}”"

    def _address(self, written: str) -> str:
        """Return an address to be put in round brackets; empty where it leads nowhere."""
        where = written.strip()
        if not _ABSOLUTE.match(where):
            if _SCHEME.match(where):
                if where[:4].lower() == "http":
                    return ""
            else:
                found = normalise(where, self._base) if self._base else None
                if found is None or not found.url:
                    return ""
                where = found.url + (f"#{found.fragment}" if found.fragment else "")
        return where.translate(_OF_LINK)

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
            lazy = (attribute(tag, one).split(",")[0].split(" ")[0] for one in _LAZY)
            source = next((one for one in lazy if one and not one.startswith("data:")), "")
        where = self._address(source)
        if not where or self._literal or len(_DOT.findall(tag)) > 1:
            return
        alt = _BRACKET.sub(_escaped, " ".join(_INVISIBLE.sub("", attribute(tag, _ALT)).split()))
        self._line.append(f"![{alt}]({where}{_title(attribute(tag, _TITLE), alt)})")

    def _embedded(self, tag: bytes) -> None:
        """Write what is shown from elsewhere, such as a film, as a link to it."""
        where = self._address(attribute(tag, _SRC) or attribute(tag, b' data="') or attribute(tag, b' data-src="'))
        if not where or not _ABSOLUTE.match(where):
            return
        label = " ".join(attribute(tag, _TITLE).split()) or where.split("/")[2]
        self._border()
        self._line.append(f"[{_BRACKET.sub(_escaped, label)}]({where})")
        self._border()

    def _box(self, tag: bytes) -> None:
        """Write the box of a list of things to do."""
        if b' type="checkbox"' in tag and self._frames[-1].kind == "item" and not self._line:
            self._line.append("[x] " if b" checked" in tag else "[ ] ")

    # Blocks.

    def _border(self) -> None:
        """End the paragraph that is being written; what is open in the line goes on in the next one."""
        line = self._line
        if not line:
            return
        for mark in reversed(self._marks):
            opened, self._marks = self._marks, self._marks[: self._marks.index(mark)]
            self._wrap(mark)
            self._marks = opened
        for mark in self._marks:
            mark.start = 0
        lines = [" ".join(part.split(" ")).strip(" ") for part in _doubled("".join(line)).split("\n")]
        line.clear()
        self._wrapped = (-1, "")
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        if lines:
            self._frames[-1].blocks.append("  \n".join(_START.sub(_harmless, one, count=1) if _START.match(one) else one
                                                      for one in lines))  # fmt: skip

    def _open_frame(self, kind: str, tag: bytes) -> None:
        if kind == "item" and self._frames[-1].kind not in {"bullets", "numbers"}:
            self._push(_Frame("bullets", b"li"))
            self._frames[-1].number = -1  # a list of one, closed with its item
        frame = _Frame(kind, tag)
        if kind in {"bullets", "numbers", "quote"}:
            self._depth += 1
            if self._depth > _DEEPEST:
                frame.kind = "flow"
        elif kind == "pre":
            self._pre += 1
        self._push(frame)

    def _push(self, frame: _Frame) -> None:
        self._frames.append(frame)

    def _close_frame(self) -> None:
        frame = self._frames.pop()
        if frame.tag.partition(b" ")[0] in _NESTING:
            self._depth -= 1
        if frame.kind == "pre":
            self._pre -= 1
        parent = self._frames[-1]
        if frame.kind in {"row", "cell"}:
            self._gather(parent, frame)
            return
        written = _BLOCKS[frame.kind](frame)
        if frame.kind in {"bullets", "numbers"} and parent.kind in {"bullets", "numbers"}:
            _into_last_item(parent, written)
        elif frame.kind == "item":
            parent.blocks += ["\n\n".join(_joined(written))] if written else []
            if parent.number == -1:
                self._close_frame()
        elif frame.kind in {"bullets", "numbers"}:
            parent.blocks += _apart(parent.blocks, written)
        else:
            parent.blocks += written

    def _gather(self, parent: _Frame, frame: _Frame) -> None:
        """Give a cell to its row, a row to its table; what is in none is a block like any other."""
        if frame.kind == "cell" and parent.kind == "row":
            if not parent.rows:
                parent.rows.append(Row([], []))
            parent.rows[0].cells.append(frame.blocks)
            parent.rows[0].tags.append(frame.tag)
            return
        table_ = next((one for one in reversed(self._frames) if one.kind in {"table", "cell"}), None)
        if frame.kind == "row" and table_ is not None and table_.kind == "table":
            table_.rows += frame.rows
            table_.blocks += frame.blocks
        else:
            parent.blocks += frame.blocks + [block for row in frame.rows for cell in row.cells for block in cell]


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _harmless(found: re.Match[str]) -> str:
    return f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[0]}"


def _doubled(line: str) -> str:
    while "  " in line:
        line = line.replace("  ", " ")
    return line


def _title(told: str, text: str) -> str:
    told = " ".join(_INVISIBLE.sub("", told).split()).replace("\\", "\\\\").replace('"', '\\"')
    return f' "{told}"' if told and told != text else ""


def _indented(text: str, by: str) -> str:
    return "\n".join(by + one if one else one for one in text.split("\n"))


# How each kind of block is written.


def _flow(frame: _Frame) -> list[str]:
    return frame.blocks


def _heading(frame: _Frame) -> list[str]:
    text = " ".join(" ".join(_HASHES.sub("", one) for one in frame.blocks).split())
    text = re.sub(r"(#+)$", r"\\\1", text)
    return [f"{'#' * int(frame.tag[1:2])} {text}"] if text else []


def _caption(frame: _Frame) -> list[str]:
    return [one if _STRESSED.search(one) or _BLOCK.match(one) else f"*{one}*" for one in frame.blocks]


def _term(frame: _Frame) -> list[str]:
    return [one if "**" in one else f"**{one}**" for one in frame.blocks]


def _quotation(frame: _Frame) -> list[str]:
    text = "\n\n".join(frame.blocks)
    return ["\n".join(f"> {one}" if one else ">" for one in text.split("\n"))] if text else []


def _preformatted(frame: _Frame) -> list[str]:
    text = "".join(frame.data).replace("\r\n", "\n").strip("\n")
    if not text.strip():
        return []
    named = _LANGUAGE.search(frame.tag.decode("utf-8", "replace"))
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return [f"{ticks}{named[1].lower() if named else ''}\n{text}\n{ticks}"]


def _list(frame: _Frame) -> list[str]:
    """Write a list; each of its blocks is an item."""
    if not frame.blocks:
        return []
    start = attribute(frame.tag, b' start="')
    number = int(start) if start.isdecimal() and len(start) < 9 else 1
    loose = any("\n\n" in block and not block.startswith("```") for block in frame.blocks)
    items = []
    for at, block in enumerate(frame.blocks):
        marker = f"{number + at}. " if frame.kind == "numbers" else "- "
        items.append(marker + _indented(block, " " * len(marker))[len(marker) :])
    return [("\n\n" if loose else "\n").join(items)]


def _table(frame: _Frame) -> list[str]:
    return frame.blocks + table(frame.rows)


def _joined(blocks: Sequence[str]) -> list[str]:
    """Return the blocks of an item, a list right behind the text before it."""
    joined: list[str] = []
    for block in blocks:
        if joined and _LISTED.match(block) and not joined[-1].startswith("```"):
            joined[-1] = f"{joined[-1]}\n{block}"
        else:
            joined.append(block)
    return joined


_LISTED = re.compile(r"- |1\. ")  # what may stand in a paragraph's next line as a list


def _into_last_item(parent: _Frame, written: list[str]) -> None:
    """Put a list that stands between items into the one before it."""
    if parent.blocks and written:
        parent.blocks[-1] = f"{parent.blocks[-1]}\n{written[0]}"
    else:
        parent.blocks += written


def _apart(before: Sequence[str], written: list[str]) -> list[str]:
    """Give a list that follows another one a marker of its own, since they would be one list."""
    if before and written and before[-1].startswith("- ") and written[0].startswith("- "):
        return [re.sub(r"(?m)^- ", "* ", written[0])]
    if before and written and re.match(r"\d+\. ", before[-1]) and re.match(r"\d+\. ", written[0]):
        return [re.sub(r"(?m)^(\d+)\. ", r"\1) ", written[0])]
    return written


_DELIMITERS = {"strong": "**", "emphasis": "*", "struck": "~~"}
_WRITTEN: dict[str, Callable[[_Writer, _Mark, str], str]] = {
    "link": _Writer._link,  # noqa: SLF001 the writer's own table
    "code": _Writer._code,  # noqa: SLF001
    "raised": _Writer._raise,  # noqa: SLF001
    "lowered": _Writer._raise,  # noqa: SLF001
    "quoted": _Writer._quote,  # noqa: SLF001
}
_MARKS = frozenset((*_DELIMITERS, *_WRITTEN))
_BLOCKS: dict[str, Callable[[_Frame], list[str]]] = {
    "flow": _flow, "heading": _heading, "caption": _caption, "term": _term, "quote": _quotation, "pre": _preformatted,
    "bullets": _list, "numbers": _list, "item": _flow, "table": _table,
}  # fmt: skip
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
"""What elements are that have something to be written at their end."""
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
"""What ends a paragraph, and is nothing else here."""
_PRE_STARTS, _PRE_ENDS = frozenset((b"pre", b"listing")), frozenset((b"/pre", b"/listing"))
_LINES = frozenset((b"div", b"p", b"li", b"tr", b"/div", b"/p", b"/li", b"/tr"))
"""What begins a line within preformatted text."""
