-- What is asked of hosts and addresses.

-- name: hosts
-- The origins that a collection's crawls may ask.
SELECT seq, source, origin FROM host WHERE collection = ? ORDER BY seq;

-- name: hosts_crawled
-- The origins that a collection's crawls may ask, without those that are only known from elsewhere.
SELECT h.seq, h.source, h.origin FROM host h WHERE h.collection = ? AND (
    EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq AND (a.due IS NOT NULL OR a.pause <> -1))
    OR NOT EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq)
) ORDER BY h.seq;

-- name: host_named
SELECT seq FROM host WHERE origin = ?1 AND collection = ?2 AND (?3 = '' OR source = ?3) ORDER BY seq LIMIT 1;

-- name: addresses_due
-- What to ask of a host next, and what it said last: new addresses first. A capture of bytes that were
-- known tells the date of the record that holds them. What came of it as something else is not asked after: of what
-- was kept beside a page and is one now, the whole answer is wanted.
SELECT a.digest, a.url, a.kind, a.place, a.pause, a.failures, coalesce(v.etag, ''), coalesce(v.modified, ''),
       coalesce(v.digest, ''),
       CASE WHEN v.revisit = 0 THEN v.started ELSE (SELECT min(k.started) FROM attempt k
           WHERE k.address = a.digest AND k.digest = v.digest AND k.revisit = 0) END
FROM address a LEFT JOIN attempt v ON v.seq = a.capture AND v.kind = a.kind
WHERE a.host = ? AND a.due BETWEEN ? AND ? AND a.place < ? ORDER BY a.due, a.place LIMIT ?;

-- name: address_hinted
-- Make an address due that is said to have changed since its last visit, but not sooner than a while after that.
UPDATE address SET due = min(due, (SELECT CAST(strftime('%s', max(v.started)) AS INTEGER) FROM attempt v
    WHERE v.address = :digest AND v.host = :host) + :rest)
WHERE digest = :digest AND host = :host AND due > 0
AND (SELECT max(v.started) FROM attempt v WHERE v.address = :digest AND v.host = :host) < :hint;

-- name: rests
-- Until when origins asked to be left alone.
SELECT origin, until FROM rest WHERE until > ?;

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

-- name: addresses_by_source
-- How the addresses of each source stand at a moment, by kind: all, those with a body, failing ones, due ones, and
-- when the next is due.
SELECT h.collection, h.source, a.kind, count(*), sum(a.capture <> 0 AND a.failures = 0), sum(a.failures > 0),
       sum(coalesce(a.due <= ?, 0)), min(CASE WHEN a.due > 0 THEN a.due END)
FROM address a JOIN host h ON h.seq = a.host GROUP BY h.collection, h.source, a.kind;

-- name: addresses_never_asked
-- How many addresses of a host were never asked, and one of them.
SELECT count(*), coalesce(min(url), '') FROM address WHERE host = ? AND due = 0;

-- name: addresses_due_by_host
-- How many addresses of each host are due at a moment.
SELECT h.source, h.origin, count(*) FROM host h JOIN address a ON a.host = h.seq AND a.due <= ?
WHERE h.collection = ? GROUP BY h.source, h.origin ORDER BY h.seq;

-- name: addresses_next
-- Some addresses of a source that are due at a moment.
SELECT a.url FROM host h JOIN address a ON a.host = h.seq AND a.due <= ? WHERE h.collection = ? AND h.source = ?
ORDER BY h.seq, a.due, a.place LIMIT ?;

-- name: address_known
SELECT 1 FROM address a JOIN host h ON h.seq = a.host AND h.collection = ? WHERE a.digest = ?;

-- name: address
-- An address, the origin it belongs to, the source of that origin, and where it was found.
SELECT a.digest, a.url, h.origin, h.source, h.collection, a.via,
       (SELECT v.url FROM address v JOIN host g ON g.seq = v.host AND g.collection = h.collection
           WHERE v.digest = a.via),
       a.due, a.pause, a.capture, a.failures, a.host, a.kind
FROM address a JOIN host h ON h.seq = a.host AND h.collection = ? WHERE a.digest = ?;

-- name: hosts_counted
-- The origins of a source with its addresses: all, with a body, failing, due by a time; and when it was asked last.
SELECT h.seq, h.origin, h.source, h.collection, count(a.digest), coalesce(sum(a.capture > 0), 0),
       coalesce(sum(a.failures > 0), 0), coalesce(sum(a.due <= ?3), 0), min(CASE WHEN a.due > ?3 THEN a.due END),
       (SELECT max(v.started) FROM attempt v WHERE v.host = h.seq)
