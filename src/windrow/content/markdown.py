"""Convert HTML to Markdown: CommonMark with GitHub's tables and strike-through, without clutter.

The tree is serialised and its tags are read in order, as for an outline: that is faster than visiting node by node. An
open block element is a `Frame`, and an open inline element is an `_OpenInline`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import is_normalized, normalize

from windrow.content.clutter import remove_clutter
from windrow.content.markdown_blocks import WRITERS, Frame, TableRow, append_to_last_item, join_item, separate_list
from windrow.content.markdown_marks import ends_word, move_marks_after, split_marks_before
from windrow.content.markup import split_markup
from windrow.content.outline import read_attribute, unescape
from windrow.content.tree import parse, remove_silent_elements, serialise_body
from windrow.formats.url import normalise

_MAX_DEPTH = 24  # nested lists and quotations; deeper ones are written without markers
_SPACE = re.compile(r"[ \t\r\n\f\u00a0\u2007\u202f]+")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\x00-\x08\x0b\x0e-\x1f\x7f]+")
_MAY_NEED_ESCAPE = re.compile(r"[*_`<&\\~\]]")
_NEEDS_ESCAPE = re.compile(
    r"[*`]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w{1,32};)|\](?=[(\[:]|$)|~(?=~)|\\(?=[!-/:-@\[-`{-~]|$)"
)
_BRACKET = re.compile(r"[\[\]]")
_BLOCK_START = re.compile(r"(?:#{1,6}|[-+>]|=+|-+)(?=[ \n]|$)|>|\|(?=[-:| ]*\|)|(\d{1,9})([.)])(?=[ \n]|$)")
_SURROUNDING_SPACE = re.compile(r"\A([ \n]*)(.*?)([ \n]*)\Z", re.DOTALL)
_WORD = re.compile(r"[^\W_]")
_BACKTICKS = re.compile(r"`+")
_SUPERSCRIPTS = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_SUBSCRIPTS = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_SCHEME = re.compile(r"(?i)(https?|mailto|tel|ftp|sms|geo|magnet|xmpp):")
_ABSOLUTE = re.compile(r"(?i)https?://[^\s]")
_ESCAPED_IN_LINKS = {ord(char): f"%{ord(char):02X}" for char in ' ()<>"\\^`{|}\t\n\r'}
_HREF, _SRC, _ALT, _TITLE = b' href="', b' src="', b' alt="', b' title="'
_LAZY_SOURCES = tuple(b' %b="' % name for name in (
    b"data-src", b"data-lazy-src", b"data-original", b"data-lazy", b"data-orig-file", b"data-hi-res-src",
    b"data-srcset", b"data-lazy-srcset", b"srcset",
))  # fmt: skip
_PIXEL_SIZE = re.compile(rb' (?:width|height)="[01](?:px)?"')


def html_to_markdown(html: str, base: str = "") -> str:
    r"""Convert HTML to Markdown. Addresses are resolved against `base`, and left out if that is not possible.

    Raise StepError if the HTML has too many tags or its tree does not fit into memory.

    >>> html_to_markdown("<h2>Tea</h2><p>Pour <b>hot</b> &amp; <a href=/w>water</a><ul><li>one<ul><li>two</ul></ul>", "http://a.b/")
    '## Tea\n\nPour **hot** & [water](http://a.b/w)\n\n- one\n  - two'
    """
    tree = parse(html)
    remove_silent_elements(tree)
    remove_clutter(tree, html)
    writer = _Writer(base)
    markup_pieces = split_markup(serialise_body(tree))
    writer.write_text(b"".join(markup_pieces[2:3]))
    for tag, text in zip(markup_pieces[3::2], markup_pieces[4::2], strict=False):
        writer.write_tag(tag)
        if text:
            writer.write_text(text)
    return writer.finish()


class _OpenInline:
    """An inline element that is open; `start` is the index of its first part in the line."""

    __slots__ = ("kind", "start", "tag")

    def __init__(self, kind: str, tag: bytes, start: int) -> None:
        self.kind = kind
        self.tag = tag
        self.start = start


class _Writer:
    """Writes Markdown for tags and texts, given in document order."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._root_frame = Frame("flow", b"")
        self._frames = [self._root_frame]
        self._line: list[str] = []
        self._open_inlines: list[_OpenInline] = []
        self._pre_count = 0  # open preformatted elements
        self._code_count = 0  # open code
        self._link_count = 0  # open links
        self._nested_count = 0  # open lists and quotations
        self._last_wrapped: tuple[int, str] = (-1, "")  # index of the last part with delimiters, and its delimiter
        self._needs_source = False  # whether a film or a recording is open whose address was not found yet

    def finish(self) -> str:
        """Close all open elements; return the Markdown in NFC."""
        self._end_paragraph()
        while len(self._frames) > 1:
            self._close_frame()
        markdown = "\n\n".join(self._root_frame.blocks)
        return markdown if is_normalized("NFC", markdown) else normalize("NFC", markdown)

    # Tags and texts.

    def write_tag(self, tag: bytes) -> None:
        """Process a tag: open or close its element, write an element that needs no end tag, or end the paragraph."""
        name = tag.partition(b" ")[0]
        if self._pre_count and not (self._pre_count == 1 and name in _PRE_ENDS):
            self._read_preformatted(name, tag)
            return
        if name[:1] == b"/":
            kind = _KINDS.get(name[1:])
            if kind is None:
                if name[1:] in _PARAGRAPH_BORDERS:
                    self._end_paragraph()
            elif kind in _INLINE_KINDS:
                self._close_inline()
            else:
                self._end_paragraph()
                self._close_frame()
            return
        kind = _KINDS.get(name)
        if kind is None:
            write_element = _SINGLE_ELEMENT_WRITERS.get(name)
            if write_element is not None:
                write_element(self, tag)
            elif name in _PARAGRAPH_BORDERS:
                self._end_paragraph()
        elif kind in _INLINE_KINDS:
            self._open_inline(kind, tag)
        else:
            self._end_paragraph()
            self._open_frame(kind, tag)

    def write_text(self, serialised: bytes) -> None:
        plain = unescape(serialised.decode())
        if not plain.isascii():
            plain = _INVISIBLE.sub("", plain)
        if self._pre_count:
            self._frames[-1].texts.append(plain)
            return
        plain = _SPACE.sub(" ", plain)
        if plain == " " and not self._line:
            return
        if self._code_count:
            self._line.append(plain)
            return
        if _MAY_NEED_ESCAPE.search(plain):
            plain = _NEEDS_ESCAPE.sub(_escape_match, plain)
        if self._link_count and ("[" in plain or "]" in plain):
            plain = _escape_brackets(plain)
        line = self._line
        if line and self._last_wrapped[0] == len(line) - 1 and not ends_word(plain[0]):
            moved = move_marks_after(line[-1], self._last_wrapped[1])
            if moved != line[-1]:
                line[-1] = moved
                self._last_wrapped = (-1, "")
        line.append(plain)

    def _read_preformatted(self, name: bytes, tag: bytes) -> None:
        """Read a tag within preformatted text: only line ends and the language of the code are used."""
        frame = self._frames[-1]
        content = frame.texts
        if name in _PRE_STARTS:
            self._pre_count += 1
        elif name in _PRE_ENDS:
            self._pre_count -= 1
        if name == b"code" and not content:
            frame.tag = b"%b %b" % (frame.tag, tag)  # the class of `code` names the language
        if name == b"br" or (name in _LINE_TAGS and content and not content[-1].endswith("\n")):
            content.append("\n")

    # Inline elements.

    def _open_inline(self, kind: str, tag: bytes) -> None:
        if kind == "code":
            self._code_count += 1
        elif kind == "link":
            self._link_count += 1
        self._open_inlines.append(_OpenInline(kind, tag, len(self._line)))

    def _close_inline(self) -> None:
        inline = self._open_inlines.pop()
        if inline.kind == "code":
            self._code_count -= 1
        elif inline.kind == "link":
            self._link_count -= 1
        self._wrap_inline(inline)

    def _wrap_inline(self, inline: _OpenInline) -> None:
        """Replace the text of an inline element, which is at the line's end, with its Markdown."""
        line, start = self._line, inline.start
        markup_inside = "".join(line[start:])
        del line[start:]
        if self._last_wrapped[0] >= start:  # it is within this element, and no part of the line any more
            self._last_wrapped = (-1, "")
        match = _SURROUNDING_SPACE.match(markup_inside)
        assert match is not None
        leading, content, trailing = match.groups()
        is_nested = any(outer.kind == inline.kind for outer in self._open_inlines)
        if not content or is_nested or (self._code_count and inline.kind != "code"):
            if markup_inside:
                line.append(markup_inside)
            return
        if leading:
            line.append(leading)
        delimiter = _DELIMITERS.get(inline.kind)
        if delimiter and not _WORD.search(content):
            line.append(content)  # bold punctuation looks the same, and its delimiters are often not recognised
        elif delimiter:
            wrapped_at, last_delimiter = self._last_wrapped
            if line and wrapped_at == len(line) - 1 and last_delimiter == delimiter and line[-1].endswith(delimiter):
                line[-1] = f"{line[-1][: -len(delimiter)]}{content}{delimiter}"
                self._last_wrapped = (len(line) - 1, delimiter)
            else:
                self._write_delimited(content, delimiter)
        else:
            markdown = _INLINE_WRITERS[inline.kind](self, inline, content)
            if markdown.startswith("[") and line and line[-1].endswith("!"):
                line[-1] = f"{line[-1][:-1]}\\!"
            line.append(markdown)
        if trailing:
            line.append(trailing)

    def _write_delimited(self, content: str, delimiter: str) -> None:
        line = self._line
        before = line[-1] if line else ""
        if self._last_wrapped[0] == len(line) - 1:
            before = before.rstrip("*~")
        marks, content, is_delimited = split_marks_before(before[-1:], content)
        if marks:
            line.append(marks)
        line.append(f"{delimiter}{content}{delimiter}" if is_delimited else content)
        if is_delimited:
            self._last_wrapped = (len(line) - 1, delimiter)

    def _write_link(self, inline: _OpenInline, content: str) -> str:
        address = self._resolve_address(read_attribute(inline.tag, _HREF))
        if not address:
            return content
        content = content.replace("\n", " ")
        title = _spell_title(read_attribute(inline.tag, _TITLE), content)
        if content == address and not title:
            return f"<{address}>"
        return f"[{content}]({address}{title})"

    def _write_code(self, _inline: _OpenInline, content: str) -> str:
        content = content.replace("\n", " ")
        ticks = "`" * (1 + max(map(len, _BACKTICKS.findall(content)), default=0))
        gap = " " if content[0] == "`" or content[-1] == "`" else ""
        return f"{ticks}{gap}{content}{gap}{ticks}"

    def _write_small_digits(self, inline: _OpenInline, content: str) -> str:
        translations = _SUPERSCRIPTS if inline.kind == "raised" else _SUBSCRIPTS
        return content.translate(translations) if all(ord(char) in translations for char in content) else content

    def _write_quote(self, _inline: _OpenInline, content: str) -> str:
        return content if content[0] in "\"'\u201c\u00ab\u201e\u2018" else f"“{content}”"

    def _resolve_address(self, href: str) -> str:
        """Return an absolute address, escaped for a link, or "" if `href` is empty or cannot be resolved."""
        address = href.strip()
        if not address:
            return ""  # it would be resolved to the page's own address
        if not _ABSOLUTE.match(address):
            if _SCHEME.match(address):
                if address[:4].lower() == "http":
                    return ""
            else:
                resolved = normalise(address, self._base) if self._base else None
                if resolved is None or not resolved.url:
                    return ""
                address = resolved.url + (f"#{resolved.fragment}" if resolved.fragment else "")
        return address.translate(_ESCAPED_IN_LINKS)

    # Single elements.

    def _write_line_break(self, _tag: bytes) -> None:
        line = self._line
        if not line:
            return
        if line[-1] == "\n" or (line[-1] == " " and len(line) > 1 and line[-2] == "\n"):
            self._end_paragraph()
        else:
            line.append("\n")

    def _write_rule(self, _tag: bytes) -> None:
        self._end_paragraph()
        self._frames[-1].blocks.append("---")

    def _write_image(self, tag: bytes) -> None:
        source = read_attribute(tag, _SRC)
        if not source or source.startswith("data:"):
            lazy = (read_attribute(tag, opening).split(",")[0].split(" ")[0] for opening in _LAZY_SOURCES)
            source = next((url for url in lazy if url and not url.startswith("data:")), "")
        address = self._resolve_address(source)
        if not address or self._code_count or len(_PIXEL_SIZE.findall(tag)) > 1:
            return
        alt = " ".join(_INVISIBLE.sub("", read_attribute(tag, _ALT)).split())
        label = _escape_brackets(_NEEDS_ESCAPE.sub(_escape_match, alt))
        self._line.append(f"![{label}]({address}{_spell_title(read_attribute(tag, _TITLE), alt)})")

    def _write_source(self, tag: bytes) -> None:
        if self._needs_source:  # it is the first one of a film or a recording
            self._write_embedded(tag)

    def _write_embedded(self, tag: bytes) -> None:
        address = self._resolve_address(
            read_attribute(tag, _SRC) or read_attribute(tag, b' data="') or read_attribute(tag, b' data-src="')
        )
        self._needs_source = not address and tag.partition(b" ")[0] in _WITH_SOURCES
        if not address or not _ABSOLUTE.match(address):
            return
        label = " ".join(read_attribute(tag, _TITLE).split()) or address.split("/")[2]
        self._end_paragraph()
        self._line.append(f"[{_escape_brackets(_NEEDS_ESCAPE.sub(_escape_match, label))}]({address})")
        self._end_paragraph()

    def _write_checkbox(self, tag: bytes) -> None:
        if b' type="checkbox"' in tag and self._frames[-1].kind == "item" and not self._line:
            self._line.append("[x] " if b" checked" in tag else "[ ] ")

    # Blocks.

    def _end_paragraph(self) -> None:
        """End the current paragraph; open inline elements continue in the next paragraph."""
        line = self._line
        if not line:
            return
        for inline in reversed(self._open_inlines):
            all_inlines, self._open_inlines = self._open_inlines, self._open_inlines[: self._open_inlines.index(inline)]
            self._wrap_inline(inline)
            self._open_inlines = all_inlines
        for inline in self._open_inlines:
            inline.start = 0
        lines = [" ".join(raw_line.split(" ")).strip(" ") for raw_line in _collapse_spaces("".join(line)).split("\n")]
        line.clear()
        self._last_wrapped = (-1, "")
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        if lines:
            escaped = [
                _BLOCK_START.sub(_escape_block_start, text, count=1) if _BLOCK_START.match(text) else text
                for text in lines
            ]
            self._frames[-1].blocks.append("  \n".join(escaped))

    def _open_frame(self, kind: str, tag: bytes) -> None:
        """Open a block element; for a list item outside of a list, open a list first."""
        if kind == "item" and self._frames[-1].kind not in {"bullets", "numbers"}:
            self._frames.append(Frame("bullets", b"li"))
            self._frames[-1].is_implied = True
        frame = Frame(kind, tag)
        if kind in {"bullets", "numbers", "quote"}:
            self._nested_count += 1
            if self._nested_count > _MAX_DEPTH:
                frame.kind = "flow"
        elif kind == "pre":
            self._pre_count += 1
        self._frames.append(frame)

    def _close_frame(self) -> None:
        """Close the innermost block element, and add its Markdown to the element around it."""
        frame = self._frames.pop()
        if frame.tag.partition(b" ")[0] in _NESTED_ELEMENTS:
            self._nested_count -= 1
        if frame.kind == "pre":
            self._pre_count -= 1
        parent = self._frames[-1]
        if frame.kind in {"row", "cell"}:
            self._add_to_table(parent, frame)
            return
        blocks = WRITERS[frame.kind](frame)
        if frame.kind in {"bullets", "numbers"} and parent.kind in {"bullets", "numbers"}:
            append_to_last_item(parent, blocks)
        elif frame.kind == "item":
            if blocks and b' value="' in frame.tag:
                parent.numbered_tags[len(parent.blocks)] = frame.tag
            parent.blocks += ["\n\n".join(join_item(blocks))] if blocks else []
            if parent.is_implied:
                self._close_frame()
        elif frame.kind in {"bullets", "numbers"}:
            parent.blocks += separate_list(parent.blocks, blocks)
        else:
            parent.blocks += blocks

    def _add_to_table(self, parent: Frame, frame: Frame) -> None:
        """Add a cell to its row, or a row to its table. Outside of a table, add the blocks in the cells to `parent`."""
        if frame.kind == "cell" and parent.kind == "row":
            if not parent.rows:
                parent.rows.append(TableRow([], []))
            parent.rows[0].cells.append(frame.blocks)
            parent.rows[0].tags.append(frame.tag)
            return
        table_frame = next((outer for outer in reversed(self._frames) if outer.kind in {"table", "cell"}), None)
        if frame.kind == "row" and table_frame is not None and table_frame.kind == "table":
            table_frame.rows += frame.rows
            table_frame.blocks += frame.blocks
        else:
            parent.blocks += frame.blocks + [block for row in frame.rows for cell in row.cells for block in cell]


