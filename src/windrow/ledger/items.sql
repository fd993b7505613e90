-- Queries on items: listed files, their members and imported WARC files. What steps made of them, and which they wait for.

-- part: items
-- All items, where one is asked for by its number or all of them are; `attempt` is the one that brought it, 0 for a file.
(SELECT seq, at, session, collection, kind, member_key AS item_key, attempt, '' AS owner, name, size, digest, md5,
    place, reason FROM member
UNION ALL SELECT seq, at, session, collection, kind, file_key, 0, owner, '', size, '', '', place, reason FROM listed_file
UNION ALL SELECT seq, at, session, collection, 'warc', warc, 0, source, '', size, '', '', '', NULL FROM intake)

-- part: of_latest
-- Whether no later attempt brought other members; true too where `m` is none.
NOT EXISTS (SELECT 1 FROM attempt b JOIN attempt l ON l.listed_file = b.listed_file AND l.seq > b.seq
    WHERE b.seq = m.attempt)

-- row: DueRow
-- A listed file or a member that waits for a step or failed at it.
-- With the capture it lies in: its digest, size and source, empty for none.

-- def due(collection: str, step: str, status: Status, after: tuple[str, int], limit: int) -> list[DueRow]
-- Return items that wait for a step, or failed at it, in the order of work, after a given rank and number.
SELECT p.item, coalesce(m.kind, f.kind) AS "kind: str", coalesce(m.member_key, f.file_key) AS "key: str",
       p.place AS rank, p.attempt, coalesce(m.digest, '') AS "digest: str", coalesce(m.name, '') AS "member: str",
       coalesce(f.owner, '') AS "owner: str", p.reason, p.since, coalesce(v.digest, '') AS "capture: str", v.size,
       coalesce(h.source, '') AS "source: str"
FROM pending_step p LEFT JOIN listed_file f ON f.seq = p.item LEFT JOIN member m ON m.seq = p.item
LEFT JOIN attempt v ON v.seq = p.attempt AND v.end_seq > 0 AND v.reason IS NULL LEFT JOIN host h ON h.seq = v.host
WHERE p.collection = :collection AND p.step = :step AND p.status = :status
AND (p.place, p.item) > (:after[0], :after[1])
ORDER BY p.place, p.item LIMIT :limit;

-- def count_due(collection: str) -> dict[str, int]
-- Count the items of a collection that wait for each step.
SELECT step, count(*) FROM pending_step WHERE collection = :collection AND status = 1 GROUP BY step;

-- row: PendingStep
-- The step that an item waits for, failed at, or was ended before.

-- def pending(item: int) -> PendingStep | None
-- Return the step that an item waits for, failed at or was ended before; None where it is through.
SELECT item, step, status, reason, since FROM pending_step WHERE item = :item;

-- row: KnownReading
-- What a step made of bytes before, with the item it read then.

-- def reading(digest: str, step: str, version: str) -> KnownReading | None
-- Return what a step of a version made of these bytes before.
SELECT seq, item, reason, number, md5 FROM reading
WHERE digest = :digest AND step = :step AND version = :version ORDER BY seq LIMIT 1;

-- def findings_in_phase(item: int, phase: int) -> list[Finding]
-- Return what was found in an item in one phase, in order.
SELECT kind, message, level, line, col FROM finding WHERE item = :item AND phase = :phase ORDER BY seq;

-- def number(collection: str, key: str, attempt: int) -> int | None
-- Return the number of an item by its key and the attempt that brought it, 0 for a file.
SELECT i.seq FROM {items} i WHERE i.collection = :collection AND i.item_key = :key AND i.attempt = :attempt
ORDER BY i.seq LIMIT 1;

-- def read_items(collection: str) -> list[ReadItem]
-- Return the members that attempts brought, and the files of which steps made something.
SELECT i.seq AS item, i.item_key AS key, i.attempt AS "attempt: int" FROM {items} i WHERE i.collection = :collection
AND (i.attempt <> 0 OR EXISTS (SELECT 1 FROM reading r WHERE r.item = i.seq)) ORDER BY i.seq;

-- row: StepCount
-- How many items of a kind a step ended for in one way.

-- def read_between(span: tuple[int, int]) -> list[StepCount]
-- Count what steps made of items between two facts, each once for each step and reason.
SELECT coalesce(m.collection, f.collection, w.collection) AS "collection: str",
       coalesce(m.kind, f.kind, 'warc') AS "kind: str", r.step, r.reason, count(DISTINCT r.item) AS "number: int"
FROM reading r LEFT JOIN member m ON m.seq = r.item LEFT JOIN listed_file f ON f.seq = r.item
LEFT JOIN intake w ON w.seq = r.item WHERE r.seq BETWEEN :span[0] AND :span[1]
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- row: NamedCount
-- How many items of a kind have a good name, or one that was refused for a reason.

