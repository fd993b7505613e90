-- Queries on items: listed files, their members, and imported WARC files, all given by their numbers. A step reads an
-- item. `pending_step` has the step that an item waits for, failed at or was cancelled before. `facts` are the numbers of
-- the first and the last fact of a range.

-- part: items
-- All items. `attempt` is the attempt that fetched a member, and 0 for other items.
(SELECT seq, at, session, collection, kind, member_key AS item_key, attempt, '' AS owner, name, size, digest, md5,
    rank, reason FROM member
UNION ALL SELECT seq, at, session, collection, kind, file_key, 0, owner, '', size, '', '', rank, reason FROM listed_file
UNION ALL SELECT seq, at, session, collection, 'warc', warc, 0, source, '', size, '', '', '', NULL FROM intake)

-- part: of_latest
-- No attempt at the file of the member `m` follows the one that fetched `m`; this is also true if `m` is NULL.
NOT EXISTS (SELECT 1 FROM attempt b JOIN attempt l ON l.listed_file = b.listed_file AND l.seq > b.seq
    WHERE b.seq = m.attempt)

-- row: DueRow
-- A listed file or a member that waits for a step or failed at it, and the capture that is, or contains, the item.
-- `capture` is the digest of the capture, `size` its size. `capture`, `size` and `source` are empty or None without one.

-- def due(collection: str, step: str, status: Status, after: tuple[str, int], limit: int) -> list[DueRow]
-- Return at most `limit` items that have a status at a step, in the order of their ranks.
-- `after` has the rank and the number of the item after which they begin.
SELECT p.item, coalesce(m.kind, f.kind) AS "kind: str", coalesce(m.member_key, f.file_key) AS "key: str",
       p.rank, p.attempt, coalesce(m.digest, '') AS "digest: str", coalesce(m.name, '') AS "member: str",
       coalesce(f.owner, '') AS "owner: str", p.reason, p.since, coalesce(v.digest, '') AS "capture: str", v.size,
       coalesce(h.source, '') AS "source: str"
FROM pending_step p LEFT JOIN listed_file f ON f.seq = p.item LEFT JOIN member m ON m.seq = p.item
LEFT JOIN attempt v ON v.seq = p.attempt AND v.end_seq > 0 AND v.reason IS NULL LEFT JOIN host h ON h.seq = v.host
WHERE p.collection = :collection AND p.step = :step AND p.status = :status
AND (p.rank, p.item) > (:after[0], :after[1])
ORDER BY p.rank, p.item LIMIT :limit;

-- def count_due(collection: str) -> dict[str, int]
-- Return a dict from step to the number of a collection's items that wait for it.
SELECT step, count(*) FROM pending_step WHERE collection = :collection AND status = 1 GROUP BY step;

-- row: PendingStep
-- The step that an item waits for, failed at or was cancelled before.

-- def pending(item: int) -> PendingStep | None
-- Return the step that an item waits for, failed at or was cancelled before, or None if all are done.
SELECT item, step, status, reason, since FROM pending_step WHERE item = :item;

-- row: KnownReading
-- The result of a step for some bytes, and the item that it read.

-- def reading(digest: str, step: str, version: str) -> KnownReading | None
-- Return the first result of a step with this version for these bytes, or None.
SELECT seq, item, reason, number, md5 FROM reading
WHERE digest = :digest AND step = :step AND version = :version ORDER BY seq LIMIT 1;

-- def findings_in_phase(item: int, phase: int) -> list[Finding]
-- Return the findings about an item in one phase, in order.
SELECT kind, message, level, line, col FROM finding WHERE item = :item AND phase = :phase ORDER BY seq;

-- def number(collection: str, key: str, attempt: int) -> int | None
-- Return the number of the member with a key that an attempt fetched, or None.
-- If `attempt` is 0, return that of the listed file or imported WARC file with this key.
SELECT i.seq FROM {items} i WHERE i.collection = :collection AND i.item_key = :key AND i.attempt = :attempt
ORDER BY i.seq LIMIT 1;

-- row: ReadItem
-- A member, or a file that a step has read.

-- def read_items(collection: str) -> list[ReadItem]
-- Return the members of a collection, and its files for which a step has a result.
SELECT i.seq AS item, i.item_key AS key, i.attempt AS "attempt: int" FROM {items} i WHERE i.collection = :collection
AND (i.attempt <> 0 OR EXISTS (SELECT 1 FROM reading r WHERE r.item = i.seq)) ORDER BY i.seq;

