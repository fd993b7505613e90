-- Queries and changes for takedowns. A target is an address, or all addresses of a host. Both are given by numbers, and
-- `host` is 0 for an address. An attempt remains as a fact, but its results are deleted. Facts are overwritten only
-- here, and when the bytes of an answer that is not archived are deleted.

-- row: TombstoneRow
-- A takedown of a target: when, by which process and why it was ordered.
-- `done` and `lifted` are when it was done and when it was lifted (None: not yet).

-- def of(address: int, host: int) -> list[TombstoneRow]
-- Return the tombstones of an address and of its host (-1: not known), in order.
SELECT t.seq, t.at, t.target, t.host, t.holder, t.reason,
       (SELECT max(e.at) FROM tombstone_end e
           WHERE e.tombstone = t.seq AND e.event = 'done') AS "done: datetime | None",
       (SELECT max(e.at) FROM tombstone_end e
           WHERE e.tombstone = t.seq AND e.event = 'lifted') AS "lifted: datetime | None"
FROM tombstone t WHERE (t.host = 0 AND t.address = :address) OR t.host = :host ORDER BY t.seq;

-- row: StandingTakedown
-- A takedown that is not lifted. `narrower` is whether it covers only some of the hosts that were known to it.

-- def standing(addresses: Sequence[int], hosts: Sequence[int]) -> list[StandingTakedown]
-- Return the takedowns, in order, that keep these addresses or something of these hosts from being requested.
-- These are takedowns of the addresses themselves and of their hosts, and of the hosts and of their addresses.
SELECT t.seq, t.target, t.address, t.host, t.host <> 0 AND EXISTS (SELECT 1 FROM host h
    WHERE h.seq IN (SELECT value FROM json_each(:hosts)) AND h.seq < t.seq
    AND NOT EXISTS (SELECT 1 FROM tombstone o WHERE o.session = t.session AND o.host = h.seq)) AS "narrower: bool"
FROM tombstone t WHERE (
    t.host IN (SELECT value FROM json_each(:hosts))
    OR t.host IN (SELECT a.host FROM address a WHERE a.digest IN (SELECT value FROM json_each(:addresses)))
    OR t.host = 0 AND (t.address IN (SELECT value FROM json_each(:addresses)) OR EXISTS (SELECT 1 FROM address a
        WHERE a.digest = t.address AND a.host IN (SELECT value FROM json_each(:hosts)))))
AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted') ORDER BY t.seq;

-- row: OpenTombstone
-- A takedown that has begun and is not done. `shared` is true if its address is due again afterwards.

-- def open() -> list[OpenTombstone]
-- Return the takedowns that have begun and are not done, for example because a run was killed.
-- This includes takedowns that were lifted by the session that began them: their address also has other documents, so
-- it is due again when the takedown is done.
SELECT t.seq, t.collection, t.target, t.address, t.host,
       EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted') AS "shared: bool"
FROM tombstone t WHERE NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq
    AND (e.event = 'done' OR e.session <> t.session)) ORDER BY t.seq;

-- def hosts() -> set[int]
-- Return the hosts from which nothing may be requested.
SELECT DISTINCT t.host FROM tombstone t WHERE t.host <> 0
AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted');

-- row: TakenDownSource
-- A source, of which all hosts are taken down.

-- def sources() -> list[TakenDownSource]
-- Return the sources of which all hosts are taken down.
SELECT h.collection, h.source FROM host h
WHERE h.source IN (SELECT o.source FROM tombstone t JOIN host o ON o.seq = t.host)
GROUP BY h.collection, h.source HAVING min(EXISTS (SELECT 1 FROM tombstone t WHERE t.address = 0 AND t.host = h.seq
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted')));

-- name: take_down_address
-- Make an address never due. `interval` of each row to request again when the takedown is lifted becomes -2 - interval.
-- These are the rows that are due, and those that were requested only once and have a capture. Addresses that were
-- cancelled, or are known only from captures of others, keep their interval and are not requested after the takedown.
UPDATE address SET due = NULL, capture = 0, failures = 0, interval = CASE
    WHEN due IS NOT NULL OR (interval = 0 AND capture <> 0) THEN -2 - max(interval, 0) ELSE interval END
WHERE digest = ?;

-- name: take_down_host
-- Make all addresses of a host never due, as `take_down_address` does.
UPDATE address SET due = NULL, capture = 0, failures = 0, interval = CASE
    WHEN due IS NOT NULL OR (interval = 0 AND capture <> 0) THEN -2 - max(interval, 0) ELSE interval END
WHERE host = ?;

-- name: lift_address
UPDATE address SET due = 0, interval = -2 - interval WHERE digest = ? AND interval <= -2
AND NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.host = address.host OR (t.host = 0 AND t.address = address.digest))
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'));

-- name: lift_host
UPDATE address SET due = 0, interval = -2 - interval WHERE host = ? AND interval <= -2
AND NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.host = address.host OR (t.host = 0 AND t.address = address.digest))
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'));

