-- What is asked of sessions, their tasks and the lease. A session's facts are those between its own number and its
-- end's, since one session runs at a time: ranges of `seq` are quick in every table.

-- name: last_seq
-- The last number given to a fact.
SELECT value FROM counter WHERE name = 'seq';

-- name: set_seq
UPDATE counter SET value = ? WHERE name = 'seq';

-- name: session_last_at
-- When the last session began or ended: the clock may not stand earlier.
SELECT max(at) FROM (SELECT max(at) AS at FROM session UNION ALL SELECT max(at) FROM session_end) AS last;

-- name: lease
SELECT token, holder, since, expires, beat FROM lease WHERE name = 'workspace';

-- name: lease_drop
DELETE FROM lease WHERE name = 'workspace';

-- name: lease_take
INSERT INTO lease (name, token, holder, since, expires, beat) VALUES ('workspace', ?, ?, ?, ?, 0);

-- name: lease_beat
UPDATE lease SET expires = ?, beat = beat + 1 WHERE name = 'workspace' AND token = ?;

-- name: lease_release
DELETE FROM lease WHERE name = 'workspace' AND token = ?;

-- name: session
SELECT s.seq, s.number, s.at, s.holder, s.command, e.at, e.outcome,
       coalesce(e.seq, (SELECT value FROM counter WHERE name = 'seq'))
FROM session s LEFT JOIN session_end e ON e.session = s.seq WHERE s.seq = ?;

-- name: session_numbered
-- The session that people know by a number.
SELECT seq FROM session WHERE number = ?;

-- name: session_numbers
SELECT seq, number FROM session;

-- name: session_next_number
SELECT coalesce(max(number), 0) + 1 FROM session;

-- name: first_session
-- What no other ledger has: the archive that it writes to is marked with it.
SELECT at, holder FROM session ORDER BY seq LIMIT 1;

-- name: session_latest
SELECT max(seq) FROM session;

-- name: session_tasks
-- A session's tasks in their order.
SELECT t.seq, t.collection, t.source, t.phase, t.at, e.at, e.failed, e.reason, e.comment
FROM task t LEFT JOIN task_end e ON e.task = t.seq AND e.seq BETWEEN ?1 AND ?2
WHERE t.seq BETWEEN ?1 AND ?2 ORDER BY t.seq;

-- name: source_sessions
-- Every session of every source: whether all its tasks ended well, when it was listed, and its first phase.
SELECT t.source, t.session, min(t.at), max(e.at), sum(coalesce(e.failed, 1)), max(e.reason), min(t.phase)
FROM task t LEFT JOIN task_end e ON e.task = t.seq WHERE t.source <> '' GROUP BY t.source, t.session
ORDER BY t.session;

-- name: session_phase_ends
-- When sessions before one ended tasks of a phase of a collection.
SELECT t.session, max(e.seq) FROM task t JOIN task_end e ON e.task = t.seq
WHERE t.collection = ? AND t.phase = ? AND t.session < ? GROUP BY t.session ORDER BY t.session;

-- name: session_before
SELECT coalesce(max(seq), 0) FROM session WHERE at < ?;

-- name: session_tasked
-- Whether there is a task between two facts.
SELECT EXISTS (SELECT 1 FROM task WHERE seq BETWEEN ? AND ?);

-- name: session_telling
-- The end of the last session with a task that ended before one.
SELECT e.seq FROM session_end e WHERE e.seq < ? AND EXISTS (SELECT 1 FROM task t WHERE t.seq BETWEEN e.session AND e.seq)
ORDER BY e.seq DESC LIMIT 1;

-- name: source_collection
-- The collection that a source was last harvested for.
SELECT collection FROM task WHERE source = ? ORDER BY seq DESC LIMIT 1;

-- name: source_tasks
SELECT t.seq, t.session, t.phase, t.at, e.at, e.failed, e.reason, e.comment
FROM task t LEFT JOIN task_end e ON e.task = t.seq WHERE t.source = ? ORDER BY t.seq;

-- name: session_ended
SELECT seq FROM session_end WHERE session = ?;

-- name: sessions_ended
SELECT session, at FROM session_end WHERE session IN ({marks}) ORDER BY session;

-- name: session_open
-- The latest session, where it has not ended.
SELECT s.seq FROM session s WHERE s.seq = (SELECT max(seq) FROM session)
AND NOT EXISTS (SELECT 1 FROM session_end e WHERE e.session = s.seq);

-- name: collections_harvested
SELECT collection FROM host UNION SELECT collection FROM task WHERE collection <> '';
