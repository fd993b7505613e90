"""The versions of all addresses that were visited in a window of time or of visits, an address at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import NamedTuple

import sqlalchemy as sa

from windrow.stores.connect import READS, guarded
from windrow.stores.index.version import LIGHT, PageVersion
from windrow.stores.summary.join import LATEST, PAST

_CHUNK = 200
"""Addresses whose versions are read at once."""

_SEEN = """
SELECT o.url_id, u.str_url, o.at FROM windrow_observation o JOIN url u ON u.url_id = o.url_id
WHERE {where} ORDER BY o.url_id
"""
_PAST = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_past'"


class Timeline(NamedTuple):
    """The versions of an address in the order of time, and the times at which it was visited within the window."""

    url: str
    versions: list[PageVersion]
    visited: set[int]


def timelines(
    engine: sa.Engine, *, since: int | None = None, visits: tuple[int, int] | None = None
) -> Iterator[Timeline]:
    """Yield the addresses that were visited since a time (UNIX seconds), or by visits between two numbers.

    A database of an earlier version tells nothing: the next run brings it up to date.
    """
    with guarded(engine), engine.connect().execution_options(**READS, stream_results=True) as link, link.begin():
        if not link.exec_driver_sql(_PAST).scalar():
            return
        where = "o.at >= ?" if visits is None else "o.visit BETWEEN ? AND ?"
        values = (since or 0,) if visits is None else visits
        groups = groupby(link.exec_driver_sql(_SEEN.format(where=where), values), itemgetter(0))
        found = ((number, [(row[1], row[2]) for row in rows]) for number, rows in groups)
        while some := dict(islice(found, _CHUNK)):
            asked = (json.dumps(list(some)),)
            rows = [row for one in (PAST, LATEST) for row in link.exec_driver_sql(LIGHT.format(versions=one), asked)]
            versions: dict[int, list[PageVersion]] = {}
            for row in rows:
                versions.setdefault(row[0], []).append(PageVersion._make(row[1:]))
            for number, seen in some.items():
                told = sorted(versions.get(number, []), key=attrgetter("first", "end_or_never", "id"))
                yield Timeline(seen[0][0], told, {at for _, at in seen})
