-- Queries on attempts to get something: an address that was found, or a file that a source lists.

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
-- The columns of a RecordedAttempt, which is an attempt, and at their end who made it.
v.seq, v.session, s.at, coalesce((SELECT c.source FROM captured c WHERE c.attempt = v.seq), h.source), v.address,
       coalesce(a.url, nullif(v.url, ''), h.origin || '/robots.txt'), v.kind, v.allowed, v.started, v.seconds,
       v.status, v.reason, v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime,
       v.etag, v.modified, v.location, s.holder

-- part: from_attempts
-- Attempts lead: whatever their number, the first ones come at once.
FROM attempt v CROSS JOIN host h ON h.seq = v.host CROSS JOIN session s ON s.seq = v.session
LEFT JOIN address a ON a.digest = v.address AND a.host = v.host

-- part: at_address
-- Whose address is known: those for rules have none. Written so that the join does not lead with addresses.
v.address <> 0 AND coalesce(a.url, '') <> ''

-- name: attempt_made
-- An attempt whose begin and end are one fact. What its end says has the same order as in `attempt_ended`.
INSERT INTO attempt (seq, at, session, host, address, url, kind, allowed, started, end_seq, seconds, status, received,
    reason, message, digest, size, warc, place_offset, place_length, revisit, etag, modified, location, mime, checksum)
VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?1,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25);

-- name: attempt_begun
-- An attempt to get a listed file, which goes on.
INSERT INTO attempt (seq, at, session, host, listed_file, url, started, kind, allowed, seconds, message, digest, warc,
    revisit, etag, modified, location, checksum, mime) VALUES (?,?,?,?,?,?,?,0,1,0,'','','',0,'','','','','');

-- name: attempt_ended
UPDATE attempt SET end_seq = ?, ended = ?, started = coalesce(?, started), seconds = ?, status = ?, received = ?,
    reason = ?, message = ?, digest = ?, size = ?, warc = ?, place_offset = ?, place_length = ?, revisit = ?, etag = ?,
    modified = ?, location = ?, mime = ?, checksum = ? WHERE seq = ?;

-- row: AttemptRow
-- An attempt to get an address, or a file that a source lists.
-- `at` is when its begin was put on record, `started` the date of the record in the archive. `end` and `ended` are
-- None for one that was cut or is under way; `warc` is empty where nothing was kept. `received` are bytes.

-- def of_file(file: int) -> list[AttemptRow]
-- Return the attempts to get a listed file, in order.
{attempt} WHERE v.listed_file = :file ORDER BY v.seq;

-- def of_address(host: int, address: int) -> list[AttemptRow]
-- Return the attempts to get an address of a host, in order.
{attempt} WHERE v.address = :address AND v.host = :host ORDER BY v.seq;

-- def get(attempt: int) -> AttemptRow | None
-- Return one attempt, None where there is none of this number.
{attempt} WHERE v.seq = :attempt;

-- def open() -> list[OpenAttempt]
-- Return attempts that were cut before their end, and after which none was made.
SELECT v.seq, v.listed_file AS "file: int", h.source FROM attempt v JOIN host h ON h.seq = v.host
WHERE v.end_seq IS NOT v.seq AND v.end_seq IS NULL
AND NOT EXISTS (SELECT 1 FROM attempt k WHERE k.listed_file = v.listed_file AND k.seq > v.seq) ORDER BY v.seq;

-- row: AttemptCount
-- How many attempts at a source ended in one way, and the bytes that came.
-- `listed` for files that the source lists, else they were addresses: `kind` is their collection's own word,
-- `earlier` where the address had a body before, `taken` where nobody was asked, since the capture was there.

