"""Validate documents against XML Schema 1.0, and find the lines and columns of elements.

A schema is compiled once. A valid document is validated while it is parsed, without a tree, in the time and memory of
parsing alone. An invalid document takes more, because libxml2 does not report the paths of elements while it streams.
So the part of the document with the first `MAX_FINDINGS` findings is validated again as a tree, which has the paths,
and a last pass finds the lines and columns of these elements.

lxml's tree has no columns, and its lines are not reliable beyond 65,535; so the last pass is made with expat.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import Any
from xml.parsers import expat

from lxml import etree

from windrow.caps import STORED_FINDINGS
from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.text import counted
from windrow.model import Finding, Level, Limits
from windrow.reasons import Reason

POSITION_SLICE_BYTES = 1 << 16  # bytes that expat parses at once
PATH_STEP = re.compile(r"/([^/\[@]+)(?:\[(\d+)\])?")


@dataclass(slots=True)
class _PathStep:
    """A step in the searched paths, with the next steps by name and number; `path` is set if a path ends here."""

    path: str = ""
    steps_below: dict[tuple[str, int], _PathStep] = field(default_factory=dict)


@dataclass(slots=True)
class _OpenElement:
    """An open element on a searched path, with the number of its children so far, in total and by name."""

    step: _PathStep
    child_count: int = 0
    child_count_by_name: dict[str, int] = field(default_factory=dict)


def find_positions(content: bytes, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    r"""Return a dict from paths of elements to the line and the column, from 1, where their start tags begin.

    `paths` are as libxml2 spells them: `/*/*[2]` for elements in a default namespace, `/p:a/p:b[3]` for prefixed ones,
    `/a/b` for elements without a namespace. `content` is UTF-8. Columns count characters. A path to an attribute has
    the position of its element. A path that leads to no element is left out.

    >>> find_positions(b"<a>\n <b/><b/></a>", ["/a", "/a/b[2]"])
    {'/a': (1, 1), '/a/b[2]': (2, 6)}
    """
    search = _PositionSearch(paths)
    for start in range(0, len(content), POSITION_SLICE_BYTES):
        try:
            end = start + POSITION_SLICE_BYTES
            search.parser.Parse(content[start:end], end >= len(content))
        except expat.ExpatError:
            break
        if len(search.positions) == search.wanted_count:
            break
    return search.positions


class _PositionSearch:
    """Finds the positions of elements in one pass over a document."""

    def __init__(self, paths: Iterable[str]) -> None:
        root = _PathStep()
        unique_paths = set(paths)
        for path in unique_paths:
            step = root
            for name, number in PATH_STEP.findall(path):
                step = step.steps_below.setdefault((name, int(number or 1)), _PathStep())
            step.path = path
        self.wanted_count = len(unique_paths)
        self.positions: dict[str, tuple[int, int]] = {}
        self._open_elements = [_OpenElement(root)]
        self._unwanted_depth = 0  # open elements that are not on a searched path
        self.parser = expat.ParserCreate("utf-8", "\1")
        self.parser.namespace_prefixes = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end

    def _start(self, name: str, _attributes: Any) -> None:
        """Count the element among its siblings; store its position if a searched path ends at it."""
        if self._unwanted_depth:
            self._unwanted_depth += 1
            return
        parent = self._open_elements[-1]
        parent.child_count += 1
        name_parts = name.split("\1")
        if len(name_parts) == 2:
            key, number = "*", parent.child_count
        else:
            key = f"{name_parts[2]}:{name_parts[1]}" if len(name_parts) == 3 else name
            number = parent.child_count_by_name[key] = parent.child_count_by_name.get(key, 0) + 1
        step = parent.step.steps_below.get((key, number))
        if step is None:
            self._unwanted_depth = 1
            return
        if step.path:
            self.positions[step.path] = (self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)
        self._open_elements.append(_OpenElement(step))

    def _end(self, _name: str) -> None:
        if self._unwanted_depth:
            self._unwanted_depth -= 1
        else:
            self._open_elements.pop()


MAX_FINDINGS = STORED_FINDINGS.number
"""The maximum number of findings of a document that are reported one by one."""
FINDING_KIND = "SchemaError"  # the class of a finding that the document is not valid against its schema
MAX_MESSAGE_CHARACTERS = 1000
"""The maximum number of characters of a message, which may quote a value of any length."""
SLICE_BYTES = 1 << 15  # bytes that the validating parser gets at once


@dataclass(frozen=True, slots=True)
class SchemaFiles:
    """A schema's content, a dict from the names of imported files to their contents, and a digest of them all."""

    digest: str
    content: bytes = field(compare=False, repr=False)
    imports: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class XmlSchema:
    """A compiled schema and its target namespace; a thread that validates with it must hold `lock`."""

    digest: str
    namespace: str
    compiled: etree.XMLSchema
    lock: Lock = field(default_factory=Lock, repr=False)


