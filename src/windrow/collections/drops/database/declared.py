"""What a workspace declares of centres and file sources, for the tracker's tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Protocol

from windrow.collections.drops import name as names
from windrow.collections.drops.database.seed import CENTRES, STATES, centre, protocol
from windrow.model import Source
from windrow.stores.projected_rows import RowMaking, RowPut

_STATES = {word: number for number, word in enumerate(STATES, 1)}


class DeclaredCentre(Protocol):
    """A centre as the workspace declares it; an empty text says nothing."""

    @property
    def short_name(self) -> str:
        """Return the code that its files begin with."""
        ...

    @property
    def full_name(self) -> str:
        """Return its name in full."""
        ...

    @property
    def email(self) -> str:
        """Return whom to write to."""
        ...

    @property
    def phone(self) -> str:
        """Return its number with country and area."""
        ...

    @property
    def address(self) -> str:
        """Return where it is."""
        ...

    @property
    def imits_name(self) -> str:
        """Return its name at iMITS."""
        ...

    @property
    def is_active(self) -> bool:
        """Tell whether its sources are crawled."""
        ...


@dataclass(frozen=True)
class Declared:
    """The declared values that a projection needs beside the facts.

    `gone` are sources that the ledger knows and the workspace declares no more, `closed` such centres
    of the tracker (in lower case); `at` is the time
    that new centres and sources get as theirs (aware). Patterns: as for `windrow.collections.drops.name`.
    """

    at: datetime
    centres: tuple[DeclaredCentre, ...] = ()
    sources: tuple[Source, ...] = ()
    gone: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    zip_name: str = names.ZIP
    xml_name: str = names.XML

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the short names of all centres: the standard's, and those of the workspace."""
        own = {one.short_name.lower(): one.short_name for one in self.centres}
        return (*(name for name in CENTRES if name.lower() not in own), *own.values())


def declare(declared: Declared) -> list[RowPut]:
    """Return the rows of `centre` and `file_source`: declared values, brought up to date.

    The secret's *place* is written, never the secret.
    """
    return [*_centres(declared), *_sources(declared)]


def _centres(declared: Declared) -> Iterator[RowPut]:
    at = moment(declared.at)
    asked = {source.owner.lower() for source in declared.sources}
    for name in CENTRES:
        # One that was declared inactive once, and is no more, is asked again: the table must say so.
        active = {"is_active": True} if name.lower() in asked else {}
        yield RowPut("centre", name.lower(), active, once=centre(name, at), make=RowMaking.AGAIN)
    for name in declared.closed:
        yield RowPut("centre", name, {"is_active": False}, make=RowMaking.NEVER)
    for one in declared.centres:
        said = {
            "full_name": one.full_name,
            "email": one.email,
            "phone": one.phone,
            "address": one.address,
            "imits_name": one.imits_name,
        }
        values = {name: value for name, value in said.items() if value}
        once = {"short_name": one.short_name, "full_name": "", "email": "", "created": at}
        key = one.short_name.lower()
        yield RowPut("centre", key, {**values, "is_active": one.is_active}, once=once, make=RowMaking.AGAIN)


def _sources(declared: Declared) -> Iterator[RowPut]:
    for source in declared.sources:
        site = source.site
        place = site.secret or site.key
        values = {
            "protocol_id": protocol(site.scheme),
            "hostname": f"{site.host}:{site.port}" if site.port else site.host,
            "username": site.username,
            "accesskey": place.place if place else "",
            "base_path": _glued(site.base),
            "state_id": _state(source),
        }
        refs = {"centre_id": ("centre", source.owner.lower())}
        once = {"created": moment(declared.at)}
        yield RowPut("file_source", source.name, values, refs, once, make=RowMaking.AGAIN)
    for name in declared.gone:
        yield RowPut("file_source", name, {"state_id": _STATES["removed"]}, make=RowMaking.NEVER)


def _state(source: Source) -> int:
    """Return the state that a source declares: one at an inactive centre is not asked, and available all the same."""
    return _STATES[source.options.get("state") or ("available" if source.active else "maintenance")]


def _glued(base: str) -> str:
    """End a base as the standard's readers need it: they put a folder's name right behind it."""
    return base if not base or base.endswith("/") else f"{base}/"


def moment(at: datetime) -> datetime:
    """Return a time as the tracker's tables hold it: UTC without a zone, whole seconds.

    >>> from datetime import UTC
    >>> moment(datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
    datetime.datetime(2024, 1, 2, 3, 4, 5)
    """
    return (at - (at.utcoffset() or at - at)).replace(tzinfo=None, microsecond=0)
