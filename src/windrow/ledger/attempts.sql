-- Queries on attempts to fetch an address or a listed file. Attempts, addresses, files and hosts are given by their
-- numbers. `facts` are the numbers of the first and the last fact of a range.

-- part: attempt
-- The columns of an AttemptRow.
SELECT v.seq, v.at, v.session, h.source, coalesce(a.url, v.url) AS "url: str", v.kind, v.allowed, v.started,
       v.end_seq AS "end", CASE WHEN v.end_seq IS NOT NULL THEN coalesce(v.ended, v.at) END AS "ended: datetime | None",
       v.seconds, v.status,
       coalesce(v.received, CASE WHEN v.revisit THEN 0 ELSE v.size END, 0) AS "received: int", v.reason, v.message,
       v.digest, v.size, v.warc, v.place_offset AS offset, v.place_length AS length, v.revisit, v.etag, v.modified,
       v.location, v.checksum
FROM attempt v CROSS JOIN host h ON h.seq = v.host LEFT JOIN address a ON a.digest = v.address AND a.host = v.host

-- part: recorded
-- The columns of a RecordedAttempt, followed by the holder of its session.
v.seq, v.session, s.at, coalesce((SELECT c.source FROM captured c WHERE c.attempt = v.seq), h.source), v.address,
       coalesce(a.url, nullif(v.url, ''), h.origin || '/robots.txt'), v.kind, v.allowed, v.started, v.seconds,
       v.status, v.reason, v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime,
       v.etag, v.modified, v.location, s.holder

-- part: from_attempts
-- Attempts come first in the join, so that a LIMIT returns the first rows at once.
FROM attempt v CROSS JOIN host h ON h.seq = v.host CROSS JOIN session s ON s.seq = v.session
LEFT JOIN address a ON a.digest = v.address AND a.host = v.host

-- part: at_address
-- Attempts whose address is known, which excludes robots.txt. The form of the condition prevents a join that begins
-- with addresses.
v.address <> 0 AND coalesce(a.url, '') <> ''

-- name: attempt_made
-- Insert an attempt whose beginning and end are one fact.
-- The values of its end are in the same order as in `attempt_ended`.
INSERT INTO attempt (seq, at, session, host, address, url, kind, allowed, started, end_seq, seconds, status, received,
    reason, message, digest, size, warc, place_offset, place_length, revisit, etag, modified, location, mime, checksum)
VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?1,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25);

-- name: attempt_begun
-- Insert the beginning of an attempt to fetch a listed file. Its end is a fact of its own.
INSERT INTO attempt (seq, at, session, host, listed_file, url, started, kind, allowed, seconds, message, digest, warc,
    revisit, etag, modified, location, checksum, mime) VALUES (?,?,?,?,?,?,?,0,1,0,'','','',0,'','','','','');

-- name: attempt_ended
UPDATE attempt SET end_seq = ?, ended = ?, started = coalesce(?, started), seconds = ?, status = ?, received = ?,
    reason = ?, message = ?, digest = ?, size = ?, warc = ?, place_offset = ?, place_length = ?, revisit = ?, etag = ?,
    modified = ?, location = ?, mime = ?, checksum = ? WHERE seq = ?;

-- row: AttemptRow
-- An attempt to fetch an address or a listed file.
-- `at` is when its beginning was written, and `started` the date of its archive record or, without one, when it began.
-- `end` (the number of the fact of its end) and `ended` are None if it is running or was interrupted. `warc` is empty
-- if nothing was kept.

-- def of_file(file: int) -> list[AttemptRow]
-- Return the attempts to fetch a listed file, in order.
{attempt} WHERE v.listed_file = :file ORDER BY v.seq;

-- def of_address(host: int, address: int) -> list[AttemptRow]
-- Return the attempts to fetch an address of a host, in order.
{attempt} WHERE v.address = :address AND v.host = :host ORDER BY v.seq;

-- def get(attempt: int) -> AttemptRow | None
-- Return one attempt, or None if no attempt has this number.
{attempt} WHERE v.seq = :attempt;

-- row: OpenAttempt
-- An attempt to fetch a listed file that is running or was interrupted.