-- def ended_between(span: tuple[int, int]) -> list[AttemptCount]
-- Count what came of the attempts that ended between two facts, without questions for the rules of hosts.
SELECT h.collection, h.source, v.listed_file IS NOT NULL AS "listed: bool", v.kind, v.status, v.reason, v.mime, v.revisit,
       EXISTS (SELECT 1 FROM attempt p WHERE p.address = v.address AND p.host = v.host AND p.seq < v.seq
           AND p.status = 200 AND p.digest <> '') AS "earlier: bool",
       EXISTS (SELECT 1 FROM captured c WHERE c.attempt = v.seq) AS "taken: bool", count(*) AS "number: int",
       sum(coalesce(v.received, CASE WHEN v.revisit THEN 0 ELSE v.size END, 0)) AS "received: int"
FROM (SELECT seq FROM attempt WHERE seq BETWEEN :span[0] AND :span[1] AND end_seq = seq AND address <> 0
    UNION ALL SELECT seq FROM attempt WHERE end_seq BETWEEN :span[0] AND :span[1] AND end_seq IS NOT seq) k
CROSS JOIN attempt v ON v.seq = k.seq CROSS JOIN host h ON h.seq = v.host
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;

-- row: LatestCapture
-- A file's latest good capture: its digest, and date and address of the record that holds the bytes.

-- def latest_captures(files: Sequence[int]) -> dict[int, LatestCapture]
-- Return the latest good capture of each file that has one, to compare a new one with.
SELECT v.listed_file AS "file: int", v.digest, k.started AS at, k.url AS address FROM attempt v
JOIN attempt k ON k.seq = (SELECT o.seq FROM attempt o
    WHERE o.digest = v.digest AND o.listed_file = v.listed_file AND o.revisit = 0 AND o.reason IS NULL
    ORDER BY o.end_seq LIMIT 1)
WHERE v.listed_file IN (SELECT value FROM json_each(:files)) AND v.digest <> '' AND v.reason IS NULL ORDER BY v.end_seq;

-- def by_source() -> dict[str, SourceRecord]
-- Return how each source did so far that lists files.
SELECT h.source, sum(v.number) AS "attempts: int", sum(v.failures) AS "failures: int",
       sum(v.received) AS "received: int", sum(v.seconds) AS "seconds: float" FROM (
    SELECT host, count(*) AS number, sum(reason IS NOT NULL) AS failures,
           sum(CASE WHEN reason IS NULL THEN received ELSE 0 END) AS received,
           sum(CASE WHEN reason IS NULL THEN seconds ELSE 0 END) AS seconds
    FROM attempt WHERE end_seq > 0 AND listed_file IS NOT NULL GROUP BY host
) v JOIN host h ON h.seq = v.host GROUP BY h.source;

-- row: FailedSessions
-- How many sessions in a row tried a file without success, and when the last attempt ended.

-- def failed_sessions(files: Sequence[int]) -> dict[int, FailedSessions]
-- Return how many sessions in a row tried each file without success, and when the last one did.
-- An operator who asks for another attempt begins the count anew.
SELECT v.listed_file AS "file: int", count(DISTINCT v.session) AS "number: int", max(v.ended) AS "last: datetime"
FROM attempt v
WHERE v.listed_file IN (SELECT value FROM json_each(:files)) AND v.reason IS NOT NULL
AND v.seq > coalesce((SELECT max(d.seq) FROM decision d WHERE d.item = v.listed_file AND d.act = 'retried'), 0)
GROUP BY v.listed_file;

-- row: SessionCapture
-- A good capture of a file, and the session that made it.

-- def captures_by_session(collection: str) -> list[SessionCapture]
-- Return every good capture of a collection, session by session; not of files that an operator ended.
SELECT v.session, s.at AS opened, v.listed_file AS "file: int", v.seq AS attempt, v.checksum FROM attempt v
JOIN session s ON s.seq = v.session JOIN listed_file f ON f.seq = v.listed_file
LEFT JOIN pending_step p ON p.item = f.seq
WHERE f.collection = :collection AND coalesce(p.status, 0) <> 4 AND v.end_seq > 0 AND v.reason IS NULL
ORDER BY v.session, v.seq;

