-- Queries on sessions, their tasks and the lease. One session runs at a time, so a session's facts are those from its
-- own number to the number of its end. Ranges of `seq` are quick in every table.

-- part: next_session
-- The number before which all facts of a session `s` are: that of the session after it, or more than any number.
coalesce((SELECT min(n.seq) FROM session n WHERE n.seq > s.seq), 9223372036854775807)

-- name: last_seq
-- The number of the last fact.
SELECT value FROM counter WHERE name = 'seq';

-- name: set_seq
UPDATE counter SET value = ? WHERE name = 'seq';

-- def last_at() -> str
-- Return the latest time when a session began or ended, as the text that the ledger stores, or "".
SELECT coalesce(max(at), '') FROM (SELECT max(at) AS at FROM session UNION ALL SELECT max(at) FROM session_end);

-- row: LeaseRow
-- The lease of a workspace: its holder, since when it is held, and when it expires unless it is renewed.

-- def lease() -> LeaseRow | None
-- Return the lease, or None if there is none. A killed run leaves its lease behind.
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
-- Return the session that began with the fact `session`, or None.
-- The last fact of a session that has not ended is the last one before the next session.
SELECT s.seq, s.number, s.at AS began, s.holder, s.command, e.at AS ended, e.outcome,
       coalesce(e.seq, (SELECT min(n.seq) - 1 FROM session n WHERE n.seq > s.seq),
           (SELECT value FROM counter WHERE name = 'seq')) AS "last: int"
FROM session s LEFT JOIN session_end e ON e.session = s.seq WHERE s.seq = :session;

-- row: ListedSession
-- A session in a list. `outcome` is its exit code; it and `ended` are None if it is running or was killed.
-- `failed` is the number of its failed requests of documents, files that were not fetched, failed readings, and refused
-- names. A file counts once for each host, and a document that answered before and is gone now does not count.

-- def page(before: int, limit: int, kinds: Sequence[str], rules: Sequence[str]) -> list[ListedSession]
-- Return at most `limit` sessions, newest first; with `before`, those with smaller numbers.
-- `kinds` are those of requests for documents, each with its collection, and `rules` the reasons for no request.
SELECT s.number, s.command, s.holder, s.began AS "began: datetime", s.ended AS "ended: datetime | None",
       s.outcome AS "outcome: int | None",
       (SELECT count(*) FROM reading r WHERE r.seq BETWEEN s.seq AND s.last AND r.reason IS NOT NULL)
       + (SELECT count(*) FROM member m WHERE m.seq BETWEEN s.seq AND s.last AND m.reason IS NOT NULL)
       + (SELECT count(*) FROM listed_file f WHERE f.seq BETWEEN s.seq AND s.last AND f.reason IS NOT NULL)
       + (SELECT count(*) FROM refusal r WHERE r.seq BETWEEN s.seq AND s.last)
       + (SELECT count(DISTINCT v.host || ' ' || v.listed_file) FROM attempt v
           WHERE v.end_seq BETWEEN s.seq AND s.last AND v.end_seq IS NOT v.seq AND v.reason IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM attempt l WHERE l.listed_file = v.listed_file AND l.host = v.host
               AND l.seq > v.seq AND l.end_seq BETWEEN s.seq AND s.last))
       + (SELECT count(*) FROM attempt v CROSS JOIN host h ON h.seq = v.host
           WHERE v.seq BETWEEN s.seq AND s.last AND (v.reason IS NOT NULL OR coalesce(v.status, 400) >= 400)
           AND v.end_seq = v.seq AND v.address <> 0
           AND coalesce(v.reason, '') NOT IN (SELECT value FROM json_each(:rules))
           AND NOT (v.reason IS NULL AND v.status IN (404, 410) AND EXISTS (SELECT 1 FROM attempt p
               WHERE p.address = v.address AND p.host = v.host AND p.seq < v.seq AND p.status = 200 AND p.digest <> ''))
           AND h.collection || ' ' || v.kind IN (SELECT value FROM json_each(:kinds))) AS "failed: int"