class _NullTarget:
    """A parser target that ignores all events, so that the parser only validates."""

    def close(self) -> None:
        """Return None: the findings are in the parser's log."""


class _Imports(etree.Resolver):
    """Finds the files that a schema imports, by their names and only in memory."""

    def __init__(self, imports: Mapping[str, bytes]) -> None:
        self.imports = imports
        self.missing: list[str] = []

    def resolve(self, system_url: str, public_id: str | None, context: Any = None) -> Any:  # noqa: ARG002
        """Return the file at `system_url`; if it is not an import, add it to `missing` and return an empty file."""
        resolver: Any = self  # lxml's stubs lack some methods
        content = self.imports.get(system_url.rpartition("/")[2])
        if content is None:
            self.missing.append(system_url)
            return resolver.resolve_empty(context)
        return resolver.resolve_string(content, context)


@lru_cache(maxsize=16)
def compile_schema(files: SchemaFiles) -> XmlSchema:
    """Compile a schema; the sixteen most recently used schemas are cached.

    An import is looked up in `files.imports` by the last part of its `schemaLocation`. Raise StepError with NO_SCHEMA
    if the schema does not compile or an import is missing.
    """
    imports = _Imports(files.imports)
    parser = etree.XMLParser(**xml.PARSER_OPTIONS)
    parser.resolvers.add(imports)
    try:
        text = xml.admit(files.content, Limits())
        root = etree.fromstring(text.content, parser, base_url="schema.xsd")
        compiled = etree.XMLSchema(root)
    except (StepError, etree.XMLSyntaxError, etree.XMLSchemaParseError) as error:
        raise StepError(f"the schema cannot be used: {error}{_name_missing(imports)}", Reason.NO_SCHEMA) from None
    if imports.missing:
        raise StepError(f"the schema cannot be used{_name_missing(imports)}", Reason.NO_SCHEMA)
    return XmlSchema(files.digest, root.get("targetNamespace", ""), compiled)


def validate(content: bytes, schema: XmlSchema, limits: Limits) -> list[Finding]:
    """Validate a document; return its findings, or [] if it is valid.

    Findings are in the document's order, with the line and column of their element. If there are more than
    `MAX_FINDINGS`, a last finding has the number of the rest. Raise StepError if the document is refused or malformed.
    """
    return validate_admitted(xml.admit(content, limits), schema)


def validate_admitted(text: xml.XmlText, schema: XmlSchema) -> list[Finding]:
    """Validate a document that `xml.admit` returned, with the results and errors of `validate`."""
    content = xml.require_root(text).content
    finding_count = _count_findings(content, schema)
    if not finding_count:
        return []
    content_start = content if finding_count <= MAX_FINDINGS else _start_with_findings(content, schema)
    findings = _locate_findings(content_start, schema, is_whole=len(content_start) == len(content))
    if len(findings) < MAX_FINDINGS and len(content_start) < len(content):
        findings = _locate_findings(content, schema, is_whole=True)
    if len(findings) == MAX_FINDINGS and finding_count > MAX_FINDINGS:
        findings.append(Finding(FINDING_KIND, counted(finding_count - MAX_FINDINGS, "more finding"), Level.NOTE))
    return findings


