"""The pen that writes facts: one transaction's worth, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from windrow.engine.ledger.moment import now, spell
from windrow.engine.ledger.query import queries
from windrow.model import Fetched, Finding, Found, Kept, Member, Offer, Reading, Status, Visit
from windrow.reasons import Reason

_WIDTH = {
    "session": 4, "session_end": 4, "task": 6, "task_end": 6, "item": 14, "listing": 10, "refusal": 7,
    "fetch": 6, "fetch_end": 21, "reading": 10, "move": 8, "finding": 10, "host": 6, "visit": 23,
}  # fmt: skip
_WIDTH |= {"tombstone": 9, "tombstone_end": 8}
_INSERT = {table: f"INSERT INTO {table} VALUES ({','.join('?' * width)})" for table, width in _WIDTH.items()}
_INSERT["refusal"] += " ON CONFLICT DO NOTHING"
_INSERT["standing"] = (
    "INSERT INTO standing VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (item) DO UPDATE SET fetch = excluded.fetch,"
    " phase = excluded.phase, status = excluded.status, reason = excluded.reason, since = excluded.since"
)
_INSERT["moved"] = "UPDATE standing SET phase = ?, status = ?, reason = ?, since = ? WHERE item = ?"
_INSERT["fetched"] = "UPDATE standing SET fetch = ? WHERE item = ?"
_INSERT["offering"] = (
    "INSERT INTO offering VALUES (?,?,?,?,?,?,?) ON CONFLICT (source, item) DO UPDATE SET"
    " path = excluded.path, present = excluded.present, size = excluded.size,"
    " modified = excluded.modified, sidecar = excluded.sidecar"
)
_INSERT["address"] = (
    # what was only known from elsewhere (a pause of -1) becomes due when a crawl of ours finds it
    "INSERT INTO address VALUES (?,?,?,?,?,0,0,0,0,?) ON CONFLICT (digest) DO UPDATE SET via = excluded.via,"
    " place = excluded.place, due = 0, pause = 0 WHERE pause = -1"
)
_INSERT["known"] = (
    "INSERT INTO address (digest, host, url, via, place, due, pause, capture, failures)"
    " VALUES (?,?,?,0,?,NULL,-1,0,0) ON CONFLICT DO NOTHING"
)
_INSERT["intake"] = "INSERT INTO intake VALUES (?,?,?,?,0)"
_INSERT["intake_at"] = "UPDATE intake SET place_offset = ? WHERE item = ?"
_INSERT["intake_named"] = "INSERT INTO intake_name VALUES (?,?) ON CONFLICT DO NOTHING"
_INSERT["intake_waits"] = "INSERT INTO intake_waiting VALUES (?,?,?) ON CONFLICT DO NOTHING"
_INSERT["intake_waited"] = "DELETE FROM intake_waiting WHERE item = ? AND place_offset = ?"
_INSERT["payload"] = "INSERT INTO payload VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING"
_INSERT["host_taken"] = "UPDATE host SET source = ? WHERE seq = ?"
_INSERT["visited"] = (
    "UPDATE address SET due = ?, pause = ?, failures = ?, capture = coalesce(?, capture) WHERE digest = ?"
)
_INSERT["hinted"] = queries()["hinted"]
_INSERT["rest"] = "INSERT INTO rest VALUES (?, ?) ON CONFLICT (host) DO UPDATE SET until = max(until, excluded.until)"


def _capture(kept: Kept | None) -> tuple[Any, ...]:
    """Spell what was kept, and where, as fetches and visits have it in their rows."""
    if kept is None:
        return ("", None, "", None, None, 0)
    return (kept.digest, kept.size, *kept.place, int(kept.revisit))


class RunPen:
    """Append facts about runs; rows are gathered, and written together at `flush`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Take up the numbering where it stands; `connection` is in a transaction."""
        self._connection = connection
        self._seq: int = connection.execute(queries()["seq"]).fetchone()[0]
        self._rows: dict[str, list[Any]] = {table: [] for table in _INSERT}
        self.at = now()

    @property
    def at(self) -> datetime:
        """The moment that all facts of this transaction bear."""
        return self._moment

    @at.setter
    def at(self, moment: datetime) -> None:
        self._moment, self._at = moment, spell(moment)

    def _add(self, table: str, *values: Any) -> int:
        self._seq += 1
        self._rows[table].append((self._seq, self._at, *values))
        return self._seq

    def flush(self) -> None:
        """Write what was gathered."""
        for table, rows in self._rows.items():
            if rows:
                self._connection.executemany(_INSERT[table], rows)
                rows.clear()
        self._connection.execute(queries()["set_seq"], (self._seq,))

    def session_opened(self, holder: str, command: str) -> int:
        """Begin a session."""
        return self._add("session", holder, command)

    def session_closed(self, session: int, outcome: int) -> int:
        """End a session with its exit code."""
        return self._add("session_end", session, outcome)

    def task_opened(self, session: int, collection: str, source: str, phase: int) -> int:
        """Begin one phase of one source."""
        return self._add("task", session, collection, source, phase)

    def task_closed(self, task: int, reason: Reason | None, comment: str, *, failed: bool) -> int:
        """End it."""
        return self._add("task_end", task, int(failed), reason, comment)


class CrawlPen(RunPen):
    """Append facts about crawls."""

    def host_made(self, session: int, collection: str, source: str, origin: str) -> int:
        """Put an origin on record that a source's crawl may ask."""
        return self._add("host", session, collection, source, origin)

    def addresses(self, host: int, via: int, found: Iterable[Found]) -> None:
        """Put addresses on record; those that are known stay as they are."""
        self._rows["address"] += [(one.digest, host, one.url, via, one.place, one.kind) for one in found]

    def hinted(self, found: Iterable[Found], rest: int) -> None:
        """Make addresses due that are said to have changed since their last visit, `rest` seconds after it at least."""
        self._rows["hinted"] += [
            {"digest": one.digest, "rest": rest, "hint": spell(one.hinted)} for one in found if one.hinted
        ]

    def rested(self, host: int, until: int) -> None:
        """Note until when a host asked to be left alone, in seconds since 1970."""
        self._rows["rest"].append((host, until))

    def visited(self, session: int, host: int, visit: Visit, again: tuple[int | None, int, int] | None) -> int:
        """Put a visit on record; `again` is when its address is due, its pause and its failures in a row."""
        kept = visit.kept
        told = (spell(visit.started), round(visit.seconds, 6), visit.status, visit.reason, visit.message)
        asked = (host, visit.digest, visit.kind, int(visit.allowed))
        url = "" if visit.digest else visit.url
        said = (*visit.validators, visit.location, url, kept.mime if kept else "")
        seq = self._add("visit", session, *asked, *told, *_capture(kept), *said)
        if again is not None:
            contentful = seq if kept and visit.status == 200 else None
            self._rows["visited"].append((*again, contentful, visit.digest))
        return seq

    def due_again(self, hosts: Iterable[int]) -> int:
        """Make the addresses of hosts due, after those that were never asked; return how many."""
        self.flush()
        text = "UPDATE address SET due = 1 WHERE host = ? AND due > 1"
        return sum(self._connection.execute(text, (host,)).rowcount for host in hosts)

    def due_at(self, digests: Iterable[int], due: int | None) -> None:
        """Have addresses asked at a time (seconds since 1970; 1: next), or never again."""
        self.flush()
        self._connection.executemany("UPDATE address SET due = ? WHERE digest = ?", [(due, one) for one in digests])


