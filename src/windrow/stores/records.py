"""A store of JSON records with their history, for collections whose standard has no tables of its own.

Every observation of a record is kept: its key, when its source says it was so, the visit, and the value. Versions are
no rows: they are what the observations of a key say in the order of time, so that the order in which these come makes
no difference, nor does it when one comes twice.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.contract import AttemptObservations, Observation, PendingAsk, Skip
from windrow.digest import digest, number
from windrow.query.parse import Query
from windrow.reasons import OWN_FAULTS, Reason
from windrow.stores.record_entries import FoundEntries
from windrow.stores.record_tables import (
    SCHEMA,
    forget_names,
    key_of,
    key_of_alias,
    keyed,
    record_of,
    rename,
    replace_surrogates,
    spell_time,
)
from windrow.stores.record_versions import (
    Change,
    RecordVersion,
    Skipped,
    adopt_completed,
    changed_versions,
    latest_values,
    note_completed,
    observed_by,
    versions,
    written_versions,
)
from windrow.stores.settled import adopt_sessions, note_earlier_sessions, note_sessions
from windrow.stores.sqlite import SqliteStore, close_on_failure

if TYPE_CHECKING:
    from windrow.stores.record_index import RecordIndex

_LATEST = """
SELECT o.value FROM observation o WHERE o.record = ? ORDER BY o.at DESC, o.visit DESC LIMIT 1
"""

_ORPHANS = "DELETE FROM value WHERE NOT EXISTS (SELECT 1 FROM observation o WHERE o.value = value.id)"
_CHUNK = 400


class VisitStatement(NamedTuple):
    """What a visit said of one thing: `json` is its record, empty where it is gone or where there is a `reason`."""

    visit: int
    key: str
    url: str
    source: str
    json: str
    reason: Reason | None = None
    message: str = ""
    aside: str = ""


class RecordStore(SqliteStore):
    """`windrow.engine.run.VersionStore` over one SQLite file."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file, making its tables."""
        super().__init__(path, SCHEMA, read_only=read_only)
        self._read_only = read_only
        self._writer = 0, 0  # a session, and up to which visit others had written before it
        if not read_only:
            with close_on_failure(self.close), self._guarded():
                if not self._meta("identity"):
                    row = ("identity", secrets.randbits(62) + 1)
                    self._connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", row)

    def _meta(self, name: str) -> int:
        found = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return int(found[0]) if found else 0

    # What the engine asks and writes.

    def read_by(self) -> str:
        """Return the version of the step by which the first records were read; empty where that is not known."""
        found = self._connection.execute("SELECT value FROM meta WHERE name = 'read_by'").fetchone()
        return str(found[0]).removeprefix("v") if found else ""

    def begin_by(self, version: str) -> None:
        """Note the version of the step by which an empty store is filled."""
        with self._writing():
            # Without a letter before it SQLite would make a number of "2.10", since the column is one of numbers.
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('read_by', ?)", (f"v{version}",))

    def checkpoint(self) -> int:
        """Return the number of the last visit that was settled, 0 at first."""
        return self._meta("checkpoint")

    def note_earlier_sessions(self, read: Callable[[], Mapping[int, int]]) -> None:
        """Note up to which visit earlier sessions wrote, as `read` says it, where no session is known here."""
        with self._writing():
            note_earlier_sessions(self._connection, read)

    def settle(self, entries: Sequence[Any], checkpoint: int, session: int = 0) -> None:
        """Write what visits said, up to a visit; what one of them said before is replaced, unless it was not read now.

        What changed by it belongs to the session; with number 0, to the one that writes next.
        """
        with self._writing():
            touched: set[int] = set()
            if session != self._writer[0]:
                self._writer = session, self.checkpoint() if session else 0
            for entry in entries:
                is_earlier = entry.visit <= self._writer[1]
                before = observed_by(self._connection, entry.visit) if is_earlier else {}
                touched |= self._settle_one(entry)
                if is_earlier:
                    note_completed(self._connection, entry.visit, session, before)
            note_sessions(self._connection, {session: checkpoint})
            self._note_touched(touched)
            self._connection.execute(
                "INSERT INTO meta VALUES ('checkpoint', ?)"
                " ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
                (checkpoint,),
            )

    def _settle_one(self, entry: AttemptObservations) -> set[int]:
        run = self._connection.execute
        waits = [tuple(one) for one in entry.results if isinstance(one, PendingAsk)]
        if waits:
            run("DELETE FROM waiting WHERE visit = ?", (entry.visit,))
            run("INSERT INTO waiting VALUES (?, ?)", (entry.visit, json.dumps(waits)))
            if run("SELECT 1 FROM observation WHERE visit = ?", (entry.visit,)).fetchone():
                return set()  # what the visit told before holds until the answers are there
            beside = [one for one in entry.results if isinstance(one, Observation) and one.value is not None]
            whole = [one._replace(key=replace_surrogates(one.key)) for one in beside]
            return set[int]().union(*(self._observe(entry, one) for one in whole))
        touched = {one for (one,) in run("SELECT record FROM observation WHERE visit = ?", (entry.visit,))}
        unread = any(isinstance(one, Skip) and one.reason in OWN_FAULTS for one in entry.results)
        for table in ("skipped", "waiting") if unread else ("observation", "skipped", "waiting"):
            run(f"DELETE FROM {table} WHERE visit = ?", (entry.visit,))
        for one in entry.results:
            if isinstance(one, Observation):
                key = key_of(self._connection, one) if one.value is None and one.names else one.key
                if key:
                    touched |= self._observe(entry, one._replace(key=replace_surrogates(key)))
            elif isinstance(one, Skip):
                reason, message = str(one.reason), replace_surrogates(one.message[:2000])
                told = (entry.visit, replace_surrogates(one.key), entry.url, reason, message)
                run("INSERT INTO skipped VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING", told)
        return touched

    def _observe(self, entry: AttemptObservations, one: Observation) -> set[int]:
        """Take an observation; return the records that it is of: one that moved is gone under its old key."""
        run = self._connection.execute
        record, key = record_of(self._connection, one)
        value = None
        if one.value is not None:
            told = keyed(one.value, one.key, key)
            spelled = replace_surrogates(json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
            text = replace_surrogates(one.text)
            name = digest(f"{spelled}\n{text}".encode())
            aside = replace_surrogates(json.dumps(one.aside, ensure_ascii=False, sort_keys=True)) if one.aside else ""
            run(
                "INSERT INTO value (digest, json, text, aside) VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
                (name, spelled, text, aside),
            )
            value = run("SELECT id FROM value WHERE digest = ?", (name,)).fetchone()[0]
        at, url = spell_time(one.at or entry.at), replace_surrogates(one.url or entry.url)
        moved = rename(self._connection, one.names, record) if value is not None and one.names else set()
        rows = [(old, at, entry.visit, entry.source, url) for old in moved]
        self._connection.executemany("INSERT INTO observation VALUES (?,?,?,NULL,?,?) ON CONFLICT DO NOTHING", rows)
        row = (record, at, entry.visit, value, entry.source, url)
        run("INSERT INTO observation VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE SET value = excluded.value", row)
        return {record} | moved

    def _note_touched(self, records: Iterable[int]) -> None:
        """Have the search index say what these records say now."""
        for record in records:
            if self._connection.execute(_LATEST, (record,)).fetchone() is None:
                forget_names(self._connection, record)
            self._connection.execute("INSERT INTO unindexed (record) VALUES (?)", (record,))

    def waiting(self, after: int) -> Mapping[int, Sequence[PendingAsk]]:
        """Return some visits after a given one whose step asked services, and was not taken with their answers yet."""
        text = "SELECT visit, asks FROM waiting WHERE visit > ? ORDER BY visit LIMIT 256"
        rows = self._connection.execute(text, (after,)).fetchall()
        return {visit: [PendingAsk(*load) for load in json.loads(asks)] for visit, asks in rows}

    def count_waiting(self) -> tuple[int, int]:
        """Count the visits that wait, and return the first of them, 0 where there is none."""
        with self._guarded():
            count, first = self._connection.execute("SELECT count(*), coalesce(min(visit), 0) FROM waiting").fetchone()
        return int(count), int(first)

    def waits_of(self, visits: Sequence[int]) -> dict[int, list[PendingAsk]]:
        """Return what visits wait for, of those that do; some hundreds of them at most."""
        text = f"SELECT visit, asks FROM waiting WHERE visit IN ({','.join('?' * len(visits))}) ORDER BY visit"
        with self._guarded():
            rows = self._connection.execute(text, [*visits]).fetchall()
        return {visit: [PendingAsk(*load) for load in json.loads(asks)] for visit, asks in rows}

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Remove values that no observation has any more, such as those of a visit that was told anew."""
        del at, pulse
        with self._writing():
            return self._connection.execute(_ORPHANS).rowcount

    def update_index(self, pulse: Callable[[], bool]) -> None:
        """Bring the search index up to date; `pulse` is called between, and may end it: the next search goes on."""
        with self._guarded():
            self._index().update(pulse)

    def make_index(self, pulse: Callable[[], object]) -> None:
        """Make the search index anew, so that nothing of what was removed stays in its files."""
        with self._guarded():
            self._index().begin_anew(pulse)

    def _index(self) -> RecordIndex:
        from windrow.stores.record_index import RecordIndex  # noqa: PLC0415 Tantivy, which most commands do without

        return RecordIndex(self.path, self._connection, read_only=self._read_only)

    # What people ask.

    def count(self) -> tuple[int, int]:
        """Count the records that are there now, and the versions of all."""
        with self._guarded():
            now = sum(self.count_by_source().values())
            versions = self._connection.execute("SELECT count(*) FROM history WHERE change <> 'same'").fetchone()[0]
        return int(now), int(versions)

    def history(self, key: str) -> list[RecordVersion]:
        """Return what was said of a record, oldest first."""
        # The number is looked up first: with a subquery in its place SQLite numbers all observations for each record.
        row = self._connection.execute("SELECT id FROM record WHERE key = ?", (key,)).fetchone()
        return list(self._versions("WHERE record = ? ORDER BY at, visit", row[0])) if row else []

    def versions(self) -> Iterator[RecordVersion]:
        """Yield every version of every record: what says the same as before is left out."""
        return self._versions("WHERE change <> 'same' ORDER BY key, at, visit")

    def _versions(self, rest: str, *values: Any) -> Iterator[RecordVersion]:
        with self._guarded():
            yield from versions(self._connection, rest, *values)

    def changed_versions(self, visits: tuple[int, int]) -> Iterator[Change]:
        """Yield what visits from one number to another said that is other than before, and what was said before it."""
        with self._guarded():
            yield from changed_versions(self._connection, visits)

    def written_versions(self, sessions: tuple[int, int]) -> Iterator[Change]:
        """Yield what sessions from one number to another wrote that is other than before, and what was said before."""
        with self._guarded():
            yield from written_versions(self._connection, sessions)

    def count_by_source(self) -> dict[str, int]:
        """Count the records that are there now, by the source that said so last."""
        text = """
            SELECT source, count(*) FROM (
                SELECT source, value, max(at || printf('%020d', visit)) FROM observation GROUP BY record
            ) WHERE value IS NOT NULL GROUP BY source
        """
        with self._guarded():
            return dict(self._connection.execute(text).fetchall())

    def statements(self, visits: Sequence[int]) -> list[VisitStatement]:
        """Return all that some visits said, in their order, what was skipped last; some hundreds of them at most."""
        marks = ",".join("?" * len(visits))
        said = f"""
            SELECT o.visit, r.key, o.url, o.source, coalesce(v.json, ''), NULL, '', coalesce(v.aside, '')
            FROM observation o
            JOIN record r ON r.id = o.record LEFT JOIN value v ON v.id = o.value
            WHERE o.visit IN ({marks}) ORDER BY o.visit, r.id
        """
        skipped = f"""
            SELECT visit, key, url, reason, message FROM skipped WHERE visit IN ({marks}) ORDER BY visit, key
        """
        with self._guarded():
            found = [VisitStatement(*row) for row in self._connection.execute(said, visits)]
            for visit, key, url, reason, message in self._connection.execute(skipped, visits):
                found.append(VisitStatement(visit, key, url, "", "", Reason(reason), message))
        return sorted(found, key=lambda one: one.visit)

    def carry_over(self, before: RecordStore, sources: Collection[str]) -> None:
        """Say of what was fetched for other sources than these what an earlier store said.

        How it is to be read their configuration said, which is not there any more.
        """
        with self._writing():
            adopt_sessions(self._connection, before._connection)
            gone = before._connection.execute("SELECT key, visit FROM taken_down")
            self._connection.executemany("INSERT OR IGNORE INTO taken_down VALUES (?, ?)", gone)
        told = before.told_for_others(sources)
        while page := [*islice(told, _CHUNK)]:
            self.settle(page, 0)
        with self._writing():
            adopt_completed(self._connection, before._connection)
        self.finish(0, lambda: True)

    def latest(self, keys: Sequence[str], before: int = 0) -> Mapping[str, Mapping[str, Any] | None]:
        """Return the values of records by key, None for one that is gone; those that never were are left out.

        What the visit `before` and later ones said does not count, unless it is 0.
        """
        with self._guarded():
            return latest_values(self._connection, keys, before)

    def told_for_others(self, sources: Collection[str]) -> Iterator[AttemptObservations]:
        """Yield what visits told that were made for other sources than these, in the order of visits."""
        text = """
            SELECT o.visit, r.key, o.at, o.source, o.url, v.json, coalesce(v.text, ''), coalesce(v.aside, ''),
                CASE WHEN v.json IS NULL THEN '[]' ELSE
                    (SELECT json_group_array(n.name) FROM other_name n WHERE n.record = o.record) END,
                (SELECT json_group_array(a.alias) FROM alias a WHERE a.record = o.record)
            FROM observation o JOIN record r ON r.id = o.record LEFT JOIN value v ON v.id = o.value
            WHERE o.source NOT IN (SELECT value FROM json_each(?)) ORDER BY o.visit
        """
        with self._guarded():
            rows = self._connection.execute(text, (json.dumps([*sources]),))
            for visit, of_visit in groupby(rows, key=itemgetter(0)):
                told = [*of_visit]
                _, _, at, source, url, *_ = told[0]
                made = [
                    Observation(
                        key, json.loads(spelled) if spelled else None, words, datetime.fromisoformat(when), where,
                        json.loads(aside) if aside else {}, tuple(json.loads(names)), tuple(json.loads(aliases)),
                    )
                    for _, key, when, _, where, spelled, words, aside, names, aliases in told
                ]  # fmt: skip
                yield AttemptObservations(visit, datetime.fromisoformat(at), url, source, tuple(made))

    def search(self, query: Query, kind: str, *, offset: int, limit: int) -> FoundEntries:
        """Return the records that a query finds as they are now, the best first."""
        with self._guarded():
            return self._index().find(query, kind, offset=offset, limit=limit)

    def known(self, key: str) -> bool:
        """Tell whether there was a record of this key."""
        return self._connection.execute("SELECT 1 FROM record WHERE key = ?", (key,)).fetchone() is not None

    def key_of_alias(self, alias: str) -> str:
        """Return the key of the record that has an alias; empty where there is none."""
        return key_of_alias(self._connection, alias)

    def changed_keys(self, visits: tuple[int, int]) -> list[str]:
        """Return the keys of which visits from one number to another said something else than was said before it."""
        text = """
            SELECT key FROM record WHERE id IN (
                SELECT o.record FROM observation o WHERE o.visit BETWEEN ? AND ? AND o.value IS NOT (
                    SELECT p.value FROM observation p WHERE p.record = o.record AND (p.at, p.visit) < (o.at, o.visit)
                    ORDER BY p.at DESC, p.visit DESC LIMIT 1)
            ) ORDER BY key
        """
        with self._guarded():
            return [key for (key,) in self._connection.execute(text, visits)]

    def counted(self, visits: Sequence[int], without: tuple[str, str] = ("", "")) -> dict[int, tuple[int, int]]:
        """Count of each visit the records of which it said something, and those of which none did before.

        Records that have a value in a field are left out: `without` names both.
        """
        field, value = without
        text = """
            SELECT o.visit, count(*), sum(NOT EXISTS (
                SELECT 1 FROM observation p WHERE p.record = o.record AND (p.at, p.visit) < (o.at, o.visit)))
            FROM observation o LEFT JOIN value v ON v.id = o.value
            WHERE o.visit IN ({marks}) AND (? = '' OR json_extract(v.json, ?) IS NOT ?) GROUP BY o.visit
        """
        found = self._of_visits(text, visits, field, f"$.{field}", value)
        return {visit: (said, first) for visit, said, first in found}

    def skipped(self, key: str = "", url: str = "", visits: Sequence[int] = ()) -> list[Skipped]:
        """Return why nothing was made of a document, or of a thing in it: by its key, its address or its visits."""
        text = "SELECT visit, key, url, reason, message FROM skipped WHERE {} ORDER BY visit, key"
        rows = [*self._of_visits(text.format("visit IN ({marks})"), visits)]
        with self._guarded():
            for column, value in (("key", key), ("url", url)):
                rows += self._connection.execute(text.format(f"{column} = ?"), (value,)).fetchall() if value else ()
        return [Skipped(row[0], row[1], row[2], Reason(row[3]), row[4]) for row in rows]

    def _of_visits(self, text: str, visits: Sequence[int], *values: str) -> Iterator[tuple[Any, ...]]:
        with self._guarded():
            for start in range(0, len(visits), _CHUNK):
                part = visits[start : start + _CHUNK]
                yield from self._connection.execute(text.format(marks=",".join("?" * len(part))), (*part, *values))

    def visits_of(self, key: str) -> list[int]:
        """Return the visits that said something of a record."""
        text = "SELECT visit FROM observation WHERE record = (SELECT id FROM record WHERE key = ?) ORDER BY visit"
        return [visit for (visit,) in self._connection.execute(text, (key,))]

    def keys_of(self, visit: int, most: int) -> list[str]:
        """Return the keys of the first records of which a visit said something."""
        text = """
            SELECT DISTINCT r.key FROM observation o JOIN record r ON r.id = o.record
            WHERE o.visit = ? ORDER BY r.key LIMIT ?
        """
        with self._guarded():
            return [key for (key,) in self._connection.execute(text, (visit, most))]

    def faults(self) -> Iterator[str]:
        """Yield in a sentence each where the tables do not agree."""
        with self._guarded():
            for (line,) in self._connection.execute("PRAGMA integrity_check"):
                if line != "ok":
                    yield str(line)
            for name, spelled, text in self._connection.execute("SELECT digest, json, text FROM value"):
                if digest(f"{spelled}\n{text}".encode("utf-8", "replace")) != name:
                    yield f"a value is not what its digest {name[:19]} says"

    def index_faults(self) -> Iterator[str]:
        """Yield in a sentence each where the search index is not what a fresh one would be."""
        with self._guarded():
            yield from self._index().faults()

    def forget(self, visits: Iterable[int]) -> int:
        """Remove what visits said; return how many observations that were. Nothing of it stays in free pages."""
        self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        count, numbers = 0, list(visits)
        with self._writing():
            touched: set[int] = set()
            for start in range(0, len(numbers), _CHUNK):
                part = numbers[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                told = self._connection.execute(
                    f"SELECT r.key, o.visit FROM observation o JOIN record r ON r.id = o.record"
                    f" WHERE o.visit IN ({marks})", part)  # fmt: skip
                self._connection.executemany("INSERT OR IGNORE INTO taken_down VALUES (?, ?)",
                                       [(number(key), visit) for key, visit in told])  # fmt: skip
                touched |= {one for (one,) in self._connection.execute(
                    f"SELECT record FROM observation WHERE visit IN ({marks})", part)}  # fmt: skip
                for table in ("observation", "skipped", "waiting", "completed"):
                    gone = self._connection.execute(f"DELETE FROM {table} WHERE visit IN ({marks})", part)
                    count += gone.rowcount if table == "observation" else 0
            self._note_touched(touched)
            self._connection.execute(_ORPHANS)
        return count

    def taken_down(self, key: str) -> list[int]:
        """Return the visits that told of a record and were taken down."""
        text = "SELECT visit FROM taken_down WHERE key = ? ORDER BY visit"
        with self._guarded():
            return [visit for (visit,) in self._connection.execute(text, (number(key),))]
