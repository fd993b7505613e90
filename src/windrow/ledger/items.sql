-- What is asked of items: where they stand, what steps made of them, and what happened to them.

-- def by_key(collection: str, kind: str, keys: Sequence[str]) -> dict[str, int]
-- Return the numbers of listed items, by their keys.
SELECT item_key, seq FROM item
WHERE collection = :collection AND kind = :kind AND fetch = 0 AND item_key IN (SELECT value FROM json_each(:keys));

-- row: DueRow
-- An item in a state, with the capture it lies in: its digest, size and source, empty for none.

-- def due(collection: str, kind: str, state: tuple[int, Status], after: tuple[str, int], limit: int)
--     -> list[DueRow]
-- Return items in one state, in the order of work: rank and number, after a given one.
SELECT s.item, i.item_key AS key, s.parent, s.place AS rank, s.phase, s.status, s.fetch, i.digest, i.member, i.owner,
       s.reason,
       s.since, coalesce(v.digest, '') AS "capture: str", v.size, coalesce(h.source, '') AS "source: str"
FROM standing s JOIN item i ON i.seq = s.item
LEFT JOIN attempt v ON v.seq = s.fetch AND v.end_seq > 0 AND v.reason IS NULL LEFT JOIN host h ON h.seq = v.host
WHERE s.collection = :collection AND s.kind = :kind AND s.phase = :state[0] AND s.status = :state[1]
AND (s.place, s.item) > (:after[0], :after[1])
ORDER BY s.place, s.item LIMIT :limit;

-- def count_due(collection: str, kind: str, state: tuple[int, Status]) -> int
-- Count the items in one state.
SELECT count(*) FROM standing
WHERE collection = :collection AND kind = :kind AND phase = :state[0] AND status = :state[1];

-- def standings(items: Sequence[int]) -> list[ChildState]
-- Return where items stand.
SELECT item, phase, status FROM standing WHERE item IN (SELECT value FROM json_each(:items));

-- def standing(item: int) -> ItemStanding | None
-- Return where an item stands.
SELECT phase, status, fetch FROM standing WHERE item = :item;

-- def by_state() -> list[ItemCount]
-- Count the items of all collections by where they stand; of documents those that the latest fetch brought.
SELECT s.collection, s.kind, s.phase, s.status, count(*) AS "number: int" FROM standing s
LEFT JOIN standing p ON p.item = s.parent WHERE p.item IS NULL OR p.fetch = s.fetch
GROUP BY s.collection, s.kind, s.phase, s.status ORDER BY s.collection, s.kind, s.phase, s.status;

-- def children_by_state(parents: Sequence[int]) -> list[ChildCount]
-- Count what the latest fetch of each parent brought, by where it stands.
SELECT c.parent AS "parent: int", c.phase, c.status, count(*) AS "number: int" FROM standing c
JOIN standing p ON p.item = c.parent AND p.fetch = c.fetch
WHERE c.parent IN (SELECT value FROM json_each(:parents)) GROUP BY c.parent, c.phase, c.status;

-- row: KnownReading
-- What a step made of bytes before, with the item it read then.

-- def reading(digest: str, step: str, version: str) -> KnownReading | None
-- Return what a step of a version made of these bytes before.
SELECT seq, item, reason, number, md5 FROM reading
WHERE digest = :digest AND step = :step AND version = :version ORDER BY seq LIMIT 1;

-- def findings_in_phase(item: int, phase: int) -> list[Finding]
-- Return what was found in an item in one phase, in order.
SELECT kind, message, level, line, col FROM finding WHERE item = :item AND phase = :phase ORDER BY seq;

-- def listed(collection: str, kind: str, keys: Sequence[str]) -> list[ListedItem]
-- Return listed items of these keys, and where they stand.
SELECT i.seq AS item, i.item_key AS key, s.phase, s.status, s.fetch FROM item i JOIN standing s ON s.item = i.seq
WHERE i.collection = :collection AND i.kind = :kind AND i.fetch = 0
AND i.item_key IN (SELECT value FROM json_each(:keys)) ORDER BY i.seq;