def _escape_match(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _escape_brackets(text: str) -> str:
    """Escape the brackets of the label of a link or picture, of which some may be escaped already."""
    return _BRACKET.sub(_escape_match, text.replace("\\]", "]"))


def _escape_block_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[0]}"


def _collapse_spaces(line: str) -> str:
    while "  " in line:
        line = line.replace("  ", " ")
    return line


def _spell_title(title: str, text: str) -> str:
    title = " ".join(_INVISIBLE.sub("", title).split()).replace("\\", "\\\\").replace('"', '\\"')
    return f' "{title}"' if title and title != text else ""


_DELIMITERS = {"strong": "**", "emphasis": "*", "struck": "~~"}
_INLINE_WRITERS: dict[str, Callable[[_Writer, _OpenInline, str], str]] = {
    "link": _Writer._write_link,  # noqa: SLF001 the writer's own table
    "code": _Writer._write_code,  # noqa: SLF001
    "raised": _Writer._write_small_digits,  # noqa: SLF001
    "lowered": _Writer._write_small_digits,  # noqa: SLF001
    "quoted": _Writer._write_quote,  # noqa: SLF001
}
_INLINE_KINDS = frozenset((*_DELIMITERS, *_INLINE_WRITERS))
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
_NESTED_ELEMENTS = frozenset((b"ul", b"menu", b"dir", b"ol", b"blockquote"))
_SINGLE_ELEMENT_WRITERS: dict[bytes, Callable[[_Writer, bytes], None]] = {
    b"br": _Writer._write_line_break,  # noqa: SLF001 the writer's own table
    b"hr": _Writer._write_rule,  # noqa: SLF001
    b"img": _Writer._write_image,  # noqa: SLF001
    b"iframe": _Writer._write_embedded,  # noqa: SLF001
    b"embed": _Writer._write_embedded,  # noqa: SLF001
    b"object": _Writer._write_embedded,  # noqa: SLF001
    b"video": _Writer._write_embedded,  # noqa: SLF001
    b"audio": _Writer._write_embedded,  # noqa: SLF001
    b"source": _Writer._write_source,  # noqa: SLF001
    b"input": _Writer._write_checkbox,  # noqa: SLF001
}
_WITH_SOURCES = frozenset((b"video", b"audio", b"source"))
_PARAGRAPH_BORDERS = frozenset(name.encode() for name in (
    "address", "article", "aside", "body", "center", "colgroup", "dd", "details", "dialog", "div", "dl", "fieldset",
    "figure", "footer", "form", "header", "hgroup", "html", "legend", "main", "nav", "noscript", "option", "p",
    "search", "section", "tbody", "tfoot", "thead",
))  # fmt: skip
"""Elements that only end a paragraph."""
_PRE_STARTS, _PRE_ENDS = frozenset((b"pre", b"listing")), frozenset((b"/pre", b"/listing"))
_LINE_TAGS = frozenset((b"div", b"p", b"li", b"tr", b"/div", b"/p", b"/li", b"/tr"))
"""Tags that begin a line in preformatted text."""
