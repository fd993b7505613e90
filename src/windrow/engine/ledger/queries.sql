-- name: seq
-- The last number given to a fact.
SELECT value FROM counter WHERE name = 'seq';

-- name: set_seq
UPDATE counter SET value = ? WHERE name = 'seq';

-- name: last_at
-- When the last session began or ended: the clock may not stand earlier.
SELECT max(at) FROM (SELECT max(at) AS at FROM session UNION ALL SELECT max(at) FROM session_end) AS last;

-- name: lease
SELECT token, holder, since, expires, beat FROM lease WHERE name = 'workspace';

-- name: lease_drop
DELETE FROM lease WHERE name = 'workspace';

-- name: lease_take
INSERT INTO lease (name, token, holder, since, expires, beat) VALUES ('workspace', ?, ?, ?, ?, 0);

-- name: lease_beat
UPDATE lease SET expires = ?, beat = beat + 1 WHERE name = 'workspace' AND token = ?;

-- name: lease_release
DELETE FROM lease WHERE name = 'workspace' AND token = ?;

-- name: items_by_key
SELECT seq, item_key FROM item WHERE collection = ? AND kind = ? AND fetch = 0 AND item_key IN ({marks});

-- name: offerings_of_source
-- What a source offered when it was last listed.
SELECT o.item, i.item_key, o.path, o.present, o.size, o.modified, o.sidecar
FROM offering o JOIN item i ON i.seq = o.item WHERE o.source = ?;

-- name: hosts
-- Who offers these items now.
SELECT item, source, path, size, modified, sidecar FROM offering
WHERE present = 1 AND item IN ({marks}) ORDER BY item, source;

-- name: due
-- Items in one state, in the order of work, after a given place, with the capture they lie in.
SELECT s.item, i.item_key, s.parent, s.place, s.phase, s.status, s.fetch, i.digest, i.member, i.owner, s.reason,
       s.since, e.digest, e.size, e.source
FROM standing s JOIN item i ON i.seq = s.item
LEFT JOIN fetch_end e ON e.fetch = s.fetch AND e.reason IS NULL
WHERE s.collection = ? AND s.kind = ? AND s.phase = ? AND s.status = ? AND (s.place, s.item) > (?, ?)
ORDER BY s.place, s.item LIMIT ?;

-- name: due_count
SELECT count(*) FROM standing WHERE collection = ? AND kind = ? AND phase = ? AND status = ?;

-- name: standing
SELECT phase, status, fetch FROM standing WHERE item = ?;

-- name: states
-- How many items stand where.
SELECT collection, kind, phase, status, count(*) FROM standing GROUP BY collection, kind, phase, status
ORDER BY collection, kind, phase, status;

-- name: children
-- The children of these parents that their latest fetch brought, counted by state.
SELECT c.parent, c.phase, c.status, count(*) FROM standing c JOIN standing p ON p.item = c.parent AND p.fetch = c.fetch
WHERE c.parent IN ({marks}) GROUP BY c.parent, c.phase, c.status;

-- name: capture
-- Where the bytes of a digest lie.
SELECT warc, place_offset, place_length, size FROM fetch_end
WHERE digest = ? AND revisit = 0 AND reason IS NULL ORDER BY seq LIMIT 1;

-- name: last_capture
-- The latest good capture of each of these items, what to compare a new one with, and the date and
-- address of the record that holds its bytes.
SELECT e.item, e.digest, coalesce(nullif(k.dated, ''), k.at), f.path FROM fetch_end e
JOIN fetch_end k ON k.seq = (SELECT min(o.seq) FROM fetch_end o
    WHERE o.digest = e.digest AND o.item = e.item AND o.revisit = 0 AND o.reason IS NULL)
JOIN fetch f ON f.seq = k.fetch
WHERE e.item IN ({marks}) AND e.reason IS NULL ORDER BY e.seq;

-- name: open_fetches
-- Attempts that were cut before their end, and after which none was made.
SELECT f.seq, f.item, f.source FROM fetch f
WHERE NOT EXISTS (SELECT 1 FROM fetch_end e WHERE e.fetch = f.seq)
AND NOT EXISTS (SELECT 1 FROM fetch k WHERE k.item = f.item AND k.seq > f.seq) ORDER BY f.seq;

-- name: host_record
-- How each source did: attempts, failures, and bytes and seconds of the good ones.
SELECT source, count(*), sum(CASE WHEN reason IS NULL THEN 0 ELSE 1 END),
       sum(CASE WHEN reason IS NULL THEN received ELSE 0 END),
       sum(CASE WHEN reason IS NULL THEN seconds ELSE 0 END)
FROM fetch_end GROUP BY source;

-- name: attempts
-- How many sessions in a row tried these items in vain since the last good or asked-for attempt.
SELECT f.item, count(DISTINCT f.session) FROM fetch f JOIN fetch_end e ON e.fetch = f.seq
WHERE f.item IN ({marks}) AND e.reason IS NOT NULL
AND f.seq > coalesce((SELECT max(m.seq) FROM move m WHERE m.item = f.item AND m.reason = 'retried'), 0)
GROUP BY f.item;

