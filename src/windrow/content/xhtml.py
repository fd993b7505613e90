"""Read XHTML by the rules of XML, as browsers do: it is written as HTML from which the parser builds the same page.

By the rules of HTML, `<script/>` or `<title/>` would be a start tag, and the rest of the page its text. Browsers use
the rules of XML if the server declares an XML type, or no type for a page that begins with an XML declaration. A page
that is declared as text/html is HTML, whatever it contains. A page that is not well-formed is read as HTML, too.
"""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from html.entities import html5
from typing import NamedTuple
from xml.parsers import expat

from windrow.content.charset import decode
from windrow.formats.sniff import root_name

_XHTML_TYPE = "application/xhtml+xml"
_PAGE_TYPES = frozenset({"text/html", _XHTML_TYPE})
_XML_TYPES = frozenset({"application/xml", "text/xml"})
_SEPARATOR = "\n"  # between the namespace, local name and prefix of a name, none of which has one
_HTML_NAMESPACE, _XML_NAMESPACE = "http://www.w3.org/1999/xhtml", "http://www.w3.org/XML/1998/namespace"
_KNOWN_NAMESPACES = frozenset(("", _HTML_NAMESPACE, "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"))
"""The namespaces of elements that HTML has without a prefix, and that of a page that declares none."""
_VOID_ELEMENTS = frozenset((
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link",
    "meta", "param", "source", "track", "wbr",
))  # fmt: skip
_RAW_ELEMENTS = frozenset(("script", "style", "iframe", "noembed", "noframes"))
_TEXT_ELEMENTS = _RAW_ELEMENTS | {"title", "textarea"}
"""Elements in which HTML has only text; HTML has no references to characters in those of `_RAW_ELEMENTS`."""
_RENAMED_ELEMENTS = {"plaintext": "pre", "xmp": "pre", "listing": "pre"}  # HTML has only text in the first two
_XML_NAMES = frozenset(("amp", "lt", "gt", "quot", "apos"))
_DECLARATION = re.compile(r"<!ENTITY\s+([\w.:-]+)\s")
_ENTITY = re.compile(r"&([\w.:-]+);")
_REFERENCE = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|&(?!#)(?:([\w.:-]+);)?", re.DOTALL
)
"""Matches references to entities, and what is written without them."""
_MAX_EXPANSION = 1 << 20  # characters of all entities that a page itself declares, wherever they are used


class PageText(NamedTuple):
    """The markup of a page as HTML, and the name of its encoding in the Encoding Standard."""

    html: str
    encoding: str
    is_as_sent: bool
    """Whether `html` in UTF-8 has the same bytes as the page."""
    fault: str = ""
    """Why a page that should be XML was read as HTML, or empty."""


def is_page(raw: bytes, essence: str) -> bool:
    """Return whether a document with the media type `essence` is a page: HTML, or XML whose root is `html`.

    >>> is_page(b"<?xml version='1.0'?><h:html xmlns:h='http://www.w3.org/1999/xhtml'/>", "application/xml")
    True
    """
    return essence in _PAGE_TYPES or (essence in _XML_TYPES and root_name(raw) == b"html")


def decode_page(raw: bytes, content_type: str = "") -> PageText:
    r"""Decode a page's bytes, and convert XHTML to HTML; `content_type` is the value of Content-Type, or "".

    >>> decode_page(b"<html xmlns='http://www.w3.org/1999/xhtml'><script/><p>a&nbsp;b<br/></p></html>",
    ...     "application/xhtml+xml").html
    '<!DOCTYPE html><html><script></script><p>a\xa0b<br></p></html>'
    """
    decoded = decode(raw, content_type)
    fault = ""
    is_html = content_type[:9] == "text/html"  # most pages are
    if not is_html and _is_xhtml(raw, content_type) and decoded.text.strip():
        try:
            return PageText(_convert(decoded.text), decoded.encoding, is_as_sent=False)
        except expat.ExpatError as error:
            fault = f"line {error.lineno}: {expat.ErrorString(error.code)}"
        except _RefusedEntityError as error:
            fault = str(error)
    is_as_sent = decoded.encoding == "utf-8" and decoded.source != "bom" and "\ufffd" not in decoded.text
    return PageText(decoded.text, decoded.encoding, is_as_sent, fault)


def describe_fault(fault: str) -> str:
    """Return the message for a page that was read as HTML because of a fault in its XML (`PageText.fault`).

    >>> describe_fault("line 3: mismatched tag")
    'it should be XML, but is not well-formed (line 3: mismatched tag), and was read as HTML'
    """
    return f"it should be XML, but is not well-formed ({fault}), and was read as HTML"


