-- What people ask of the ledger. A session's facts are those between its own number and its end's,
-- since one session runs at a time: ranges of `seq` are quick in every table.

-- name: told_session
SELECT s.seq, s.at, s.holder, s.command, e.at, e.outcome, coalesce(e.seq, (SELECT value FROM counter WHERE name = 'seq'))
FROM session s LEFT JOIN session_end e ON e.session = s.seq WHERE s.seq = ?;

-- name: told_last_session
SELECT max(seq) FROM session;

-- name: told_tasks
-- A session's tasks in their order.
SELECT t.seq, t.collection, t.source, t.phase, t.at, e.at, e.failed, e.reason, e.comment
FROM task t LEFT JOIN task_end e ON e.task = t.seq AND e.seq BETWEEN ?1 AND ?2
WHERE t.seq BETWEEN ?1 AND ?2 ORDER BY t.seq;

-- name: told_listings
-- What sources said. An item's first move has the number after its own: one that began failed was refused.
SELECT l.source, CASE WHEN l.event = 'listed' AND m.status = 5 THEN 'refused' ELSE l.event END AS what, count(*)
FROM listing l LEFT JOIN move m ON m.seq = l.item + 1 AND m.item = l.item
WHERE l.seq BETWEEN ? AND ? GROUP BY l.source, what;

-- name: told_fetches
SELECT source, reason, count(*), sum(received), sum(revisit) FROM fetch_end WHERE seq BETWEEN ? AND ?
GROUP BY source, reason;

-- name: told_refusals
SELECT source, reason, count(*) FROM refusal WHERE seq BETWEEN ? AND ? GROUP BY source, reason;

-- name: told_moves
-- Where items came to rest in a session, each counted once for each state and reason.
SELECT i.collection, i.kind, m.phase, m.status, m.reason, count(DISTINCT m.item)
FROM move m JOIN item i ON i.seq = m.item WHERE m.seq BETWEEN ? AND ? AND m.status >= 3
GROUP BY i.collection, i.kind, m.phase, m.status, m.reason ORDER BY 1, 3, 4;

-- name: told_findings
SELECT kind, level, count(*) FROM finding WHERE seq BETWEEN ? AND ? GROUP BY kind, level ORDER BY 3 DESC, 1;

-- name: told_offered
SELECT source, count(*) FROM offering WHERE present = 1 GROUP BY source;

-- name: told_failing
-- What each source offers that stands failed now.
SELECT o.source, count(*) FROM standing s JOIN offering o ON o.item = s.item
WHERE s.status = 5 AND o.present = 1 GROUP BY o.source;

-- name: told_reasons
-- Why items do not go on: failed and cancelled ones by their reason; parents follow their children.
SELECT s.reason, count(*) FROM standing s WHERE s.status >= 4 AND s.reason IS NOT NULL GROUP BY s.reason
UNION ALL SELECT reason, count(*) FROM refusal GROUP BY reason;

-- name: told_source_sessions
-- Every session of every source: whether all its tasks ended well, and when it was listed.
SELECT t.source, t.session, min(t.at), max(e.at), sum(coalesce(e.failed, 1)), max(e.reason)
FROM task t LEFT JOIN task_end e ON e.task = t.seq WHERE t.source <> '' GROUP BY t.source, t.session
ORDER BY t.session;

-- name: told_source_tasks
SELECT t.seq, t.session, t.phase, t.at, e.at, e.failed, e.reason, e.comment
FROM task t LEFT JOIN task_end e ON e.task = t.seq WHERE t.source = ? ORDER BY t.seq;

-- name: told_item
SELECT i.seq, i.at, i.session, i.collection, i.kind, i.item_key, i.parent, i.owner, i.fetch, i.digest, i.member,
       i.size, i.md5, s.phase, s.status, s.reason, s.fetch
FROM item i JOIN standing s ON s.item = i.seq WHERE i.seq = ?;

-- name: told_items_by_key
SELECT seq, item_key FROM item WHERE item_key IN ({marks}) ORDER BY seq;

-- name: told_items_by_tail
-- Items whose key ends in a slash and this name.
SELECT seq, item_key FROM item WHERE substr(item_key, -length(?1)) = ?1 ORDER BY seq LIMIT ?2;

-- name: told_items_by_owner
SELECT seq, item_key FROM item WHERE lower(owner) = lower(?1) ORDER BY seq LIMIT ?2;

-- name: told_owner_count
SELECT count(*) FROM item WHERE lower(owner) = lower(?);

-- name: told_items_by_address
SELECT DISTINCT f.item, i.item_key FROM fetch f JOIN item i ON i.seq = f.item WHERE f.path = ? ORDER BY 1;

-- name: told_items_by_path
SELECT o.item, i.item_key FROM offering o JOIN item i ON i.seq = o.item WHERE o.source = ? AND o.path = ?;

-- name: told_item_of_fetch
SELECT item FROM fetch WHERE seq = ?1 UNION SELECT item FROM fetch_end WHERE seq = ?1;

-- name: told_refused
SELECT seq, at, session, source, path, reason FROM refusal
WHERE path = ?1 OR substr(path, -length(?2)) = ?2 OR source || '/' || path = ?1 ORDER BY seq;

