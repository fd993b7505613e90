"""The tracker's rows that are not made from facts: its seed rows, and a workspace's declared centres and sources.

The ids of seed rows count from 1 in the order given here: the standard's tools compare ids, so the order of phases and
of statuses is part of the standard (tracker report; specification, section 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import urlsplit

from windrow.collections.drops import name as names
from windrow.collections.drops.database.projection_rows import Insert, RowChange, Seed
from windrow.collections.drops.phase import PHASE_MEANINGS
from windrow.collections.drops.settings import Centre
from windrow.model import Site, Source
from windrow.reasons import Reason

STATUSES = {
    "pending": ("the phase has not begun", "aaaaaa00"),
    "running": ("the phase is running", "0000ff00"),
    "done": ("the phase succeeded", "00ff0000"),
    "cancelled": ("an operator ended it", "77007700"),
    "failed": ("the phase ended with an error", "ff000000"),
}
"""A dict from the name of a status to its meaning and its colour (red, green, blue and alpha in hexadecimal)."""
PROTOCOLS = {
    "ftp": "FTP without encryption",
    "sftp": "files over SSH",
    "http": "HTTP without encryption",
    # The report has only the protocols above; windrow adds the following ones.
    "ftps": "FTP over TLS",
    "https": "HTTP over TLS",
    "file": "a folder of this machine",
}
SOURCE_STATES = {
    "available": "in use",
    "maintenance": "not used for a time",
    "removed": "removed from the configuration",
}
ACTIONS = {
    "add": "insert the records of the files",
    "edit": "update the records of the files",
    "delete": "remove the records that the files name",
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
"""A dict from the short name (ILAR code) of a standard centre to its iMITS name, full name and postal address."""


def protocol_id(scheme: str) -> int | None:
    """Return the id of a protocol, or None if the tracker does not have this protocol.

    >>> protocol_id("sftp"), protocol_id("https")
    (2, 5)
    """
    return list(PROTOCOLS).index(scheme) + 1 if scheme in PROTOCOLS else None


def action_id(folder: str) -> int:
    """Return the id of the action for a folder, which is `add`, `edit` or `delete`.

    >>> action_id("edit")
    2
    """
    return list(ACTIONS).index(folder) + 1


def make_centre_row(short_name: str, created_at: datetime) -> dict[str, object]:
    """Return the row of a standard centre, as a dict from column to value."""
    imits_name, full_name, address = CENTRES[short_name]
    return {
        "short_name": short_name,
        "imits_name": imits_name or None,
        "full_name": full_name,
        "email": "",
        "phone": "",
        "address": address or None,
        "is_active": True,
        "created": created_at,
    }


def make_seeds(created_at: datetime) -> Iterator[Seed]:
    """Yield the standard's seed rows and those for windrow's protocols; `created_at` is the centres' creation time."""
    vocabularies = {
        "phase": PHASE_MEANINGS,
        "source_protocol": PROTOCOLS,
        "resource_state": SOURCE_STATES,
        "processing_type": ACTIONS,
    }
    for table, vocabulary in vocabularies.items():
        for number, (short_name, meaning) in enumerate(vocabulary.items(), 1):
            yield Seed(table, number, "short_name", {"short_name": short_name, "description": meaning})
    for number, (short_name, (meaning, rgba)) in enumerate(STATUSES.items(), 1):
        values = {"short_name": short_name, "description": meaning, "rgba": rgba}
        yield Seed("a_status", number, "short_name", values)
    for number, name in enumerate(CENTRES, 1):
        yield Seed("centre", number, "short_name", make_centre_row(name, created_at))


_STATE_IDS = {word: number for number, word in enumerate(SOURCE_STATES, 1)}


@dataclass(frozen=True)
class Declarations:
    """The declared values that a projection needs in addition to the facts.

    `created_at` is the aware creation time of new centres and sources. `zip_name` and `xml_name` are patterns for
    names, as in `windrow.collections.drops.name`.
    """

    created_at: datetime
    centres: tuple[Centre, ...] = ()
    sources: tuple[Source, ...] = ()
    removed_sources: tuple[str, ...] = ()  # in the tracker, but no longer declared
    removed_centres: tuple[str, ...] = ()  # in the tracker, but no longer declared; in lower case
    former_sources: tuple[Source, ...] = ()  # on the ledger, but neither in the tracker nor declared
    former_centres: tuple[str, ...] = ()  # on the ledger, but no longer declared
    zip_name: str = names.ZIP_PATTERN
    xml_name: str = names.XML_PATTERN

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The short names of the standard's centres that are not declared, and of all declared centres."""
        declared_names = {centre.short_name.lower(): centre.short_name for centre in self.centres}
        return (*(name for name in CENTRES if name.lower() not in declared_names), *declared_names.values())

    def names_for(self, reason: Reason | None) -> tuple[str, ...]:
        """Return the centres that the name of a file may have which was refused for a reason, or None: accepted."""
        return self.names if reason else (*self.names, *self.former_centres)


