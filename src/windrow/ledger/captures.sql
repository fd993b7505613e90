-- Queries on captures: where kept bytes are in the archive. Attempts, addresses and sessions are given by numbers.

-- def of_digest(digest: str) -> ArchivePlace | None
-- Return the place of the last complete capture of a listed file with this digest, or None.
-- There are several if the file with the earlier one is lost.
SELECT warc, place_offset AS offset, place_length AS length FROM attempt
WHERE listed_file IS NOT NULL AND digest = :digest AND revisit = 0 AND reason IS NULL ORDER BY end_seq DESC LIMIT 1;

-- def original(address: int, digest: str) -> ArchivePlace | None
-- Return the place of the last record of an address that has bytes with this digest, or None.
SELECT warc, place_offset AS offset, place_length AS length FROM attempt
WHERE address = :address AND digest = :digest AND revisit = 0 AND warc <> '' ORDER BY seq DESC LIMIT 1;

-- def payload(digest: str) -> ArchivePlace | None
-- Return the place of imported bytes with this digest, or None.
SELECT warc, place_offset AS offset, place_length AS length FROM payload WHERE digest = :digest LIMIT 1;

-- def promised() -> dict[str, int]
-- Return a dict from file of the archive to its minimum length: the end of its last record on the ledger.
-- Erased records count too, unless they are in a file of responses that are not archived.
WITH RECURSIVE file (warc) AS (  -- reads only the last record of each file
    SELECT min(warc) FROM attempt WHERE warc > ''
    UNION ALL SELECT (SELECT min(v.warc) FROM attempt v WHERE v.warc > file.warc) FROM file WHERE file.warc IS NOT NULL
)
SELECT warc, max(place) FROM (
    SELECT v.warc, v.place_offset + v.place_length AS place FROM file CROSS JOIN attempt v ON v.warc = file.warc
        AND v.place_offset = (SELECT max(l.place_offset) FROM attempt l WHERE l.warc = file.warc)
    UNION ALL SELECT warc, max(place_offset + place_length) FROM tombstone_span
        WHERE warc NOT GLOB 'unarchived-*' GROUP BY warc
) GROUP BY warc;

-- def sessions() -> list[int]
-- Return the sessions in which captures were recorded, even if another session began the attempts, in order.
SELECT s.seq FROM session s WHERE EXISTS (SELECT 1 FROM attempt v WHERE v.end_seq = v.seq AND v.warc <> ''
    AND v.seq > s.seq AND v.seq < {next_session})
OR EXISTS (SELECT 1 FROM attempt v WHERE v.end_seq IS NOT v.seq AND v.warc <> '' AND v.end_seq > s.seq
    AND v.end_seq < {next_session}) ORDER BY s.seq;

-- row: CaptureRow
-- A capture to be listed in an index of the archive: its address, date (as the ledger writes it) and place.

-- def of_session(session: int) -> Iterator[CaptureRow]
-- Yield the captures that were recorded from the beginning of a session to that of the next one.
-- 304 responses of addresses, bytes that are not archived, and captures of other collections are left out.
SELECT coalesce(a.url, v.url) AS "address: str", v.started AS "at: str", v.digest, v.status, v.warc,
       v.place_offset AS "offset: int", v.place_length AS "length: int", v.revisit, v.mime
FROM (SELECT o.seq FROM session s CROSS JOIN attempt o ON o.end_seq = o.seq AND o.seq > s.seq AND o.seq < {next_session}
        WHERE s.seq = :session
    UNION ALL SELECT o.seq FROM session s CROSS JOIN attempt o ON o.end_seq IS NOT o.seq AND o.end_seq > s.seq
        AND o.end_seq < {next_session} WHERE s.seq = :session) k
CROSS JOIN attempt v ON v.seq = k.seq LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE v.warc <> '' AND v.warc NOT GLOB 'unarchived-*' AND (v.listed_file IS NOT NULL OR v.status IS NOT 304)
AND NOT EXISTS (SELECT 1 FROM captured c WHERE c.attempt = v.seq AND c.original <> 0);

-- row: HeldCapture
-- A capture whose record has its bytes. `key` is the key of the captured file, or the captured address.

-- def held() -> Iterator[HeldCapture]
-- Yield the captures whose record has bytes, file by file.
-- Captures of failed attempts at listed files are left out, and so are those that were taken from another attempt.
SELECT v.warc, v.place_offset AS "offset: int", v.place_length AS "length: int", v.digest, v.size AS "size: int",
       coalesce(f.file_key, a.url, v.url) AS "key: str"
