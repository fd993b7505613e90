-- What people ask of the addresses and visits of crawls.

-- name: visited_address
-- An address, the origin it belongs to, the source of that origin, and where it was found.
SELECT a.digest, a.url, h.origin, h.source, h.collection, a.via, v.url, a.due, a.pause, a.capture, a.failures, a.host
FROM address a JOIN host h ON h.seq = a.host LEFT JOIN address v ON v.digest = a.via WHERE a.digest = ?;

-- name: visited_address_visits
SELECT seq, at, session, kind, allowed, started, seconds, status, reason, message, digest, size, warc, place_offset,
       place_length, revisit, etag, modified, location
FROM visit WHERE address = ? ORDER BY seq;

-- name: visited_rules
-- The last questions for the rules of an origin, the latest first. A flood of pages may lie between two.
SELECT v.started, v.status, v.warc, v.place_offset, v.place_length FROM host h JOIN visit v ON v.host = h.seq
WHERE h.origin = ?1 AND h.collection = ?2 AND v.address = 0 AND v.kind = ?3 ORDER BY v.seq DESC LIMIT ?4;

-- name: visited_hosts
-- The origins of a source with its addresses: all, with a body, failing, due by a time; and when it was asked last.
SELECT h.seq, h.origin, h.source, h.collection, count(a.digest), coalesce(sum(a.capture > 0), 0),
       coalesce(sum(a.failures > 0), 0), coalesce(sum(a.due <= ?3), 0), min(CASE WHEN a.due > ?3 THEN a.due END),
       (SELECT max(v.started) FROM visit v WHERE v.host = h.seq)
FROM host h LEFT JOIN address a ON a.host = h.seq
WHERE (?1 = '' OR h.source = ?1) AND (?2 = '' OR h.origin IN ('http://' || ?2, 'https://' || ?2)
    OR h.origin LIKE 'http://' || ?2 || ':%' OR h.origin LIKE 'https://' || ?2 || ':%')
GROUP BY h.seq ORDER BY h.origin;

-- name: visited_reasons
-- What came of the questions to an origin: status or reason, and how often.
SELECT coalesce(reason, ''), status, count(*) FROM visit WHERE host = ? GROUP BY 1, 2 ORDER BY 3 DESC;
