"""XML Schema 1.0: compiled once, validated as fast as libxml2 streams; where the elements of a document stand.

A valid document is validated while it is parsed, and no tree is built: time and memory are the
parser's own. Only an invalid one costs more: libxml2 tells no position for what it finds while
streaming, so the part of the document that holds the first `LIMIT` findings is validated again as
a tree, which names the elements, and a last pass finds where these stand.

The tree that lxml builds knows no columns, and no lines beyond 65,535 for sure. A second pass with
expat knows both exactly; it is made only for the few elements that a finding is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any
from xml.parsers import expat

from lxml import etree

from windrow.errors import StepError
from windrow.formats import xml
from windrow.model import Finding, Level, Limits
from windrow.reasons import Reason

PLACE_SLICE = 1 << 16
STEP = re.compile(r"/([^/\[@]+)(?:\[(\d+)\])?")


@dataclass(slots=True)
class _Branch:
    """One step of the paths looked for, and what lies below it."""

    path: str = ""
    below: dict[tuple[str, int], _Branch] = field(default_factory=dict)


@dataclass(slots=True)
class _Level:
    """An open element on the way to one that is looked for: how many children of which name it had."""

    branch: _Branch
    children: int = 0
    named: dict[str, int] = field(default_factory=dict)


def places(content: bytes, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    r"""Return line and column, counted from 1, of the `<` of each element's start tag.

    `paths` are as libxml2 spells them: `/*/*[2]` for elements of a default namespace, `/p:a/p:b[3]`
    for prefixed ones, `/a/b` for those in no namespace. `content` is UTF-8. Columns count
    characters. A path to an attribute is its element's; one that leads nowhere is left out.

    >>> places(b"<a>\n <b/><b/></a>", ["/a", "/a/b[2]"])
    {'/a': (1, 1), '/a/b[2]': (2, 6)}
    """
    search = _Search(paths)
    for start in range(0, len(content), PLACE_SLICE):
        try:
            search.reader.Parse(content[start : start + PLACE_SLICE], start + PLACE_SLICE >= len(content))
        except expat.ExpatError:
            break
        if len(search.found) == search.wanted:
            break
    return search.found


class _Search:
    """One pass over a document."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Plant the paths as a tree of steps."""
        root = _Branch()
        names = set(paths)
        for path in names:
            branch = root
            for name, number in STEP.findall(path):
                branch = branch.below.setdefault((name, int(number or 1)), _Branch())
            branch.path = path
        self.wanted = len(names)
        self.found: dict[str, tuple[int, int]] = {}
        self._open = [_Level(root)]
        self._aside = 0  # how deep the pass is within an element that leads to none
        self.reader = expat.ParserCreate("utf-8", "\1")
        self.reader.namespace_prefixes = True
        self.reader.StartElementHandler = self._start
        self.reader.EndElementHandler = self._end

    def _start(self, name: str, _attributes: Any) -> None:
        """Count the element among its siblings; note its place if it is looked for."""
        if self._aside:
            self._aside += 1
            return
        level = self._open[-1]
        level.children += 1
        parts = name.split("\1")
        if len(parts) == 2:
            key, number = "*", level.children
        else:
            key = f"{parts[2]}:{parts[1]}" if len(parts) == 3 else name
            number = level.named[key] = level.named.get(key, 0) + 1
        branch = level.branch.below.get((key, number))
        if branch is None:
            self._aside = 1
            return
        if branch.path:
            self.found[branch.path] = (self.reader.CurrentLineNumber, self.reader.CurrentColumnNumber + 1)
        self._open.append(_Level(branch))

    def _end(self, _name: str) -> None:
        """Leave the element."""
        if self._aside:
            self._aside -= 1
        else:
            self._open.pop()


LIMIT = 1000
"""Findings of one document that are told one by one."""
KIND = "SchemaError"
MESSAGE = 1000
"""Characters of a message that are kept: a value that is quoted in it may be of any length."""
SLICE = 1 << 15


@dataclass(frozen=True, slots=True)
class Sheets:
    """A schema's own bytes and those of the files it imports, known together by one digest."""

    digest: str
    content: bytes = field(compare=False, repr=False)
    imports: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class XmlSchema:
    """A compiled schema, good for any number of documents and threads."""

    digest: str
    namespace: str
    compiled: etree.XMLSchema
    lock: Lock = field(default_factory=Lock, repr=False)


class _Nobody:
    """Take nothing of what the parser reads: the schema alone listens."""

    def close(self) -> None:
        """End."""


class _Imports(etree.Resolver):
    """Answer for the files a schema names, by file name, from memory and nowhere else."""

    def __init__(self, imports: Mapping[str, bytes]) -> None:
        """Keep the files."""
        self.imports = imports
        self.missing: list[str] = []

    def resolve(self, system_url: str, public_id: str | None, context: Any = None) -> Any:  # noqa: ARG002
        """Return the file of that name, or an empty one and a note that it is missing."""
        answer: Any = self  # lxml gives the means to answer, its stubs do not tell of all
        content = self.imports.get(system_url.rpartition("/")[2])
        if content is None:
            self.missing.append(system_url)
            return answer.resolve_empty(context)
        return answer.resolve_string(content, context)