-- def attempts(address: int, host: int) -> list[int]
-- Return the attempts at a target, and those that took captures of these attempts from an index, in order.
-- Of a capture that several sources of a collection took, one has the index, and the others refer to its attempt.
WITH RECURSIVE gone (seq) AS (
    SELECT seq FROM attempt WHERE :host = 0 AND address = :address
    UNION SELECT seq FROM attempt WHERE :host <> 0 AND host = :host AND listed_file IS NULL
    UNION SELECT seq FROM attempt WHERE :host <> 0 AND host = :host AND listed_file IS NOT NULL
    UNION SELECT c.attempt FROM gone CROSS JOIN captured c ON c.original = gone.seq
    WHERE c.original <> 0 AND c.capture_index <> 0
    UNION SELECT s.attempt FROM gone CROSS JOIN captured c ON c.original = gone.seq
    CROSS JOIN captured s ON s.original = c.attempt AND s.collection = c.collection
    WHERE c.original <> 0 AND c.capture_index <> 0 AND s.original <> 0
) SELECT seq FROM gone ORDER BY seq;

-- def collections(attempts: Iterable[int]) -> list[str]
-- Return the collections that made these attempts.
SELECT DISTINCT h.collection FROM attempt v JOIN host h ON h.seq = v.host
WHERE v.seq IN (SELECT value FROM json_each(:attempts)) ORDER BY 1;

-- def captures(attempts: Iterable[int]) -> list[TargetCapture]
-- Return the captures of these attempts, file by file.
SELECT v.seq AS attempt, v.session, v.warc, v.place_offset AS "offset: int", v.place_length AS "length: int", v.digest,
       v.revisit, EXISTS (SELECT 1 FROM captured c WHERE c.attempt = v.seq AND c.original <> 0) AS "borrowed: bool"
FROM attempt v
WHERE v.seq IN (SELECT value FROM json_each(:attempts)) AND v.warc <> '' ORDER BY v.warc, v.place_offset;

-- def lent(attempts: Iterable[int], gone: Iterable[int]) -> set[str]
-- Return the digests of those bytes of these attempts that other attempts need, as they have none of their own.
-- Attempts in `gone` need nothing. Bytes that an attempt at the same address, not in `gone`, also has are not needed.
SELECT DISTINCT v.digest FROM attempt v WHERE v.revisit = 1 AND v.digest <> ''
AND v.digest IN (SELECT digest FROM attempt WHERE seq IN (SELECT value FROM json_each(:attempts)) AND revisit = 0)
AND v.seq NOT IN (SELECT value FROM json_each(:gone))
AND NOT EXISTS (SELECT 1 FROM attempt o WHERE o.address = v.address AND o.digest = v.digest AND o.revisit = 0
    AND o.seq NOT IN (SELECT value FROM json_each(:gone)));

-- row: SharedRecord
-- An attempt that refers to the same record as another attempt, with the collection and source of the other.
-- `same_address` is whether both are at the same address.

-- def shared(attempts: Iterable[int], gone: Iterable[int]) -> list[SharedRecord]
-- Return those `attempts` whose record in the archive is also that of an attempt not in `gone`.
SELECT v.seq AS attempt, v.address = o.address AS "same_address: bool", h.collection, h.source FROM attempt v
JOIN attempt o ON o.warc = v.warc AND o.place_offset = v.place_offset JOIN host h ON h.seq = o.host
WHERE v.seq IN (SELECT value FROM json_each(:attempts)) AND v.warc <> ''
AND o.seq NOT IN (SELECT value FROM json_each(:gone));

-- def spans(tombstone: int) -> list[ArchivePlace]
-- Return the places of the records to erase for a takedown, file by file.
SELECT warc, place_offset AS offset, place_length AS length FROM tombstone_span WHERE tombstone = :tombstone
ORDER BY warc, place_offset;

