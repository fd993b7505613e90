-- Queries on items: where they stand, what steps made of them, and what happened to them.

-- def by_key(collection: str, kind: str, keys: Sequence[str]) -> dict[str, int]
-- Return the numbers of listed items, by their keys.
SELECT item_key, seq FROM item
WHERE collection = :collection AND kind = :kind AND fetch = 0 AND item_key IN (SELECT value FROM json_each(:keys));

-- row: DueRow
-- An item that waits for a step or failed at it.
-- With the capture it lies in: its digest, size and source, empty for none.

-- def due(collection: str, step: str, status: Status, after: tuple[str, int], limit: int) -> list[DueRow]
-- Return items that wait for a step, or failed at it, in the order of work, after a given rank and number.
SELECT p.item, i.kind, i.item_key AS key, i.parent, p.place AS rank, p.attempt, i.digest, i.member, i.owner, p.reason,
       p.since, coalesce(v.digest, '') AS "capture: str", v.size, coalesce(h.source, '') AS "source: str"
FROM pending_step p JOIN item i ON i.seq = p.item
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

-- def refused(items: Sequence[int]) -> set[int]
-- Return those of some items whose names are refused.
SELECT item FROM pending_step WHERE item IN (SELECT value FROM json_each(:items)) AND step = '' AND status = 5;

-- row: KnownReading
-- What a step made of bytes before, with the item it read then.

-- def reading(digest: str, step: str, version: str) -> KnownReading | None
-- Return what a step of a version made of these bytes before.
SELECT seq, item, reason, number, md5 FROM reading
WHERE digest = :digest AND step = :step AND version = :version ORDER BY seq LIMIT 1;

-- def findings_in_phase(item: int, phase: int) -> list[Finding]
-- Return what was found in an item in one phase, in order.
SELECT kind, message, level, line, col FROM finding WHERE item = :item AND phase = :phase ORDER BY seq;

-- row: ListedItem
-- A listed item, and the latest attempt to get it, 0 for none.

-- def listed(collection: str, kind: str, keys: Sequence[str]) -> list[ListedItem]
-- Return listed items of these keys.
SELECT i.seq AS item, i.item_key AS key, coalesce((SELECT max(v.seq) FROM attempt v WHERE v.item = i.seq), 0)
       AS "attempt: int" FROM item i
WHERE i.collection = :collection AND i.kind = :kind AND i.fetch = 0
AND i.item_key IN (SELECT value FROM json_each(:keys)) ORDER BY i.seq;

-- def pending_of(item: int, attempt: int) -> list[PendingStep]
-- Return the steps that the documents which an attempt brought wait for, failed at, or were ended before.
SELECT p.item, p.step, p.status, p.reason, p.since FROM item i JOIN pending_step p ON p.item = i.seq
WHERE i.parent = :item AND i.fetch = :attempt ORDER BY i.seq;

-- def of_fetch(collection: str, key: str, fetch: int) -> int | None
-- Return the number of a document by its key and the fetch that brought it.
SELECT seq FROM item WHERE collection = :collection AND item_key = :key AND fetch = :fetch ORDER BY seq LIMIT 1;

-- def read_items(collection: str) -> list[BroughtItem]
-- Return the documents that attempts brought, and the files of which steps made something.
SELECT i.seq AS item, i.item_key AS key, i.fetch FROM item i WHERE i.collection = :collection
AND (i.fetch <> 0 OR EXISTS (SELECT 1 FROM reading r WHERE r.item = i.seq)) ORDER BY i.seq;

-- def loaded(step: str, collection: str) -> list[LoadedRow]
-- Return how many rows a step made of each document since the store was last made anew.
SELECT r.item, i.item_key AS key, r.number FROM reading r JOIN item i ON i.seq = r.item
WHERE r.step = :step AND i.collection = :collection AND r.reason IS NULL AND r.seq = (SELECT max(k.seq) FROM reading k
    WHERE k.item = r.item AND k.step = r.step)
