-- What is asked of attempts to get something: an address that was found, or an item that a source lists. A visit is an
-- attempt at an address.

-- part: attempt
-- The columns of an AttemptRow.
SELECT v.seq, v.at, v.session, h.source, coalesce(a.url, v.url), v.kind, v.allowed, v.started, v.end_seq,
       CASE WHEN v.end_seq IS NOT NULL THEN coalesce(v.ended, v.at) END, v.seconds, v.status,
       coalesce(v.received, CASE WHEN v.revisit THEN 0 ELSE v.size END, 0), v.reason, v.message, v.digest, v.size,
       v.warc, v.place_offset, v.place_length, v.revisit, v.etag, v.modified, v.location, v.checksum
FROM attempt v CROSS JOIN host h ON h.seq = v.host LEFT JOIN address a ON a.digest = v.address AND a.host = v.host

-- part: recorded
-- The columns of a Recorded, which is a visit, and at their end who made it.
v.seq, v.session, s.at, coalesce((SELECT c.source FROM captured c WHERE c.visit = v.seq), h.source), v.address,
       coalesce(a.url, nullif(v.url, ''), h.origin || '/robots.txt'), v.kind, v.allowed, v.started, v.seconds,
       v.status, v.reason, v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime,
       v.etag, v.modified, v.location, s.holder

-- part: visits
-- Visits lead: whatever their number, the first ones come at once.
FROM attempt v CROSS JOIN host h ON h.seq = v.host CROSS JOIN session s ON s.seq = v.session
LEFT JOIN address a ON a.digest = v.address AND a.host = v.host

-- part: at_address
-- Whose address is known: those for rules have none. Told so that the join is not turned round, to lead with addresses.
v.address <> 0 AND coalesce(a.url, '') <> ''

-- name: attempt_made
-- An attempt at an address, with what came of it.
INSERT INTO attempt (seq, at, session, host, address, url, kind, allowed, started, end_seq, seconds, status, reason, message,
    digest, size, warc, place_offset, place_length, revisit, etag, modified, location, mime, checksum)
VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?1,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,'');

-- name: attempt_begun
-- An attempt to get a listed item, which goes on.
INSERT INTO attempt (seq, at, session, host, item, url, started, kind, allowed, seconds, message, digest, warc, revisit,
    etag, modified, location, checksum, mime) VALUES (?,?,?,?,?,?,?,0,1,0,'','','',0,'','','','','');

-- name: attempt_ended
UPDATE attempt SET end_seq = ?, ended = ?, started = coalesce(?, started), seconds = ?, status = ?, received = ?,
    reason = ?, message = ?, digest = ?, size = ?, warc = ?, place_offset = ?, place_length = ?, revisit = ?, etag = ?,
    modified = ?, checksum = ?, mime = ? WHERE seq = ?;

-- name: attempts_of_item
{attempt} WHERE v.item = ? ORDER BY v.seq;

-- name: attempts_of_address
{attempt} WHERE v.address = ? AND v.host = ? ORDER BY v.seq;

-- name: attempt
{attempt} WHERE v.seq = ?;

-- name: attempts_open
-- Attempts that were cut before their end, and after which none was made.
SELECT v.seq, v.item, h.source FROM attempt v JOIN host h ON h.seq = v.host
WHERE v.item IS NOT NULL AND v.end_seq IS NULL
AND NOT EXISTS (SELECT 1 FROM attempt k WHERE k.item = v.item AND k.seq > v.seq) ORDER BY v.seq;

-- name: attempts_counted
-- What came of the attempts that ended between two facts, without questions for rules; whether the address had a body
-- before, and whether the capture was there, so that nobody was asked.
SELECT h.collection, h.source, v.item IS NOT NULL AS listed, v.kind, v.status, v.reason, v.mime, v.revisit,
       EXISTS (SELECT 1 FROM attempt p WHERE p.address = v.address AND p.host = v.host AND p.seq < v.seq
           AND p.status = 200 AND p.digest <> '') AS earlier,
       EXISTS (SELECT 1 FROM captured c WHERE c.visit = v.seq) AS taken, count(*),
       sum(coalesce(v.received, CASE WHEN v.revisit THEN 0 ELSE v.size END, 0))
FROM (SELECT seq FROM attempt WHERE seq BETWEEN ?1 AND ?2 AND item IS NULL AND address <> 0
    UNION ALL SELECT seq FROM attempt WHERE end_seq BETWEEN ?1 AND ?2 AND item IS NOT NULL) k
CROSS JOIN attempt v ON v.seq = k.seq CROSS JOIN host h ON h.seq = v.host
GROUP BY h.collection, h.source, listed, v.kind, v.status, v.reason, v.mime, v.revisit, earlier, taken;

