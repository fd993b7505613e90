-- Queries on listings: what sources offer, and what of it was refused.

-- row: OfferRow
-- What a source said of an item when it was last listed; `present` is whether it still offers it.

-- def of_source(source: str) -> list[OfferRow]
-- Return what a source offered when it was last listed, and what it offered before.
SELECT o.item, i.item_key AS key, o.path, o.present, o.size, o.modified, o.sidecar
FROM offering o JOIN item i ON i.seq = o.item WHERE o.source = :source;

-- row: ItemOffer
-- A source that offers an item now.

-- def of_items(items: Sequence[int]) -> list[ItemOffer]
-- Return who offers these items now.
SELECT item, source, path, size, modified, sidecar FROM offering
WHERE present = 1 AND item IN (SELECT value FROM json_each(:items)) ORDER BY item, source;

-- def sources() -> set[str]
-- Return every source that ever offered something.
SELECT DISTINCT source FROM offering ORDER BY source;

-- row: ListingCount
-- How often listings of a source said something: listed, refused, changed or gone.

-- def listed_between(span: tuple[int, int]) -> list[ListingCount]
-- Count what listings said between two facts.
SELECT source, event, count(*) AS "number: int" FROM listing
WHERE seq BETWEEN :span[0] AND :span[1] AND event <> 'compared' GROUP BY 1, 2;

-- def refused_between(span: tuple[int, int]) -> list[RefusalCount]
-- Count what was refused between two facts.
SELECT source, reason, count(*) AS "number: int" FROM refusal WHERE seq BETWEEN :span[0] AND :span[1] GROUP BY source,
       reason;

-- def count() -> dict[str, int]
-- Count what each source offers now.
SELECT source, count(*) AS "number: int" FROM offering WHERE present = 1 GROUP BY source;

-- def count_failing() -> dict[str, int]
-- Count what each source offers that failed, or of which a document did.
WITH failed (item) AS (
    SELECT p.item FROM pending_step p WHERE p.status = 5
    UNION SELECT i.parent FROM pending_step p JOIN item i ON i.seq = p.item
    WHERE p.status = 5 AND i.fetch = (SELECT max(v.seq) FROM attempt v WHERE v.item = i.parent)
    AND NOT EXISTS (SELECT 1 FROM pending_step f WHERE f.item = i.parent)
)
SELECT o.source, count(*) AS "number: int" FROM failed f JOIN offering o ON o.item = f.item
WHERE o.present = 1 GROUP BY o.source;

-- row: RefusalRow
-- An entry of a listing whose name fits no table.

-- def refused(name: str) -> list[RefusalRow]
-- Return refused entries by path, by the last part of it, or by source and path; and lines that end with it.
-- A line that could not be read is a path as it came: what it ends with may be the name.
SELECT seq, at, session, source, path, reason FROM refusal
WHERE path = :name OR substr(path, -length('/' || :name)) = '/' || :name OR source || '/' || path = :name
OR (reason = 'protocol_error' AND substr(path, -length(' ' || :name)) = ' ' || :name) ORDER BY seq;

-- row: Offerer
-- A source that offers or offered an item.

-- def offerers(item: int) -> list[Offerer]
-- Return who offers or offered an item.
SELECT source, path, present, size, modified FROM offering WHERE item = :item ORDER BY source;

-- row: ListingRow
-- A source began to offer an item, changed what it says of it, or stopped: listed or refused, changed, gone.

-- def of_item(item: int) -> list[ListingRow]
-- Return what listings said of an item, in order.
SELECT seq, at, session, source, path, event, size, modified FROM listing WHERE item = :item ORDER BY seq;

-- row: WaitingOffer
-- An item that waits for a step or failed at it, and a source that offers it now.

-- def waiting(collection: str, step: str, status: Status) -> list[WaitingOffer]
-- Return items that wait for a step, or failed at it, with who offers them now, in the order of work.
SELECT p.item, i.item_key AS key, i.owner, o.source, o.path, o.size, o.modified, p.reason
FROM pending_step p JOIN item i ON i.seq = p.item JOIN offering o ON o.item = p.item AND o.present = 1
WHERE p.collection = :collection AND p.step = :step AND p.status = :status ORDER BY p.place, p.item, o.source;

-- def wrong() -> Iterator[WrongOffer]
-- Yield offers that are there or not, other than the last listing says.
SELECT o.source, o.item, o.present AS "present: int", l.event FROM offering o
       JOIN listing l ON l.seq = (SELECT max(k.seq)
    FROM listing k WHERE k.source = o.source AND k.item = o.item) WHERE o.present <> (l.event <> 'gone');

-- row: ListedChange
-- What a source said of an item, with the item's name and the size that it had there before.

-- def changes(collection: str, span: tuple[int, int]) -> Iterator[ListedChange]
-- Yield what the sources of a collection said between two facts, in order.
SELECT l.at, l.source, l.event, i.item_key AS key, l.path, l.size, (
    SELECT p.size FROM listing p WHERE p.item = l.item AND p.source = l.source AND p.seq < l.seq
    ORDER BY p.seq DESC LIMIT 1) AS "before: int | None"
FROM listing l JOIN item i ON i.seq = l.item WHERE l.seq BETWEEN :span[0] AND :span[1] AND i.collection = :collection
AND l.event <> 'compared' ORDER BY l.seq;

-- row: UncomparedOffer
-- A source that offers an item of which bytes are held from another one, `held_from`, by their digest.

-- def uncompared(collection: str, limit: int) -> list[UncomparedOffer]
-- Return who offers what is held from another source in the same size, and was not compared with it yet.
-- That is, not since it was listed and the bytes were fetched.
SELECT o.item, i.item_key AS key, o.source, o.path, o.size, o.modified, o.sidecar, v.digest, h.source AS held_from
FROM offering o JOIN item i ON i.seq = o.item JOIN attempt v ON v.seq = (SELECT g.seq FROM attempt g
    WHERE g.item = o.item AND g.end_seq > 0 AND g.reason IS NULL ORDER BY g.end_seq DESC LIMIT 1)
JOIN host h ON h.seq = v.host
WHERE o.item IN (SELECT item FROM offering WHERE present = 1 GROUP BY item HAVING count(*) > 1)
AND o.present = 1 AND i.collection = :collection AND o.source <> h.source AND coalesce(o.size, v.size) = v.size
AND NOT EXISTS (SELECT 1 FROM attempt s JOIN host g ON g.seq = s.host
    WHERE s.item = o.item AND g.source = o.source AND s.reason IS NULL AND s.digest = v.digest)
AND NOT EXISTS (SELECT 1 FROM listing c
    WHERE c.item = o.item AND c.source = o.source AND c.event = 'compared' AND c.seq > v.end_seq AND c.seq > (
        SELECT max(l.seq) FROM listing l WHERE l.item = o.item AND l.source = o.source AND l.event <> 'compared'))
ORDER BY o.source, o.item LIMIT :limit;
