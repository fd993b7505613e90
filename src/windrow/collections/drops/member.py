"""What a zip's entries are to this collection: XML files to follow, or things left out by rule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from windrow.collections.drops import name as names
from windrow.collections.drops.discover import FOLDERS, declared_centres
from windrow.collections.drops.name import DocumentKind, XmlName, ZipName
from windrow.formats.zip import ZipMember
from windrow.model import Finding, Item, Level, Member
from windrow.reasons import Reason

SUFFIX = ".xml"
TOLD = 1000
"""Findings of one zip that are told one by one."""


class Rules(NamedTuple):
    """What decides about an entry: the zip it is in, the declared centres, the names' pattern."""

    zip: ZipName | None
    centres: tuple[str, ...]
    pattern: str
    action: int = 0  # its place among add, edit, delete

    def member(self, entry: ZipMember, digest: str, md5: str) -> Member:
        """Return the XML file that an entry is, with the reason why it is not to be read, if any."""
        if entry.reason:
            return Member(entry.name, entry.size, digest, md5, reason=entry.reason)
        found = names.read_xml_name(entry.name, self.centres, self.pattern)
        if isinstance(found, Reason):
            return Member(entry.name, entry.size, digest, md5, reason=found)
        return Member(entry.name, entry.size, digest, md5, found.kind, self.rank(found, entry.name))

    def rank(self, found: XmlName, name: str) -> str:
        """Return a text whose order is the order of loading.

        Specimens come before experiments; then by the zip's date and increment, what is to be done with
        it (add, edit, delete), the file's own date and increment, and its name.
        """
        date, inc = (str(self.zip.date), self.zip.inc) if self.zip else ("", 0)
        order = 0 if found.kind is DocumentKind.SPECIMEN else 1
        return f"{order}.{date}.{inc:020d}.{self.action}.{found.date}.{found.inc:020d}.{name}"


def announced(item: Item) -> str:
    """Return what kind of document an XML file's name announced, in short, from its rank."""
    return item.rank.partition(".")[0]


def sort_key(rank: str) -> str:
    """Return by what records are current, from the rank of their document: all but its kind.

    >>> sort_key("1.2026-01-12.00000000000000000003.0.2026-01-12.00000000000000000001.x.xml")
    '2026-01-12.00000000000000000003.0.2026-01-12.00000000000000000001.x.xml'
    """
    return rank.partition(".")[2]


def rules(key: str, options: Mapping[str, str]) -> Rules:
    """Read what an action's key (`add/ZIPNAME`) and the options say."""
    centres = tuple(declared_centres(options))
    found = names.read_zip_name(zip_name(key), centres, options.get("zip_name") or names.ZIP)
    folder = key.partition("/")[0]
    action = FOLDERS.index(folder) if folder in FOLDERS else 0
    return Rules(found if isinstance(found, ZipName) else None, centres, options.get("xml_name") or names.XML, action)


def zip_name(key: str) -> str:
    """Return the zip's name in a key.

    >>> zip_name("add/H.2012-11-20.03.impc.zip"), zip_name("add/A.zip/B.xml")
    ('H.2012-11-20.03.impc.zip', 'A.zip')
    """
    return key.split("/")[1] if "/" in key else key


def aside(entry: ZipMember) -> Finding | None:
    """Tell why an entry is left out by rule; None, if it is an XML file at the top of the zip."""
    shown = repr(entry.name[:200])
    if entry.reason is Reason.UNSAFE_NAME and "/" in entry.name:
        return Finding("UnsafeName", f"{shown} is left out: {Reason.UNSAFE_NAME.meaning}", Level.WARN)
    if entry.is_folder:
        return Finding("LeftOut", f"{shown} is a folder", Level.NOTE)
    if "/" in entry.name:
        return Finding("LeftOut", f"{shown} lies in a folder", Level.NOTE)
    if not entry.name.endswith(SUFFIX):
        return Finding("LeftOut", f"{shown} is not an XML file", Level.NOTE)
    return None


def told(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Keep the first findings; count the rest in a last one."""
    if len(findings) <= TOLD:
        return tuple(findings)
    rest = Finding("LeftOut", f"{len(findings) - TOLD} more findings", Level.NOTE)
    return (*findings[:TOLD], rest)


def kind_of(reason: Reason) -> str:
    """Name the general class of a refusal, as findings do.

    >>> kind_of(Reason.BOMB_RATIO), kind_of(Reason.NOT_WELL_FORMED)
    ('BombRatio', 'SyntaxError')
    """
    if reason is Reason.NOT_WELL_FORMED:
        return "SyntaxError"
    return "".join(word.capitalize() for word in re.split("_", reason.value))
