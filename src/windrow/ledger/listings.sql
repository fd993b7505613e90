-- What is asked of listings: what sources offer, and what of it was refused.

-- name: offers_of_source
-- What a source offered when it was last listed.
SELECT o.item, i.item_key, o.path, o.present, o.size, o.modified, o.sidecar
FROM offering o JOIN item i ON i.seq = o.item WHERE o.source = ?;

-- name: offers_of_items
-- Who offers these items now.
SELECT item, source, path, size, modified, sidecar FROM offering
WHERE present = 1 AND item IN ({marks}) ORDER BY item, source;

-- name: offering_sources
-- Every source that ever offered something.
SELECT DISTINCT source FROM offering ORDER BY source;

-- name: session_listings
-- What sources said. An item's first move has the number after its own: one that began failed was refused.
SELECT l.source, CASE WHEN l.event = 'listed' AND m.status = 5 THEN 'refused' ELSE l.event END AS what, count(*)
FROM listing l LEFT JOIN move m ON m.seq = l.item + 1 AND m.item = l.item
WHERE l.seq BETWEEN ? AND ? AND l.event <> 'compared' GROUP BY l.source, what;

-- name: session_refusals
SELECT source, reason, count(*) FROM refusal WHERE seq BETWEEN ? AND ? GROUP BY source, reason;

-- name: offers_counted
SELECT source, count(*) FROM offering WHERE present = 1 GROUP BY source;

-- name: offers_failing
-- What each source offers that stands failed now.
SELECT o.source, count(*) FROM standing s JOIN offering o ON o.item = s.item
WHERE s.status = 5 AND o.present = 1 GROUP BY o.source;

-- name: refusals_named
--- A line that could not be read stands there as it came: what it ends with may be the name.
SELECT seq, at, session, source, path, reason FROM refusal
WHERE path = ?1 OR substr(path, -length(?2)) = ?2 OR source || '/' || path = ?1
OR (reason = 'protocol_error' AND substr(path, -length(?3)) = ?3) ORDER BY seq;

-- name: item_offers
-- Who offers or offered an item.
SELECT source, path, present, size, modified FROM offering WHERE item = ? ORDER BY source;

-- name: item_listings
SELECT seq, at, session, source, path, event, size, modified FROM listing WHERE item = ? ORDER BY seq;

-- name: offers_waiting
-- Items of a collection in one state, with who offers them now.
SELECT s.item, i.item_key, i.owner, o.source, o.path, o.size, o.modified, s.reason
FROM standing s JOIN item i ON i.seq = s.item JOIN offering o ON o.item = s.item AND o.present = 1
WHERE s.collection = ? AND s.kind = ? AND s.phase = ? AND s.status = ? ORDER BY s.place, s.item, o.source;

-- name: offers_wrong
-- Offers that are there or not, other than the last listing says.
SELECT o.source, o.item, o.present, l.event FROM offering o JOIN listing l ON l.seq = (SELECT max(k.seq)
    FROM listing k WHERE k.source = o.source AND k.item = o.item) WHERE o.present <> (l.event <> 'gone');

-- name: listed_changes
SELECT l.at, l.source, l.event, i.item_key, l.path, l.size, (
    SELECT p.size FROM listing p WHERE p.item = l.item AND p.source = l.source AND p.seq < l.seq
    ORDER BY p.seq DESC LIMIT 1)
FROM listing l JOIN item i ON i.seq = l.item WHERE l.seq BETWEEN ? AND ? AND i.collection = ?
AND l.event <> 'compared' ORDER BY l.seq;

-- name: offers_uncompared
-- Who offers items in the size of the bytes that are held from another source, and was not compared since it was listed
-- and they were fetched; with the digest of what is held, and its source.
SELECT o.item, i.item_key, o.source, o.path, o.size, o.modified, o.sidecar, v.digest, h.source
FROM offering o JOIN item i ON i.seq = o.item JOIN attempt v ON v.seq = (SELECT g.seq FROM attempt g
    WHERE g.item = o.item AND g.end_seq > 0 AND g.reason IS NULL ORDER BY g.end_seq DESC LIMIT 1)
JOIN host h ON h.seq = v.host
WHERE o.item IN (SELECT item FROM offering WHERE present = 1 GROUP BY item HAVING count(*) > 1)
AND o.present = 1 AND i.collection = ? AND o.source <> h.source AND coalesce(o.size, v.size) = v.size
AND NOT EXISTS (SELECT 1 FROM attempt s JOIN host g ON g.seq = s.host
    WHERE s.item = o.item AND g.source = o.source AND s.reason IS NULL AND s.digest = v.digest)
AND NOT EXISTS (SELECT 1 FROM listing c
    WHERE c.item = o.item AND c.source = o.source AND c.event = 'compared' AND c.seq > v.end_seq AND c.seq > (
        SELECT max(l.seq) FROM listing l WHERE l.item = o.item AND l.source = o.source AND l.event <> 'compared'))
ORDER BY o.source, o.item LIMIT ?;