def _count_findings(content: bytes, schema: XmlSchema) -> int:
    """Validate while parsing; return the number of findings, or raise StepError for a malformed document.

    The parser reports misplaced text once for each piece that it reads, so equal reports in a row are counted once.
    """
    parser = _cached_validator(schema)
    try:
        with schema.lock:
            etree.fromstring(content, parser)
            log = parser.error_log
    except etree.XMLSyntaxError:
        _cached_validator.cache_clear()
        xml.build_tree(content)  # raises an error with the fault and its position
        log = parser.error_log
    except MemoryError:
        _cached_validator.cache_clear()
        raise StepError("parsing the document needs more memory than allowed", Reason.MEMORY_LIMIT) from None
    if not log:
        return 0
    if any(entry.domain != etree.ErrorDomains.SCHEMASV for entry in log):
        xml.build_tree(content)
    misplaced_text = etree.ErrorTypes.SCHEMAV_CVC_COMPLEX_TYPE_2_3
    errors = [(entry.type, entry.message) for entry in log if not _is_spaced_time(entry.message)]
    pairs = zip(errors, [None, *errors], strict=False)
    return sum(error != previous or error[0] != misplaced_text for error, previous in pairs)


@lru_cache(maxsize=16)
def _cached_validator(schema: XmlSchema) -> etree.XMLParser:
    """Return a cached parser: creating one takes a fifth of the time needed for a small document."""
    return _new_validator(schema)


def _new_validator(schema: XmlSchema) -> etree.XMLParser:
    target: Any = _NullTarget()
    return etree.XMLParser(schema=schema.compiled, target=target, **xml.PARSER_OPTIONS)


def _start_with_findings(content: bytes, schema: XmlSchema) -> bytes:
    """Return a document up to the end of the slice in which it exceeds `MAX_FINDINGS` findings, or all of it."""
    parser = _new_validator(schema)
    for start in range(0, len(content), SLICE_BYTES):
        parser.feed(content[start : start + SLICE_BYTES])
        if len(parser.feed_error_log) > MAX_FINDINGS:
            return content[: start + SLICE_BYTES]
    return content


def _locate_findings(content: bytes, schema: XmlSchema, *, is_whole: bool) -> list[Finding]:
    """Validate a document, or its start, with a tree; return the first `MAX_FINDINGS` findings with positions."""
    root = xml.build_tree(content, recover=not is_whole, strip_blanks=True)
    with schema.lock:
        schema.compiled.validate(root)
        log: Any = schema.compiled.error_log
        entries = [*islice((entry for entry in log if not _is_spaced_time(entry.message)), MAX_FINDINGS)]
    positions = find_positions(content, {entry.path for entry in entries if entry.path})
    findings = []
    for entry in entries:
        line, column = positions.get(entry.path or "", (entry.line or None, None))
        message = entry.message.strip().replace(f"{{{schema.namespace}}}", "")[:MAX_MESSAGE_CHARACTERS]
        level = Level.WARN if entry.level == etree.ErrorLevels.WARNING else Level.ERROR
        findings.append(Finding(FINDING_KIND, message, level, line, column))
    return findings


_SPACED_TIME = re.compile(
    r": '([ \t\r\n]*)([0-9TZ:.+-]+)([ \t\r\n]*)' is not a valid value of the atomic type 'xs:(date|dateTime|time)'"
)
_TIMES = "".join(f'<xs:element name="{name}" type="xs:{name}"/>' for name in ("date", "dateTime", "time"))
_TIME_SCHEMA = etree.XMLSchema(
    etree.XML(f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{_TIMES}</xs:schema>')
)
_TIME_LOCK = Lock()
"""Held while `_TIME_SCHEMA` validates, as each `XmlSchema` has a lock of its own."""


def _is_spaced_time(message: str) -> bool:
    """Return whether a message refuses a date or time only for the white space around it.

    XML Schema removes this space before the value is read; libxml2 does so for all types but these.
    """
    match = _SPACED_TIME.search(message)
    if match is None or not (match[1] or match[3]):
        return False
    element = etree.Element(match[4])
    element.text = match[2]
    with _TIME_LOCK:
        return _TIME_SCHEMA.validate(element)


def _name_missing(imports: _Imports) -> str:
    return f"; not found: {', '.join(imports.missing)}" if imports.missing else ""