-- def children_of_fetch(item: int, fetch: int) -> list[ChildState]
-- Return the documents that one fetch of an item brought.
SELECT item, phase, status FROM standing WHERE parent = :item AND fetch = :fetch ORDER BY item;

-- def of_fetch(collection: str, key: str, fetch: int) -> int | None
-- Return the number of a document by its key and the fetch that brought it.
SELECT seq FROM item WHERE collection = :collection AND item_key = :key AND fetch = :fetch ORDER BY seq LIMIT 1;

-- def fetched(collection: str) -> list[FetchedStanding]
-- Return where everything stands that a fetch brought or that was fetched.
SELECT s.item, i.item_key AS key, i.fetch, s.phase, s.status, s.reason FROM standing s JOIN item i ON i.seq = s.item
WHERE s.collection = :collection AND s.fetch <> 0 ORDER BY s.item;

-- def standing_of_fetch(collection: str, key: str, fetch: int) -> ChildState | None
-- Return where a document stands, by its key and the fetch that brought it.
SELECT s.item, s.phase, s.status FROM standing s JOIN item i ON i.seq = s.item
WHERE i.collection = :collection AND i.item_key = :key AND i.fetch = :fetch ORDER BY s.item LIMIT 1;

-- def tracked(collection: str) -> list[TrackedCount]
-- Count a collection's items by where its books show them.
-- One that waits to be fetched again still shows what became of its latest fetch, and a member whose name no table can
-- hold is not there.
SELECT kind, phase AS "phase: int", status AS "status: int", count(*) AS "number: int" FROM (
    SELECT s.kind AS kind,
           CASE WHEN s.reason = 'retried' AND s.fetch <> 0 THEN m.phase ELSE s.phase END AS phase,
           CASE WHEN s.reason = 'retried' AND s.fetch <> 0 THEN m.status ELSE s.status END AS status
    FROM standing s LEFT JOIN move m ON m.seq =
        (SELECT max(k.seq) FROM move k WHERE k.item = s.item AND (k.reason IS NULL OR k.reason <> 'retried'))
    WHERE s.collection = :collection AND
        (s.parent IS NULL OR s.reason IS NULL OR s.reason NOT IN ('name_too_long', 'unsafe_name'))
) GROUP BY kind, phase, status;

-- def loaded(step: str, collection: str) -> list[LoadedRow]
-- Return how many rows a step made of each document since the store was last made anew.
SELECT r.item, i.item_key AS key, r.number FROM reading r JOIN item i ON i.seq = r.item
WHERE r.step = :step AND i.collection = :collection AND r.reason IS NULL AND r.seq = (SELECT max(k.seq) FROM reading k
    WHERE k.item = r.item AND k.step = r.step)
AND r.seq > coalesce((SELECT max(s.seq) FROM session s JOIN session_end e ON e.session = s.seq
    WHERE s.command = 'replay' AND e.outcome = 0), 0) ORDER BY r.item;

-- def moved_between(span: tuple[int, int]) -> list[MoveCount]
-- Count where items came to rest between two facts, each once for each state and reason.
SELECT i.collection, i.kind, m.phase, m.status, m.reason, count(DISTINCT m.item) AS "number: int"
FROM move m JOIN item i ON i.seq = m.item WHERE m.seq BETWEEN :span[0] AND :span[1] AND m.status >= 3
GROUP BY i.collection, i.kind, m.phase, m.status, m.reason ORDER BY 1, 3, 4;

-- def found_between(span: tuple[int, int]) -> list[FindingCountRow]
-- Count what was found between two facts, the most frequent first.
SELECT kind, level, count(*) AS "number: int" FROM finding WHERE seq BETWEEN :span[0] AND :span[1] GROUP BY kind,
       level ORDER BY 3 DESC, 1;