-- def named_between(collection: str, span: tuple[int, int]) -> list[NamedCount]
-- Count the items that were seen first between two facts.
SELECT kind AS "kind: str", reason AS "reason: Reason | None", count(*) AS "number: int" FROM {items}
WHERE seq BETWEEN :span[0] AND :span[1] AND collection = :collection GROUP BY 1, 2 ORDER BY 1, 2;

-- def ended_between(collection: str, span: tuple[int, int]) -> dict[int, str]
-- Return the items of which something was decided between two facts, and what.
SELECT d.item, d.act FROM decision d LEFT JOIN member m ON m.seq = d.item LEFT JOIN listed_file f ON f.seq = d.item
WHERE d.seq BETWEEN :span[0] AND :span[1] AND coalesce(m.collection, f.collection) = :collection ORDER BY d.seq;

-- def found_between(span: tuple[int, int]) -> list[FindingCountRow]
-- Count what was found between two facts, the most frequent first.
SELECT kind, level, count(*) AS "number: int" FROM finding WHERE seq BETWEEN :span[0] AND :span[1] GROUP BY kind,
       level ORDER BY 3 DESC, 1;

-- def by_reason() -> list[ReasonCountRow]
-- Count why items do not go on; of members those of the latest attempt. A reason may occur twice.
SELECT p.reason AS "reason: Reason", count(*) AS "number: int" FROM pending_step p LEFT JOIN member m ON m.seq = p.item
WHERE p.status >= 4 AND p.reason IS NOT NULL AND {of_latest} GROUP BY p.reason
UNION ALL SELECT reason, count(*) FROM refusal GROUP BY reason;

-- row: ItemRow
-- An item, with the step that it waits for, failed at or was ended before; None where it is through.
-- `file` is that which a member lies in, None for others. `attempt` is the one that brought it, 0 for others, and
-- `latest` that of what it stands for now.

-- def get(item: int) -> ItemRow | None
-- Return an item, None where there is none of this number.
SELECT i.seq, i.at, i.session, i.collection, i.kind AS "kind: str", i.item_key AS key, v.listed_file AS file,
       i.owner AS "owner: str", i.attempt AS "attempt: int", i.name AS "name: str", i.size AS "size: int | None",
       i.digest AS "digest: str", i.md5 AS "md5: str", i.place AS "rank: str", p.step AS "step: str | None", p.status, p.reason,
       coalesce(v.seq, (SELECT max(l.seq) FROM attempt l WHERE l.listed_file = i.seq), 0) AS "latest: int"
FROM {items} i LEFT JOIN pending_step p ON p.item = i.seq LEFT JOIN attempt v ON v.seq = i.attempt WHERE i.seq = :item;

-- def named(keys: Sequence[str]) -> list[ItemKey]
-- Return items of any collection by their keys.
SELECT seq AS item, file_key AS key FROM listed_file WHERE file_key IN (SELECT value FROM json_each(:keys))
UNION ALL SELECT seq, member_key FROM member WHERE member_key IN (SELECT value FROM json_each(:keys))
UNION ALL SELECT seq, warc FROM intake WHERE warc IN (SELECT value FROM json_each(:keys)) ORDER BY 1;

-- def by_tail(tail: str, limit: int) -> list[ItemKey]
-- Return items whose key, or path at a source, ends in a text.
SELECT seq AS item, item_key AS key FROM {items} WHERE substr(item_key, -length(:tail)) = :tail
UNION SELECT l.listed_file, f.file_key FROM listing l JOIN listed_file f ON f.seq = l.listed_file
WHERE substr('/' || l.path, -length(:tail)) = :tail ORDER BY 1 LIMIT :limit;

-- def by_owner(owner: str, limit: int) -> list[ItemKey]
-- Return items of an owner, in upper or lower case.
SELECT seq AS item, item_key AS key FROM {items} WHERE lower(owner) = lower(:owner) ORDER BY seq LIMIT :limit;

-- def count_by_owner(owner: str) -> int
-- Count the items of an owner.
SELECT count(*) FROM {items} WHERE lower(owner) = lower(:owner);

-- def leaving_out(name: str, limit: int) -> list[ItemKey]
-- Return files in which a member was left out by rule; `name` is how the finding's message begins.
SELECT f.item, l.file_key AS key FROM finding f JOIN listed_file l ON l.seq = f.item
WHERE f.kind IN ('LeftOut', 'UnsafeName') AND instr(f.message, :name) = 1 ORDER BY f.seq LIMIT :limit;