AND r.seq > coalesce((SELECT max(s.seq) FROM session s JOIN session_end e ON e.session = s.seq
    WHERE s.command = 'replay' AND e.outcome = 0), 0) ORDER BY r.item;

-- row: StepCount
-- How many items of a kind a step ended for in one way.

-- def read_between(span: tuple[int, int]) -> list[StepCount]
-- Count what steps made of items between two facts, each once for each step and reason.
SELECT i.collection, i.kind, r.step, r.reason, count(DISTINCT r.item) AS "number: int" FROM reading r
JOIN item i ON i.seq = r.item WHERE r.seq BETWEEN :span[0] AND :span[1] GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- row: ArrivalCount
-- How many files were fetched, or not for a reason; `compared` with a checksum that lies beside them.

-- def fetched_between(collection: str, span: tuple[int, int]) -> list[ArrivalCount]
-- Count what came of attempts to get files between two facts, each file once for each reason.
SELECT v.reason, v.checksum <> '' AS "compared: bool", count(DISTINCT v.item) AS "number: int" FROM attempt v
JOIN item i ON i.seq = v.item WHERE v.end_seq BETWEEN :span[0] AND :span[1] AND i.collection = :collection
GROUP BY 1, 2 ORDER BY 1, 2;

-- row: NamedCount
-- How many items of a kind have a good name, or one that was refused for a reason.

-- def named_between(collection: str, span: tuple[int, int]) -> list[NamedCount]
-- Count the items that were seen first between two facts.
SELECT kind, reason, count(*) AS "number: int" FROM item
WHERE seq BETWEEN :span[0] AND :span[1] AND collection = :collection GROUP BY 1, 2 ORDER BY 1, 2;

-- def ended_between(collection: str, span: tuple[int, int]) -> dict[int, str]
-- Return the items of which something was decided between two facts, and what.
SELECT d.item, d.act FROM decision d JOIN item i ON i.seq = d.item
WHERE d.seq BETWEEN :span[0] AND :span[1] AND i.collection = :collection ORDER BY d.seq;

-- row: PassedCount
-- How many files have documents that all `passed` a step, or of which one failed.
-- It `failed` there where none did before. The step is empty for their names.

-- def passed_between(collection: str, span: tuple[int, int]) -> list[PassedCount]
-- Count the files of whose documents a step took some between two facts.
SELECT k.step, CASE WHEN k.good = (SELECT count(*) FROM item o WHERE o.parent = k.file AND o.fetch = k.attempt)
       THEN 1 ELSE NOT EXISTS (SELECT 1 FROM item o WHERE o.parent = k.file AND o.fetch = k.attempt AND NOT EXISTS (
           SELECT 1 FROM reading g WHERE g.item = o.seq AND g.step = k.step AND g.reason IS NULL AND g.seq <= :span[1])
       ) END AS "passed: bool", k.failed > 0 AND NOT EXISTS (SELECT 1 FROM item o WHERE o.parent = k.file
           AND o.fetch = k.attempt AND (o.reason IS NOT NULL OR EXISTS (SELECT 1 FROM reading g WHERE g.item = o.seq
               AND g.step <> k.step AND g.reason IS NOT NULL AND g.seq < k.first))) AS "failed: bool",
       count(*) AS "number: int"
FROM (SELECT i.parent AS file, i.fetch AS attempt, r.step, sum(r.reason IS NOT NULL) AS failed, min(r.seq) AS first,
        sum(r.reason IS NULL) AS good FROM reading r JOIN item i ON i.seq = r.item
    WHERE r.seq BETWEEN :span[0] AND :span[1] AND i.collection = :collection
    AND i.parent IS NOT NULL GROUP BY 1, 2, 3) k GROUP BY 1, 2, 3