-- def open() -> list[OpenAttempt]
-- Return the last attempt at each listed file whose last attempt has no end.
SELECT v.seq, v.listed_file AS "file: int", h.source FROM attempt v JOIN host h ON h.seq = v.host
WHERE v.end_seq IS NOT v.seq AND v.end_seq IS NULL
AND NOT EXISTS (SELECT 1 FROM attempt k WHERE k.listed_file = v.listed_file AND k.seq > v.seq) ORDER BY v.seq;

-- def count_ahead(at: datetime) -> int
-- Count the attempts at addresses with a time later than `at`, the present time.
SELECT count(*) FROM attempt v WHERE v.at > :at AND v.address <> 0 AND v.seq > (SELECT min(s.seq) FROM session s
    WHERE max(s.at, coalesce((SELECT e.at FROM session_end e WHERE e.session = s.seq), '')) > :at);

-- row: AttemptCount
-- The number of attempts at a source with the same outcome, and the bytes that they received.
-- Of the attempts at a listed file, `number` counts only the last one at the source: it is the number of files.
-- `listed` is true for listed files. For addresses, `kind` is the collection's own number for their kind. `earlier` is
-- true if the address had a body before, and `taken` if a capture was used instead of a request. `misses` is how often the
-- address had answered 404 since its last answer with content (at most 2; 410 counts as 2), for an answer 404 or 410, and
-- `seed` is whether such an address is one of the source's own: nothing else led to it. `guess` is whether nothing named the
-- address, for any answer from 400 on.

-- def ended_between(facts: tuple[int, int]) -> list[AttemptCount]
-- Count by outcome the attempts that ended between two facts, without requests for robots.txt.
SELECT h.collection, h.source, v.listed_file IS NOT NULL AS "listed: bool", v.kind, v.status, v.reason, v.mime, v.revisit,
       EXISTS (SELECT 1 FROM attempt p WHERE p.address = v.address AND p.host = v.host AND p.seq < v.seq
           AND p.status = 200 AND p.digest <> '') AS "earlier: bool",
       CASE WHEN v.status IN (404, 410) THEN min(2, coalesce((SELECT sum(1 + (m.status = 410)) FROM attempt m
           WHERE m.address = v.address AND m.host = v.host AND m.seq < v.seq AND m.status IN (404, 410)
           AND m.seq > coalesce((SELECT max(g.seq) FROM attempt g WHERE g.address = v.address AND g.host = v.host
               AND g.seq < v.seq AND g.status < 400), 0)), 0)) ELSE 0 END AS "misses: int",
       v.status IN (404, 410) AND EXISTS (SELECT 1 FROM address a
           WHERE a.digest = v.address AND a.host = v.host AND a.via = 0) AS "seed: bool",
       coalesce(v.status >= 400, 0) AND EXISTS (SELECT 1 FROM request r WHERE r.digest = v.address AND r.host = v.host
           AND CASE WHEN json_valid(r.context) THEN json_extract(r.context, '$.is_guess') END) AS "guess: bool",
       EXISTS (SELECT 1 FROM captured c WHERE c.attempt = v.seq) AS "taken: bool",
       sum(v.listed_file IS NULL OR NOT EXISTS (SELECT 1 FROM attempt l WHERE l.listed_file = v.listed_file
           AND l.host = v.host AND l.seq > v.seq AND l.end_seq BETWEEN :facts[0] AND :facts[1])) AS "number: int",
       sum(coalesce(v.received, CASE WHEN v.revisit THEN 0 ELSE v.size END, 0)) AS "received: int"
FROM (SELECT seq FROM attempt WHERE seq BETWEEN :facts[0] AND :facts[1] AND end_seq = seq AND address <> 0
    UNION ALL SELECT seq FROM attempt WHERE end_seq BETWEEN :facts[0] AND :facts[1] AND end_seq IS NOT seq) k
CROSS JOIN attempt v ON v.seq = k.seq CROSS JOIN host h ON h.seq = v.host
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13;

-- row: LatestCapture
-- The latest complete capture of a file: its digest, and the date and address of the record with the bytes.