-- row: StepCount
-- The number of items of one kind for which a step ended with the same reason, or without one.

-- def read_between(facts: tuple[int, int]) -> list[StepCount]
-- Count the items that steps read between two facts, each once for each step and reason.
SELECT coalesce(m.collection, f.collection, w.collection) AS "collection: str",
       coalesce(m.kind, f.kind, 'warc') AS "kind: str", r.step, r.reason, count(DISTINCT r.item) AS "number: int"
FROM reading r LEFT JOIN member m ON m.seq = r.item LEFT JOIN listed_file f ON f.seq = r.item
LEFT JOIN intake w ON w.seq = r.item WHERE r.seq BETWEEN :facts[0] AND :facts[1]
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- row: NamedCount
-- The number of items of one kind that were refused for one reason when they were first seen, or were accepted.
-- `reason` is None for accepted items.

-- def named_between(collection: str, facts: tuple[int, int]) -> list[NamedCount]
-- Count by kind and reason the items of a collection that were first seen between two facts.
SELECT kind AS "kind: str", reason AS "reason: Reason | None", count(*) AS "number: int" FROM {items}
WHERE seq BETWEEN :facts[0] AND :facts[1] AND collection = :collection GROUP BY 1, 2 ORDER BY 1, 2;

-- def ended_between(collection: str, facts: tuple[int, int]) -> dict[int, str]
-- Return a dict from item to the last decision about it (retried, cancelled) between two facts.
SELECT d.item, d.act FROM decision d LEFT JOIN member m ON m.seq = d.item LEFT JOIN listed_file f ON f.seq = d.item
WHERE d.seq BETWEEN :facts[0] AND :facts[1] AND coalesce(m.collection, f.collection) = :collection ORDER BY d.seq;

-- row: FindingCountRow
-- The number of findings of one kind and level.

-- def found_between(facts: tuple[int, int]) -> list[FindingCountRow]
-- Count the findings between two facts by kind and level, the most frequent first.
SELECT kind, level, count(*) AS "number: int" FROM finding WHERE seq BETWEEN :facts[0] AND :facts[1] GROUP BY kind,
       level ORDER BY 3 DESC, 1;

-- row: ReasonCountRow
-- The number of items that failed or were ended for a reason, or of entries that were refused for it.
-- For two of the reasons, `number` counts files that changed, or that differ between sources.

-- def by_reason() -> list[ReasonCountRow]
-- Count by reason the failed and ended items, the refused entries, and the changed or different files.
-- A reason may be returned twice. Of the members of a file, only those of its latest attempt count. A file counts as
-- changed, or as different at its sources, if no attempt at it has followed that finding, and a source lists it.
SELECT p.reason AS "reason: Reason", count(*) AS "number: int" FROM pending_step p LEFT JOIN member m ON m.seq = p.item
WHERE p.status >= 4 AND p.reason IS NOT NULL AND {of_latest} GROUP BY p.reason
UNION ALL SELECT reason, count(*) FROM refusal GROUP BY reason
UNION ALL SELECT CASE f.kind WHEN 'ContentChanged' THEN 'content_changed' ELSE 'content_differs' END,
    count(DISTINCT f.item) FROM finding f WHERE f.kind IN ('ContentChanged', 'ContentDiffers')
    AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.listed_file = f.item AND v.seq > f.seq)
    AND EXISTS (SELECT 1 FROM mirror m WHERE m.listed_file = f.item AND m.present = 1) GROUP BY f.kind;

-- row: DifferingFile
-- A listed file of which a source offers other content than was fetched, and the message of that finding.

-- def differing() -> list[DifferingFile]
-- Return the listed files that changed, or differ at their sources, without a later attempt at them.
-- Files that no source lists any more are left out: a retry would not find them.
SELECT l.file_key AS key, f.message FROM listed_file l JOIN finding f ON f.seq = (SELECT max(g.seq) FROM finding g
    WHERE g.item = l.seq AND g.kind IN ('ContentChanged', 'ContentDiffers'))
WHERE NOT EXISTS (SELECT 1 FROM attempt v WHERE v.listed_file = l.seq AND v.seq > f.seq)
AND EXISTS (SELECT 1 FROM mirror m WHERE m.listed_file = l.seq AND m.present = 1) ORDER BY f.seq;

-- row: ItemRow
-- An item, and the step that it waits for, failed at or was cancelled before (None if all are done).
-- `file` is the file that contains a member, and None for other items. `attempt` is the attempt that fetched the
-- member, or 0. `latest` is that attempt or, for a listed file, the last attempt at the file, or 0.

