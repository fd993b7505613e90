"""The first two readings of a drop: what a zip holds, and whether an XML file is valid.

Both are functions from a task to a reading. Faults of a document are returned as the
reading's reason and findings, not raised.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple

from windrow.collections.drops import name as names
from windrow.collections.drops.collection import FOLDERS, declared_centres
from windrow.collections.drops.name import DocumentKind, XmlName, ZipName
from windrow.contract import Task
from windrow.digest import Hasher, combine_digests
from windrow.errors import StepError
from windrow.formats import xml, xsd
from windrow.formats import zip as archive
from windrow.formats.inflate import BLOCK
from windrow.formats.zip import ZipMember
from windrow.model import Finding, Item, Level, Limits, Member, Reading, Resource
from windrow.reasons import Reason

SUFFIX = ".xml"
MOST_FINDINGS = 1000
"""Findings of one zip that are listed; the rest is counted."""


class Rules(NamedTuple):
    """The rules for an entry's name: its zip, the declared centres, the pattern."""

    zip: ZipName | None
    centres: tuple[str, ...]
    pattern: str
    action: int = 0  # the index of its folder in `FOLDERS`

    def member(self, entry: ZipMember, digest: str, md5: str) -> Member:
        """Return the member for an entry; if it must not be read, with the reason."""
        if entry.reason:
            return Member(entry.name, entry.size, digest, md5, reason=entry.reason)
        parsed = names.read_xml_name(entry.name, self.centres, self.pattern)
        if isinstance(parsed, Reason):
            return Member(entry.name, entry.size, digest, md5, reason=parsed)
        return Member(entry.name, entry.size, digest, md5, parsed.kind, self.rank(parsed, entry.name))

    def rank(self, parsed: XmlName, name: str) -> str:
        """Return a text whose order is the order of loading.

        Specimens come before experiments; then by the zip's date and increment, what is to be done with
        it (add, edit, delete), the file's own date and increment, and its name.
        """
        date, inc = (str(self.zip.date), self.zip.inc) if self.zip else ("", 0)
        order = 0 if parsed.kind is DocumentKind.SPECIMEN else 1
        return f"{order}.{date}.{inc:020d}.{self.action}.{parsed.date}.{parsed.inc:020d}.{name}"


def announced_kind(item: Item) -> str:
    """Return the kind in an XML file's rank: `0` specimen, `1` experiment."""
    return item.rank.partition(".")[0]


def sort_key(rank: str) -> str:
    """Return the key by which records are current: the rank of their document without its kind.

    >>> sort_key("1.2026-01-12.00000000000000000003.0.2026-01-12.00000000000000000001.x.xml")
    '2026-01-12.00000000000000000003.0.2026-01-12.00000000000000000001.x.xml'
    """
    return rank.partition(".")[2]


def rules(key: str, options: Mapping[str, str]) -> Rules:
    """Build the rules for the key of an action (`add/ZIPNAME`) and the options."""
    centres = tuple(declared_centres(options))
    parsed = names.read_zip_name(zip_name(key), centres, options.get("zip_name") or names.ZIP)
    folder = key.partition("/")[0]
    action = FOLDERS.index(folder) if folder in FOLDERS else 0
    return Rules(parsed if isinstance(parsed, ZipName) else None, centres, options.get("xml_name") or names.XML, action)


def zip_name(key: str) -> str:
    """Return the zip's name in a key.

    >>> zip_name("add/H.2012-11-20.03.impc.zip"), zip_name("add/A.zip/B.xml")
    ('H.2012-11-20.03.impc.zip', 'A.zip')
    """
    return key.split("/")[1] if "/" in key else key


def note_left_out(entry: ZipMember) -> Finding | None:
    """Return a finding that tells why an entry is left out; None if it is an XML file at the top of the zip."""
    quoted = repr(entry.name[:200])
    if entry.reason is Reason.UNSAFE_NAME and "/" in entry.name:
        return Finding("UnsafeName", f"{quoted} is left out: {Reason.UNSAFE_NAME.meaning}", Level.WARN)
    if entry.is_folder:
        return Finding("LeftOut", f"{quoted} is a folder", Level.NOTE)
    if "/" in entry.name:
        return Finding("LeftOut", f"{quoted} lies in a folder", Level.NOTE)
    if not entry.name.endswith(SUFFIX):
        return Finding("LeftOut", f"{quoted} is not an XML file", Level.NOTE)
    return None