-- row: ErasedRecord
-- A record of the archive that a takedown erased.

-- def first_erased() -> list[ErasedRecord]
-- Return the first record that each finished takedown erased from each WARC file.
-- Places to which attempts refer are left out, since the bytes were kept again.
SELECT s.tombstone, s.warc, min(s.place_offset) AS "offset: int", s.place_length AS "length: int" FROM tombstone_span s
WHERE EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = s.tombstone AND e.event = 'done')
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.warc = s.warc AND v.place_offset = s.place_offset)
GROUP BY s.tombstone, s.warc ORDER BY s.warc, s.tombstone;

-- def erased_places(tombstone: int, warc: str) -> list[ArchivePlace]
-- Return the places from which a takedown erased records of a WARC file, if no attempt refers to them.
SELECT warc, place_offset AS offset, place_length AS length FROM tombstone_span s
WHERE tombstone = :tombstone AND warc = :warc
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.warc = s.warc AND v.place_offset = s.place_offset)
ORDER BY place_offset;

-- name: takedown_mark_span
INSERT OR IGNORE INTO tombstone_span VALUES (?, ?, ?, ?);

-- name: takedown_clear_payloads
-- Delete the places of imported bytes that are erased, so that no revisit refers to them any more.
DELETE FROM payload WHERE EXISTS (SELECT 1 FROM tombstone_span s
    WHERE s.tombstone = ? AND s.warc = payload.warc AND s.place_offset = payload.place_offset);

-- row: RecordSpan
-- The offset and length of a record in its file.

-- def records_of(warc: str) -> list[RecordSpan]
-- Return the places of those records of a WARC file to which attempts refer, in order.
SELECT DISTINCT place_offset AS "offset: int", place_length AS "length: int" FROM attempt WHERE warc = :warc ORDER BY 1;

-- name: takedown_clear_attempts
UPDATE attempt SET status = NULL, reason = 'forgotten', message = '', digest = '', size = NULL, warc = '',
    place_offset = NULL, place_length = NULL, revisit = 0, etag = '', modified = '', location = '', mime = ''
WHERE seq IN (SELECT value FROM json_each(?1)) AND status IS NOT NULL;

-- name: takedown_clear_lines
-- Clear the index lines of captures that these attempts used, since they contain the digests of the bytes.
UPDATE captured SET line = '' WHERE attempt IN (SELECT value FROM json_each(?1)) AND line <> '';

-- name: takedown_clear_failed
-- Delete the index lines of captures that could not be read, which contain the digests of the bytes.
DELETE FROM capture_failed WHERE attempt IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_messages
-- Why a capture could not be read, for instance the digests that differ.
UPDATE attempt SET message = ''
WHERE seq IN (SELECT value FROM json_each(?1)) AND status IS NULL AND message <> '';

-- row: TargetCount
-- The numbers of a target's addresses, attempts and captures, and of the bytes of its records in the archive.

-- def count_attempts(attempts: Sequence[int]) -> TargetCount
-- Count these attempts, their addresses and captures, and the bytes of their records.
SELECT count(DISTINCT address) AS "addresses: int", count(*) AS "attempts: int",
       coalesce(sum(warc <> ''), 0) AS "captures: int", coalesce(sum(place_length), 0) AS "bytes: int" FROM attempt
WHERE seq IN (SELECT value FROM json_each(:attempts));

-- def target_sources(address: int, host: int, name: str) -> list[str]
-- Return the sources that have an address, or a host, or the origin of a host if `name` is that origin.
SELECT h.source FROM address a JOIN host h ON h.seq = a.host
WHERE :host = 0 AND a.digest = :address AND h.source <> ''
UNION SELECT h.source FROM host t JOIN host h ON h.origin = t.origin
WHERE t.seq = :host AND (h.seq = t.seq OR t.origin = :name) AND h.source <> '' ORDER BY 1;

-- row: TakenDown
-- An address from which nothing may be kept, or an origin if `origin` is not None.

-- def taken_down() -> list[TakenDown]
-- Return the addresses and origins whose tombstones are not lifted.
-- Tombstones for the addresses of one source at an origin, and not for the whole origin, are left out.
SELECT t.address, h.origin FROM tombstone t LEFT JOIN host h ON h.seq = t.host
WHERE (t.host = 0 OR t.target = h.origin)
AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted');