FROM attempt v
LEFT JOIN listed_file f ON f.seq = v.listed_file LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE v.warc <> '' AND v.revisit = 0 AND (v.listed_file IS NULL OR v.reason IS NULL)
AND NOT EXISTS (SELECT 1 FROM captured c WHERE c.attempt = v.seq AND c.original <> 0) ORDER BY 1, 2;

-- def after(attempt: int, limit: int, origins: Sequence[tuple[str, str]], statuses: Iterable[int] = ())
--     -> list[RecordedAttempt]
-- Return the archived responses of attempts after `attempt`, in order, with status 2xx, or 304 for known bytes.
-- `origins` has pairs of the collection and source whose responses are wanted; an empty source means any. Responses
-- with a status in `statuses` are returned too. To continue, pass the last `seq` as `attempt`.
SELECT v.seq, v.session, s.at, coalesce((SELECT c.source FROM captured c WHERE c.attempt = v.seq), h.source), v.address,
       a.url, v.kind, v.allowed, v.started, v.seconds, v.status, v.reason,
       v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit,
       CASE WHEN v.mime <> '' OR v.revisit = 0 THEN v.mime ELSE coalesce((SELECT o.mime FROM attempt o
           WHERE o.address = v.address AND o.digest = v.digest AND o.revisit = 0 ORDER BY o.seq LIMIT 1), '') END,
       v.etag, v.modified, v.location
FROM attempt v CROSS JOIN host h ON h.seq = v.host CROSS JOIN address a ON a.digest = v.address AND a.host = v.host
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq > :attempt AND v.warc <> '' AND v.warc NOT GLOB 'unarchived-*' AND v.reason IS NULL
AND (v.status BETWEEN 200 AND 299 OR (v.status = 304 AND v.digest <> '')
    OR v.status IN (SELECT value FROM json_each(:statuses)))
AND EXISTS (SELECT 1 FROM json_each(:origins) k WHERE h.collection = json_extract(k.value, '$[0]')
    AND json_extract(k.value, '$[1]') IN ('', h.source)) ORDER BY v.seq LIMIT :limit;

-- def of_address(collection: str, address: int) -> list[RecordedAttempt]
-- Return the responses that a collection kept from an address, in order.
SELECT {recorded} {from_attempts}
WHERE v.address = :address AND h.collection = :collection AND {at_address} AND v.warc <> ''
AND v.reason IS NULL ORDER BY v.seq;

-- row: IndexRow
-- How far a source has read an index.
-- `place` is the position up to which it was read (-1: the end of a file), `seen` the number of lines (of a WARC file:
-- records) read, `taken` the number of captures taken.

-- def index(collection: str, source: str, name: str) -> IndexRow | None
-- Return how far a source has read an index, or None if it has not begun.
SELECT id, collection, source, name, rules, place, seen, taken FROM capture_index
WHERE collection = :collection AND source = :source AND name = :name;

-- def indexes(collection: str, source: str) -> list[IndexRow]
-- Return how far a source has read each of its indexes.
SELECT id, collection, source, name, rules, place, seen, taken FROM capture_index
WHERE collection = :collection AND source = :source ORDER BY id;

-- name: capture_index_begin
-- Begin to read an index, or begin again from its start if the rules have changed.
INSERT INTO capture_index (collection, source, name, rules, place, seen, taken) VALUES (?,?,?,?,0,0,0)
ON CONFLICT (collection, source, name) DO UPDATE SET rules = excluded.rules, place = 0, seen = 0, taken = 0;

-- name: capture_index_move
UPDATE capture_index SET name = ?2, rules = ?3 WHERE id = ?1;

-- name: captured_move
-- The folder ?2 of WARC files was moved to ?3.
UPDATE captured SET warc = ?3 || substr(warc, length(?2) + 1)
WHERE capture_index = ?1 AND substr(warc, 1, length(?2)) = ?2;

-- name: capture_failures_move
UPDATE capture_failed SET warc = ?4 || substr(warc, length(?3) + 1) WHERE collection = ?1 AND source = ?2
AND substr(warc, 1, length(?3)) = ?3;

-- name: capture_index_forget_counts
-- The counts of the rule ?2 are kept.
DELETE FROM capture_left_out WHERE capture_index = ?1 AND rule <> ?2;