-- def by_reason() -> list[ReasonCountRow]
-- Count why items do not go on: parents follow their children. A reason may occur twice.
SELECT s.reason AS "reason: Reason", count(*) AS "number: int" FROM standing s LEFT JOIN standing p ON p.item = s.parent
WHERE s.status >= 4 AND s.reason IS NOT NULL AND (p.item IS NULL OR p.fetch = s.fetch) GROUP BY s.reason
UNION ALL SELECT reason, count(*) FROM refusal GROUP BY reason;

-- row: ItemRow
-- An item and how it stands.
-- `fetch` is the attempt that brought it, 0 for what was listed, and `latest` that of what it stands for now.

-- def get(item: int) -> ItemRow | None
-- Return an item, None where there is none of this number.
SELECT i.seq, i.at, i.session, i.collection, i.kind, i.item_key AS key, i.parent, i.owner, i.fetch, i.digest, i.member,
       i.size, i.md5, i.place AS rank, s.phase, s.status, s.reason, s.fetch AS latest
FROM item i JOIN standing s ON s.item = i.seq WHERE i.seq = :item;

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
UNION SELECT item FROM attempt WHERE item IS NOT NULL AND end_seq = :attempt;

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

-- def moves(item: int) -> list[MoveRow]
-- Return where an item came to, in order.
SELECT seq, at, session, phase, status, reason, message FROM move WHERE item = :item ORDER BY seq;

-- row: ChildRow
-- A document that an item holds; `fetch` is the attempt that brought it.

-- def children(item: int) -> list[ChildRow]
-- Return the documents that an item's fetches brought, in the order of fetches and work.
SELECT s.item, i.item_key AS key, i.kind, s.phase, s.status, s.reason, i.owner, i.fetch
FROM standing s JOIN item i ON i.seq = s.item WHERE s.parent = :item ORDER BY s.fetch, s.place, s.item;

-- def keys_by_status(collection: str, kind: str, statuses: tuple[Status, Status], source: str, reason: str)
--     -> list[str]
-- Return the keys of items in either status, of a source and with a reason; empty means any.
-- The reason may be that of one of their children.
SELECT DISTINCT i.item_key FROM standing s JOIN item i ON i.seq = s.item LEFT JOIN offering o ON o.item = s.item
WHERE s.collection = :collection AND s.kind = :kind AND s.status IN (:statuses[0], :statuses[1])
AND (:source = '' OR o.source = :source)
AND (:reason = '' OR s.reason = :reason
    OR EXISTS (SELECT 1 FROM standing c WHERE c.parent = s.item AND c.reason = :reason));

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
-- `file` is that which it lies in, None for a listed file, and `attempt` the one that brought it.

-- def seen(collection: str) -> list[SeenItem]
-- Return the items of a collection.
SELECT seq AS item, kind, parent AS file, fetch AS attempt, reason FROM item WHERE collection = :collection
ORDER BY seq;

-- def wrong() -> Iterator[WrongStanding]
-- Yield items that stand elsewhere than their last move says.
SELECT s.item, s.phase, s.status AS "status: int", m.phase AS moved_phase, m.status AS "moved_status: int"
FROM standing s JOIN move m ON m.seq = (SELECT max(k.seq) FROM move k WHERE k.item = s.item)
WHERE s.phase <> m.phase OR s.status <> m.status;

-- name: standing_fetched
-- Let an item be what an attempt of its brought.
UPDATE standing SET fetch = ? WHERE item = ?;

-- name: forget_readings
-- In a copy of the ledger that is to be read anew: what steps made of documents ...
DELETE FROM reading;

-- name: forget_starts
-- ... and for which they were begun ...
DELETE FROM step_start;

-- name: forget_standings
-- ... where documents stand that a fetch brought ...
DELETE FROM standing WHERE item IN (SELECT seq FROM item WHERE fetch <> 0);

-- name: forget_members
-- ... and these themselves.
DELETE FROM item WHERE fetch <> 0;