def _is_xhtml(raw: bytes, content_type: str) -> bool:
    essence = content_type.partition(";")[0].strip().lower()
    if essence in _PAGE_TYPES:
        return essence == _XHTML_TYPE
    is_xml = essence in _XML_TYPES or (not essence and raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml"))
    return is_xml and root_name(raw) == b"html"


class _RefusedEntityError(Exception):
    """Raised for an entity that a page declares, and that is not expanded."""


def _convert(text: str) -> str:
    """Return XHTML as HTML; raise ExpatError if it is not well-formed, and _RefusedEntityError for hostile entities."""
    text = _replace_entities(text)
    writer = _HtmlWriter(text)
    parser = expat.ParserCreate("utf-8", _SEPARATOR)  # whatever encoding the text itself declares
    parser.namespace_prefixes = parser.ordered_attributes = parser.buffer_text = True
    parser.specified_attributes = True  # without those that a DTD adds to each element, which may be long
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.add_text
    parser.EntityDeclHandler = writer.check_entity
    parser.ExternalEntityRefHandler = parser.SkippedEntityHandler = _refuse_entity
    parser.Parse(text.encode("utf-8", "replace"), True)
    return "".join(writer.pieces)


def _refuse_entity(*_entity: object) -> int:
    raise _RefusedEntityError("an entity is declared in another file, which is not requested")


def _replace_entities(text: str) -> str:
    """Return XML in which the names of characters that HTML has are replaced, except those that the page declares.

    Browsers know these names, whatever DTD a page names. Another `&` that begins no reference stands for itself.
    """
    declared_names = {*_DECLARATION.findall(text), *_XML_NAMES}

    def replace(match: re.Match[str]) -> str:
        reference, name = match[0], match[1]
        if reference[0] == "<" or name in declared_names:
            return reference
        characters = html5.get(f"{name};") if name else None
        return escape(characters) if characters else f"&amp;{reference[1:]}"

    return _REFERENCE.sub(replace, text) if "&" in text else text


class _HtmlWriter:
    """Writes HTML to `pieces` from the events of an XML parser.

    In elements in which HTML has only text, tags are left out, and their text is kept.
    """

    __slots__ = ("_expanded", "_is_raw", "_page", "_uses", "_within_text", "pieces")

    def __init__(self, page: str) -> None:
        """Take the page, in which the uses of entities are counted if it declares any."""
        self.pieces = ["<!DOCTYPE html>"]
        self._page = page
        self._uses: Counter[str] | None = None
        self._expanded = 0  # characters
        self._within_text = 0  # how many elements are open from the outermost one in which HTML has only text
        self._is_raw = False

    def check_entity(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        *_external: object,
    ) -> None:
        """Raise _RefusedEntityError if an entity has others in it, or if all uses of entities take too much room."""
        if is_parameter or (value is not None and "&" in value):
            raise _RefusedEntityError(f"the entity {name[:60]!r} is not expanded")
        if self._uses is None:
            self._uses = Counter(_ENTITY.findall(self._page))
        self._expanded += len(value or "") * self._uses[name]
        if self._expanded > _MAX_EXPANSION:
            raise _RefusedEntityError(f"its entities expand to more than {_MAX_EXPANSION:,} characters")

    def start(self, full_name: str, attributes: list[str]) -> None:
        """Write a start tag."""
        if self._within_text:
            self._within_text += 1
            return
        tag, is_html = _spell_tag(full_name)
        values = {_spell_attribute(name): value for name, value in zip(attributes[::2], attributes[1::2], strict=True)}
        spelled_values = "".join(f' {name}="{escape(value)}"' for name, value in values.items())
        self.pieces.append(f"<{tag}{spelled_values}>")
        if is_html and tag in _TEXT_ELEMENTS:
            self._within_text, self._is_raw = 1, tag in _RAW_ELEMENTS

    def end(self, full_name: str) -> None:
        """Write an end tag, unless HTML has none for the element."""
        if self._within_text > 1:
            self._within_text -= 1
            return
        self._within_text, self._is_raw = 0, False
        tag, is_html = _spell_tag(full_name)
        if not (is_html and tag in _VOID_ELEMENTS):
            self.pieces.append(f"</{tag}>")

    def add_text(self, text: str) -> None:
        """Write a text."""
        # A "<" could end a raw element; its escape means the same in JSON, and no other script is read.
        self.pieces.append(text.replace("<", r"\u003c") if self._is_raw else escape(text, quote=False))


def _spell_tag(full_name: str) -> tuple[str, bool]:
    """Return the name of an element in HTML, and whether it is an element of HTML; those of others get a prefix."""
    namespace, name, prefix = _split_name(full_name)
    if namespace in _KNOWN_NAMESPACES and name[0].isascii() and name[0].isalpha():
        if namespace not in {"", _HTML_NAMESPACE}:
            return name, False
        return _RENAMED_ELEMENTS.get(name.lower(), name.lower()), True
    return f"{prefix or 'ns'}:{name}", False


def _spell_attribute(full_name: str) -> str:
    """Return the name of an attribute in HTML: that of `xml:lang` is `lang`, and others keep their prefix."""
    namespace, name, prefix = _split_name(full_name)
    return f"{prefix}:{name}" if prefix and namespace != _XML_NAMESPACE else name


def _split_name(full_name: str) -> tuple[str, str, str]:
    """Return the namespace, the local name and the prefix of a name, each empty if there is none."""
    namespace, separator, local_name = full_name.partition(_SEPARATOR)
    if not separator:
        return "", full_name, ""
    name, _, prefix = local_name.partition(_SEPARATOR)
    return namespace, name, prefix