-- name: reading
-- What this step made of these bytes before.
SELECT seq, item, reason, number, md5 FROM reading WHERE digest = ? AND step = ? AND version = ? ORDER BY seq LIMIT 1;

-- name: findings_of
SELECT kind, level, message, line, col FROM finding WHERE item = ? AND phase = ? ORDER BY seq;

-- name: promised
-- How far the ledger promises each archive file.
SELECT warc, max(place) FROM (
    SELECT warc, max(place_offset + place_length) AS place FROM fetch_end WHERE warc <> '' GROUP BY warc
    UNION ALL SELECT warc, max(place_offset + place_length) FROM visit WHERE warc <> '' GROUP BY warc
    UNION ALL SELECT warc, max(place_offset + place_length) FROM tombstone_span GROUP BY warc
) AS told GROUP BY warc;

-- name: first_session
-- What no other ledger has: the archive that it writes to is marked with it.
SELECT at, holder FROM session ORDER BY seq LIMIT 1;

-- name: sessions_with_captures
-- A capture is of the session that was open when it was put on record, whichever began its fetch.
SELECT s.seq FROM session s WHERE EXISTS (SELECT 1 FROM fetch_end e WHERE e.warc <> '' AND e.seq > s.seq
    AND e.seq < coalesce((SELECT min(n.seq) FROM session n WHERE n.seq > s.seq), e.seq + 1))
OR EXISTS (SELECT 1 FROM visit v WHERE v.warc <> '' AND v.seq > s.seq
    AND v.seq < coalesce((SELECT min(n.seq) FROM session n WHERE n.seq > s.seq), v.seq + 1)) ORDER BY s.seq;

-- name: captures_of
-- The captures put on record from one session's begin to the next one's, for its index.
SELECT f.path, coalesce(nullif(e.dated, ''), e.at), e.digest, e.status, e.warc, e.place_offset, e.place_length,
       e.revisit, e.mime
FROM fetch_end e JOIN fetch f ON f.seq = e.fetch
WHERE e.seq > ?1 AND e.seq < coalesce((SELECT min(s.seq) FROM session s WHERE s.seq > ?1), e.seq + 1) AND e.warc <> ''
UNION ALL
SELECT coalesce(nullif(v.url, ''), a.url), v.started, v.digest, v.status, v.warc, v.place_offset, v.place_length,
       v.revisit, v.mime
FROM visit v LEFT JOIN address a ON a.digest = v.address
WHERE v.seq > ?1 AND v.seq < coalesce((SELECT min(s.seq) FROM session s WHERE s.seq > ?1), v.seq + 1) AND v.warc <> ''
AND v.status IS NOT 304;

-- name: sources
-- Every source that ever offered something.
SELECT DISTINCT source FROM offering ORDER BY source;

-- name: items_of
-- Listed items by their keys, and where they stand.
SELECT i.seq, i.item_key, s.phase, s.status, s.fetch FROM item i JOIN standing s ON s.item = i.seq
WHERE i.collection = ? AND i.kind = ? AND i.fetch = 0 AND i.item_key IN ({marks}) ORDER BY i.seq;

-- name: children_of
-- Documents that one fetch of an item brought.
SELECT item, phase, status FROM standing WHERE parent = ? AND fetch = ? ORDER BY item;

-- name: item
SELECT collection, kind, item_key, parent, owner, fetch, digest, member, size, md5, place FROM item WHERE seq = ?;

-- name: item_of_fetch
-- A document by its key and the fetch that brought it.
SELECT seq FROM item WHERE collection = ? AND item_key = ? AND fetch = ? ORDER BY seq LIMIT 1;

-- name: captures_by_session
-- Every good capture of a collection with the session that made it, in the order of work.
SELECT f.session, s.at, f.item, f.seq, e.checksum FROM fetch_end e JOIN fetch f ON f.seq = e.fetch
JOIN session s ON s.seq = f.session JOIN standing i ON i.item = f.item
WHERE i.collection = ? AND i.status <> ? AND e.reason IS NULL ORDER BY f.session, f.seq;

-- name: standings
-- Where everything stands that a fetch brought or that was fetched.
SELECT s.item, i.item_key, i.fetch, s.phase, s.status, s.reason FROM standing s JOIN item i ON i.seq = s.item
WHERE s.collection = ? AND s.fetch <> 0 ORDER BY s.item;

-- name: standing_of_fetch
SELECT s.item, s.phase, s.status FROM standing s JOIN item i ON i.seq = s.item
WHERE i.collection = ? AND i.item_key = ? AND i.fetch = ? ORDER BY s.item LIMIT 1;

-- name: tracked
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

-- name: loaded
-- How many rows a step made of each document, as last put on record since the store was last made anew.
SELECT r.item, i.item_key, r.number FROM reading r JOIN item i ON i.seq = r.item
WHERE r.step = ? AND i.collection = ? AND r.reason IS NULL AND r.seq = (SELECT max(k.seq) FROM reading k
    WHERE k.item = r.item AND k.step = r.step)