FROM (
    SELECT n.seq, n.number, n.command, n.holder, n.at AS began, e.at AS ended, e.outcome,
           coalesce(e.seq, (SELECT min(o.seq) - 1 FROM session o WHERE o.seq > n.seq),
               (SELECT value FROM counter WHERE name = 'seq')) AS last
    FROM session n LEFT JOIN session_end e ON e.session = n.seq
    WHERE :before = 0 OR n.number < :before ORDER BY n.seq DESC LIMIT :limit
) s ORDER BY s.seq DESC;

-- def numbered(number: int) -> int | None
-- Return the number of the fact that began the session shown to people as `number`, or None.
SELECT seq FROM session WHERE number = :number;

-- def numbers() -> dict[int, int]
-- Return a dict from the number of a session's first fact to the number that is shown to people.
SELECT seq, number FROM session;

-- name: session_next_number
SELECT coalesce(max(number), 0) + 1 FROM session;

-- def first() -> str
-- Return the time and the holder of the first session, divided by a space, or "".
SELECT coalesce((SELECT at || ' ' || holder FROM session ORDER BY seq LIMIT 1), '');

-- def latest() -> int | None
-- Return the number of the fact that began the last session, or None.
SELECT max(seq) FROM session;

-- row: TaskRow
-- A task: one phase of one source, or of the collection if `source` is empty.
-- The fields about its end are None if it is running or was interrupted.

-- def tasks(facts: tuple[int, int]) -> list[TaskRow]
-- Return the tasks that began between two facts (first, last), in order.
-- Ends of tasks after the last of these facts are not returned.
SELECT t.seq, t.collection, t.source, t.phase, t.at AS began, e.at AS ended, e.failed, e.reason, e.comment
FROM task t LEFT JOIN task_end e ON e.task = t.seq AND e.seq BETWEEN :facts[0] AND :facts[1]
WHERE t.seq BETWEEN :facts[0] AND :facts[1] ORDER BY t.seq;

-- def errors_of_no_source(before: int) -> list[str]
-- Return the comments of failed tasks without a source in sessions before the session `before`.
-- A task does not count if a later session had a task of the same collection in the same phase or a later one.
-- The failed tasks are selected first: they are few.
WITH failed AS MATERIALIZED (
    SELECT t.seq, t.session, t.collection, t.phase, e.comment FROM task t CROSS JOIN task_end e ON e.task = t.seq
    WHERE t.source = '' AND t.collection <> '' AND e.failed AND t.session < :before
)
SELECT comment FROM failed WHERE NOT EXISTS (
    SELECT 1 FROM task u
    WHERE u.collection = failed.collection AND u.phase >= failed.phase AND u.session > failed.session
) ORDER BY seq;

-- row: LeftOutTask
-- A task without a source that counts what was left out, in the form of `RuleCount`.

-- def left_out_of_no_source() -> list[LeftOutTask]
-- Return the tasks without a source that count what was left out.
-- A task is not returned if a later session had a task without a source of the same collection and phase.
WITH counting AS MATERIALIZED (
    SELECT t.seq, t.session, t.collection, t.phase, e.reason, e.comment
    FROM task t CROSS JOIN task_end e ON e.task = t.seq
    WHERE t.source = '' AND t.collection <> '' AND NOT e.failed AND e.reason IS NOT NULL
)
SELECT collection, reason AS "reason: Reason", comment FROM counting WHERE NOT EXISTS (
    SELECT 1 FROM task u
    WHERE u.source = '' AND u.collection = counting.collection AND u.phase = counting.phase
    AND u.session > counting.session
) ORDER BY seq;

-- row: SourceSession
-- A session at one source.
-- `failed` is the number of its tasks that failed or never ended, `ended` the time when the latest one ended, and
-- `reason` the reason of one of them. `first_phase` is the lowest phase of its tasks, which is that of a step if the
-- session fetched nothing.

-- def of_source(source: str) -> Iterator[SourceSession]
-- Yield one row for every session that had a task of a source, the latest session first.
SELECT t.session, min(t.at) AS "began: datetime", max(e.at) AS "ended: datetime | None",
       sum(coalesce(e.failed, 1)) AS "failed: int", max(e.reason) AS "reason: Reason | None",
       min(t.phase) AS "first_phase: int"
