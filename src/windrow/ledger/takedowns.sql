-- What is asked, and changed, when something is taken down. A visit stays as a fact, but not what came of it: a
-- fact is written over only here, and where the bytes of an answer go that is not archived.

-- name: tombstones
-- Those of an address: its own, and those of its origin; with whether they are done, and lifted.
SELECT t.seq, t.at, t.target, t.host, t.holder, t.reason,
       (SELECT max(e.at) FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'done'),
       (SELECT max(e.at) FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted')
FROM tombstone t WHERE (t.host = 0 AND t.address = ?1) OR t.host = ?2 ORDER BY t.seq;

-- name: tombstones_open
-- Those that were begun and are not done: a run was killed over them. One that was lifted by the session that began it
-- is of an address that has other things too: it is to be done all the same, and then asked for again.
SELECT t.seq, t.collection, t.target, t.address, t.host,
       EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted')
FROM tombstone t WHERE NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq
    AND (e.event = 'done' OR e.session <> t.session)) ORDER BY t.seq;

-- name: hosts_taken_down
-- Origins of which nothing may be asked.
SELECT DISTINCT t.host FROM tombstone t WHERE t.host <> 0
AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted');

-- name: take_down_address
UPDATE address SET due = NULL, pause = max(pause, 0), capture = 0, failures = 0 WHERE digest = ?;

-- name: take_down_host
UPDATE address SET due = NULL, pause = max(pause, 0), capture = 0, failures = 0 WHERE host = ?;

-- name: lift_address
UPDATE address SET due = 0 WHERE digest = ? AND due IS NULL;