-- name: capture_index_reach
UPDATE capture_index SET place = ?2, seen = seen + ?3 WHERE id = ?1;

-- name: capture_index_count
UPDATE capture_index SET taken = taken + ?2 WHERE id = ?1;

-- name: capture_leave_out
INSERT INTO capture_left_out VALUES (?,?,?,?,?)
ON CONFLICT DO UPDATE SET lines = lines + excluded.lines;

-- row: RuleRow
-- The number of lines of an index that a rule left out, and the address of the first one.

-- def left_out(index: int) -> list[RuleRow]
-- Return how many lines of an index each rule left out, the greatest number first.
SELECT reason, rule, lines, url FROM capture_left_out WHERE capture_index = :index ORDER BY lines DESC, reason, rule;

-- row: LeftOutRow
-- How many lines of a source's indexes, and records of its WARC files, a rule left out, and the first of them.

-- def left_out_by_source() -> list[LeftOutRow]
-- Count by source and rule the lines of indexes, and the records of WARC files, that were left out.
SELECT i.collection, i.source, l.reason, l.rule, sum(l.lines) AS "lines: int",
       min(CASE l.url WHEN '' THEN i.name ELSE l.url END) AS "url: str"
FROM capture_left_out l JOIN capture_index i ON i.id = l.capture_index
GROUP BY i.collection, i.source, l.reason, l.rule ORDER BY i.source, 5 DESC, l.reason, l.rule;

-- def taken(collection: str, place: ArchivePlace) -> int
-- Return the attempt in which a collection took the record at a place, or 0.
SELECT coalesce((SELECT attempt FROM captured
    WHERE collection = :collection AND warc = :place.warc AND place_offset = :place.offset AND capture_index <> 0), 0);

-- def is_taken_by(attempt: int, source: str) -> bool
-- Return whether a source has the capture that an attempt took: it made the attempt, or shares its capture.
SELECT EXISTS (SELECT 1 FROM captured WHERE attempt = :attempt AND source = :source)
    OR EXISTS (SELECT 1 FROM captured WHERE original = :attempt AND original <> 0 AND source = :source);

-- name: capture_replaced
-- The place of a taken record has another record now. 0 frees the place, and the row still tells where it was found.
UPDATE captured SET capture_index = 0 WHERE attempt = ?;

-- def captured(attempt: int) -> CapturedRow | None
-- Return the capture that an attempt took, or None if it made a request of its own.
SELECT c.attempt, c.original, coalesce(h.collection, ''), coalesce(h.source, ''), coalesce(i.name, ''), c.warc,
       c.place_offset,
    c.line
FROM captured c LEFT JOIN attempt o ON o.seq = c.original LEFT JOIN host h ON h.seq = o.host
LEFT JOIN capture_index i ON i.id = c.capture_index WHERE c.attempt = :attempt;

-- def borrowers(host: int, source: str) -> set[str]
-- Return the other sources whose captures are stored at a host of `source`.
-- Only an earlier windrow stored them there: now each source has a host of its own.
SELECT DISTINCT c.source FROM address a CROSS JOIN attempt v ON v.address = a.digest AND v.host = a.host
CROSS JOIN captured c ON c.attempt = v.seq WHERE a.host = :host AND c.source <> :source;

-- row: FailedRow
-- A wanted index line, as JSON, whose record could not be read.
-- `warc` begins with the number of its index, `found_in`. `address` is the digest of the line's address, `attempt` the
-- number of the last attempt to read the record.

-- def failed(source: tuple[str, str], after: tuple[str, int, str], reasons: Iterable[str], files: Iterable[str],
--     limit: int) -> list[FailedRow]
-- Return at most `limit` failed index lines of a source (collection, name), after the line with key `after`.
-- They failed for one of `reasons`, or in one of the WARC `files`, or their address is due next (1).
SELECT abs(f.capture_index) AS "found_in: int", f.warc, f.place_offset AS offset, f.line, f.reason, f.address, f.attempt
FROM capture_failed f
WHERE f.collection = :source[0] AND f.source = :source[1] AND (f.warc, f.place_offset, f.line) > (:after[0], :after[1], :after[2])
AND (f.reason IN (SELECT value FROM json_each(:reasons)) OR f.warc IN (SELECT value FROM json_each(:files)) OR EXISTS (SELECT 1 FROM attempt v
    JOIN address a ON a.digest = v.address AND a.host = v.host WHERE v.seq = f.attempt AND a.due = 1))
