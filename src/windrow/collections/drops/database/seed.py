"""The rows that the tracker begins with: its phases, statuses, protocols, states, actions and centres.

Ids count from 1 in the order given here: the standard's tools compare ids, so that the order of
phases and of statuses is part of the standard (tracker report; specification, section 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from windrow.collections.drops.phase import MEANINGS
from windrow.stores.projected_rows import Seed

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
    """Return the id of a protocol, None for one that the tracker does not know.

    >>> protocol("sftp"), protocol("https")
    (2, 5)
    """
    return list(PROTOCOLS).index(scheme) + 1 if scheme in PROTOCOLS else None


def action(folder: str) -> int:
    """Return the id of what is to be done with the files of a folder.

    >>> action("edit")
    2
    """
    return list(ACTIONS).index(folder) + 1


def centre(short_name: str, created: datetime) -> dict[str, object]:
    """Return the whole row of a centre that the standard knows."""
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
    """Yield every row, table by table; `created` is when the centres were put on record."""
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
