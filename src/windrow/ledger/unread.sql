-- What was not read and is to be read again: visits, and items.

-- name: unread_visits
SELECT visit, version, reason, times, at FROM unread WHERE collection = ? AND phase = ? ORDER BY visit;

-- name: unread_items
-- Items that stand failed at a phase for one of some reasons (a JSON list), with the last reading by the step.
SELECT s.item, r.version, s.reason, (SELECT count(*) FROM reading k
    WHERE k.item = s.item AND k.step = r.step AND k.version = r.version), r.at
FROM standing s JOIN reading r ON r.seq = (SELECT max(k.seq) FROM reading k WHERE k.item = s.item AND k.step = ?4)
LEFT JOIN standing p ON p.item = s.parent
WHERE s.collection = ?1 AND s.kind = ?2 AND s.phase = ?3 AND s.status = 5 AND (p.item IS NULL OR p.fetch = s.fetch)
AND s.reason IN (SELECT value FROM json_each(?5)) ORDER BY s.item;

-- name: unread_addresses
-- Addresses of visits that are to be read again, of a source, for a reason, and among some numbers (a JSON list), where
-- these are given.
SELECT u.visit, u.phase, v.address, coalesce(a.url, v.url) FROM unread u JOIN attempt v ON v.seq = u.visit
LEFT JOIN host h ON h.seq = v.host LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE u.collection = ?1 AND (?2 = '' OR h.source = ?2) AND (?3 = '' OR u.reason = ?3)
AND (?4 = '' OR v.address IN (SELECT value FROM json_each(?4))) ORDER BY u.visit;

-- name: unread_put
INSERT OR REPLACE INTO unread VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: unread_remove
DELETE FROM unread WHERE phase = ? AND visit = ?;

-- name: unread_ask
-- By another version of its step than this, which is none, it is read without a pause.
UPDATE unread SET version = '', times = 0 WHERE phase = ? AND visit = ?;
