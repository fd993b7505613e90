-- Queries on sessions, their tasks and the lease. A session's facts are those between its own number and its
-- end's, since one session runs at a time: ranges of `seq` are quick in every table.

-- name: last_seq
-- The last number given to a fact.
SELECT value FROM counter WHERE name = 'seq';

-- name: set_seq
UPDATE counter SET value = ? WHERE name = 'seq';

-- def last_at() -> str
-- Return when the last session began or ended, as the ledger spells times; empty for never.
SELECT coalesce(max(at), '') FROM (SELECT max(at) AS at FROM session UNION ALL SELECT max(at) FROM session_end);

-- row: LeaseRow
-- Who holds the workspace, since when, and until when unless renewed.

-- def lease() -> LeaseRow | None
-- Return who holds the workspace, or held it when it was killed.
SELECT token, holder, since, expires, beat FROM lease WHERE name = 'workspace';

-- name: lease_drop
DELETE FROM lease WHERE name = 'workspace';

-- name: lease_take
INSERT INTO lease (name, token, holder, since, expires, beat) VALUES ('workspace', ?, ?, ?, ?, 0);

-- name: lease_beat
UPDATE lease SET expires = ?, beat = beat + 1 WHERE name = 'workspace' AND token = ?;

-- name: lease_release
DELETE FROM lease WHERE name = 'workspace' AND token = ?;

-- def get(session: int) -> SessionRow | None
-- Return a session by its number among the facts, None where there is none.
SELECT s.seq, s.number, s.at AS began, s.holder, s.command, e.at AS ended, e.outcome,
       coalesce(e.seq, (SELECT value FROM counter WHERE name = 'seq')) AS "last: int"
FROM session s LEFT JOIN session_end e ON e.session = s.seq WHERE s.seq = :session;

-- def numbered(number: int) -> int | None
-- Return the session that people know by a number: 1 is the first.
SELECT seq FROM session WHERE number = :number;

-- def numbers() -> dict[int, int]
-- Return what people call each session.
SELECT seq, number FROM session;

-- name: session_next_number
SELECT coalesce(max(number), 0) + 1 FROM session;

-- def first() -> str
-- Return when the first session began and who held it: what no other ledger has; empty before it.
-- The archive that the ledger writes to is marked with it.
SELECT coalesce((SELECT at || ' ' || holder FROM session ORDER BY seq LIMIT 1), '');

-- def latest() -> int | None
-- Return the number of the last session.
SELECT max(seq) FROM session;

-- row: TaskRow
-- One phase of one source; all that says how it ended is None while it runs.

-- def tasks(span: tuple[int, int]) -> list[TaskRow]
-- Return the tasks between two facts, in their order.
SELECT t.seq, t.collection, t.source, t.phase, t.at AS began, e.at AS ended, e.failed, e.reason, e.comment
FROM task t LEFT JOIN task_end e ON e.task = t.seq AND e.seq BETWEEN :span[0] AND :span[1]
WHERE t.seq BETWEEN :span[0] AND :span[1] ORDER BY t.seq;

-- row: SourceSession
-- What a session did at one source: how many of its tasks failed or never ended, and when the last one did.
-- `first_phase` is the first phase of its tasks: a session that only read what is kept has none of those that ask.

-- def by_source() -> list[SourceSession]
-- Return every session of every source, in the order of sessions.
SELECT t.source, t.session, min(t.at) AS "began: datetime", max(e.at) AS "ended: datetime | None",
       sum(coalesce(e.failed, 1)) AS "failed: int", max(e.reason) AS "reason: Reason | None",
       min(t.phase) AS "first_phase: int"
FROM task t LEFT JOIN task_end e ON e.task = t.seq WHERE t.source <> '' GROUP BY t.source, t.session
ORDER BY t.session;

-- def ends_of_phase(collection: str, phase: int, before: int) -> dict[int, int]
-- Return of the sessions before one those that ended tasks of a phase, and the last fact that ended one.
SELECT t.session, max(e.seq) FROM task t JOIN task_end e ON e.task = t.seq
WHERE t.collection = :collection AND t.phase = :phase AND t.session < :before GROUP BY t.session ORDER BY t.session;

-- def last_before(at: datetime) -> int
-- Return the last session that began before a time, by its number among the facts; 0 for none.
SELECT coalesce(max(seq), 0) FROM session WHERE at < :at;

-- def has_task(span: tuple[int, int]) -> bool
-- Tell whether there is a task between two facts.
SELECT EXISTS (SELECT 1 FROM task WHERE seq BETWEEN :span[0] AND :span[1]);

-- def last_told_before(session: int) -> int
-- Return the end of the last session with a task that ended before one, 0 for none.
SELECT coalesce((SELECT e.seq FROM session_end e
    WHERE e.seq < :session AND EXISTS (SELECT 1 FROM task t WHERE t.seq BETWEEN e.session AND e.seq)
    ORDER BY e.seq DESC LIMIT 1), 0);

-- def collection_of(source: str) -> str
-- Return the collection that a source was last harvested for, declared or not; empty for an unknown one.
SELECT coalesce((SELECT collection FROM task WHERE source = :source ORDER BY seq DESC LIMIT 1), '');

-- row: SourceTask
-- A task of one source, and the session it was part of.

-- def tasks_of_source(source: str) -> list[SourceTask]
-- Return every task of a source, in their order.
SELECT t.seq, t.session, t.phase, t.at AS began, e.at AS ended, e.failed, e.reason, e.comment
FROM task t LEFT JOIN task_end e ON e.task = t.seq WHERE t.source = :source ORDER BY t.seq;

-- def has_ended(session: int) -> bool
-- Tell whether a session has ended.
SELECT 1 FROM session_end WHERE session = :session;

-- def ended(sessions: Sequence[int]) -> list[SessionEnd]
-- Return when these sessions ended, without those that have not.
SELECT session, at FROM session_end WHERE session IN (SELECT value FROM json_each(:sessions)) ORDER BY session;

-- def running() -> bool
-- Tell whether the latest session has not ended.
SELECT 1 FROM session s WHERE s.seq = (SELECT max(seq) FROM session)
AND NOT EXISTS (SELECT 1 FROM session_end e WHERE e.session = s.seq);

-- def collections() -> set[str]
-- Return the collections that were harvested here ever, or took what others kept.
SELECT collection FROM host UNION SELECT collection FROM task WHERE collection <> '';