-- def latest_captures(files: Sequence[int]) -> dict[int, LatestCapture]
-- Return a dict from file to its latest complete capture. Files without one are left out, as is a damaged one.
-- `at`, `address` and `warc` are those of the last record with its bytes.
SELECT v.listed_file AS "file: int", v.digest, k.started AS at, k.url AS address, k.warc FROM attempt v
JOIN attempt k ON k.seq = (SELECT o.seq FROM attempt o
    WHERE o.digest = v.digest AND o.listed_file = v.listed_file AND o.revisit = 0 AND o.reason IS NULL
    ORDER BY o.end_seq DESC LIMIT 1)
WHERE v.listed_file IN (SELECT value FROM json_each(:files)) AND v.digest <> '' AND v.reason IS NULL
AND coalesce((SELECT r.reason FROM reading r WHERE r.item = v.listed_file ORDER BY r.seq DESC LIMIT 1), '')
    <> 'disk_failed' ORDER BY v.end_seq;

-- def by_source() -> dict[str, SourceCounts]
-- Return a dict from source to the counts of its ended attempts at listed files.
SELECT h.source, sum(v.number) AS "attempts: int", sum(v.failures) AS "failures: int",
       sum(v.received) AS "received: int", sum(v.seconds) AS "seconds: float" FROM (
    SELECT host, count(*) AS number, sum(reason IS NOT NULL) AS failures,
           sum(CASE WHEN reason IS NULL THEN received ELSE 0 END) AS received,
           sum(CASE WHEN reason IS NULL THEN seconds ELSE 0 END) AS seconds
    FROM attempt WHERE end_seq > 0 AND listed_file IS NOT NULL GROUP BY host
) v JOIN host h ON h.seq = v.host GROUP BY h.source;

-- row: FailedSessions
-- The number of sessions with a failed attempt at a file, and when the last failed attempt ended.

-- def failed_sessions(files: Sequence[int]) -> dict[int, FailedSessions]
-- Return a dict from file to the counts of the sessions with a failed attempt at it.
-- Attempts that began before the last decision to retry the file do not count. A file without such a session is left
-- out.
SELECT file AS "file: int", number AS "number: int", ended AS "last: datetime" FROM (
    SELECT v.listed_file AS file, count(DISTINCT v.session) AS number, v.ended, max(v.seq) FROM attempt v
    WHERE v.listed_file IN (SELECT value FROM json_each(:files)) AND v.reason IS NOT NULL
    AND v.seq > coalesce((SELECT max(d.seq) FROM decision d WHERE d.item = v.listed_file AND d.act = 'retried'), 0)
    GROUP BY v.listed_file
);

-- row: SessionCapture
-- A complete capture of a file, and the session that began it.

-- def captures_by_session(collection: str) -> list[SessionCapture]
-- Return the complete captures of a collection's listed files, in the order of sessions.
-- Cancelled files are left out.
SELECT v.session, s.at AS opened, v.listed_file AS "file: int", v.seq AS attempt, v.checksum FROM attempt v
JOIN session s ON s.seq = v.session JOIN listed_file f ON f.seq = v.listed_file
LEFT JOIN pending_step p ON p.item = f.seq
WHERE f.collection = :collection AND coalesce(p.status, 0) <> 4 AND v.end_seq > 0 AND v.reason IS NULL
ORDER BY v.session, v.seq;

-- def after(collection: str, after: int, limit: int) -> list[RecordedAttempt]
-- Return the attempts at a collection's addresses after the attempt `after`, in order.
SELECT {recorded} {from_attempts} WHERE h.collection = :collection AND v.seq > :after AND {at_address}
ORDER BY v.seq LIMIT :limit;

-- def logged_after(collection: str, after: int, limit: int) -> list[LoggedAttempt]
-- Return the attempts at a collection's addresses and robots.txt after the attempt `after`, in order.
SELECT {recorded} {from_attempts} WHERE h.collection = :collection AND v.seq > :after AND v.listed_file IS NULL
ORDER BY v.seq LIMIT :limit;

-- def at_place(place: ArchivePlace) -> list[int]
-- Return the attempts whose response is at a place in the archive, at most 100.
SELECT seq FROM attempt WHERE warc = :place.warc AND place_offset = :place.offset ORDER BY seq LIMIT 100;

-- def status_at(place: ArchivePlace) -> int | None
-- Return the status of the response at a place in the archive, or None if it has none.
SELECT status FROM attempt WHERE warc = :place.warc AND place_offset = :place.offset ORDER BY seq LIMIT 1;