UNION ALL SELECT '', n.refused = 0, n.refused > 0, count(*) FROM (
    SELECT sum(i.reason IS NOT NULL) AS refused FROM item i WHERE i.seq BETWEEN :span[0] AND :span[1]
    AND i.collection = :collection AND i.parent IS NOT NULL GROUP BY i.parent, i.fetch) n GROUP BY 2, 3;

-- def found_between(span: tuple[int, int]) -> list[FindingCountRow]
-- Count what was found between two facts, the most frequent first.
SELECT kind, level, count(*) AS "number: int" FROM finding WHERE seq BETWEEN :span[0] AND :span[1] GROUP BY kind,
       level ORDER BY 3 DESC, 1;

-- def by_reason() -> list[ReasonCountRow]
-- Count why items do not go on; of documents those of the latest attempt. A reason may occur twice.
SELECT p.reason AS "reason: Reason", count(*) AS "number: int" FROM pending_step p JOIN item i ON i.seq = p.item
WHERE p.status >= 4 AND p.reason IS NOT NULL AND (i.parent IS NULL
    OR i.fetch = (SELECT max(v.seq) FROM attempt v WHERE v.item = i.parent)) GROUP BY p.reason
UNION ALL SELECT reason, count(*) FROM refusal GROUP BY reason;

-- row: ItemRow
-- An item, with the step that it waits for, failed at or was ended before; None where it is through.
-- `fetch` is the attempt that brought it, 0 for what was listed, and `latest` that of what it stands for now.

-- def get(item: int) -> ItemRow | None
-- Return an item, None where there is none of this number.
SELECT i.seq, i.at, i.session, i.collection, i.kind, i.item_key AS key, i.parent, i.owner, i.fetch, i.digest, i.member,
       i.size, i.md5, i.place AS rank, p.step AS "step: str | None", p.status, p.reason,
       coalesce(nullif(i.fetch, 0), (SELECT max(v.seq) FROM attempt v WHERE v.item = i.seq), 0) AS "latest: int"
FROM item i LEFT JOIN pending_step p ON p.item = i.seq WHERE i.seq = :item;

-- def named(keys: Sequence[str]) -> list[ItemKey]
-- Return items of any collection by their keys.
SELECT seq AS item, item_key AS key FROM item WHERE item_key IN (SELECT value FROM json_each(:keys)) ORDER BY seq;

-- def by_tail(tail: str, limit: int) -> list[ItemKey]
-- Return items whose key, or path at a source, ends in a text.
SELECT seq AS item, item_key AS key FROM item WHERE substr(item_key, -length(:tail)) = :tail
UNION SELECT l.item, i.item_key FROM listing l JOIN item i ON i.seq = l.item
WHERE substr('/' || l.path, -length(:tail)) = :tail ORDER BY 1 LIMIT :limit;

-- def by_owner(owner: str, limit: int) -> list[ItemKey]
-- Return items of an owner, in upper or lower case.
SELECT seq AS item, item_key AS key FROM item WHERE lower(owner) = lower(:owner) ORDER BY seq LIMIT :limit;

-- def count_by_owner(owner: str) -> int
-- Count the items of an owner.
SELECT count(*) FROM item WHERE lower(owner) = lower(:owner);

-- def by_address(address: str) -> list[ItemKey]
-- Return items that were fetched from an address.
SELECT DISTINCT v.item AS "item: int", i.item_key AS key FROM attempt v JOIN item i ON i.seq = v.item
WHERE v.item > 0 AND v.url = :address ORDER BY 1;

-- def by_path(source: str, path: str) -> list[ItemKey]
-- Return items that a source offers or offered at a path.
SELECT o.item, i.item_key AS key FROM offering o JOIN item i ON i.seq = o.item
WHERE o.source = :source AND o.path = :path;

-- def of_attempt(attempt: int) -> list[int]
-- Return the numbers of items by the number of an attempt to get them, or of its end.
SELECT item FROM attempt WHERE item IS NOT NULL AND seq = :attempt
UNION SELECT item FROM attempt WHERE end_seq IS NOT seq AND end_seq = :attempt;

