"""The steps `unzip`, which lists the XML files in a zip, and `xsd`, which checks an XML file against its schema.

Both are functions from a task to a reading. If a document is refused, the reading has a reason and findings, and no
error is raised. XML files are loaded in the order of their `rank`, a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple

from windrow.caps import STORED_FINDINGS
from windrow.collections.drops import name as names
from windrow.collections.drops.collection import FOLDERS, declared_centres
from windrow.collections.drops.name import DocumentKind, XmlName, ZipName
from windrow.contract import Task
from windrow.digest import Hasher, combine_digests
from windrow.errors import StepError
from windrow.formats import xml, xsd
from windrow.formats import zip as zip_format
from windrow.formats.inflate import BLOCK_BYTES
from windrow.formats.text import counted
from windrow.formats.zip import ZipMember
from windrow.model import Finding, Item, Level, Member, Reading, Resource
from windrow.reasons import Reason

XML_SUFFIX = ".xml"
MAX_LISTED_FINDINGS = STORED_FINDINGS.number
"""The maximum number of findings about one zip or XML file that are listed. The others are only counted."""


class NameRules(NamedTuple):
    """The rules for the names of the XML files in one zip."""

    zip_parts: ZipName | None  # None if the zip's own name is not valid
    centres: tuple[str, ...]  # the declared short names
    pattern: str  # a regular expression for the names of XML files
    folder_index: int = 0  # the index of the zip's folder in `FOLDERS`

    def make_member(self, entry: ZipMember, digest: str, md5: str) -> Member:
        """Return the member for an entry with these digests; it has a reason if the entry or its name is refused."""
        if entry.reason:
            return Member(entry.name, entry.size, digest, md5, reason=entry.reason)
        name_parts = names.read_xml_name(entry.name, self.centres, self.pattern)
        if isinstance(name_parts, Reason):
            return Member(entry.name, entry.size, digest, md5, reason=name_parts)
        return Member(entry.name, entry.size, digest, md5, name_parts.kind, self.make_rank(name_parts, entry.name))

    def make_rank(self, name_parts: XmlName, name: str) -> str:
        """Return the rank of the XML file called `name`.

        Specimens are loaded before experiments. Within each kind, files are ordered by the zip's date and increment,
        its folder (add, edit, delete), the XML file's own date and increment, and its name.
        """
        zip_date, increment = (str(self.zip_parts.date), self.zip_parts.inc) if self.zip_parts else ("", 0)
        kind_digit = 0 if name_parts.kind is DocumentKind.SPECIMEN else 1
        own_parts = f"{name_parts.date}.{name_parts.inc:020d}.{name}"
        return f"{kind_digit}.{zip_date}.{increment:020d}.{self.folder_index}.{own_parts}"


def kind_in_rank(item: Item) -> str:
    """Return the digit for the kind of an XML file in its rank: `0` for specimens, `1` for experiments."""
    return item.rank.partition(".")[0]


def sort_key(rank: str) -> str:
    """Return the sort key of the records in an XML file with this rank: the rank without the kind.

    Of two versions of a record, the one with the greater key is current.

    >>> sort_key("1.2026-01-12.00000000000000000003.0.2026-01-12.00000000000000000001.x.xml")
    '2026-01-12.00000000000000000003.0.2026-01-12.00000000000000000001.x.xml'
    """
    return rank.partition(".")[2]


def make_name_rules(key: str, options: Mapping[str, str]) -> NameRules:
    """Return the rules for the names of XML files in the zip with this key (`add/ZIPNAME`), from a task's options."""
    centres = tuple(declared_centres(options))
    name_parts = names.read_zip_name(zip_name_in_key(key), centres, options.get("zip_name") or names.ZIP_PATTERN)
    folder = key.partition("/")[0]
    folder_index = FOLDERS.index(folder) if folder in FOLDERS else 0
    zip_parts = name_parts if isinstance(name_parts, ZipName) else None
    return NameRules(zip_parts, centres, options.get("xml_name") or names.XML_PATTERN, folder_index)


def zip_name_in_key(key: str) -> str:
    """Return the zip's name in the key of a zip or of an XML file.

    >>> zip_name_in_key("add/H.2012-11-20.03.impc.zip"), zip_name_in_key("add/A.zip/B.xml")
    ('H.2012-11-20.03.impc.zip', 'A.zip')
    """
    return key.split("/")[1] if "/" in key else key