-- def by_numbers(attempts: Sequence[int]) -> list[RecordedAttempt]
-- Return the attempts at addresses (not at robots.txt or listed files) with these numbers, in order.
SELECT {recorded} {from_attempts} WHERE v.seq IN (SELECT value FROM json_each(:attempts)) AND {at_address} ORDER BY v.seq;

-- def count_after(attempt: int) -> int
-- Count the attempts at addresses after an attempt, in all collections.
SELECT count(*) FROM attempt WHERE seq > :attempt AND address <> 0;

-- def last_number() -> int
-- Return the number of the last attempt at an address or robots.txt, not at a listed file, or 0.
SELECT coalesce((SELECT seq FROM attempt WHERE listed_file IS NULL ORDER BY seq DESC LIMIT 1), 0);

-- def count_upto(collection: str, attempt: int) -> int
-- Count the attempts at a collection's addresses and robots.txt, up to and including an attempt.
SELECT count(*) FROM attempt v CROSS JOIN host h ON h.seq = v.host AND h.collection = :collection
WHERE v.seq <= :attempt AND v.listed_file IS NULL;

-- row: RulesFailure
-- A failed request for the robots.txt of an origin.

-- def rules_failed_between(facts: tuple[int, int], collection: str, kind: int) -> list[RulesFailure]
-- Return the last request for each robots.txt between two facts if it failed.
-- A status below 500, except 429, is not a failure, and neither is a robots.txt that is too large or was taken down
-- later. `kind` is the kind of a request for robots.txt.
SELECT source, origin, status, reason, message FROM (
    SELECT h.source, h.origin, v.status, v.reason, v.message, max(v.seq) AS last FROM attempt v
    CROSS JOIN host h ON h.seq = v.host
    WHERE v.seq BETWEEN :facts[0] AND :facts[1] AND h.collection = :collection AND v.kind = :kind
    AND v.listed_file IS NULL GROUP BY h.origin
) WHERE reason NOT IN ('too_large', 'forgotten') OR status >= 500 OR status = 429
ORDER BY last;

-- def seconds_by_origin(collection: str) -> dict[str, float]
-- Return a dict from origin to the average time, in seconds, of its latest responses to a collection.
-- They are those among the last 100 attempts of each source at the origin.
SELECT h.origin, avg(v.seconds) AS "seconds: float" FROM host h CROSS JOIN attempt v ON v.host = h.seq
WHERE h.collection = :collection AND v.listed_file IS NULL AND v.status IS NOT NULL AND v.seconds > 0
AND v.seq >= coalesce((SELECT o.seq FROM attempt o WHERE o.host = h.seq AND o.listed_file IS NULL
    ORDER BY o.seq DESC LIMIT 1 OFFSET 99), 0) GROUP BY h.origin;

-- def of_rules(origin: str, collection: str, kind: int, limit: int) -> list[RobotsAttempt]
-- Return the last requests of a collection for the robots.txt of an origin, the latest first.
-- `kind` is the kind of a request for robots.txt.
SELECT v.url, v.started, v.seconds, v.status, v.location, v.warc, v.place_offset AS offset, v.place_length AS length,
       v.reason
FROM host h CROSS JOIN attempt v ON v.host = h.seq WHERE h.origin = :origin AND h.collection = :collection AND v.address = 0
AND v.kind = :kind ORDER BY v.seq DESC LIMIT :limit;

-- row: AttemptOutcome
-- The number of attempts at a host's addresses and robots.txt with the same status and reason.
-- `latest` is the address of the last of them, or "" if all of them were for robots.txt.

-- def outcomes(host: int) -> list[AttemptOutcome]
-- Count the attempts at a host by outcome, the most frequent first.
SELECT o.reason, o.status, o.number AS "number: int", coalesce(a.url, '') AS "latest: str"
FROM (SELECT reason, status, count(*) AS number, max(CASE WHEN address <> 0 THEN seq END) AS latest
      FROM attempt WHERE host = :host AND listed_file IS NULL GROUP BY 1, 2) o
LEFT JOIN attempt v ON v.seq = o.latest LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
ORDER BY o.number DESC;
