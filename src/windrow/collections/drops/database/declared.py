"""The rows that do not come from facts: the tracker's seed rows, and what a workspace declares.

Ids count from 1 in the order given here: the standard's tools compare ids, so that the order of
phases and of statuses is part of the standard (tracker report; specification, section 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from windrow.collections.drops import name as names
from windrow.collections.drops.database.projection_rows import RowMaking, RowPut, Seed
from windrow.collections.drops.phase import MEANINGS
from windrow.collections.drops.settings import Centre
from windrow.model import Source

STATUSES = {
    "pending": ("the phase is still to begin", "aaaaaa00"),
    "running": ("the phase is at work", "0000ff00"),
    "done": ("the phase went well", "00ff0000"),
    "cancelled": ("an operator ended it", "77007700"),
    "failed": ("the phase ended with an error", "ff000000"),
}
PROTOCOLS = {
    "ftp": "FTP, in the clear",
    "sftp": "files over SSH",
    "http": "HTTP, in the clear",
    # The report ends here; what follows is ours.
    "ftps": "FTP over TLS",
    "https": "HTTP over TLS",
    "file": "a folder of this machine",
}
STATES = {
    "available": "up, and crawled",
    "maintenance": "off for a while",
    "removed": "gone for good",
}
ACTIONS = {
    "add": "insert what the files hold",
    "edit": "update what the files hold",
    "delete": "remove what the files name",
}
CENTRES = {
    "Bcm": ("", "Baylor College of Medicine", ""),
    "Gmc": ("", "Helmholtz Zentrum Muenchen", ""),
    "H": ("HARWELL", "MRC Harwell", "Harwell Campus, Oxfordshire OX11 0RD, United Kingdom"),
    "Ics": ("ICS", "Institut Clinique de la Souris", ""),
    "J": ("JAX", "The Jackson Laboratory", ""),
    "Krb": ("", "Korea Research Institute of Bioscience & Biotechnology", ""),
    "Ning": ("", "Nanjing University", ""),
    "Rbrc": ("", "RIKEN Tsukuba Institute, BioResource Center", ""),
    "Tcp": ("", "The Toronto Centre for Phenogenomics", ""),
    "Ucd": ("", "University of California, Davis", ""),
    "Wtsi": (
        "WTSI",
        "Wellcome Trust Sanger Institute",
        "Wellcome Trust Genome Campus, Hinxton, Cambridge CB10 1SA, United Kingdom",
    ),
}
"""Short name (ILAR code): the name at iMITS, the full name, the postal address."""


def protocol(scheme: str) -> int | None:
    """Return the id of a protocol; None if the tracker does not have that protocol.

    >>> protocol("sftp"), protocol("https")
    (2, 5)
    """
    return list(PROTOCOLS).index(scheme) + 1 if scheme in PROTOCOLS else None


def action(folder: str) -> int:
    """Return the id of the action of a folder: `add`, `edit` or `delete`.

    >>> action("edit")
    2
    """
    return list(ACTIONS).index(folder) + 1


def centre(short_name: str, created: datetime) -> dict[str, object]:
    """Return the whole row of one of the standard's centres."""
    imits_name, full_name, address = CENTRES[short_name]
    return {
        "short_name": short_name,
        "imits_name": imits_name or None,
        "full_name": full_name,
        "email": "",
        "phone": "",
        "address": address or None,
        "is_active": True,
        "created": created,
    }


def seeds(created: datetime) -> Iterator[Seed]:
    """Yield every seed row, table by table; `created` is the creation time of the centres."""
    lists = {
        "phase": MEANINGS,
        "source_protocol": PROTOCOLS,
        "resource_state": STATES,
        "processing_type": ACTIONS,
    }
    for table, words in lists.items():
        for number, (word, meaning) in enumerate(words.items(), 1):
            yield Seed(table, number, "short_name", {"short_name": word, "description": meaning})
    for number, (word, (meaning, rgba)) in enumerate(STATUSES.items(), 1):
        values = {"short_name": word, "description": meaning, "rgba": rgba}
        yield Seed("a_status", number, "short_name", values)
    for number, name in enumerate(CENTRES, 1):
        yield Seed("centre", number, "short_name", centre(name, created))