def limit_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Keep the first `MOST_FINDINGS` findings; add one with the number of the others."""
    if len(findings) <= MOST_FINDINGS:
        return tuple(findings)
    rest = Finding("LeftOut", f"{len(findings) - MOST_FINDINGS} more findings are not listed", Level.NOTE)
    return (*findings[:MOST_FINDINGS], rest)


def finding_kind(reason: Reason) -> str:
    """Return the class of a reason, as findings name it.

    >>> finding_kind(Reason.BOMB_RATIO), finding_kind(Reason.NOT_WELL_FORMED)
    ('BombRatio', 'SyntaxError')
    """
    if reason is Reason.NOT_WELL_FORMED:
        return "SyntaxError"
    return "".join(word.capitalize() for word in re.split("_", reason.value))


ROOTS = {DocumentKind.SPECIMEN: "centreSpecimenSet", DocumentKind.EXPERIMENT: "centreProcedureSet"}
_KINDS = {kind.value: kind for kind in DocumentKind}
_VALID = Reading()  # shared, so that pickle sends it once for a batch of documents
HARMLESS = (Reason.NOT_A_FILE, Reason.UNSAFE_NAME)
"""Faults of one entry alone; any other one fails the whole zip."""


def unzip(task: Task) -> Reading:
    """Inflate every member of a zip once, and return the XML files in it.

    If the archive itself has a fault (it is cut off, encrypted or a bomb), nothing in it is used. Entries that are left
    out by rule are listed as findings; XML files with an invalid name are members with the reason. `md5` is the zip's
    own, `count` the number of its entries.
    """
    md5 = _md5(task.view)
    findings: list[Finding] = []
    members: list[Member] = []
    try:
        entries = archive.members(task.view, task.limits)
        _check_entries(entries)
        name_rules = rules(task.item.key, task.options)
        for entry in entries:
            members += _read_member(task.view, entry, name_rules, findings)
    except StepError as error:
        return Reading(error.reason, _put_first(error, findings), md5=md5)
    usable = any(member.reason is None for member in members)
    reason = None if usable else Reason.EMPTY_ARCHIVE
    if reason:
        findings.insert(0, Finding(finding_kind(reason), f"none of the {len(entries)} entries can be used"))
    return Reading(reason, limit_findings(findings), tuple(members), count=len(entries), md5=md5)


def check_xsd(task: Task) -> Reading:
    """Check an XML file: well-formed, of the kind its name says, valid by that kind's schema."""
    try:
        task.view.seek(0)
        content = task.view.read()  # `open_member` bounds it
        text = xml.admit(content, task.limits)
        kind = _kind_in_name(task)
        _check_root(text, kind)
        findings = xsd.check(text, schema(task, kind))
    except StepError as error:
        return Reading(error.reason, _put_first(error, []))
    return Reading(Reason.NOT_VALID, tuple(findings)) if findings else _VALID


def open_member(view: BinaryIO, name: str, limits: Limits) -> BinaryIO:
    """Open an XML file within its zip, seekable and read-only."""
    return archive.open_member(view, name, limits)


def schema(task: Task, kind: DocumentKind) -> xsd.XmlSchema:
    """Return the compiled schema of a kind of document; raise StepError if none is configured or it cannot be used."""
    sheet: Resource | None = task.resources.get(kind.value)
    if sheet is None:
        raise StepError(f"no schema is configured for {kind.value} files", Reason.NO_SCHEMA)
    return compile_schema(sheet)


def compile_schema(sheet: Resource) -> xsd.XmlSchema:
    """Compile a schema with the files that it imports; raise StepError if it cannot be used."""
    # Called for every document: the same object as before is not compiled again.
    cached = _last.get(sheet.name)
    if cached is None or cached[0] is not sheet:
        imports = {sibling.path.name: sibling.content for sibling in sheet.siblings}
        known_by = combine_digests(
            [sheet.digest, *(f"{sibling.path.name} {sibling.digest}" for sibling in sheet.siblings)]
        )
        cached = _last[sheet.name] = (sheet, xsd.load(xsd.Sheets(known_by, sheet.content, imports)))
    return cached[1]


_last: dict[str, tuple[Resource, xsd.XmlSchema]] = {}
"""The schema that was compiled last for each name."""


def _check_entries(entries: list[ZipMember]) -> None:
    """Raise StepError if an entry has a fault that is not in `HARMLESS`: then the whole zip is refused."""
    for entry in entries:
        if entry.reason and entry.reason not in HARMLESS:
            raise StepError(f"{entry.name[:200]!r}: {entry.reason.meaning}", entry.reason)


def _read_member(view: BinaryIO, entry: ZipMember, name_rules: Rules, findings: list[Finding]) -> list[Member]:
    """Read an entry to its end; return it if it is an XML file, otherwise add a finding that it is left out."""
    hasher = Hasher("md5")
    note = note_left_out(entry)
    readable = entry if entry.reason is None else entry._replace(reason=None)
    if not entry.is_folder:
        for number, block in enumerate(archive.blocks(view, readable)):
            if not number and not note and archive.is_archive(block):
                raise StepError(f"{entry.name[:200]!r} is itself an archive", Reason.NESTED_ARCHIVE)
            hasher.update(block)
    if note:
        findings.append(note)
        return []
    member = name_rules.member(entry, hasher.digest(), hasher.hex("md5"))
    if member.reason:
        message = f"{entry.name[:200]!r}: {member.reason.meaning}"
        findings.append(Finding(finding_kind(member.reason), message, Level.WARN))
    return [member]


def _kind_in_name(task: Task) -> DocumentKind:
    """Return the kind of document in an XML file's name; raise StepError if the name is not valid."""
    name = task.item.member or task.item.key.rpartition("/")[2]
    match = names.xml_pattern(task.options.get("xml_name") or names.XML).fullmatch(name)
    kind = _KINDS.get(match["kind"]) if match else None
    if kind is None:
        raise StepError(f"{name[:200]!r} does not follow the convention", Reason.BAD_NAME)
    return kind


def _check_root(text: xml.XmlText, kind: DocumentKind) -> None:
    """Raise StepError if the root element is not that of the kind in the file's name."""
    if text.root != ROOTS[kind]:
        xml.tree(text.content)  # what is not well-formed has no root to judge
        raise StepError(f"the root element is {text.root[:100]!r}, not {ROOTS[kind]!r}", Reason.WRONG_ROOT)


def _put_first(error: StepError, findings: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings so far, preceded by one for the fault that ended the reading."""
    end = Finding(finding_kind(error.reason), str(error)[:1000], Level.ERROR, error.line, error.column)
    return limit_findings([end, *findings])


def _md5(view: BinaryIO) -> str:
    """Return the MD5 of the whole view."""
    md5 = hashlib.md5(usedforsecurity=False)
    view.seek(0)
    while block := view.read(BLOCK):
        md5.update(block)
    return md5.hexdigest()