-- def leaving_out(name: str, limit: int) -> list[ItemKey]
-- Return items in which a member was left out by rule; `name` is how the finding's message begins.
SELECT f.item, i.item_key AS key FROM finding f JOIN item i ON i.seq = f.item
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

-- row: ChildRow
-- A document that an item holds, and why it does not go on.

-- def children(item: int, attempt: int) -> list[ChildRow]
-- Return the documents that an attempt to get an item brought, in the order of work.
SELECT i.seq AS item, i.item_key AS key, i.kind, i.owner, p.reason FROM item i
LEFT JOIN pending_step p ON p.item = i.seq WHERE i.parent = :item AND i.fetch = :attempt ORDER BY i.place, i.seq;

-- def keys_by_status(collection: str, kind: str, statuses: tuple[Status, Status], source: str, reason: str)
--     -> list[str]
-- Return the keys of files in either status, of a source and with a reason; empty means any.
-- A file that waits for nothing is what one of its latest documents is.
SELECT DISTINCT i.item_key FROM item i LEFT JOIN pending_step p ON p.item = i.seq
LEFT JOIN offering o ON o.item = i.seq WHERE i.collection = :collection AND i.kind = :kind AND i.fetch = 0
AND (:source = '' OR o.source = :source)
AND ((p.status IN (:statuses[0], :statuses[1]) AND (:reason = '' OR p.reason = :reason OR EXISTS (
    SELECT 1 FROM item m JOIN pending_step c ON c.item = m.seq WHERE m.parent = i.seq AND c.reason = :reason)))
OR (p.item IS NULL AND EXISTS (SELECT 1 FROM item m JOIN pending_step c ON c.item = m.seq
    WHERE m.parent = i.seq AND m.fetch = (SELECT max(v.seq) FROM attempt v WHERE v.item = i.seq)
    AND c.status IN (:statuses[0], :statuses[1]) AND (:reason = '' OR c.reason = :reason))));

-- row: ItemEvent
-- Something that changed where an item stands.
-- `event` is attempt, end (of an attempt), start (of a step), reading or decision; `reason` says why the attempt or the
-- reading failed, or is what was decided; `checksum` is empty where no checksum beside the file was compared.

-- def events(items: Sequence[int]) -> list[ItemEvent]
-- Return what changed where items stand, for each in order.
SELECT v.item AS "item: int", v.seq, 'attempt' AS "event: str", '' AS "step: str", NULL AS "reason: Reason | None",
       '' AS "checksum: str" FROM attempt v WHERE v.item IN (SELECT value FROM json_each(:items))
UNION ALL SELECT v.item, v.end_seq, 'end', '', v.reason, v.checksum FROM attempt v
    WHERE v.item IN (SELECT value FROM json_each(:items)) AND v.end_seq > 0
UNION ALL SELECT item, seq, 'start', step, NULL, '' FROM step_start WHERE item IN (SELECT value FROM json_each(:items))
UNION ALL SELECT item, seq, 'reading', step, reason, '' FROM reading
    WHERE item IN (SELECT value FROM json_each(:items))
UNION ALL SELECT item, seq, 'decision', '', act, '' FROM decision WHERE item IN (SELECT value FROM json_each(:items))
ORDER BY 1, 2;

-- row: SeenItem
-- An item, and why its name was refused.
-- `file` is that which it lies in, None for a listed file, and `attempt` the one that brought it; `step` and `status`
-- are of the step that it waits for, failed at or was ended before, None for what is through.

-- def seen(items: Sequence[int]) -> list[SeenItem]
-- Return items with the steps that they wait for.
SELECT i.seq AS item, i.kind, i.parent AS file, i.fetch AS attempt, i.reason, p.step AS "step: str | None",
       p.status AS "status: Status | None",
       EXISTS (SELECT 1 FROM step_start s WHERE s.item = p.item AND s.seq > p.since) AS "started: bool"
