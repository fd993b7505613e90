-- Addresses that an operator decides about; never those that were taken down.

-- name: chosen_addresses
-- Those of these numbers that a collection knows.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = ? AND NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.address = a.digest AND t.host = 0 OR t.host = h.seq)
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'))
AND a.digest IN ({marks});

-- name: chosen_failing
-- Those that fail now, of a source and for the reason of their last visit, where these are named.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = ?1 AND (?2 = '' OR h.source = ?2) AND a.due IS NOT NULL AND a.failures > 0
AND (?3 = '' OR (SELECT v.reason FROM visit v WHERE v.address = a.digest ORDER BY v.seq DESC LIMIT 1) = ?3)
ORDER BY a.host, a.url;

-- name: chosen_waiting
-- Those that wait to be asked: never asked so far, or failing for that reason.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = ?1 AND (?2 = '' OR h.source = ?2) AND a.due IS NOT NULL
AND ((?3 = '' AND a.due <= 1) OR (?3 <> '' AND a.failures > 0 AND
    (SELECT v.reason FROM visit v WHERE v.address = a.digest ORDER BY v.seq DESC LIMIT 1) = ?3))
ORDER BY a.host, a.url;