FROM task t LEFT JOIN task_end e ON e.task = t.seq WHERE t.source = :source GROUP BY t.session
ORDER BY t.session DESC;

-- part: sources
SELECT min(source) FROM task WHERE source > ''
UNION ALL SELECT (SELECT min(t.source) FROM task t WHERE t.source > name.source) FROM name WHERE source IS NOT NULL

-- def sources() -> set[str]
-- Return the names of the sources and services that had a task.
WITH RECURSIVE name(source) AS ({sources})
SELECT source FROM name WHERE source IS NOT NULL;

-- def sources_after(fact: int) -> set[str]
-- Return the names of the sources and services that had a task in a session that began after a fact.
WITH RECURSIVE name(source) AS ({sources})
SELECT source FROM name WHERE EXISTS (SELECT 1 FROM task t WHERE t.source = name.source AND t.session > :fact);

-- def ends_of_phase(collection: str, phase: int, before: int) -> dict[int, int]
-- Return a dict from each session before `before` to the last fact in it that ended a task of a phase.
SELECT t.session, max(e.seq) FROM task t JOIN task_end e ON e.task = t.seq
WHERE t.collection = :collection AND t.phase = :phase AND t.session < :before GROUP BY t.session ORDER BY t.session;

-- def last_before(at: datetime) -> int
-- Return the number of the fact that began the last session before a time, or 0.
SELECT coalesce(max(seq), 0) FROM session WHERE at < :at;

-- def has_task(facts: tuple[int, int]) -> bool
-- Return whether a task began between two facts (first, last).
SELECT EXISTS (SELECT 1 FROM task WHERE seq BETWEEN :facts[0] AND :facts[1]);

-- def last_reported_before(session: int) -> int
-- Return the fact that ended the last session before `session` that had a task and has ended, or 0.
SELECT coalesce((SELECT e.seq FROM session_end e
    WHERE e.seq < :session AND EXISTS (SELECT 1 FROM task t WHERE t.seq BETWEEN e.session AND e.seq)
    ORDER BY e.seq DESC LIMIT 1), 0);

-- def collection_of(source: str) -> str
-- Return the collection of the last task of a source, or "".
SELECT coalesce((SELECT collection FROM task WHERE source = :source ORDER BY seq DESC LIMIT 1), '');

-- def first_failures(facts: tuple[int, int]) -> dict[str, str]
-- Return a dict from reason to the address or key of what first failed or was refused for it, in order.
-- What failed without a reason is under its HTTP status.
-- Of 404s and 410s, those at addresses that never had a body come first, since others may be gone.
SELECT coalesce(reason, CAST(status AS TEXT)), name FROM (
    SELECT reason, status, name, min(seq) AS seq FROM (
        SELECT v.reason, CASE WHEN v.reason IS NULL THEN v.status END AS status,
            coalesce(a.url, f.file_key, v.url) AS name,
            v.end_seq + CASE WHEN v.status IN (404, 410) AND a.capture <> 0 THEN 1 << 60 ELSE 0 END AS seq
        FROM attempt v LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
        LEFT JOIN listed_file f ON f.seq = v.listed_file
        WHERE v.seq IN (SELECT seq FROM attempt WHERE seq BETWEEN :facts[0] AND :facts[1] AND end_seq = seq
            UNION ALL SELECT seq FROM attempt WHERE end_seq BETWEEN :facts[0] AND :facts[1] AND end_seq IS NOT seq)
        AND (v.reason IS NOT NULL OR v.status >= 400 AND a.kind = 0)
        UNION ALL SELECT r.reason, NULL, coalesce(m.member_key, f.file_key, w.warc), r.seq
        FROM reading r LEFT JOIN member m ON m.seq = r.item LEFT JOIN listed_file f ON f.seq = r.item
        LEFT JOIN intake w ON w.seq = r.item
        WHERE r.seq BETWEEN :facts[0] AND :facts[1] AND r.reason IS NOT NULL
        UNION ALL SELECT reason, NULL, file_key, seq FROM listed_file WHERE seq BETWEEN :facts[0] AND :facts[1]
        UNION ALL SELECT reason, NULL, member_key, seq FROM member WHERE seq BETWEEN :facts[0] AND :facts[1]
        UNION ALL SELECT reason, NULL, path, seq FROM refusal WHERE seq BETWEEN :facts[0] AND :facts[1]
    ) WHERE (reason IS NOT NULL OR status IS NOT NULL) AND name <> '' GROUP BY reason, status
) ORDER BY seq;