FROM host h LEFT JOIN address a ON a.host = h.seq
WHERE (?1 = '' OR h.source = ?1) AND (?2 = '' OR h.origin IN ('http://' || ?2, 'https://' || ?2)
    OR h.origin LIKE 'http://' || ?2 || ':%' OR h.origin LIKE 'https://' || ?2 || ':%')
GROUP BY h.seq ORDER BY h.origin;

-- name: addresses_chosen
-- Those of these numbers that a collection knows.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = ? AND NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.address = a.digest AND t.host = 0 OR t.host = h.seq)
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'))
AND a.digest IN ({marks});

-- name: addresses_failing
-- Those that fail now, of a source and for the reason of their last visit, where these are named.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = ?1 AND (?2 = '' OR h.source = ?2) AND a.due IS NOT NULL AND a.failures > 0
AND (?3 = '' OR (SELECT v.reason FROM attempt v WHERE v.address = a.digest AND v.host = a.host ORDER BY v.seq DESC LIMIT 1) = ?3)
ORDER BY a.host, a.url;

-- name: addresses_waiting
-- Those that wait to be asked: never asked so far, or failing for that reason.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = ?1 AND (?2 = '' OR h.source = ?2) AND a.due IS NOT NULL
AND ((?3 = '' AND a.due <= 1) OR (?3 <> '' AND a.failures > 0 AND
    (SELECT v.reason FROM attempt v WHERE v.address = a.digest AND v.host = a.host ORDER BY v.seq DESC LIMIT 1) = ?3))
ORDER BY a.host, a.url;

-- name: addresses_due_again
-- Make the addresses of a host due, after those that were never asked.
UPDATE address SET due = 1 WHERE host = ? AND due > 1;

-- name: address_due_at
UPDATE address SET due = ? WHERE digest = ? AND host IN (SELECT seq FROM host WHERE collection = ?);

-- name: begun_never_again
-- What a source began with (found at no address), and what lies at origins that are none of its own any more, is not
-- asked again; but for some numbers. The lists are JSON.
UPDATE address SET due = NULL WHERE due IS NOT NULL AND kind = ?1 AND digest NOT IN (SELECT value FROM json_each(?4))
AND host IN (SELECT seq FROM host WHERE collection = ?2 AND source = ?3) AND (via = 0
    OR host IN (SELECT seq FROM host WHERE collection = ?2 AND source = ?3
        AND origin NOT IN (SELECT value FROM json_each(?5))));

-- name: address_paced
-- The interval of an address after its last visit, once its content is known. One that was made due sooner stays so.
UPDATE address SET due = ?1 + ?2, pause = ?2
WHERE (digest, host) = (SELECT v.address, v.host FROM attempt v WHERE v.seq = ?3)
AND failures = 0 AND due >= ?1 + pause - 1
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = address.digest AND v.host = address.host AND v.seq > ?3);

-- name: address_due_by
-- What its last visit brought holds until then; one that is never due stays so.
UPDATE address SET due = ?1 WHERE (digest, host) = (SELECT v.address, v.host FROM attempt v WHERE v.seq = ?2)
AND due > ?1
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = address.digest AND v.host = address.host AND v.seq > ?2);

-- name: addresses_wrong
-- Addresses that are due, or have a last capture, other than their visits say. Not those that are never due: they are
-- known from elsewhere, or were taken down. Nor what others asked, which took no time that we know of.
SELECT url, due, capture, visits, last FROM (
    SELECT a.url, a.due AS due, a.capture AS capture, count(v.seq) AS visits,
           max(CASE WHEN v.status = 200 AND v.warc <> '' THEN v.seq ELSE 0 END) AS last
    FROM address a LEFT JOIN attempt v ON v.address = a.digest AND v.host = a.host
        AND (v.status IS NULL OR v.seconds > 0
            OR EXISTS (SELECT 1 FROM captured c WHERE c.visit = v.seq AND c.capture_index = 0))
    WHERE a.due IS NOT NULL GROUP BY a.digest, a.host)
WHERE (visits = 0 AND due > 1) OR capture <> last;

-- name: host_next_due
SELECT min(due) FROM address WHERE host = ?;

-- name: requests
-- What is asked at addresses of a host where that is no plain GET.
SELECT digest, method, headers, body, context, attachments, seconds FROM request WHERE host = ? AND digest IN ({marks});
