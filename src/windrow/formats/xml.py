"""XML from strangers: no DTD, no entities, no network, bounded before a tree is built.

Everything is brought to UTF-8 first, by Python's codecs, so that one reading of the bytes is the
only one: the parser is told the encoding and never guesses. Faults are `StepError`s with a reason
and, where the parser knows it, line and column, right on documents of any length.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Any, NamedTuple
from xml.parsers import expat

from lxml import etree

from windrow.errors import StepError
from windrow.model import Limits
from windrow.reasons import Reason

OPTIONS: dict[str, Any] = {
    "encoding": "utf-8",
    "resolve_entities": False,
    "load_dtd": False,
    "no_network": True,
    "huge_tree": False,  # depth, names and single texts stay within the parser's own bounds
    "collect_ids": False,
    "remove_comments": True,  # a comment would split the text that the schema sees as one
    "remove_pis": True,
}
SLICE = 1 << 20
TEXT = 10_000_000
"""Bytes that one text may have: the bound of libxml2."""
CODECS = re.compile(
    r"utf-8|ascii|utf-(16|32)(-[bl]e)?|iso8859-\d+|cp125\d|koi8-[ru]|shift_jis|euc_(jp|kr)|gb(2312|k|18030)|big5"
)
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SHAPES = (
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)  # what a first `<` looks like without a mark (XML 1.0, appendix F)
PLAIN = re.compile(rb"[^\0\xef\xfe\xff][^\0]")  # none of the marks and shapes begins so
DECLARED = re.compile(rb"""<\?xml\s[^>]*?\sencoding\s*=\s*["']([^"']{1,40})["']""")
PROLOG = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)
ROOT = re.compile(rb"<(?:[^\s/>:]*:)?([^\s/>:]+)")
_ADVICE = re.compile(r",? (?:try|use) XML_PARSE_HUGE.*")  # for programmers, who do not read it here
_HALF = re.compile(
    rb"&#(?:x0*+[dD][89a-fA-F][0-9a-fA-F]{2}(?![0-9a-fA-F])"
    rb"|0*+5(?:529[6-9]|5[3-9]\d\d|6\d{3}|7[0-2]\d\d|73[0-3]\d|734[0-3])(?!\d));?"
)

_ENCODING = {
    etree.ErrorTypes.ERR_UNKNOWN_ENCODING,
    etree.ErrorTypes.ERR_UNSUPPORTED_ENCODING,
    etree.ErrorTypes.ERR_INVALID_ENCODING,
}
_BOUNDS = {114, etree.ErrorTypes.ERR_NAME_TOO_LONG}  # 114: XML_ERR_RESOURCE_LIMIT


class XmlText(NamedTuple):
    """A document that may be parsed: UTF-8 without a mark, and its root element's local name."""

    content: bytes
    root: str


def admit(content: bytes, limits: Limits) -> XmlText:
    """Refuse what must not reach a parser: too large, wrongly encoded, with a DTD, too many elements.

    The root is empty where something else than XML allows stands before it; see `rooted`.

    >>> admit(b"<?xml version='1.0'?><!-- set --><p:set xmlns:p='urn:x'/>", Limits()).root
    'set'
    """
    if len(content) > limits.member:
        raise StepError(f"{len(content)} bytes, at most {limits.member} allowed", Reason.TOO_LARGE)
    text = _utf8(content)
    prolog = PROLOG.match(text)
    start = prolog.end() if prolog else 0
    if text.startswith(b"<!DOCTYPE", start):
        line = text.count(b"\n", 0, start) + 1
        raise StepError("a document type declaration is refused", Reason.DTD_FORBIDDEN, line=line)
    root = ROOT.match(text, start)
    _bound(text, limits.elements)
    _bound_texts(text)
    return XmlText(text, root[1].decode("utf-8", "replace") if root else "")


def rooted(text: XmlText) -> XmlText:
    """Refuse a document before whose root stands what XML does not allow.

    A parser that passes over it, such as over a second byte order mark, passes over a document type
    declaration behind it, too.
    """
    if not text.root:
        tree(text.content)  # tells what is wrong, and where
        raise StepError("it does not begin with its root element", Reason.NOT_WELL_FORMED, line=1)
    return text


def parse(content: bytes, limits: Limits) -> etree._Element:
    """Return the root element of a document.

    Comments and processing instructions are left out, so that an element's text is one piece.

    >>> parse(b"<a>1<!-- 2 -->3</a>", Limits()).text
    '13'
    """
    return tree(admit(content, limits).content)


def tree(content: bytes, *, recover: bool = False, bare: bool = False) -> etree._Element:
    """Build the tree of an admitted document; with `recover`, of one that was cut off, too.

    `bare` leaves out the white space between elements.
    """
    parser = etree.XMLParser(recover=recover, remove_blank_text=bare, **OPTIONS)
    try:
        root = etree.fromstring(mended(content) if recover else content, parser)
    except etree.XMLSyntaxError as error:
        raise refusal(error, parser.error_log) from None
    except MemoryError:
        raise StepError("no memory is left to parse it", Reason.MEMORY_LIMIT) from None
    if root is None:
        raise StepError("nothing of the document can be read", Reason.NOT_WELL_FORMED)
    if root.getroottree().docinfo.internalDTD is not None:
        raise StepError("a document type declaration is refused", Reason.DTD_FORBIDDEN)
    return root


