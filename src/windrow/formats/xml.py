"""Parse untrusted XML without DTDs, entities or network access, with limits that are checked before a tree is built.

Every document is first converted to UTF-8 by Python's codecs, so that the parser does not guess the encoding. Faults
are `StepError`s with a reason and, if the parser knows them, a line and column.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from html import escape
from html.entities import html5
from typing import Any, NamedTuple
from xml.parsers import expat

from lxml import etree

from windrow.caps import XML_TEXT_BYTES
from windrow.errors import StepError
from windrow.formats.url import escape_surrogate
from windrow.model import Limits
from windrow.reasons import Reason

PARSER_OPTIONS: dict[str, Any] = {
    "encoding": "utf-8",
    "resolve_entities": False,
    "load_dtd": False,
    "no_network": True,
    "huge_tree": False,  # keep the parser's own limits for depth, names and single texts
    "collect_ids": False,
    "remove_comments": True,  # a comment would split a text that the schema sees as one
    "remove_pis": True,
}
SLICE_BYTES = 1 << 20  # bytes that are parsed at once while elements are counted
MAX_TEXT_BYTES = XML_TEXT_BYTES.number
"""The maximum size of one text, in bytes: the limit of libxml2."""
ALLOWED_CODECS = re.compile(
    r"utf-8|ascii|utf-(16|32)(-[bl]e)?|iso8859-\d+|cp125\d|koi8-[ru]|shift_jis|euc_(jp|kr)|gb(2312|k|18030)|big5"
)
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
FIRST_CHARACTERS = (
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)  # the first `<` by encoding, in documents without a byte order mark (XML 1.0, appendix F)
SINGLE_BYTE_START = re.compile(rb"[^\0\xef\xfe\xff][^\0]")  # neither a mark nor one of FIRST_CHARACTERS
ENCODING_DECLARATION = re.compile(rb"""<\?xml\s[^>]*?\sencoding\s*=\s*["']([^"']{1,40})["']""")
PROLOG = re.compile(rb"(?>(?:\s+|<\?.*?\?>|<!--.*?-->)*)", re.DOTALL)
ROOT_START = re.compile(rb"<(?:[^\s/>:]*:)?([^\s/>:]+)")
_UNDECODED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, by `surrogateescape`
_EMPTY_ROOT_END = re.compile(rb"[^<>]*/>")
_PARSER_ADVICE = re.compile(r",? (?:try|use) XML_PARSE_HUGE.*")  # advice of libxml2 for programmers
_LITERAL_TEXT = rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)"  # references have no meaning in it
_DOUBTFUL_REFERENCE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)")
_REFERENCE = re.compile(
    rb"%b|&(?:#x0*+([0-9a-fA-F]{1,6});|#0*+([0-9]{1,7});|([a-zA-Z][a-zA-Z0-9]*+);)?" % _LITERAL_TEXT, re.DOTALL
)

_ENCODING_ERRORS = {
    etree.ErrorTypes.ERR_UNKNOWN_ENCODING,
    etree.ErrorTypes.ERR_UNSUPPORTED_ENCODING,
    etree.ErrorTypes.ERR_INVALID_ENCODING,
}
_LIMIT_ERRORS = {114, etree.ErrorTypes.ERR_NAME_TOO_LONG}  # 114: XML_ERR_RESOURCE_LIMIT


class XmlText(NamedTuple):
    """A document that `admit` checked: its UTF-8 without a byte order mark, and its root's local name, or ""."""

    content: bytes
    root: str


_NAMED_DTD = re.compile(rb"""<!DOCTYPE\s(?>(?:[^\[\]<>"']|"[^"<>]*+"|'[^'<>]*+')*)>""")
"""Matches a document type declaration that only names a DTD, and declares nothing itself."""