-- def after(collection: str, after: int, limit: int) -> list[RecordedAttempt]
-- Return attempts to a collection's addresses after a given one, in the order of the ledger.
SELECT {recorded} {from_attempts} WHERE h.collection = :collection AND v.seq > :after AND {at_address}
ORDER BY v.seq LIMIT :limit;

-- def logged_after(collection: str, after: int, limit: int) -> list[LoggedAttempt]
-- Return the attempts of a collection after a given one, those to the rules of hosts too.
SELECT {recorded} {from_attempts} WHERE h.collection = :collection AND v.seq > :after AND v.listed_file IS NULL
ORDER BY v.seq LIMIT :limit;

-- def by_numbers(attempts: Sequence[int]) -> list[RecordedAttempt]
-- Return attempts by their numbers.
SELECT {recorded} {from_attempts} WHERE v.seq IN (SELECT value FROM json_each(:attempts)) AND {at_address} ORDER BY v.seq;

-- def count_after(attempt: int) -> int
-- Count the attempts to addresses after a given one, of all collections.
SELECT count(*) FROM attempt WHERE seq > :attempt AND address <> 0;

-- def last_number() -> int
-- Return the number of the last attempt, 0 before the first.
SELECT coalesce((SELECT seq FROM attempt WHERE listed_file IS NULL ORDER BY seq DESC LIMIT 1), 0);

-- def count_upto(collection: str, attempt: int) -> int
-- Count a collection's attempts up to a given one.
SELECT count(*) FROM attempt v CROSS JOIN host h ON h.seq = v.host AND h.collection = :collection
WHERE v.seq <= :attempt AND v.listed_file IS NULL;

-- def rules_failed_between(span: tuple[int, int], collection: str, kind: int) -> list[RulesFailure]
-- Return hosts whose rules could not be had; `kind` is the collection's word for a question for rules.
-- Of several attempts the last counts.
SELECT source, origin, status, reason, message FROM (
    SELECT h.source, h.origin, v.status, v.reason, v.message, max(v.seq) AS last FROM attempt v
    JOIN host h ON h.seq = v.host
    WHERE v.seq BETWEEN :span[0] AND :span[1] AND h.collection = :collection AND v.kind = :kind
    AND v.listed_file IS NULL GROUP BY h.origin
) WHERE (reason IS NOT NULL AND reason <> 'too_large') OR status >= 500 OR status = 429
ORDER BY last;

-- def seconds_by_origin(collection: str) -> dict[str, float]
-- Return how long each origin took for an answer, in seconds.
SELECT h.origin, avg(v.seconds) AS "seconds: float" FROM attempt v JOIN host h ON h.seq = v.host
WHERE h.collection = :collection AND v.status IS NOT NULL AND v.seconds > 0 GROUP BY h.origin;

-- def of_rules(origin: str, collection: str, kind: int, limit: int) -> list[RobotsAttempt]
-- Return the last questions for the rules of an origin, the latest first.
-- A flood of pages may lie between two.
SELECT v.started, v.status, v.warc, v.place_offset AS offset, v.place_length AS length, v.reason FROM host h
CROSS JOIN attempt v ON v.host = h.seq WHERE h.origin = :origin AND h.collection = :collection AND v.address = 0
AND v.kind = :kind ORDER BY v.seq DESC LIMIT :limit;

-- row: AttemptOutcome
-- How many questions to a host had a status, or failed for a reason; `latest` is the address of the last one.

-- def outcomes(host: int) -> list[AttemptOutcome]
-- Count what came of the questions to a host, the most frequent first; those for its rules have no address.
SELECT o.reason, o.status, o.number AS "number: int", coalesce(a.url, '') AS "latest: str"
FROM (SELECT reason, status, count(*) AS number, max(CASE WHEN address <> 0 THEN seq END) AS latest
      FROM attempt WHERE host = :host GROUP BY 1, 2) o
LEFT JOIN attempt v ON v.seq = o.latest LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
ORDER BY o.number DESC;