-- row: SourceTask
-- A task of one source, and its session.

-- part: source_task
SELECT t.seq, t.session, t.phase, t.at AS began, e.at AS ended, e.failed, e.reason, e.comment
FROM task t LEFT JOIN task_end e ON e.task = t.seq WHERE t.source = :source

-- def tasks_of_source(source: str) -> Iterator[SourceTask]
-- Yield the tasks of a source, the latest first.
{source_task} ORDER BY t.session DESC, t.seq DESC;

-- def tasks_in_session(source: str, session: int) -> list[SourceTask]
-- Return the tasks of a source in one session.
{source_task} AND t.session = :session;

-- def counting_tasks(source: str) -> Iterator[SourceTask]
-- Yield the tasks of a source that count what was left out (`RuleCount`), the latest first.
SELECT t.seq, t.session, t.phase, t.at AS began, e.at AS "ended: datetime | None", e.failed AS "failed: bool | None",
       e.reason, e.comment AS "comment: str | None"
FROM task t CROSS JOIN task_end e ON e.task = t.seq
WHERE t.source = :source AND e.reason IS NOT NULL AND e.comment GLOB '[0-9]* left out, such as *'
ORDER BY t.session DESC, t.seq DESC;

-- row: LeavingTask
-- A task of one source or, if that is empty, of a collection, and its comment, in the form of `RuleCount`.

-- def leaving_out(example: str) -> list[LeavingTask]
-- Return the tasks that count what a rule left out and name `example` as the first of it, in order.
SELECT t.seq, t.session, t.collection, t.source, t.phase, e.at AS "ended: datetime", e.reason AS "reason: Reason",
       e.comment AS "comment: str"
FROM task t JOIN task_end e ON e.task = t.seq
WHERE e.reason IS NOT NULL AND instr(e.comment, ' left out, such as ' || :example || ': ') ORDER BY t.seq;

-- def has_ended(session: int) -> bool
-- Return whether a session has ended.
SELECT 1 FROM session_end WHERE session = :session;

-- row: SessionEnd
-- A session, and the time when it ended.

-- def ended(sessions: Sequence[int]) -> list[SessionEnd]
-- Return the times when these sessions ended. Sessions that have not ended are left out.
SELECT session, at FROM session_end WHERE session IN (SELECT value FROM json_each(:sessions)) ORDER BY session;

-- def running() -> bool
-- Return whether there is a session and the latest one has no end: it is running or was killed.
SELECT 1 FROM session s WHERE s.seq = (SELECT max(seq) FROM session)
AND NOT EXISTS (SELECT 1 FROM session_end e WHERE e.session = s.seq);

-- def collections() -> set[str]
-- Return the collections that have hosts or had tasks: they were harvested here, or used captures of others.
WITH RECURSIVE with_task(collection) AS (
    SELECT min(collection) FROM task WHERE collection > ''
    UNION ALL SELECT (SELECT min(t.collection) FROM task t WHERE t.collection > with_task.collection)
    FROM with_task WHERE collection IS NOT NULL
), with_host(collection) AS (
    SELECT min(collection) FROM host
    UNION ALL SELECT (SELECT min(h.collection) FROM host h WHERE h.collection > with_host.collection)
    FROM with_host WHERE collection IS NOT NULL
)
SELECT collection FROM with_task WHERE collection IS NOT NULL
UNION SELECT collection FROM with_host WHERE collection IS NOT NULL;