-- def get(item: int) -> ItemRow | None
-- Return an item, or None if no item has this number.
SELECT i.seq, i.at, i.session, i.collection, i.kind AS "kind: str", i.item_key AS key, v.listed_file AS file,
       i.owner AS "owner: str", i.attempt AS "attempt: int", i.name AS "name: str", i.size AS "size: int | None",
       i.digest AS "digest: str", i.md5 AS "md5: str", i.rank AS "rank: str", p.step AS "step: str | None", p.status, p.reason,
       coalesce(v.seq, (SELECT max(l.seq) FROM attempt l WHERE l.listed_file = i.seq), 0) AS "latest: int"
FROM {items} i LEFT JOIN pending_step p ON p.item = i.seq LEFT JOIN attempt v ON v.seq = i.attempt WHERE i.seq = :item;

-- def named(keys: Sequence[str]) -> list[ItemKey]
-- Return the items of all collections with these keys.
SELECT seq AS item, file_key AS key FROM listed_file WHERE file_key IN (SELECT value FROM json_each(:keys))
UNION ALL SELECT seq, member_key FROM member WHERE member_key IN (SELECT value FROM json_each(:keys))
UNION ALL SELECT seq, warc FROM intake WHERE warc IN (SELECT value FROM json_each(:keys)) ORDER BY 1;

-- def by_tail(tail: str) -> list[ItemKey]
-- Return the items with a key, or a path at a source, that ends with `tail`.
SELECT seq AS item, item_key AS key FROM {items} WHERE substr(item_key, -length(:tail)) = :tail
UNION SELECT l.listed_file, f.file_key FROM listing l JOIN listed_file f ON f.seq = l.listed_file
WHERE substr('/' || l.path, -length(:tail)) = :tail ORDER BY 1;

-- def by_owner(owner: str, limit: int) -> list[ItemKey]
-- Return files of a centre, or WARC files that a source imported, the latest first. Case does not matter.
SELECT seq AS item, item_key AS key FROM {items} WHERE lower(owner) = lower(:owner) ORDER BY seq DESC LIMIT :limit;

-- def count_by_owner(owner: str) -> int
-- Count the items that `by_owner` returns without a limit.
SELECT count(*) FROM {items} WHERE lower(owner) = lower(:owner);

-- def leaving_out(name: str) -> list[ItemKey]
-- Return the listed files with a finding that the file `name` in them was left out or has an unsafe name.
SELECT f.item, l.file_key AS key FROM finding f JOIN listed_file l ON l.seq = f.item
WHERE f.kind IN ('LeftOut', 'UnsafeName') AND instr(f.message, :name) = 1 ORDER BY f.seq;

-- row: ReadingRow
-- The result of a step for an item.
-- `reason` is why the step failed, or None. `number` is a count, such as that of rows.

-- def readings(item: int) -> list[ReadingRow]
-- Return the results of steps for an item, in order.
SELECT seq, at, session, step, version, digest, reason, number FROM reading WHERE item = :item ORDER BY seq;

-- row: FindingRow
-- A finding about an item, from one phase.

-- def findings(item: int) -> list[FindingRow]
-- Return the findings about an item, in order.
SELECT seq, at, session, phase, kind, level, message, line, col AS column FROM finding WHERE item = :item ORDER BY seq;

-- row: DecisionRow
-- A decision about an item: `act` is retried (also if a listing or the configuration changed) or cancelled.

-- def decisions(item: int) -> list[DecisionRow]
-- Return the decisions about an item, in order.
SELECT seq, at, session, act, message FROM decision WHERE item = :item ORDER BY seq;

-- row: StartRow
-- A step that has begun to read an item. It is running, or was interrupted.

-- def unended(item: int) -> StartRow | None
-- Return the step that has begun to read an item and has not ended, or None.
SELECT s.seq, s.at, s.session, s.step FROM step_start s WHERE s.item = :item
AND NOT EXISTS (SELECT 1 FROM reading r WHERE r.item = s.item AND r.seq > s.seq) ORDER BY s.seq DESC LIMIT 1;

-- row: ItemEvent
-- An event that changed the state of an item.
-- `event` is attempt (its beginning), end (of an attempt), start (of a step), reading or decision. `reason` is why the
-- attempt or the reading failed, or what was decided. `checksum` is empty if no side-car was compared with the bytes.