FROM item i LEFT JOIN pending_step p ON p.item = i.seq
WHERE i.seq IN (SELECT value FROM json_each(:items)) ORDER BY i.seq;

-- def numbers(collection: str, kind: str) -> list[int]
-- Return the numbers of the items of a kind.
SELECT seq FROM item WHERE collection = :collection AND kind = :kind ORDER BY seq;

-- def count_named(collection: str, reasons: Iterable[str]) -> int
-- Count the documents whose names were refused for one of some reasons.
SELECT count(*) FROM item WHERE collection = :collection AND parent IS NOT NULL
AND reason IN (SELECT value FROM json_each(:reasons));

-- row: MemberCount
-- How many documents that an attempt brought stand alike.
-- `step` is what they wait for, failed at or were ended before, None for those that are through; `started` where it was
-- begun for them meanwhile.

-- def count_members(files: Sequence[int]) -> list[MemberCount]
-- Count the documents of each attempt to get files by the step that they wait for.
SELECT i.parent AS "file: int", i.fetch AS attempt, p.step AS "step: str | None", p.status AS "status: Status | None",
       EXISTS (SELECT 1 FROM step_start s WHERE s.item = p.item AND s.seq > p.since) AS "started: bool",
       count(*) AS "number: int" FROM item i LEFT JOIN pending_step p ON p.item = i.seq
WHERE i.parent IN (SELECT value FROM json_each(:files)) GROUP BY 1, 2, 3, 4, 5;

-- def members(file: int) -> list[int]
-- Return the documents that attempts to get a file brought.
SELECT seq FROM item WHERE parent = :file ORDER BY seq;

-- def ended_members(files: Sequence[int]) -> list[int]
-- Return the documents of files that were ended by an operator.
SELECT p.item FROM item i JOIN pending_step p ON p.item = i.seq
WHERE i.parent IN (SELECT value FROM json_each(:files)) AND p.status = 4 ORDER BY p.item;

-- row: KindCount
-- How many items of a kind wait for a step, failed at it or were ended before it.
-- The step is None for those that are through.

-- def by_step() -> list[KindCount]
-- Count the items of all collections by the step that they wait for.
SELECT i.collection, i.kind, p.step AS "step: str | None", p.status AS "status: Status | None", count(*) AS "number: int"
FROM item i LEFT JOIN pending_step p ON p.item = i.seq GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- name: item_waits
-- Let an item wait for a step, or fail at it, or end before it; without an attempt that stays what it is.
INSERT INTO pending_step SELECT ?1, i.collection, ?2, ?3, i.place, coalesce(?4, nullif(i.fetch, 0),
    (SELECT max(v.seq) FROM attempt v WHERE v.item = i.seq), 0), ?5, ?6 FROM item i WHERE i.seq = ?1
ON CONFLICT (item) DO UPDATE SET step = excluded.step, status = excluded.status, reason = excluded.reason,
    attempt = coalesce(?4, attempt), since = excluded.since;

-- name: item_through
DELETE FROM pending_step WHERE item = ?;

-- name: item_ends
-- Let an item end where it stands.
INSERT INTO pending_step SELECT ?1, i.collection, '', 4, i.place, coalesce(nullif(i.fetch, 0),
    (SELECT max(v.seq) FROM attempt v WHERE v.item = i.seq), 0), ?2, ?3 FROM item i WHERE i.seq = ?1
ON CONFLICT (item) DO UPDATE SET status = 4, reason = excluded.reason, since = excluded.since;

-- name: forget_readings
-- In a copy of the ledger that is to be read anew: what steps made of documents ...
DELETE FROM reading;

-- name: forget_starts
-- ... and for which they were begun ...
DELETE FROM step_start;

-- name: forget_pending
-- ... that they wait for others, or were refused ...
DELETE FROM pending_step WHERE status <> 4 OR item IN (SELECT seq FROM item WHERE fetch <> 0);

-- name: forget_members
-- ... and the documents that attempts brought.
DELETE FROM item WHERE fetch <> 0;