def explain_left_out(entry: ZipMember) -> Finding | None:
    """Return a finding that says why an entry is left out, or None if it is an XML file that is not in a folder."""
    quoted = repr(entry.name[:200])
    if entry.reason is Reason.UNSAFE_NAME and "/" in entry.name:
        return Finding("UnsafeName", f"{quoted} is left out: {Reason.UNSAFE_NAME.meaning}", Level.WARN)
    if entry.is_folder:
        return Finding("LeftOut", f"{quoted} is left out: it is a folder", Level.NOTE)
    if "/" in entry.name:
        return Finding("LeftOut", f"{quoted} is left out: it is in a folder", Level.NOTE)
    if not entry.name.endswith(XML_SUFFIX):
        return Finding("LeftOut", f"{quoted} is left out: it is not an XML file", Level.NOTE)
    return None


def limit_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return at most `MAX_LISTED_FINDINGS` findings and, if there are more, a finding with the number of the others."""
    if len(findings) <= MAX_LISTED_FINDINGS:
        return tuple(findings)
    omitted = counted(len(findings) - MAX_LISTED_FINDINGS, "more finding")
    omission = Finding("LeftOut", f"not listed: {omitted}", Level.NOTE)
    return (*findings[:MAX_LISTED_FINDINGS], omission)


def finding_kind(reason: Reason) -> str:
    """Return the name of the kind of finding that reports a reason.

    >>> finding_kind(Reason.BOMB_RATIO), finding_kind(Reason.NOT_WELL_FORMED)
    ('BombRatio', 'SyntaxError')
    """
    return "SyntaxError" if reason is Reason.NOT_WELL_FORMED else reason.class_name


ROOT_NAMES = {DocumentKind.SPECIMEN: "centreSpecimenSet", DocumentKind.EXPERIMENT: "centreProcedureSet"}
_KINDS_BY_NAME = {kind.value: kind for kind in DocumentKind}
_VALID_READING = Reading()  # shared, so that pickle sends it once for a batch of documents
HARMLESS_REASONS = (Reason.NOT_A_FILE, Reason.UNSAFE_NAME)
"""The reasons for which only the entry itself is refused; for any other reason, the whole zip is refused."""


def unzip(task: Task) -> Reading:
    """Inflate every file in a zip once, and return a reading with the XML files as members.

    If the zip itself has a fault (it is cut off, encrypted or a bomb), the reading has the reason and no members. If
    no member can be used, the reading has a reason and the members. Entries that are left out by rule are listed as
    findings, and those that are not folders are counted; so are bytes of the zip that were not inflated. XML files with
    an invalid name are members with a reason.
    `md5` is the MD5 of the zip, and `count` is the number of its entries.
    """
    md5 = _md5(task.view)
    findings: list[Finding] = []
    members: list[Member] = []
    try:
        entries, gaps = zip_format.read_contents(task.view, task.limits)
        _check_entries(entries)
        findings += [
            _make_trailing_finding(f"{gap.size} bytes at offset {gap.offset} of the zip belong to no member")
            for gap in gaps
        ]
        name_rules = make_name_rules(task.item.key, task.options)
        for entry in entries:
            members += _read_member(task.view, entry, name_rules, findings)
    except StepError as error:
        return Reading(error.reason, _findings_after_error(error, findings), md5=md5)
    has_usable_member = any(member.reason is None for member in members)
    reason = None if has_usable_member else Reason.EMPTY_ARCHIVE
    if reason:
        findings.insert(0, Finding(finding_kind(reason), f"none of the {len(entries)} entries can be used"))
    counts = {
        Reason.NOT_WANTED: sum(explain_left_out(entry) is not None for entry in entries if not entry.is_folder),
        Reason.TRAILING_BYTES: sum(finding.kind == Reason.TRAILING_BYTES.class_name for finding in findings),
    }
    left_out = tuple((why, number) for why, number in counts.items() if number)
    return Reading(reason, limit_findings(findings), tuple(members), count=len(entries), md5=md5, left_out=left_out)


def check_xsd(task: Task) -> Reading:
    """Check that an XML file is well-formed, valid and of the kind in its name; return a reading with its faults."""
    try:
        task.view.seek(0)
        content = task.view.read()  # its size was limited when it was opened
        text = xml.admit(content, task.limits)
        kind = _kind_in_name(task)
        _check_root(text, kind)
        findings = xsd.validate_admitted(text, find_schema(task, kind))
    except StepError as error:
        return Reading(error.reason, _findings_after_error(error, []))
    return Reading(Reason.NOT_VALID, tuple(findings)) if findings else _VALID_READING


def find_schema(task: Task, kind: DocumentKind) -> xsd.XmlSchema:
    """Return the compiled schema for this kind of document; raise StepError if it is missing or cannot be used."""
    schema_file: Resource | None = task.resources.get(kind.value)
    if schema_file is None:
        raise StepError(f"no schema is configured for {kind.value} files", Reason.NO_SCHEMA)
    return compile_schema(schema_file)


def compile_schema(schema_file: Resource) -> xsd.XmlSchema:
    """Compile a schema and its imports, unless they are compiled already; raise StepError if they are not valid."""
    # xsd.compile_schema has a cache by digest; this one also saves computing the digest for each document.
    compiled_file, compiled = _latest_schemas.get(schema_file.name, (None, None))
    if compiled is None or compiled_file is not schema_file:
        imports = {sibling.path.name: sibling.content for sibling in schema_file.siblings}
        sibling_digests = (f"{sibling.path.name} {sibling.digest}" for sibling in schema_file.siblings)
        digest = combine_digests([schema_file.digest, *sibling_digests])
        compiled = xsd.compile_schema(xsd.SchemaFiles(digest, schema_file.content, imports))
        _latest_schemas[schema_file.name] = (schema_file, compiled)
    return compiled


_latest_schemas: dict[str, tuple[Resource, xsd.XmlSchema]] = {}
"""A dict from the name of a resource to the last schema file that was compiled, and its compiled form."""


def _check_entries(entries: list[ZipMember]) -> None:
    for entry in entries:
        if entry.reason and entry.reason not in HARMLESS_REASONS:
            raise StepError(f"{entry.name[:200]!r}: {entry.refusal}", entry.reason)


def _read_member(view: BinaryIO, entry: ZipMember, name_rules: NameRules, findings: list[Finding]) -> list[Member]:
    """Inflate an entry unless it is a folder; return [its member], or [] if it is left out.

    For an entry that is left out or refused, a finding is added to `findings`. Raises StepError if an entry
    that is not left out is itself an archive, or if its size or checksum is wrong.
    """
    hasher = Hasher("md5")
    left_out_finding = explain_left_out(entry)
    entry_to_inflate = entry if entry.reason is None else entry._replace(reason=None)
    if not entry.is_folder:
        inflated = zip_format.open_inflated(view, entry_to_inflate)
        for block_number, block in enumerate(inflated.blocks()):
            if not block_number and not left_out_finding and zip_format.is_archive_start(block):
                raise StepError(f"{entry.name[:200]!r} is itself an archive", Reason.NESTED_ARCHIVE)
            hasher.update(block)
        if inflated.surplus:
            message = f"{inflated.surplus} bytes follow the end of the deflate stream of {entry.name[:200]!r}"
            findings.append(_make_trailing_finding(message))
    if left_out_finding:
        findings.append(left_out_finding)
        return []
    member = name_rules.make_member(entry, hasher.digest(), hasher.hex("md5"))
    if member.reason:
        message = f"{entry.name[:200]!r}: {member.reason.meaning}"
        findings.append(Finding(finding_kind(member.reason), message, Level.WARN))
    return [member]


def _make_trailing_finding(message: str) -> Finding:
    return Finding(Reason.TRAILING_BYTES.class_name, message, Level.WARN)


def _kind_in_name(task: Task) -> DocumentKind:
    name = task.item.member or task.item.key.rpartition("/")[2]
    match = names.compile_xml_pattern(task.options.get("xml_name") or names.XML_PATTERN).fullmatch(name)
    kind = _KINDS_BY_NAME.get(match["kind"]) if match else None
    if kind is None:
        raise StepError(f"{name[:200]!r} is not a valid name of an XML file", Reason.BAD_NAME)
    return kind


def _check_root(text: xml.XmlText, kind: DocumentKind) -> None:
    if text.root != ROOT_NAMES[kind]:
        xml.build_tree(text.content)  # raises the error for a text that is not well-formed, which matters more
        raise StepError(f"the root element is {text.root[:100]!r}, not {ROOT_NAMES[kind]!r}", Reason.WRONG_ROOT)


def _findings_after_error(error: StepError, findings: list[Finding]) -> tuple[Finding, ...]:
    error_finding = Finding(finding_kind(error.reason), str(error)[:1000], Level.ERROR, error.line, error.column)
    return limit_findings([error_finding, *findings])


def _md5(view: BinaryIO) -> str:
    md5 = hashlib.md5(usedforsecurity=False)
    view.seek(0)
    while block := view.read(BLOCK_BYTES):
        md5.update(block)
    return md5.hexdigest()