class BurialPen(CrawlPen):
    """Append facts about what is taken down."""

    def tombstone_set(self, session: int, collection: str, target: tuple[str, int, int], said: tuple[str, str]) -> int:
        """Say that a target (its name, its address, its host) is taken down, by whom and why."""
        return self._add("tombstone", session, collection, *target, *said)

    def tombstone_ended(
        self, session: int, tombstone: int, event: str, counts: tuple[int, int, int] = (0, 0, 0)
    ) -> int:
        """Say that it is `done`, with counts of captures, their bytes, and records, or that it is `lifted`."""
        return self._add("tombstone_end", session, tombstone, event, *counts)


class IntakePen(BurialPen):
    """Append facts about WARC files of other makers."""

    def intake(self, item: int, source: str, warc: str, size: int) -> None:
        """Put a file on record, none of its records yet."""
        self._rows["intake"].append((item, source, warc, size))

    def intake_at(self, item: int, offset: int) -> None:
        """Note that all its records before a place are on record."""
        self._rows["intake_at"].append((offset, item))

    def intake_named(self, item: int, name: str) -> None:
        """Note what it is called elsewhere."""
        self._rows["intake_named"].append((item, name[:1024]))

    def payload(self, spelled: str, kept: Kept) -> None:
        """Note where bytes lie that revisits may refer to; the first place counts."""
        self._rows["payload"].append((spelled, kept.digest, kept.size, *kept.place))

    def intake_waits(self, item: int, offset: int, spelled: str) -> None:
        """Let a revisit wait for its bytes."""
        self._rows["intake_waits"].append((item, offset, spelled))

    def intake_waited(self, item: int, offset: int) -> None:
        """End that."""
        self._rows["intake_waited"].append((item, offset))

    def known(self, host: int, found: Found) -> None:
        """Put an address on record that is not due."""
        self._rows["known"].append((found.digest, host, found.url, found.place))

    def host_taken(self, host: int, source: str) -> None:
        """Let a source crawl an origin that was only known from elsewhere."""
        self._rows["host_taken"].append((source, host))