-- def readings(item: int) -> list[ReadingRow]
-- Return what steps made of an item, in order.
SELECT seq, at, session, step, version, digest, reason, number FROM reading WHERE item = :item ORDER BY seq;

-- def findings(item: int) -> list[FindingRow]
-- Return what was found in an item, in order.
SELECT seq, at, session, phase, kind, level, message, line, col AS column FROM finding WHERE item = :item ORDER BY seq;

-- row: DecisionRow
-- What was decided of an item.

-- def decisions(item: int) -> list[DecisionRow]
-- Return what was decided of an item, in order.
SELECT seq, at, session, act, message FROM decision WHERE item = :item ORDER BY seq;

-- row: StartRow
-- A step that was begun for an item and has not ended: it is under way, or was cut.

-- def unended(item: int) -> StartRow | None
-- Return the step that was begun for an item and has not ended.
SELECT s.seq, s.at, s.session, s.step FROM step_start s WHERE s.item = :item
AND NOT EXISTS (SELECT 1 FROM reading r WHERE r.item = s.item AND r.seq > s.seq) ORDER BY s.seq DESC LIMIT 1;

-- row: ItemEvent
-- Something that changed where an item stands.
-- `event` is attempt, end (of an attempt), start (of a step), reading or decision; `reason` says why the attempt or the
-- reading failed, or is what was decided; `checksum` is empty where no checksum beside the file was compared.

-- def events(items: Sequence[int]) -> list[ItemEvent]
-- Return what changed where items stand, for each in order.
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
-- An item, and why its name was refused.
-- `file` is that which a member lies in, None for others, and `attempt` the one that brought it; `step` and `status`
-- are of the step that it waits for, failed at or was ended before, None for what is through.

-- def seen(items: Sequence[int]) -> list[SeenItem]
-- Return items with the steps that they wait for.
SELECT n.value AS "item: int", coalesce(m.kind, f.kind, 'warc') AS "kind: str", v.listed_file AS file,
       coalesce(m.attempt, 0) AS "attempt: int", coalesce(m.reason, f.reason) AS "reason: Reason | None",
       p.step AS "step: str | None", p.status AS "status: Status | None",
       EXISTS (SELECT 1 FROM step_start s WHERE s.item = p.item AND s.seq > p.since) AS "started: bool"
FROM json_each(:items) n LEFT JOIN listed_file f ON f.seq = n.value LEFT JOIN member m ON m.seq = n.value
LEFT JOIN attempt v ON v.seq = m.attempt LEFT JOIN pending_step p ON p.item = n.value ORDER BY 1;

-- def numbers(collection: str) -> list[int]
-- Return the numbers of all items of a collection.
SELECT seq FROM {items} WHERE collection = :collection ORDER BY seq;

-- row: KindCount
-- How many items of a kind wait for a step, failed at it or were ended before it.
-- The step is None for those that are through.

-- def by_step() -> list[KindCount]
-- Count the items of all collections by the step that they wait for.
SELECT i.collection, i.kind AS "kind: str", p.step AS "step: str | None", p.status AS "status: Status | None",
       count(*) AS "number: int" FROM {items} i LEFT JOIN pending_step p ON p.item = i.seq GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- name: item_waits
-- Let an item wait for a step, or fail at it, or end before it; without an attempt that stays what it is.
INSERT INTO pending_step SELECT ?1, i.collection, ?2, ?3, i.place, coalesce(?4, nullif(i.attempt, 0),
    (SELECT max(v.seq) FROM attempt v WHERE v.listed_file = i.seq), 0), ?5, ?6 FROM {items} i WHERE i.seq = ?1
ON CONFLICT (item) DO UPDATE SET step = excluded.step, status = excluded.status, reason = excluded.reason,
    attempt = coalesce(?4, attempt), since = excluded.since;

-- name: item_through
DELETE FROM pending_step WHERE item = ?;

-- name: item_ends
-- Let an item end where it stands.
INSERT INTO pending_step SELECT ?1, i.collection, '', 4, i.place, coalesce(nullif(i.attempt, 0),
    (SELECT max(v.seq) FROM attempt v WHERE v.listed_file = i.seq), 0), ?2, ?3 FROM {items} i WHERE i.seq = ?1
ON CONFLICT (item) DO UPDATE SET status = 4, reason = excluded.reason, since = excluded.since;

-- name: forget_readings
-- In a copy of the ledger that is to be read anew: what steps made of documents ...
DELETE FROM reading;

-- name: forget_starts
-- ... and for which they were begun ...
DELETE FROM step_start;

-- name: forget_pending
-- ... that they wait for others, or were refused ...
DELETE FROM pending_step WHERE status <> 4 OR item IN (SELECT seq FROM member);

-- name: forget_members
-- ... and the documents that attempts brought.
DELETE FROM member;