def make_former_source(name: str, owner: str, url: str, path: str) -> Source:
    """Return a source that is not declared any more, as far as the ledger knows it: without a user and a secret.

    `url` is where it had the file whose path below its base was `path`.

    >>> make_former_source("far", "H", "ftp://a.example:2121/out/add/x.zip", "add/x.zip").site.address()
    'ftp://a.example:2121/out/'
    """
    scheme, _, location = url.removesuffix(path).partition("://")
    authority, slash, base = location.partition("/")
    parts = urlsplit(f"//{authority}")
    return Source(name, "drops", Site(scheme, parts.hostname or "", parts.port, base=slash + base), owner)


def make_declared_rows(declarations: Declarations) -> list[RowChange]:
    """Return changes that insert or update rows of centres and sources. For a secret, only its location is written."""
    return [*_make_centre_rows(declarations), *_make_source_rows(declarations)]


def _make_centre_rows(declarations: Declarations) -> Iterator[RowChange]:
    created_at = tracker_time(declarations.created_at)
    centres_of_sources = {source.owner.lower() for source in declarations.sources}
    for short_name in CENTRES:
        # A centre that was declared inactive and is not declared now is active again if it has a source.
        active_again = {"is_active": True} if short_name.lower() in centres_of_sources else {}
        values = make_centre_row(short_name, created_at)
        yield RowChange("centre", short_name.lower(), active_again, initial_values=values, insert=Insert.AGAIN)
    for short_name in declarations.removed_centres:
        yield RowChange("centre", short_name, {"is_active": False}, insert=Insert.NEVER)
    for short_name in declarations.former_centres:
        initial_values = {"short_name": short_name, "full_name": "", "email": "", "created": created_at}
        yield RowChange("centre", short_name.lower(), {"is_active": False}, initial_values=initial_values)
    for centre in declarations.centres:
        declared_texts = {
            "full_name": centre.full_name,
            "email": centre.email,
            "phone": centre.phone,
            "address": centre.address,
            "imits_name": centre.imits_name,
        }
        values = {column: text for column, text in declared_texts.items() if text}
        values["is_active"] = centre.is_active
        initial_values = {"short_name": centre.short_name, "full_name": "", "email": "", "created": created_at}
        row_key = centre.short_name.lower()
        yield RowChange("centre", row_key, values, initial_values=initial_values, insert=Insert.AGAIN)


def _make_source_rows(declarations: Declarations) -> Iterator[RowChange]:
    placed_sources = [
        *((source, _state_id(source), Insert.AGAIN) for source in declarations.sources),
        *((source, _STATE_IDS["removed"], Insert.NEW) for source in declarations.former_sources),
    ]
    for source, state_id, insert in placed_sources:
        site = source.site
        secret = site.secret or site.key
        values = {
            "protocol_id": protocol_id(site.scheme),
            "hostname": f"{site.host}:{site.port}" if site.port else site.host,
            "username": site.username,
            "accesskey": secret.place if secret else "",
            "base_path": _end_with_slash(site.base),
            "state_id": state_id,
        }
        references = {"centre_id": ("centre", source.owner.lower())}
        initial_values = {"created": tracker_time(declarations.created_at)}
        yield RowChange("file_source", source.name, values, references, initial_values, insert=insert)
    for name in declarations.removed_sources:
        yield RowChange("file_source", name, {"state_id": _STATE_IDS["removed"]}, insert=Insert.NEVER)


def _state_id(source: Source) -> int:
    """Return the id of a source's state: as declared, or else `available` if it is active and `maintenance` if not."""
    return _STATE_IDS[source.options.get("state") or ("available" if source.active else "maintenance")]


def _end_with_slash(base: str) -> str:
    """Return a base path with a slash at its end, unless it is empty: the standard's readers append a folder's name."""
    return base if not base or base.endswith("/") else f"{base}/"


def tracker_time(moment: datetime) -> datetime:
    """Return a time as the tracker's tables contain it: in UTC without a zone, in whole seconds.

    >>> from datetime import UTC
    >>> tracker_time(datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
    datetime.datetime(2024, 1, 2, 3, 4, 5)
    """
    return (moment - (moment.utcoffset() or moment - moment)).replace(tzinfo=None, microsecond=0)