class Pen(IntakePen):
    """Append facts within a transaction of the ledger; each method returns the new fact's seq."""

    def item_made(
        self, session: int, collection: str, kind: str, key: str, *, rank: str = "", owner: str = "",
        parent: int | None = None, fetch: int = 0, member: Member | None = None,
        size: int | None = None, state: tuple[int, Status] = (1, Status.PENDING),
        reason: Reason | None = None,
    ) -> int:  # fmt: skip
        """Put a thing on record with its first state."""
        digest, name, md5 = (member.digest, member.name, member.md5) if member else ("", "", "")
        size = member.size if member else size
        values = (collection, kind, key, parent, owner, fetch, digest, name, size, md5, rank)
        item = self._add("item", session, *values)
        standing = (item, collection, kind, parent, fetch, rank, *state, reason, item)
        self._rows["standing"].append(standing)
        self._add("move", session, item, *state, reason, "")
        return item

    def listed(self, session: int, source: str, item: int, offer: Offer, event: str) -> int:
        """Note that a source began to offer an item, changed what it says of it, or stopped."""
        modified = spell(offer.modified) if offer.modified else None
        said = (offer.size, modified, offer.sidecar)
        self._rows["offering"].append((source, item, offer.path, int(event != "gone"), *said))
        return self._add("listing", session, source, item, offer.path, event, *said)

    def refused(self, session: int, source: str, path: str, digest: str, reason: Reason) -> int:
        """Note an entry that no table can hold; once per source, path and reason."""
        return self._add("refusal", session, source, path, digest, reason)

    def fetch_begun(self, session: int, item: int, source: str, path: str, at: datetime) -> int:
        """Begin an attempt; the item's children are from now on those of this fetch."""
        self._seq += 1
        self._rows["fetch"].append((self._seq, spell(at), session, item, source, path))
        self._rows["fetched"].append((self._seq, item))
        return self._seq

    def fetch_ended(self, fetch: int, item: int, source: str, got: Fetched) -> int:
        """End an attempt, with the capture where there is one."""
        kept = got.kept
        told: tuple[Any, ...] = ("", "")
        if kept:
            told = (spell(kept.at) if kept.at else "", kept.mime)
        line = (round(got.seconds, 6), got.status, got.received, got.reason, got.message)
        return self._add("fetch_end", fetch, item, source, *line, *_capture(kept), *got.validators, got.checksum, *told)

    def read(self, session: int, item: int, step: tuple[str, str], digest: str, reading: Reading) -> int:
        """Note what a step (its phase and version) made of a document."""
        told = (reading.reason, reading.count, reading.md5)
        return self._add("reading", session, item, *step, digest, *told)

    def moved(
        self,
        session: int,
        item: int,
        state: tuple[int, Status],
        reason: Reason | None = None,
        message: str = "",
    ) -> int:
        """Move an item to a state."""
        seq = self._add("move", session, item, *state, reason, message)
        self._rows["moved"].append((*state, reason, seq, item))
        return seq

    def found(self, session: int, item: int, phase: int, findings: Iterable[Finding]) -> None:
        """Put findings on record."""
        for one in findings:
            self._add("finding", session, item, phase, one.kind, one.level, one.message, one.line, one.column)