_STATES = {word: number for number, word in enumerate(STATES, 1)}


@dataclass(frozen=True)
class Declared:
    """The declared values that a projection needs beside the facts.

    `gone` are sources of the ledger that the workspace does not declare any more, `closed` such centres
    of the tracker (in lower case); `at` (aware) is the creation time of new centres and sources.
    Patterns: as for `windrow.collections.drops.name`.
    """

    at: datetime
    centres: tuple[Centre, ...] = ()
    sources: tuple[Source, ...] = ()
    gone: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    zip_name: str = names.ZIP
    xml_name: str = names.XML

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the short names of all centres: the standard's, and those of the workspace."""
        declared_names = {centre.short_name.lower(): centre.short_name for centre in self.centres}
        return (*(name for name in CENTRES if name.lower() not in declared_names), *declared_names.values())


def declare(declared: Declared) -> list[RowPut]:
    """Return the rows of `centre` and `file_source`: declared values, brought up to date.

    The secret's *place* is written, never the secret.
    """
    return [*_centres(declared), *_sources(declared)]


def _centres(declared: Declared) -> Iterator[RowPut]:
    created = moment(declared.at)
    owners = {source.owner.lower() for source in declared.sources}
    for name in CENTRES:
        # A centre that was declared inactive, and is not any more, is asked again: the table must say so.
        active = {"is_active": True} if name.lower() in owners else {}
        yield RowPut("centre", name.lower(), active, once=centre(name, created), make=RowMaking.AGAIN)
    for name in declared.closed:
        yield RowPut("centre", name, {"is_active": False}, make=RowMaking.NEVER)
    for own_centre in declared.centres:
        texts = {
            "full_name": own_centre.full_name,
            "email": own_centre.email,
            "phone": own_centre.phone,
            "address": own_centre.address,
            "imits_name": own_centre.imits_name,
        }
        values = {name: value for name, value in texts.items() if value}
        initial = {"short_name": own_centre.short_name, "full_name": "", "email": "", "created": created}
        key = own_centre.short_name.lower()
        yield RowPut("centre", key, {**values, "is_active": own_centre.is_active}, once=initial, make=RowMaking.AGAIN)


def _sources(declared: Declared) -> Iterator[RowPut]:
    for source in declared.sources:
        site = source.site
        place = site.secret or site.key
        values = {
            "protocol_id": protocol(site.scheme),
            "hostname": f"{site.host}:{site.port}" if site.port else site.host,
            "username": site.username,
            "accesskey": place.place if place else "",
            "base_path": _end_with_slash(site.base),
            "state_id": _state(source),
        }
        refs = {"centre_id": ("centre", source.owner.lower())}
        initial = {"created": moment(declared.at)}
        yield RowPut("file_source", source.name, values, refs, initial, make=RowMaking.AGAIN)
    for name in declared.gone:
        yield RowPut("file_source", name, {"state_id": _STATES["removed"]}, make=RowMaking.NEVER)


def _state(source: Source) -> int:
    """Return the id of a source's declared state; it does not depend on its centre being active."""
    return _STATES[source.options.get("state") or ("available" if source.active else "maintenance")]


def _end_with_slash(base: str) -> str:
    """Add a slash to the end of a base address: the standard's readers append a folder's name to it."""
    return base if not base or base.endswith("/") else f"{base}/"


def moment(at: datetime) -> datetime:
    """Return a time as the tracker's tables hold it: UTC without a zone, whole seconds.

    >>> from datetime import UTC
    >>> moment(datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
    datetime.datetime(2024, 1, 2, 3, 4, 5)
    """
    return (at - (at.utcoffset() or at - at)).replace(tzinfo=None, microsecond=0)