-- name: lift_host
UPDATE address SET due = 0 WHERE host = ?1 AND due IS NULL AND NOT EXISTS (SELECT 1 FROM tombstone t
    WHERE t.host = 0 AND t.address = address.digest
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'));

-- name: takedown_visits
-- The visits to an address or a whole origin, whether or not their bytes are still there, and those of other collections
-- that took their captures.
WITH RECURSIVE gone (seq) AS (
    SELECT seq FROM attempt WHERE (?2 = 0 AND address = ?1) OR (?2 <> 0 AND host = ?2)
    UNION SELECT c.visit FROM gone CROSS JOIN captured c ON c.original = gone.seq
    WHERE c.original <> 0 AND c.capture_index <> 0
) SELECT seq FROM gone ORDER BY seq;

-- name: takedown_collections
-- The collections that made some visits.
SELECT DISTINCT h.collection FROM attempt v JOIN host h ON h.seq = v.host
WHERE v.seq IN (SELECT value FROM json_each(?1)) ORDER BY 1;

-- name: takedown_captures
-- What was kept in some visits, file by file, and whether somebody else had it made.
SELECT v.seq, v.session, v.warc, v.place_offset, v.place_length, v.digest, v.revisit,
    EXISTS (SELECT 1 FROM captured c WHERE c.visit = v.seq AND c.original <> 0) FROM attempt v
WHERE v.seq IN (SELECT value FROM json_each(?1)) AND v.warc <> '' ORDER BY v.warc, v.place_offset;

-- name: takedown_lent
-- Digests of visits whose bytes a visit that is not `gone` (as a JSON list) has only by a revisit of them.
SELECT DISTINCT v.digest FROM attempt v WHERE v.revisit = 1 AND v.digest <> ''
AND v.digest IN (SELECT digest FROM attempt WHERE seq IN (SELECT value FROM json_each(?1)) AND revisit = 0)
AND v.seq NOT IN (SELECT value FROM json_each(?2))
AND NOT EXISTS (SELECT 1 FROM attempt o WHERE o.address = v.address AND o.digest = v.digest AND o.revisit = 0
    AND o.seq NOT IN (SELECT value FROM json_each(?2)));

-- name: takedown_shared
-- Visits whose record a visit that is not `gone` (as a JSON list) names as its own, and whose that one is.
SELECT v.seq, v.address = o.address, h.collection, h.source FROM attempt v
JOIN attempt o ON o.warc = v.warc AND o.place_offset = v.place_offset JOIN host h ON h.seq = o.host
WHERE v.seq IN (SELECT value FROM json_each(?1)) AND v.warc <> '' AND o.seq NOT IN (SELECT value FROM json_each(?2));

-- name: takedown_spans
SELECT warc, place_offset, place_length FROM tombstone_span WHERE tombstone = ? ORDER BY warc, place_offset;

-- name: takedown_mark_span
INSERT OR IGNORE INTO tombstone_span VALUES (?, ?, ?, ?);

-- name: takedown_clear_payloads
-- What another maker's revisits could refer to, and is erased now.
DELETE FROM payload WHERE EXISTS (SELECT 1 FROM tombstone_span s
    WHERE s.tombstone = ? AND s.warc = payload.warc AND s.place_offset = payload.place_offset);

-- name: takedown_places
-- The places of all records of a file that are on the ledger.
SELECT DISTINCT place_offset, place_length FROM attempt WHERE warc = ?1 ORDER BY 1;

-- name: takedown_clear_visits
UPDATE attempt SET status = NULL, reason = 'forgotten', message = '', digest = '', size = NULL, warc = '',
    place_offset = NULL, place_length = NULL, revisit = 0, etag = '', modified = '', location = '', mime = ''
WHERE seq IN (SELECT value FROM json_each(?1)) AND status IS NOT NULL;

-- name: takedown_clear_lines
-- What indexes said of the captures that some visits took: the digest of their bytes among it.
UPDATE captured SET line = '' WHERE visit IN (SELECT value FROM json_each(?1)) AND line <> '';

-- name: takedown_counts
-- Addresses of some visits, these, their captures, and the bytes of those.
SELECT count(DISTINCT address), count(*), coalesce(sum(warc <> ''), 0), coalesce(sum(place_length), 0) FROM attempt
WHERE seq IN (SELECT value FROM json_each(?1));

-- name: taken_down
-- The addresses and origins of tombstones that are not lifted; not what one source alone asked of an origin.
SELECT t.address, h.origin FROM tombstone t LEFT JOIN host h ON h.seq = t.host
WHERE (t.host = 0 OR t.target = h.origin) AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted');

-- name: takedown_asked_only
-- What steps asked of services for some visits (a JSON list), and for no other.
SELECT DISTINCT k.digest, k.host, a.url FROM attempt v JOIN asked k ON k.visit = v.seq
JOIN address a ON a.digest = k.digest AND a.host = k.host
WHERE v.seq IN (SELECT value FROM json_each(?1))
AND NOT EXISTS (SELECT 1 FROM asked o WHERE o.digest = k.digest AND o.host = k.host
    AND o.visit NOT IN (SELECT value FROM json_each(?1)));

-- name: takedown_asked_too
-- What was asked for one of some visits, and for others too: the first of those.
SELECT k.digest, k.host, min(o.visit), r.attachments FROM attempt v JOIN asked k ON k.visit = v.seq
JOIN request r ON r.digest = k.digest AND r.host = k.host
JOIN asked o ON o.digest = k.digest AND o.host = k.host
WHERE v.seq IN (SELECT value FROM json_each(?1)) AND o.visit NOT IN (SELECT value FROM json_each(?1))
GROUP BY k.digest, k.host;

-- name: takedown_send_from
UPDATE request SET attachments = ? WHERE digest = ? AND host = ?;

-- name: takedown_found_from
UPDATE address SET via = coalesce((SELECT v.address FROM attempt v WHERE v.seq = ?), 0) WHERE digest = ? AND host = ?;

-- name: takedown_clear_asked
DELETE FROM asked WHERE visit IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_request
DELETE FROM request WHERE digest = ? AND host = ?;

-- name: takedown_clear_requests
-- What may be asked at an origin, all of which is taken down.
DELETE FROM request WHERE host = ? AND host <> 0;

-- name: takedown_clear_address
DELETE FROM address WHERE digest = ? AND host = ?;

-- name: takedown_endings
SELECT DISTINCT ending FROM followed WHERE ending <> '' AND visit IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_comments
UPDATE task_end SET comment = replace(comment, ?1, '(forgotten)') WHERE instr(comment, ?1) > 0;

-- name: takedown_clear_followed
UPDATE followed SET ending = '', findings = '[]' WHERE visit IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_unread
DELETE FROM unread WHERE visit IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_offered
DELETE FROM offered WHERE visit IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_listings
-- A listing an answer of which is taken down does not tell any more what was missing from it.
DELETE FROM whole_listing WHERE EXISTS (SELECT 1 FROM json_each(?1) v WHERE v.value BETWEEN began AND ended);

-- name: takedown_clear_known
DELETE FROM offer_known WHERE visit IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_learned
DELETE FROM learned WHERE EXISTS (SELECT 1 FROM attempt v JOIN host h ON h.seq = v.host
    WHERE v.seq IN (SELECT value FROM json_each(?1))
    AND h.collection = learned.collection AND h.source = learned.source AND learned.visit IN (0, v.seq));