def admit(content: bytes, limits: Limits, *, may_name_dtd: bool = False) -> XmlText:
    """Convert a document to UTF-8, and check it before it is parsed.

    If `may_name_dtd`, a document type declaration that only names a DTD, as in RSS 0.91, is removed and not refused. A
    document in an 8-bit encoding that is declared as UTF-16, as programs of .NET write it, is then read as UTF-8.

    Raise StepError if the document is too large or its encoding is wrong or not supported, or if it has a DTD, too many
    elements, or a text that is too long. The name of the root is empty if something that XML does not allow precedes
    it; see `require_root`.

    >>> admit(b"<?xml version='1.0'?><!-- set --><p:set xmlns:p='urn:x'/>", Limits()).root
    'set'
    """
    if len(content) > limits.member_size:
        raise StepError(f"the document has {len(content)} bytes; the limit is {limits.member_size}", Reason.TOO_LARGE)
    text = _convert_to_utf_8(content, trust_bytes=may_name_dtd)
    prolog = PROLOG.match(text)
    start = prolog.end() if prolog else 0
    if may_name_dtd and (declaration := _NAMED_DTD.match(text, start)):
        text = text[:start] + text[declaration.end() :]
        prolog = PROLOG.match(text)
        start = prolog.end() if prolog else 0
    if text.startswith(b"<!DOCTYPE", start):
        line = text.count(b"\n", 0, start) + 1
        raise StepError("a document type declaration is refused", Reason.DTD_FORBIDDEN, line=line)
    root = ROOT_START.match(text, start)
    _check_elements(text, limits.elements)
    _check_texts(text)
    return XmlText(text, root[1].decode("utf-8", "replace") if root else "")


def require_root(text: XmlText) -> XmlText:
    """Return a document unchanged; raise StepError if something that XML does not allow precedes its root.

    A parser that skips it (for example a second byte order mark) would also skip a document type declaration after it.
    """
    if not text.root:
        build_tree(text.content)  # raises an error with the fault and its position
        raise StepError("the document does not begin with its root element", Reason.NOT_WELL_FORMED, line=1)
    return text


def parse(content: bytes, limits: Limits) -> etree._Element:
    """Parse a document and return its root element; raise StepError with a reason if it is refused, as `admit` says.

    Comments and processing instructions are removed, so that no text is split by them.

    >>> parse(b"<a>1<!-- 2 -->3</a>", Limits()).text
    '13'
    """
    return build_tree(admit(content, limits).content)


def build_tree(content: bytes, *, recover: bool = False, strip_blanks: bool = False) -> etree._Element:
    """Build the tree of a document that `admit` returned, and return its root; raise StepError if it is malformed.

    With `recover`, references are repaired, and the tree of a malformed document is built as far as possible. A
    document type declaration is always refused with a StepError. `strip_blanks` removes white space between elements.
    """
    parser = etree.XMLParser(recover=recover, remove_blank_text=strip_blanks, **PARSER_OPTIONS)
    try:
        root = etree.fromstring(repair_references(content) if recover else content, parser)
    except etree.XMLSyntaxError as error:
        raise to_step_error(error, parser.error_log) from None
    except MemoryError:
        raise StepError("parsing the document needs more memory than allowed", Reason.MEMORY_LIMIT) from None
    if root is None:
        raise StepError("the document does not have an element that can be read", Reason.NOT_WELL_FORMED)
    if root.getroottree().docinfo.internalDTD is not None:
        raise StepError("a document type declaration is refused", Reason.DTD_FORBIDDEN)
    return root


def is_whole(text: XmlText) -> bool:
    """Whether a document that `admit` returned ends with the end of its root; only blanks and comments may follow.

    >>> is_whole(XmlText(b"<a><b/></a><!-- c -->", "a")), is_whole(XmlText(b"<a><b/>", "a"))
    (True, False)
    """
    content = text.content.rstrip(b"\0")
    prolog = PROLOG.match(content)
    root = ROOT_START.match(content, prolog.end() if prolog else 0)
    ends = list(re.finditer(rb"</(?:[^\s/<>:]*:)?%b\s*>" % re.escape(text.root.encode()), content))
    end = ends[-1] if ends else root and _EMPTY_ROOT_END.match(content, root.end())
    rest = PROLOG.match(content, end.end()) if end else None
    return rest is not None and rest.end() == len(content)


