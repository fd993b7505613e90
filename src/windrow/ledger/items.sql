-- What is asked of items: where they stand, what steps made of them, and what happened to them.

-- name: items_by_key
SELECT seq, item_key FROM item WHERE collection = ? AND kind = ? AND fetch = 0 AND item_key IN ({marks});

-- name: items_due
-- Items in one state, in the order of work, after a given place, with the capture they lie in.
SELECT s.item, i.item_key, s.parent, s.place, s.phase, s.status, s.fetch, i.digest, i.member, i.owner, s.reason,
       s.since, coalesce(v.digest, ''), v.size, coalesce(h.source, '')
FROM standing s JOIN item i ON i.seq = s.item
LEFT JOIN attempt v ON v.seq = s.fetch AND v.end_seq > 0 AND v.reason IS NULL LEFT JOIN host h ON h.seq = v.host
WHERE s.collection = ? AND s.kind = ? AND s.phase = ? AND s.status = ? AND (s.place, s.item) > (?, ?)
ORDER BY s.place, s.item LIMIT ?;

-- name: items_due_count
SELECT count(*) FROM standing WHERE collection = ? AND kind = ? AND phase = ? AND status = ?;

-- name: item_standings
-- Where items stand.
SELECT item, phase, status FROM standing WHERE item IN ({marks});

-- name: item_standing
SELECT phase, status, fetch FROM standing WHERE item = ?;

-- name: items_by_state
-- How many items stand where; of documents those that the latest fetch of their archive brought.
SELECT s.collection, s.kind, s.phase, s.status, count(*) FROM standing s
LEFT JOIN standing p ON p.item = s.parent WHERE p.item IS NULL OR p.fetch = s.fetch
GROUP BY s.collection, s.kind, s.phase, s.status ORDER BY s.collection, s.kind, s.phase, s.status;

-- name: children_by_state
-- The children of these parents that their latest fetch brought, counted by state.
SELECT c.parent, c.phase, c.status, count(*) FROM standing c JOIN standing p ON p.item = c.parent AND p.fetch = c.fetch
WHERE c.parent IN ({marks}) GROUP BY c.parent, c.phase, c.status;

-- name: reading_known
-- What this step made of these bytes before.
SELECT seq, item, reason, number, md5 FROM reading WHERE digest = ? AND step = ? AND version = ? ORDER BY seq LIMIT 1;

-- name: item_findings_in_phase
SELECT kind, level, message, line, col FROM finding WHERE item = ? AND phase = ? ORDER BY seq;

-- name: items_listed
-- Listed items by their keys, and where they stand.
SELECT i.seq, i.item_key, s.phase, s.status, s.fetch FROM item i JOIN standing s ON s.item = i.seq
WHERE i.collection = ? AND i.kind = ? AND i.fetch = 0 AND i.item_key IN ({marks}) ORDER BY i.seq;

-- name: children_of_fetch
-- Documents that one fetch of an item brought.
SELECT item, phase, status FROM standing WHERE parent = ? AND fetch = ? ORDER BY item;

-- name: item_of_fetch
-- A document by its key and the fetch that brought it.
SELECT seq FROM item WHERE collection = ? AND item_key = ? AND fetch = ? ORDER BY seq LIMIT 1;

-- name: standings_fetched
-- Where everything stands that a fetch brought or that was fetched.
SELECT s.item, i.item_key, i.fetch, s.phase, s.status, s.reason FROM standing s JOIN item i ON i.seq = s.item
WHERE s.collection = ? AND s.fetch <> 0 ORDER BY s.item;

-- name: standing_of_fetch
SELECT s.item, s.phase, s.status FROM standing s JOIN item i ON i.seq = s.item
WHERE i.collection = ? AND i.item_key = ? AND i.fetch = ? ORDER BY s.item LIMIT 1;

-- name: items_tracked
-- How many items stand where, as books show them: one that waits to be fetched again still shows what
-- became of its latest fetch, and a member whose name no table can hold is not there.
SELECT kind, phase, status, count(*) FROM (
    SELECT s.kind AS kind,
           CASE WHEN s.reason = 'retried' AND s.fetch <> 0 THEN m.phase ELSE s.phase END AS phase,
           CASE WHEN s.reason = 'retried' AND s.fetch <> 0 THEN m.status ELSE s.status END AS status
    FROM standing s LEFT JOIN move m ON m.seq =
        (SELECT max(k.seq) FROM move k WHERE k.item = s.item AND (k.reason IS NULL OR k.reason <> 'retried'))
    WHERE s.collection = ? AND
        (s.parent IS NULL OR s.reason IS NULL OR s.reason NOT IN ('name_too_long', 'unsafe_name'))
) AS shown GROUP BY kind, phase, status;

-- name: readings_loaded
-- How many rows a step made of each document, as last put on record since the store was last made anew.
SELECT r.item, i.item_key, r.number FROM reading r JOIN item i ON i.seq = r.item
WHERE r.step = ? AND i.collection = ? AND r.reason IS NULL AND r.seq = (SELECT max(k.seq) FROM reading k
    WHERE k.item = r.item AND k.step = r.step)
AND r.seq > coalesce((SELECT max(s.seq) FROM session s JOIN session_end e ON e.session = s.seq
    WHERE s.command = 'replay' AND e.outcome = 0), 0) ORDER BY r.item;