@lru_cache(maxsize=16)
def load(sheets: Sheets) -> XmlSchema:
    """Compile a schema; asked again for the same digest, return the one made before.

    An import is looked for in `sheets.imports` under the last part of its `schemaLocation`; a
    schema that does not compile, or names what is not there, raises with `NO_SCHEMA`.
    """
    imports = _Imports(sheets.imports)
    parser = etree.XMLParser(**xml.OPTIONS)
    parser.resolvers.add(imports)
    try:
        text = xml.admit(sheets.content, Limits())
        root = etree.fromstring(text.content, parser, base_url="schema.xsd")
        compiled = etree.XMLSchema(root)
    except (StepError, etree.XMLSyntaxError, etree.XMLSchemaParseError) as error:
        raise StepError(f"the schema cannot be used: {error}{_missing(imports)}", Reason.NO_SCHEMA) from None
    if imports.missing:
        raise StepError(f"the schema cannot be used{_missing(imports)}", Reason.NO_SCHEMA)
    return XmlSchema(sheets.digest, root.get("targetNamespace", ""), compiled)


def validate(content: bytes, schema: XmlSchema, limits: Limits) -> list[Finding]:
    """Return what is wrong with a document by its schema; nothing, if it is valid.

    Findings come in the document's order, with line and column of the element they are about. Of
    more than `LIMIT` the rest is counted in a last one. A document that is not well-formed raises.
    """
    return check(xml.admit(content, limits), schema)


def check(text: xml.XmlText, schema: XmlSchema) -> list[Finding]:
    """Do the work of `validate` on an admitted document."""
    content = xml.rooted(text).content
    total = _stream(content, schema)
    if not total:
        return []
    head = content if total <= LIMIT else _head(content, schema)
    findings = _told(head, schema, whole=len(head) == len(content))
    if len(findings) < LIMIT and len(head) < len(content):
        findings = _told(content, schema, whole=True)
    if len(findings) == LIMIT and total > LIMIT:
        findings.append(Finding(KIND, f"{total - LIMIT} more findings", Level.NOTE))
    return findings


def _stream(content: bytes, schema: XmlSchema) -> int:
    """Validate while parsing, and count the findings.

    Text where none is allowed is found once for each piece in which it is read: that counts once.
    """
    parser = _kept_listener(schema)
    try:
        with schema.lock:
            etree.fromstring(content, parser)
            log = parser.error_log
    except etree.XMLSyntaxError:
        _kept_listener.cache_clear()
        xml.tree(content)  # tells what is wrong with it, and where
        log = parser.error_log
    except MemoryError:
        _kept_listener.cache_clear()
        raise StepError("no memory is left to parse it", Reason.MEMORY_LIMIT) from None
    if not log:
        return 0
    if any(entry.domain != etree.ErrorDomains.SCHEMASV for entry in log):
        xml.tree(content)
    pieces = etree.ErrorTypes.SCHEMAV_CVC_COMPLEX_TYPE_2_3
    found = [(entry.type, entry.message) for entry in log]
    return sum(one[0] != pieces or one != before for one, before in zip(found, [None, *found], strict=False))


@lru_cache(maxsize=16)
def _kept_listener(schema: XmlSchema) -> etree.XMLParser:
    """Return a listener for one document after another: on small ones, making it takes a fifth of the time."""
    return _listener(schema)


def _listener(schema: XmlSchema) -> etree.XMLParser:
    """Make a parser that only validates."""
    nobody: Any = _Nobody()
    return etree.XMLParser(schema=schema.compiled, target=nobody, **xml.OPTIONS)


def _head(content: bytes, schema: XmlSchema) -> bytes:
    """Return the start of a document that holds more than `LIMIT` findings."""
    parser = _listener(schema)
    for place in range(0, len(content), SLICE):
        parser.feed(content[place : place + SLICE])
        if len(parser.feed_error_log) > LIMIT:
            return content[: place + SLICE]
    return content


def _told(content: bytes, schema: XmlSchema, *, whole: bool) -> list[Finding]:
    """Validate as a tree, and tell the first `LIMIT` findings with their places."""
    root = xml.tree(content, recover=not whole, bare=True)
    with schema.lock:
        schema.compiled.validate(root)
        log: Any = schema.compiled.error_log
        entries = list(log)[:LIMIT]
    found = places(content, {entry.path for entry in entries if entry.path})
    findings = []
    for entry in entries:
        line, column = found.get(entry.path or "", (entry.line or None, None))
        message = entry.message.strip().replace(f"{{{schema.namespace}}}", "")[:MESSAGE]
        level = Level.WARN if entry.level == etree.ErrorLevels.WARNING else Level.ERROR
        findings.append(Finding(KIND, message, level, line, column))
    return findings


def _missing(imports: _Imports) -> str:
    """Say which imports were not there."""
    return f"; not found: {', '.join(imports.missing)}" if imports.missing else ""