-- def events(items: Sequence[int]) -> list[ItemEvent]
-- Return the events that changed the states of items, in order for each item.
SELECT v.listed_file AS "item: int", v.seq, 'attempt' AS "event: str", '' AS "step: str",
       NULL AS "reason: Reason | None", '' AS "checksum: str" FROM attempt v
    WHERE v.listed_file IN (SELECT value FROM json_each(:items))
UNION ALL SELECT v.listed_file, v.end_seq, 'end', '', v.reason, v.checksum FROM attempt v
    WHERE v.listed_file IN (SELECT value FROM json_each(:items)) AND v.end_seq > 0
UNION ALL SELECT item, seq, 'start', step, NULL, '' FROM step_start WHERE item IN (SELECT value FROM json_each(:items))
UNION ALL SELECT item, seq, 'reading', step, reason, '' FROM reading
    WHERE item IN (SELECT value FROM json_each(:items))
UNION ALL SELECT item, seq, 'decision', '', act, '' FROM decision WHERE item IN (SELECT value FROM json_each(:items))
ORDER BY 1, 2;

-- row: SeenItem
-- An item, the reason if it was refused, and its pending step.
-- `file` is the file that contains a member, and `attempt` the attempt that fetched the member (None and 0 for other
-- items). `step` and `status` are those of the step that it waits for, failed at or was cancelled before, or None if
-- all steps are done. `started` is whether this step has begun.

-- def seen(items: Sequence[int]) -> list[SeenItem]
-- Return items with the steps that they wait for, failed at or were cancelled before, in order.
SELECT n.value AS "item: int", coalesce(m.kind, f.kind, 'warc') AS "kind: str", v.listed_file AS file,
       coalesce(m.attempt, 0) AS "attempt: int", coalesce(m.reason, f.reason) AS "reason: Reason | None",
       p.step AS "step: str | None", p.status AS "status: Status | None",
       EXISTS (SELECT 1 FROM step_start s WHERE s.item = p.item AND s.seq > p.since) AS "started: bool"
FROM json_each(:items) n LEFT JOIN listed_file f ON f.seq = n.value LEFT JOIN member m ON m.seq = n.value
LEFT JOIN attempt v ON v.seq = m.attempt LEFT JOIN pending_step p ON p.item = n.value ORDER BY 1;

-- def numbers(collection: str) -> list[int]
-- Return the numbers of all items of a collection, in order.
SELECT seq FROM {items} WHERE collection = :collection ORDER BY seq;

-- row: KindCount
-- The number of items of one kind with the same pending step and status, which are None if all steps are done.

-- def by_step() -> list[KindCount]
-- Count the items of all collections by the step that they wait for, failed at or were cancelled before.
SELECT i.collection, i.kind AS "kind: str", p.step AS "step: str | None", p.status AS "status: Status | None",
       count(*) AS "number: int" FROM {items} i LEFT JOIN pending_step p ON p.item = i.seq GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- name: item_waits
-- Make an item wait for a step, or fail at it. If no attempt is given, the attempt in its row is kept.
INSERT INTO pending_step SELECT ?1, i.collection, ?2, ?3, i.rank, coalesce(?4, nullif(i.attempt, 0),
    (SELECT max(v.seq) FROM attempt v WHERE v.listed_file = i.seq), 0), ?5, ?6 FROM {items} i WHERE i.seq = ?1
ON CONFLICT (item) DO UPDATE SET step = excluded.step, status = excluded.status, reason = excluded.reason,
    attempt = coalesce(?4, attempt), since = excluded.since;

-- name: item_through
DELETE FROM pending_step WHERE item = ?;

-- name: item_ends
-- Make an item end before its pending step.
INSERT INTO pending_step SELECT ?1, i.collection, '', 4, i.rank, coalesce(nullif(i.attempt, 0),
    (SELECT max(v.seq) FROM attempt v WHERE v.listed_file = i.seq), 0), ?2, ?3 FROM {items} i WHERE i.seq = ?1
ON CONFLICT (item) DO UPDATE SET status = 4, reason = excluded.reason, since = excluded.since;

-- name: forget_readings
-- In a copy of the ledger for a replay, delete all results of steps.
DELETE FROM reading;

-- name: forget_starts
-- In a copy of the ledger for a replay, delete all starts of steps.
DELETE FROM step_start;

-- name: forget_pending
-- In a copy of the ledger for a replay, delete the pending steps, except those of files that an operator cancelled.
DELETE FROM pending_step WHERE status <> 4 OR item IN (SELECT seq FROM member);

-- name: forget_members
-- In a copy of the ledger for a replay, delete all members.
DELETE FROM member;
