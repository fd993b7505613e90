-- What is asked of attempts to get something: fetches of listed files, and visits to addresses of a crawl.

-- name: captures_latest
-- The latest good capture of each of these items, what to compare a new one with, and the date and
-- address of the record that holds its bytes.
SELECT e.item, e.digest, coalesce(nullif(k.dated, ''), k.at), f.path FROM fetch_end e
JOIN fetch_end k ON k.seq = (SELECT min(o.seq) FROM fetch_end o
    WHERE o.digest = e.digest AND o.item = e.item AND o.revisit = 0 AND o.reason IS NULL)
JOIN fetch f ON f.seq = k.fetch
WHERE e.item IN ({marks}) AND e.reason IS NULL ORDER BY e.seq;

-- name: fetches_open
-- Attempts that were cut before their end, and after which none was made.
SELECT f.seq, f.item, f.source FROM fetch f
WHERE NOT EXISTS (SELECT 1 FROM fetch_end e WHERE e.fetch = f.seq)
AND NOT EXISTS (SELECT 1 FROM fetch k WHERE k.item = f.item AND k.seq > f.seq) ORDER BY f.seq;

-- name: source_records
-- How each source did: attempts, failures, and bytes and seconds of the good ones.
SELECT source, count(*), sum(CASE WHEN reason IS NULL THEN 0 ELSE 1 END),
       sum(CASE WHEN reason IS NULL THEN received ELSE 0 END),
       sum(CASE WHEN reason IS NULL THEN seconds ELSE 0 END)
FROM fetch_end GROUP BY source;

-- name: failed_sessions
-- How many sessions in a row tried these items in vain since an operator last asked for an attempt, and when the last did.
SELECT f.item, count(DISTINCT f.session), max(e.at) FROM fetch f JOIN fetch_end e ON e.fetch = f.seq
WHERE f.item IN ({marks}) AND e.reason IS NOT NULL
AND f.seq > coalesce((SELECT max(m.seq) FROM move m WHERE m.item = f.item AND m.reason = 'retried'), 0)
GROUP BY f.item;

-- name: session_fetches
SELECT source, reason, count(*), sum(received), sum(revisit) FROM fetch_end WHERE seq BETWEEN ? AND ?
GROUP BY source, reason;

-- name: item_fetches
SELECT f.seq, f.at, f.session, f.source, f.path, e.seq, e.at, e.seconds, e.status, e.received, e.reason, e.message,
       e.digest, e.size, e.warc, e.place_offset, e.place_length, e.revisit, e.checksum
FROM fetch f LEFT JOIN fetch_end e ON e.fetch = f.seq WHERE f.item = ? ORDER BY f.seq;

-- name: fetch
SELECT f.seq, f.at, f.session, f.source, f.path, e.seq, e.at, e.seconds, e.status, e.received, e.reason, e.message,
       e.digest, e.size, e.warc, e.place_offset, e.place_length, e.revisit, e.checksum
FROM fetch f LEFT JOIN fetch_end e ON e.fetch = f.seq WHERE f.seq = ?;

-- name: captures_by_session
-- Every good capture of a collection with the session that made it, in the order of work.
SELECT f.session, s.at, f.item, f.seq, e.checksum FROM fetch_end e JOIN fetch f ON f.seq = e.fetch
JOIN session s ON s.seq = f.session JOIN standing i ON i.item = f.item
WHERE i.collection = ? AND i.status <> ? AND e.reason IS NULL ORDER BY f.session, f.seq;

-- name: visits_after
-- Visits to a collection's addresses after a given one, in the order of the ledger. The visits lead: whatever their
-- number, the first ones come at once.
SELECT v.seq, v.session, s.at, coalesce((SELECT c.source FROM captured c WHERE c.visit = v.seq), h.source), v.address, a.url, v.kind, v.allowed, v.started, v.seconds, v.status, v.reason,
       v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime, v.etag, v.modified, v.location
FROM visit v CROSS JOIN host h ON h.seq = v.host AND h.collection = ? CROSS JOIN address a ON a.digest = v.address AND a.host = v.host
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq > ? ORDER BY v.seq LIMIT ?;