-- row: AskedRequest
-- A request to a service that a step made for a document, and its URL.

-- def asked(attempts: Sequence[int]) -> list[AskedRequest]
-- Return the requests to services that steps made for these attempts and for no others.
SELECT DISTINCT k.digest, k.host, a.url FROM attempt v JOIN asked k ON k.attempt = v.seq
JOIN address a ON a.digest = k.digest AND a.host = k.host
WHERE v.seq IN (SELECT value FROM json_each(:attempts))
AND NOT EXISTS (SELECT 1 FROM asked o WHERE o.digest = k.digest AND o.host = k.host
    AND o.attempt NOT IN (SELECT value FROM json_each(:attempts)));

-- row: SharedRequest
-- A request to a service that steps made for several documents.
-- `attempt` is the first of the other attempts for which the request was made. `attachments` are JSON.

-- def asked_too(attempts: Sequence[int]) -> list[SharedRequest]
-- Return the requests to services that steps made for one of these attempts and for others too.
SELECT k.digest, k.host, min(o.attempt) AS "attempt: int", r.attachments FROM attempt v JOIN asked k ON k.attempt = v.seq
JOIN request r ON r.digest = k.digest AND r.host = k.host
JOIN asked o ON o.digest = k.digest AND o.host = k.host
WHERE v.seq IN (SELECT value FROM json_each(:attempts)) AND o.attempt NOT IN (SELECT value FROM json_each(:attempts))
GROUP BY k.digest, k.host;

-- name: takedown_send_from
UPDATE request SET attachments = ? WHERE digest = ? AND host = ?;

-- name: takedown_found_from
UPDATE address SET via = coalesce((SELECT v.address FROM attempt v WHERE v.seq = ?), 0) WHERE digest = ? AND host = ?;

-- name: takedown_clear_asked
DELETE FROM asked WHERE attempt IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_request
DELETE FROM request WHERE digest = ? AND host = ?;

-- name: takedown_clear_requests
-- Delete the requests of a host that is taken down. A `host` of 0 has none.
DELETE FROM request WHERE host = ? AND host <> 0;

-- name: takedown_clear_address
DELETE FROM address WHERE digest = ? AND host = ?;

-- def endings(attempts: Sequence[int]) -> list[str]
-- Return the messages of the discovery (`Followed.ending`) about the answers of these attempts.
SELECT DISTINCT ending FROM followed WHERE ending <> '' AND attempt IN (SELECT value FROM json_each(:attempts));

-- def left_out() -> set[str]
-- Return the addresses that are examples of what rules left out of indexes.
SELECT url FROM capture_left_out WHERE url <> '';

-- name: takedown_clear_left_out
UPDATE capture_left_out SET url = '' WHERE url = ?;

-- row: TaskComment
-- The comment with which a task ended.

-- def comments_with_examples() -> list[TaskComment]
-- Return the comments that count what a rule left out, with an example (`RuleCount.as_comment`).
SELECT task, comment AS "comment: str" FROM task_end WHERE comment GLOB '[0-9]* left out, such as *';

-- name: takedown_clear_example
UPDATE task_end SET comment = replace(comment, ?2, '(forgotten)') WHERE task = ?1;

-- name: takedown_clear_comments
UPDATE task_end SET comment = replace(comment, ?1, '(forgotten)') WHERE instr(comment, ?1) > 0;

-- name: takedown_clear_followed
UPDATE followed SET ending = '', findings = '[]' WHERE attempt IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_unread
DELETE FROM unread WHERE attempt IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_offered
DELETE FROM offered WHERE attempt IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_listings
-- Delete the complete listings with an answer that is taken down, since what was missing is no longer known.
DELETE FROM whole_listing WHERE EXISTS (SELECT 1 FROM json_each(?1) v WHERE v.value BETWEEN began AND ended);

-- name: takedown_clear_known
DELETE FROM offer_known WHERE attempt IN (SELECT value FROM json_each(?1));

-- name: takedown_clear_learned
DELETE FROM learned WHERE EXISTS (SELECT 1 FROM attempt v JOIN host h ON h.seq = v.host
    WHERE v.seq IN (SELECT value FROM json_each(?1))
    AND h.collection = learned.collection AND h.source = learned.source AND learned.attempt IN (0, v.seq));