-- name: told_left_out
-- Findings that name a member which was left out of its archive by rule.
SELECT f.item, i.item_key FROM finding f JOIN item i ON i.seq = f.item
WHERE f.kind IN ('LeftOut', 'UnsafeName') AND instr(f.message, ?1) = 1 ORDER BY f.seq LIMIT ?2;

-- name: told_hosts
-- Who offers or offered an item.
SELECT source, path, present, size, modified FROM offering WHERE item = ? ORDER BY source;

-- name: told_item_listings
SELECT seq, at, session, source, path, event, size, modified FROM listing WHERE item = ? ORDER BY seq;

-- name: told_item_fetches
SELECT f.seq, f.at, f.session, f.source, f.path, e.seq, e.at, e.seconds, e.status, e.received, e.reason, e.message,
       e.digest, e.size, e.warc, e.place_offset, e.place_length, e.revisit, e.checksum
FROM fetch f LEFT JOIN fetch_end e ON e.fetch = f.seq WHERE f.item = ? ORDER BY f.seq;

-- name: told_fetch
SELECT f.seq, f.at, f.session, f.source, f.path, e.seq, e.at, e.seconds, e.status, e.received, e.reason, e.message,
       e.digest, e.size, e.warc, e.place_offset, e.place_length, e.revisit, e.checksum
FROM fetch f LEFT JOIN fetch_end e ON e.fetch = f.seq WHERE f.seq = ?;

-- name: told_item_readings
SELECT seq, at, session, step, version, digest, reason, number FROM reading WHERE item = ? ORDER BY seq;

-- name: told_item_findings
SELECT seq, at, session, phase, kind, level, message, line, col FROM finding WHERE item = ? ORDER BY seq;

-- name: told_item_moves
SELECT seq, at, session, phase, status, reason, message FROM move WHERE item = ? ORDER BY seq;

-- name: told_children
SELECT s.item, i.item_key, i.kind, s.phase, s.status, s.reason, i.owner, i.fetch
FROM standing s JOIN item i ON i.seq = s.item WHERE s.parent = ? ORDER BY s.fetch, s.place, s.item;

-- name: told_waiting
-- Items of a collection in one state, with who offers them now.
SELECT s.item, i.item_key, i.owner, o.source, o.path, o.size, o.modified, s.reason
FROM standing s JOIN item i ON i.seq = s.item JOIN offering o ON o.item = s.item AND o.present = 1
WHERE s.collection = ? AND s.kind = ? AND s.phase = ? AND s.status = ? ORDER BY s.place, s.item, o.source;

-- name: told_visits
-- What came of a session's questions for addresses, by source, kind and media type; whether the address had a body
-- before.
SELECT h.collection, h.source, v.kind, v.status, v.reason, v.mime, v.revisit,
       EXISTS (SELECT 1 FROM visit p WHERE p.address = v.address AND p.seq < v.seq AND p.status = 200 AND p.digest <> '')
           AS earlier, count(*), sum(CASE WHEN v.revisit THEN 0 ELSE coalesce(v.size, 0) END)
FROM visit v JOIN host h ON h.seq = v.host WHERE v.seq BETWEEN ? AND ? AND v.address <> 0
GROUP BY h.collection, h.source, v.kind, v.status, v.reason, v.mime, v.revisit, earlier;

-- name: told_addresses
-- How the addresses of each source stand at a moment, by kind: all, those with a body, failing ones, due ones, and
-- when the next is due.
SELECT h.collection, h.source, a.kind, count(*), sum(a.capture <> 0 AND a.failures = 0), sum(a.failures > 0),
       sum(coalesce(a.due <= ?, 0)), min(CASE WHEN a.due > 0 THEN a.due END)
FROM address a JOIN host h ON h.seq = a.host GROUP BY h.collection, h.source, a.kind;

-- name: told_due
-- How many addresses of each host are due at a moment.
SELECT h.source, h.origin, count(*) FROM host h JOIN address a ON a.host = h.seq AND a.due <= ?
WHERE h.collection = ? GROUP BY h.source, h.origin ORDER BY h.seq;

-- name: told_next
-- Some addresses of a source that are due at a moment.
SELECT a.url FROM host h JOIN address a ON a.host = h.seq AND a.due <= ? WHERE h.collection = ? AND h.source = ?
ORDER BY h.seq, a.due, a.place LIMIT ?;

-- name: told_address
SELECT a.url, h.source FROM address a JOIN host h ON h.seq = a.host WHERE a.digest = ?;

-- name: told_hosts_pace
-- How long each host took for an answer, in seconds.
SELECT h.origin, avg(v.seconds) FROM visit v JOIN host h ON h.seq = v.host
WHERE h.collection = ? AND v.status IS NOT NULL GROUP BY h.origin;

-- name: told_rules
-- Hosts whose rules could not be had in a session, and why.
SELECT h.source, h.origin, v.status, v.reason, v.message FROM visit v JOIN host h ON h.seq = v.host
WHERE v.seq BETWEEN ? AND ? AND h.collection = ? AND v.kind = ? AND (v.reason IS NOT NULL OR v.status >= 500
    OR v.status = 429)
GROUP BY h.origin ORDER BY v.seq;