AND r.seq > coalesce((SELECT max(s.seq) FROM session s JOIN session_end e ON e.session = s.seq
    WHERE s.command = 'replay' AND e.outcome = 0), 0) ORDER BY r.item;

-- name: session_ended
SELECT seq FROM session_end WHERE session = ?;

-- name: hosts_of
-- The origins that a collection's crawls may ask.
SELECT seq, source, origin FROM host WHERE collection = ? ORDER BY seq;

-- name: address_due
-- What to ask of a host next, and what it said last: new addresses first. A capture of bytes that were
-- known tells the date of the record that holds them.
SELECT a.digest, a.url, a.kind, a.place, a.pause, a.failures, v.etag, v.modified, v.digest,
       CASE WHEN v.revisit = 0 THEN v.started ELSE (SELECT min(k.started) FROM visit k
           WHERE k.address = a.digest AND k.digest = v.digest AND k.revisit = 0) END
FROM address a LEFT JOIN visit v ON v.seq = a.capture
WHERE a.host = ? AND a.due <= ? ORDER BY a.due, a.place LIMIT ?;

-- name: visits_after
-- Visits to a collection's addresses after a given one, in the order of the ledger. The visits lead: whatever their
-- number, the first ones come at once.
SELECT v.seq, v.session, s.at, h.source, v.address, a.url, v.kind, v.allowed, v.started, v.seconds, v.status, v.reason,
       v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime, v.etag, v.modified, v.location
FROM visit v CROSS JOIN host h ON h.seq = v.host AND h.collection = ? CROSS JOIN address a ON a.digest = v.address
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq > ? ORDER BY v.seq LIMIT ?;

-- name: visits_named
SELECT v.seq, v.session, s.at, h.source, v.address, a.url, v.kind, v.allowed, v.started, v.seconds, v.status, v.reason,
       v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime, v.etag, v.modified, v.location
FROM visit v CROSS JOIN host h ON h.seq = v.host CROSS JOIN address a ON a.digest = v.address
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq IN ({marks}) ORDER BY v.seq;

-- name: visit_count
SELECT count(*) FROM visit WHERE seq > ? AND address <> 0;

-- name: visit_last
SELECT coalesce(max(seq), 0) FROM visit;

-- name: visit_original
-- Where the bytes lie that a later visit to the same address brought again.
SELECT warc, place_offset, place_length FROM visit
WHERE address = ? AND digest = ? AND revisit = 0 AND warc <> '' ORDER BY seq LIMIT 1;

-- name: hinted
-- Make an address due that is said to have changed since its last visit, but not sooner than a while after that.
UPDATE address SET due = min(due, (SELECT CAST(strftime('%s', max(v.started)) AS INTEGER) FROM visit v
    WHERE v.address = :digest) + :rest)
WHERE digest = :digest AND due > 0 AND (SELECT max(v.started) FROM visit v WHERE v.address = :digest) < :hint;

-- name: rests
-- Until when hosts asked to be left alone.
SELECT host, until FROM rest WHERE until > ?;

-- name: visits_logged
-- Every visit of a collection after a given one, those to the rules of hosts too, and who made it.
SELECT v.seq, v.session, s.at, s.holder, h.source, v.address, coalesce(a.url, nullif(v.url, ''), h.origin || '/robots.txt'),
       v.kind, v.allowed, v.started, v.seconds, v.status, v.reason, v.message, v.digest, v.size, v.warc,
       v.place_offset, v.place_length, v.revisit, v.mime, v.etag, v.modified, v.location
FROM visit v CROSS JOIN host h ON h.seq = v.host AND h.collection = ? LEFT JOIN address a ON a.digest = v.address
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq > ? ORDER BY v.seq LIMIT ?;

-- name: visits_counted
-- How many visits of a collection there are up to a given one.
SELECT count(*) FROM visit v CROSS JOIN host h ON h.seq = v.host AND h.collection = ? WHERE v.seq <= ?;

-- name: addresses_after
-- A collection's addresses in the order in which they were found.
SELECT a.rowid, a.url FROM address a CROSS JOIN host h ON h.seq = a.host AND h.collection = ?
WHERE a.rowid > ? ORDER BY a.rowid LIMIT ?;

-- name: addresses_counted
-- How many of the first addresses there are, without those that were taken down.
SELECT count(*) FROM address a CROSS JOIN host h ON h.seq = a.host AND h.collection = ? WHERE a.rowid <= ?
AND NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.address = a.digest AND t.host = 0) OR t.host = h.seq);

-- name: address_last
SELECT coalesce(max(rowid), 0) FROM address;

-- name: sessions_closed
SELECT session, at FROM session_end WHERE session IN ({marks}) ORDER BY session;

-- name: session_open
-- The latest session, where it has not ended.
SELECT s.seq FROM session s WHERE s.seq = (SELECT max(seq) FROM session)
AND NOT EXISTS (SELECT 1 FROM session_end e WHERE e.session = s.seq);