def escape_undecodable(content: bytes, *names: str) -> bytes:
    r"""Return a document whose bytes that are not UTF-8 are escaped, as in an address.

    If there are `names`, only bytes in elements with one of these local names are escaped, and in their attributes.

    >>> escape_undecodable(b"<a>\xe9</a><loc>/caf\xe9</loc>", "loc")
    b'<a>\xe9</a><loc>/caf%E9</loc>'
    """
    try:
        content.decode()
    except UnicodeDecodeError:
        if names:
            tag = rb"<(?:[\w.-]+:)?(?:%b)[\s>]" % "|".join(names).encode()
            element = rb"%b(?>(?:[^<]|<!\[CDATA\[)*)" % tag
            return re.sub(element, lambda match: escape_undecodable(match[0]), content)
        return _UNDECODED.sub(escape_surrogate, content.decode("utf-8", "surrogateescape")).encode()
    return content


def empty_unclosed(content: bytes, *names: str) -> bytes:
    """Remove the text of each element with one of these local names that another tag or the end of the document cuts.

    A recovering parser takes the start of a cut address for the whole.

    >>> empty_unclosed(b"<url><loc>/a</loc></url><url><loc>/b<br/>Error", "loc")
    b'<url><loc>/a</loc></url><url><loc><br/>Error'
    """
    tag = rb"(?:[\w.-]+:)?(?:%b)" % "|".join(names).encode()
    unclosed = rb"(<%b(?:\s[^<>]*+)?(?<!/)>)[^<]*+(?!</%b\s*>|<[!?])" % (tag, tag)
    if not re.search(unclosed, content):
        return content
    return re.sub(rb"%b|%b" % (_LITERAL_TEXT, unclosed), lambda match: match[1] or match[0], content, flags=re.DOTALL)


def count_start_tags(content: bytes, name: str) -> int:
    """Return the number of start tags with a local name in a document that `admit` returned, also in its comments.

    >>> count_start_tags(b"<a:b><b/><bc></a:b>", "b")
    2
    """
    return len(re.findall(rb"<(?:[\w.-]+:)?%b[\s/>]" % name.encode(), content))


def repair_references(content: bytes) -> bytes:
    r"""Repair what a recovering parser would drop from texts: a bare `&`, and references to what XML does not define.

    A named entity of HTML becomes its characters, and any other `&` that does not begin a reference becomes `&amp;`. A
    reference to something that is not a character of XML, such as a surrogate, becomes U+FFFD.

    >>> repair_references(b"<a b='?c=4&id=1'>AT&T &eacute;&lt;&#xD83D;<![CDATA[&c]]></a>")
    b"<a b='?c=4&amp;id=1'>AT&amp;T \xc3\xa9&lt;\xef\xbf\xbd<![CDATA[&c]]></a>"
    """
    return _REFERENCE.sub(_repair_reference, content) if _DOUBTFUL_REFERENCE.search(content) else content


def _repair_reference(match: re.Match[bytes]) -> bytes:
    reference = match[0]
    hexadecimal, decimal, name = match.groups()
    if reference.startswith(b"<") or (name and not _DOUBTFUL_REFERENCE.match(reference)):
        return reference
    if hexadecimal or decimal:
        code = int(hexadecimal, 16) if hexadecimal else int(decimal)
        return reference if _is_xml_character(code) else "\ufffd".encode()
    characters = html5.get(f"{name.decode()};") if name else None
    return escape(characters).encode() if characters else b"&amp;" + reference[1:]


def _is_xml_character(code: int) -> bool:
    # XML 1.0, section 2.2
    return code in {9, 10, 13} or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code <= 0x10FFFF


def to_step_error(error: etree.XMLSyntaxError, error_log: Any) -> StepError:
    """Return the first error in a parser's log as a StepError; if there is none, return `error`, without a position."""
    first_error = next((entry for entry in error_log if entry.level >= etree.ErrorLevels.ERROR), None)
    if first_error is None:
        return StepError(str(error.msg or "the parser reported an error without a message"), Reason.NOT_WELL_FORMED)
    if first_error.type in _ENCODING_ERRORS or first_error.domain == etree.ErrorDomains.I18N:
        reason = Reason.WRONG_ENCODING
    elif first_error.type in _LIMIT_ERRORS or "too big found" in first_error.message:  # as for comments and CDATA
        reason = Reason.TOO_LARGE
    elif first_error.type == etree.ErrorTypes.ERR_NO_MEMORY:
        reason = Reason.MEMORY_LIMIT
    else:
        reason = Reason.NOT_WELL_FORMED
    message = _PARSER_ADVICE.sub("", first_error.message.strip()[:1000])
    return StepError(message, reason, line=first_error.line or None, column=first_error.column or None)