-- name: visits_named
SELECT v.seq, v.session, s.at, coalesce((SELECT c.source FROM captured c WHERE c.visit = v.seq), h.source), v.address, a.url, v.kind, v.allowed, v.started, v.seconds, v.status, v.reason,
       v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime, v.etag, v.modified, v.location
FROM visit v CROSS JOIN host h ON h.seq = v.host CROSS JOIN address a ON a.digest = v.address AND a.host = v.host
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq IN ({marks}) ORDER BY v.seq;

-- name: visit_count
SELECT count(*) FROM visit WHERE seq > ? AND address <> 0;

-- name: visit_last
SELECT coalesce(max(seq), 0) FROM visit;

-- name: visits_logged
-- Every visit of a collection after a given one, those to the rules of hosts too, and who made it.
SELECT v.seq, v.session, s.at, s.holder, h.source, v.address, coalesce(a.url, nullif(v.url, ''), h.origin || '/robots.txt'),
       v.kind, v.allowed, v.started, v.seconds, v.status, v.reason, v.message, v.digest, v.size, v.warc,
       v.place_offset, v.place_length, v.revisit, v.mime, v.etag, v.modified, v.location
FROM visit v CROSS JOIN host h ON h.seq = v.host AND h.collection = ? LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq > ? ORDER BY v.seq LIMIT ?;

-- name: visits_counted
-- How many visits of a collection there are up to a given one.
SELECT count(*) FROM visit v CROSS JOIN host h ON h.seq = v.host AND h.collection = ? WHERE v.seq <= ?;

-- name: session_visits
-- What came of a session's questions for addresses, by source, kind and media type; whether the address had a body
-- before.
SELECT h.collection, h.source, v.kind, v.status, v.reason, v.mime, v.revisit,
       EXISTS (SELECT 1 FROM visit p WHERE p.address = v.address AND p.host = v.host AND p.seq < v.seq AND p.status = 200 AND p.digest <> '')
           AS earlier, EXISTS (SELECT 1 FROM captured c WHERE c.visit = v.seq) AS taken,
       count(*), sum(CASE WHEN v.revisit THEN 0 ELSE coalesce(v.size, 0) END)
FROM visit v JOIN host h ON h.seq = v.host WHERE v.seq BETWEEN ? AND ? AND v.address <> 0
GROUP BY h.collection, h.source, v.kind, v.status, v.reason, v.mime, v.revisit, earlier, taken;

-- name: session_rules
-- Hosts whose rules could not be had in a session, and why; of several attempts the last counts.
SELECT source, origin, status, reason, message FROM (
    SELECT h.source, h.origin, v.status, v.reason, v.message, max(v.seq) AS last FROM visit v
    JOIN host h ON h.seq = v.host
    WHERE v.seq BETWEEN ? AND ? AND h.collection = ? AND v.kind = ? GROUP BY h.origin
) WHERE (reason IS NOT NULL AND reason <> 'too_large') OR status >= 500 OR status = 429
ORDER BY last;

-- name: host_seconds
-- How long each host took for an answer, in seconds.
SELECT h.origin, avg(v.seconds) FROM visit v JOIN host h ON h.seq = v.host
WHERE h.collection = ? AND v.status IS NOT NULL AND v.seconds > 0 GROUP BY h.origin;

-- name: address_visits
SELECT seq, at, session, kind, allowed, started, seconds, status, reason, message, digest, size, warc, place_offset,
       place_length, revisit, etag, modified, location
FROM visit WHERE address = ? AND host = ? ORDER BY seq;

-- name: rules_visits
-- The last questions for the rules of an origin, the latest first. A flood of pages may lie between two.
SELECT v.started, v.status, v.warc, v.place_offset, v.place_length, v.reason FROM host h JOIN visit v ON v.host = h.seq
WHERE h.origin = ?1 AND h.collection = ?2 AND v.address = 0 AND v.kind = ?3 ORDER BY v.seq DESC LIMIT ?4;

-- name: host_outcomes
-- What came of the questions to an origin: status or reason, and how often.
SELECT reason, status, count(*) FROM visit WHERE host = ? GROUP BY 1, 2 ORDER BY 3 DESC;