def mended(content: bytes) -> bytes:
    """Replace references to halves of pairs: a parser that recovers takes them for characters, and no text holds them.

    >>> mended(b"<a>&#xD83D;&#55357;&#x41;</a>").decode()
    '<a>\ufffd\ufffd&#x41;</a>'
    """
    return _HALF.sub("\ufffd".encode(), content) if b"&#" in content else content


def refusal(error: etree.XMLSyntaxError, log: Any) -> StepError:
    """Map the first grave complaint of a parser's log to a reason and a place."""
    first = next((entry for entry in log if entry.level >= etree.ErrorLevels.ERROR), None)
    if first is None:
        return StepError(str(error.msg or "the parser gave up"), Reason.NOT_WELL_FORMED)
    if first.type in _ENCODING or first.domain == etree.ErrorDomains.I18N:
        reason = Reason.WRONG_ENCODING
    elif first.type in _BOUNDS or "too big found" in first.message:  # so it says of comments and CDATA
        reason = Reason.TOO_LARGE
    elif first.type == etree.ErrorTypes.ERR_NO_MEMORY:
        reason = Reason.MEMORY_LIMIT
    else:
        reason = Reason.NOT_WELL_FORMED
    message = _ADVICE.sub("", first.message.strip()[:1000])
    return StepError(message, reason, line=first.line or None, column=first.column or None)


def _bound_texts(text: bytes) -> None:
    """Refuse a text of more than `TEXT` bytes: the parser takes it while it validates, and not when it loads."""
    place = 0
    while place + TEXT < len(text):
        last = text.rfind(b"<", place, place + TEXT)
        if last < 0:
            line = text.count(b"\n", 0, place) + 1
            raise StepError(f"a text of more than {TEXT} bytes", Reason.TOO_LARGE, line=line)
        place = last + 1


def _utf8(content: bytes) -> bytes:
    """Bring a document to UTF-8 without a mark, or say why its bytes do not fit what it announces."""
    mark, family = (b"", "") if PLAIN.match(content) else _mark(content)
    body = content[len(mark) :] if mark else content
    head = body[:1024].decode(family, "replace").encode() if family else body[:1024]
    found = DECLARED.match(head)
    announced = found[1].decode("ascii", "replace") if found else ""
    codec = _codec(announced) if announced else family or "utf-8"
    if family and family != codec and not (family.startswith(codec) or (family, codec) == ("utf-8", "ascii")):
        raise StepError(f"announced as {announced}, written in {family}", Reason.WRONG_ENCODING, line=1)
    if not family and codec.startswith(("utf-16", "utf-32")):
        raise StepError(f"announced as {announced}, written in bytes", Reason.WRONG_ENCODING, line=1)
    if codec == "utf-8" or (codec == "ascii" and body.isascii()):
        return body  # the parser itself tells where a byte is wrong
    try:
        return body.decode(family or codec).encode()
    except UnicodeError as error:
        line = body.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise StepError(f"not {announced or codec}: {error}"[:300], Reason.WRONG_ENCODING, line=line) from None


def _mark(content: bytes) -> tuple[bytes, str]:
    """Return the byte order mark and the encoding that it tells, or that the shape of the first character tells."""
    mark, family = next(((mark, name) for mark, name in MARKS if content.startswith(mark)), (b"", ""))
    return mark, family or next((name for shape, name in SHAPES if content.startswith(shape)), "")


@lru_cache(maxsize=64)
def _codec(announced: str) -> str:
    """Return the plain name of an encoding that documents may be written in."""
    try:
        name = codecs.lookup(announced).name
    except (LookupError, ValueError):
        name = ""
    if not CODECS.fullmatch(name):
        raise StepError(f"the encoding {announced!r} is not known here", Reason.WRONG_ENCODING, line=1)
    return name


def _bound(text: bytes, limit: int) -> None:
    """Refuse a document of too many elements: by its size, by its brackets, and only then by counting."""
    if len(text) < 4 * limit or text.count(b"<") - text.count(b"</") <= limit:
        return
    seen = 0

    def start(_name: str, _attributes: Any) -> None:
        nonlocal seen
        seen += 1

    reader = expat.ParserCreate("utf-8")
    reader.StartElementHandler = start
    for place in range(0, len(text), SLICE):
        try:
            reader.Parse(text[place : place + SLICE], place + SLICE >= len(text))
        except expat.ExpatError:
            return  # the parser will say it better
        if seen > limit:
            raise StepError(f"more than {limit} elements", Reason.TOO_MANY_ELEMENTS)