def _check_texts(text: bytes) -> None:
    """Raise StepError for a text that is too long: the parser would refuse it only when it builds a tree."""
    start = 0
    while start + MAX_TEXT_BYTES < len(text):
        last_tag = text.rfind(b"<", start, start + MAX_TEXT_BYTES)
        if last_tag < 0:
            line = text.count(b"\n", 0, start) + 1
            raise StepError(f"a text has more than {MAX_TEXT_BYTES} bytes", Reason.TOO_LARGE, line=line)
        start = last_tag + 1


def _convert_to_utf_8(content: bytes, *, trust_bytes: bool) -> bytes:
    """Convert a document to UTF-8 without a byte order mark; raise StepError for a wrong or unsupported encoding."""
    mark, detected = (b"", "") if SINGLE_BYTE_START.match(content) else _detect_encoding(content)
    body = content[len(mark) :] if mark else content
    start = body[:1024].decode(detected, "replace").encode() if detected else body[:1024]
    declaration = ENCODING_DECLARATION.match(start)
    announced = declaration[1].decode("ascii", "replace") if declaration else ""
    codec = _find_codec(announced) if announced else detected or "utf-8"
    if detected and detected != codec and not (detected.startswith(codec) or (detected, codec) == ("utf-8", "ascii")):
        raise StepError(
            f"the document is declared as {announced}, but written in {detected}", Reason.WRONG_ENCODING, line=1
        )
    if not detected and codec.startswith(("utf-16", "utf-32")):
        if trust_bytes:
            return body
        raise StepError(
            f"the document is declared as {announced}, but written in an 8-bit encoding", Reason.WRONG_ENCODING, line=1
        )
    if codec == "utf-8" or (codec == "ascii" and body.isascii()):
        return body  # the parser's error says where a byte is wrong
    try:
        return body.decode(detected or codec).encode()
    except UnicodeError as error:
        line = body.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise StepError(
            f"the document is not valid {announced or codec}: {error}"[:300], Reason.WRONG_ENCODING, line=line
        ) from None


def _detect_encoding(content: bytes) -> tuple[bytes, str]:
    """Return the byte order mark, and the encoding that the mark or the first character shows; both may be empty."""
    mark, encoding = next(((mark, name) for mark, name in BYTE_ORDER_MARKS if content.startswith(mark)), (b"", ""))
    return mark, encoding or next((name for start, name in FIRST_CHARACTERS if content.startswith(start)), "")


@lru_cache(maxsize=64)
def _find_codec(announced: str) -> str:
    try:
        name = codecs.lookup(announced).name
    except (LookupError, ValueError):
        name = ""
    if not ALLOWED_CODECS.fullmatch(name):
        raise StepError(f"the encoding {announced!r} is not supported", Reason.WRONG_ENCODING, line=1)
    return name


def _check_elements(text: bytes, limit: int) -> None:
    """Raise StepError if there are more than `limit` elements. They are counted only if there may be more."""
    if len(text) < 4 * limit or text.count(b"<") - text.count(b"</") <= limit:
        return
    elements = 0

    def start(_name: str, _attributes: Any) -> None:
        nonlocal elements
        elements += 1

    reader = expat.ParserCreate("utf-8")
    reader.StartElementHandler = start
    for start_of_slice in range(0, len(text), SLICE_BYTES):
        try:
            reader.Parse(text[start_of_slice : start_of_slice + SLICE_BYTES], start_of_slice + SLICE_BYTES >= len(text))
        except expat.ExpatError:
            return  # `build_tree` raises a better error
        if elements > limit:
            raise StepError(f"the document has more than {limit} elements", Reason.TOO_MANY_ELEMENTS)