ORDER BY f.warc, f.place_offset, f.line LIMIT :limit;

-- name: capture_retried
-- The address of a failed attempt is not due any more, if it is known only from captures of others.
UPDATE address SET due = NULL
WHERE interval = -1 AND (digest, host) = (SELECT v.address, v.host FROM attempt v WHERE v.seq = ?);

-- def failed_by_source() -> dict[str, int]
-- Return a dict from source to the number of its wanted index lines whose record could not be read.
SELECT source, count(*) FROM capture_failed GROUP BY source;

-- row: FailedFile
-- A WARC file with wanted records that could not be read, and when the first run began in which one failed.
-- `warc` begins with the number of an index.

-- def failed_files(collection: str, source: str) -> list[FailedFile]
-- Return the WARC files of a source with wanted records that could not be read.
SELECT f.warc, min(s.at) AS "since: datetime" FROM capture_failed f JOIN attempt v ON v.seq = f.attempt
JOIN session s ON s.seq = v.session WHERE f.collection = :collection AND f.source = :source GROUP BY f.warc;

-- row: FailedCount
-- How many wanted index lines of a source failed for a reason in a session (the number of its first fact).

-- def failed_by_reason() -> list[FailedCount]
-- Count the wanted index lines whose record could not be read, by source, reason and session.
SELECT f.source, f.reason, v.session, count(*) AS "lines: int" FROM capture_failed f JOIN attempt v ON v.seq = f.attempt
GROUP BY f.source, f.reason, v.session;

-- def failure(collection: str, key: tuple[str, int, str]) -> str
-- Return the reason why the record of an index line could not be read, or "".
SELECT coalesce((SELECT reason FROM capture_failed
    WHERE collection = :collection AND warc = :key[0] AND place_offset = :key[1] AND line = :key[2]), '');

-- row: FailedClaim
-- An index line, as JSON, whose record could not be read, with the reason and the message.

-- def failed_of_digest(collection: str, digest: str, limit: int) -> list[FailedClaim]
-- Return at most `limit` index lines whose record could not be read, and that refer to a digest.
-- The digest is in the line, or in the message of the failure.
SELECT f.line, f.reason, v.message FROM capture_failed f JOIN attempt v ON v.seq = f.attempt
WHERE f.collection = :collection AND (instr(f.line, :digest) OR instr(v.message, :digest))
ORDER BY f.attempt LIMIT :limit;

-- name: capture_mended
DELETE FROM capture_failed WHERE collection = ? AND warc = ? AND place_offset = ? AND line = ?;

-- name: capture_failures_unmet
-- An index is read again: the number of the index is negative until its line is met.
UPDATE capture_failed SET capture_index = -abs(capture_index) WHERE collection = ? AND warc >= ? AND warc < ?;

-- name: capture_failure_met
UPDATE capture_failed SET capture_index = abs(capture_index)
WHERE collection = ? AND warc = ? AND place_offset = ? AND line = ? AND capture_index < 0;

-- name: capture_failures_forget
-- Of an index, all failures, or those whose line was not met since the index was begun.
DELETE FROM capture_failed WHERE collection = ? AND warc >= ? AND warc < ? AND (? OR capture_index < 0);

-- def newest(address: int, since: int, collection: str) -> RecordedAttempt | None
-- Return the latest response that another collection kept from an address, numbered above `since`, or None.
-- If `since` is the number of a session, a collection can use the response that another one got in this session.
SELECT {recorded} {from_attempts}
WHERE v.address = :address AND v.seq > :since AND {at_address} AND h.collection <> :collection AND v.warc <> ''
AND v.warc NOT GLOB 'unarchived-*' AND v.reason IS NULL
ORDER BY v.seq DESC LIMIT 1;

-- def newest_rules(origin: str, since: int, collection: str) -> RecordedAttempt | None
-- Return the latest robots.txt of an origin that another collection fetched, numbered above `since`, or None.
-- A kept response with status 4xx counts too.
SELECT {recorded}
FROM host h CROSS JOIN attempt v ON v.host = h.seq AND v.address = 0 CROSS JOIN session s ON s.seq = v.session
LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE h.origin = :origin AND v.seq > :since AND h.collection <> :collection AND v.url = :origin || '/robots.txt'
AND v.warc <> ''
AND v.reason IS NULL AND (v.status < 300 OR v.status BETWEEN 400 AND 499) ORDER BY v.seq DESC LIMIT 1;