-- name: captures_latest
-- The latest good capture of each of these items, what to compare a new one with, and the date and
-- address of the record that holds its bytes.
SELECT v.item, v.digest, k.started, k.url FROM attempt v
JOIN attempt k ON k.seq = (SELECT o.seq FROM attempt o
    WHERE o.digest = v.digest AND o.item = v.item AND o.revisit = 0 AND o.reason IS NULL ORDER BY o.end_seq LIMIT 1)
WHERE v.item IN ({marks}) AND v.digest <> '' AND v.reason IS NULL ORDER BY v.end_seq;

-- name: source_records
-- How each source did that lists files: attempts, failures, and bytes and seconds of the good ones.
SELECT h.source, sum(v.number), sum(v.failures), sum(v.received), sum(v.seconds) FROM (
    SELECT host, count(*) AS number, sum(reason IS NOT NULL) AS failures,
           sum(CASE WHEN reason IS NULL THEN received ELSE 0 END) AS received,
           sum(CASE WHEN reason IS NULL THEN seconds ELSE 0 END) AS seconds
    FROM attempt WHERE end_seq > 0 AND item IS NOT NULL GROUP BY host
) v JOIN host h ON h.seq = v.host GROUP BY h.source;

-- name: failed_sessions
-- How many sessions in a row tried these items in vain since an operator last asked for an attempt, and when the last did.
SELECT v.item, count(DISTINCT v.session), max(v.ended) FROM attempt v
WHERE v.item IN ({marks}) AND v.reason IS NOT NULL
AND v.seq > coalesce((SELECT max(m.seq) FROM move m WHERE m.item = v.item AND m.reason = 'retried'), 0)
GROUP BY v.item;

-- name: captures_by_session
-- Every good capture of a collection with the session that made it, in the order of work.
SELECT v.session, s.at, v.item, v.seq, v.checksum FROM attempt v
JOIN session s ON s.seq = v.session JOIN standing i ON i.item = v.item
WHERE i.collection = ? AND i.status <> ? AND v.end_seq > 0 AND v.reason IS NULL ORDER BY v.session, v.seq;

-- name: visits_after
-- Visits to a collection's addresses after a given one, in the order of the ledger.
SELECT {recorded} {visits} WHERE h.collection = ? AND v.seq > ? AND {at_address} ORDER BY v.seq LIMIT ?;

-- name: visits_logged
-- The same with questions for the rules of hosts.
SELECT {recorded} {visits} WHERE h.collection = ? AND v.seq > ? AND v.item IS NULL ORDER BY v.seq LIMIT ?;

-- name: visits_named
SELECT {recorded} {visits} WHERE v.seq IN ({marks}) AND {at_address} ORDER BY v.seq;

-- name: visit_count
SELECT count(*) FROM attempt WHERE seq > ? AND address <> 0;

-- name: visit_last
SELECT coalesce((SELECT seq FROM attempt WHERE item IS NULL ORDER BY seq DESC LIMIT 1), 0);

-- name: visits_counted
-- How many visits of a collection there are up to a given one.
SELECT count(*) FROM attempt v CROSS JOIN host h ON h.seq = v.host AND h.collection = ?
WHERE v.seq <= ? AND v.item IS NULL;

-- name: session_rules
-- Hosts whose rules could not be had in a session, and why; of several attempts the last counts.
SELECT source, origin, status, reason, message FROM (
    SELECT h.source, h.origin, v.status, v.reason, v.message, max(v.seq) AS last FROM attempt v
    JOIN host h ON h.seq = v.host
    WHERE v.seq BETWEEN ? AND ? AND h.collection = ? AND v.kind = ? AND v.item IS NULL GROUP BY h.origin
) WHERE (reason IS NOT NULL AND reason <> 'too_large') OR status >= 500 OR status = 429
ORDER BY last;

-- name: host_seconds
-- How long each host took for an answer, in seconds.
SELECT h.origin, avg(v.seconds) FROM attempt v JOIN host h ON h.seq = v.host
WHERE h.collection = ? AND v.status IS NOT NULL AND v.seconds > 0 GROUP BY h.origin;

-- name: rules_visits
-- The last questions for the rules of an origin, the latest first. A flood of pages may lie between two.
SELECT v.started, v.status, v.warc, v.place_offset, v.place_length, v.reason FROM host h
CROSS JOIN attempt v ON v.host = h.seq WHERE h.origin = ?1 AND h.collection = ?2 AND v.address = 0 AND v.kind = ?3 ORDER BY v.seq DESC LIMIT ?4;

-- name: host_outcomes
-- What came of the questions to an origin: status or reason, how often, and the address of the latest; none of rules.
SELECT o.reason, o.status, o.number, coalesce(a.url, '')
FROM (SELECT reason, status, count(*) AS number, max(CASE WHEN address <> 0 THEN seq END) AS latest
      FROM attempt WHERE host = ? GROUP BY 1, 2) o
LEFT JOIN attempt v ON v.seq = o.latest LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
ORDER BY o.number DESC;