-- name: session_moves
-- Where items came to rest in a session, each counted once for each state and reason.
SELECT i.collection, i.kind, m.phase, m.status, m.reason, count(DISTINCT m.item)
FROM move m JOIN item i ON i.seq = m.item WHERE m.seq BETWEEN ? AND ? AND m.status >= 3
GROUP BY i.collection, i.kind, m.phase, m.status, m.reason ORDER BY 1, 3, 4;

-- name: session_findings
SELECT kind, level, count(*) FROM finding WHERE seq BETWEEN ? AND ? GROUP BY kind, level ORDER BY 3 DESC, 1;

-- name: items_by_reason
-- Why items do not go on: failed and cancelled ones by their reason; parents follow their children.
SELECT s.reason, count(*) FROM standing s LEFT JOIN standing p ON p.item = s.parent
WHERE s.status >= 4 AND s.reason IS NOT NULL AND (p.item IS NULL OR p.fetch = s.fetch) GROUP BY s.reason
UNION ALL SELECT reason, count(*) FROM refusal GROUP BY reason;

-- name: item
SELECT i.seq, i.at, i.session, i.collection, i.kind, i.item_key, i.parent, i.owner, i.fetch, i.digest, i.member,
       i.size, i.md5, i.place, s.phase, s.status, s.reason, s.fetch
FROM item i JOIN standing s ON s.item = i.seq WHERE i.seq = ?;

-- name: items_named
SELECT seq, item_key FROM item WHERE item_key IN ({marks}) ORDER BY seq;

-- name: items_by_tail
-- Items whose key, or path at a source, ends in a slash and this name.
SELECT seq, item_key FROM item WHERE substr(item_key, -length(?1)) = ?1
UNION SELECT l.item, i.item_key FROM listing l JOIN item i ON i.seq = l.item
WHERE substr('/' || l.path, -length(?1)) = ?1 ORDER BY 1 LIMIT ?2;

-- name: items_by_owner
SELECT seq, item_key FROM item WHERE lower(owner) = lower(?1) ORDER BY seq LIMIT ?2;

-- name: items_by_owner_count
SELECT count(*) FROM item WHERE lower(owner) = lower(?);

-- name: items_by_address
SELECT DISTINCT v.item, i.item_key FROM attempt v JOIN item i ON i.seq = v.item WHERE v.item > 0 AND v.url = ? ORDER BY 1;

-- name: items_by_path
SELECT o.item, i.item_key FROM offering o JOIN item i ON i.seq = o.item WHERE o.source = ? AND o.path = ?;

-- name: item_of_attempt
SELECT item FROM attempt WHERE item IS NOT NULL AND seq = ?1
UNION SELECT item FROM attempt WHERE item IS NOT NULL AND end_seq = ?1;

-- name: items_leaving_out
-- Findings that name a member which was left out of its archive by rule.
SELECT f.item, i.item_key FROM finding f JOIN item i ON i.seq = f.item
WHERE f.kind IN ('LeftOut', 'UnsafeName') AND instr(f.message, ?1) = 1 ORDER BY f.seq LIMIT ?2;

-- name: item_readings
SELECT seq, at, session, step, version, digest, reason, number FROM reading WHERE item = ? ORDER BY seq;

-- name: item_findings
SELECT seq, at, session, phase, kind, level, message, line, col FROM finding WHERE item = ? ORDER BY seq;

-- name: item_moves
SELECT seq, at, session, phase, status, reason, message FROM move WHERE item = ? ORDER BY seq;

-- name: item_children
SELECT s.item, i.item_key, i.kind, s.phase, s.status, s.reason, i.owner, i.fetch
FROM standing s JOIN item i ON i.seq = s.item WHERE s.parent = ? ORDER BY s.fetch, s.place, s.item;

-- name: item_keys_by_status
-- Keys of a collection's items in either of two statuses, offered by a source and with a reason, where these are named;
-- the reason may be that of one of their children.
SELECT DISTINCT i.item_key FROM standing s JOIN item i ON i.seq = s.item LEFT JOIN offering o ON o.item = s.item
WHERE s.collection = ?1 AND s.kind = ?2 AND s.status IN (?3, ?4) AND (?5 = '' OR o.source = ?5)
AND (?6 = '' OR s.reason = ?6 OR EXISTS (SELECT 1 FROM standing c WHERE c.parent = s.item AND c.reason = ?6));

-- name: standings_wrong
-- Items that stand elsewhere than their last move says.
SELECT s.item, s.phase, s.status, m.phase, m.status FROM standing s JOIN move m ON m.seq =
    (SELECT max(k.seq) FROM move k WHERE k.item = s.item) WHERE s.phase <> m.phase OR s.status <> m.status;

-- name: standing_fetched
-- Let an item be what an attempt of its brought.
UPDATE standing SET fetch = ? WHERE item = ?;

-- name: forget_readings
-- In a copy of the ledger that is to be read anew: what steps made of documents ...
DELETE FROM reading;

-- name: forget_standings
-- ... where documents stand that a fetch brought ...
DELETE FROM standing WHERE item IN (SELECT seq FROM item WHERE fetch <> 0);

-- name: forget_members
-- ... and these themselves.
DELETE FROM item WHERE fetch <> 0;
