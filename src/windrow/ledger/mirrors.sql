-- Queries on mirrors (the places where sources list files), on what listings showed of files (the events listed,
-- refused, changed, gone and compared), and on refused entries. Files are given by their numbers. `facts` are the
-- numbers of the first and the last fact of a range.

-- row: Mirror
-- A listed file at a source, as it was last listed. `present` is true if the source still lists the file.

-- part: mirror
SELECT o.listed_file AS file, f.file_key AS key, f.owner, o.source, o.path, o.present, o.size, o.modified, o.sidecar
FROM mirror o JOIN listed_file f ON f.seq = o.listed_file

-- def of_source(source: str) -> list[Mirror]
-- Return the files that a source lists or has listed.
{mirror} WHERE o.source = :source;

-- def of_files(files: Sequence[int]) -> list[Mirror]
-- Return the mirrors at which these files are listed now.
{mirror} WHERE o.present = 1 AND o.listed_file IN (SELECT value FROM json_each(:files)) ORDER BY o.listed_file, o.source;

-- row: SourcePlace
-- Where a source was, by the address of its latest transfer and the path of this file below the source's base.
-- Both are empty if there was none. `owner` is the one of most of its files, or empty if all names were refused.

-- def places(collection: str) -> list[SourcePlace]
-- Return the places of the sources that ever listed a file of a collection, by their first files.
WITH place (source, first, transfer) AS (
    SELECT o.source, min(o.listed_file), (SELECT max(v.seq) FROM host h JOIN attempt v ON v.host = h.seq
        WHERE h.source = o.source AND h.collection = :collection AND v.listed_file IS NOT NULL)
    FROM mirror o JOIN listed_file f ON f.seq = o.listed_file WHERE f.collection = :collection GROUP BY o.source
)
SELECT p.source AS "source: str",
       coalesce((SELECT f.owner FROM mirror o JOIN listed_file f ON f.seq = o.listed_file
           WHERE o.source = p.source AND f.owner <> '' GROUP BY f.owner ORDER BY count(*) DESC, f.owner LIMIT 1), '')
           AS "owner: str",
       coalesce((SELECT v.url FROM attempt v WHERE v.seq = p.transfer), '') AS "url: str",
       coalesce((SELECT o.path FROM attempt v JOIN mirror o ON o.listed_file = v.listed_file AND o.source = p.source
           WHERE v.seq = p.transfer), '') AS "path: str"
FROM place p ORDER BY p.first, p.source;

-- def owners(collection: str) -> set[str]
-- Return the owners of all files of a collection whose names were not refused when they were first listed.
SELECT DISTINCT owner FROM listed_file WHERE collection = :collection AND owner <> '';

-- row: ListingCount
-- The number of listing events of one kind at a source: listed, refused, changed or gone.

-- def listed_between(facts: tuple[int, int]) -> list[ListingCount]
-- Count by source and kind the events of files at sources between two facts, except comparisons.
SELECT source, event, count(*) AS "number: int" FROM listing
WHERE seq BETWEEN :facts[0] AND :facts[1] AND event <> 'compared' GROUP BY 1, 2;

-- row: RefusalCount
-- The number of entries of a source that were refused for a reason.

-- def refused_between(facts: tuple[int, int]) -> list[RefusalCount]
-- Count by source and reason the entries that were refused between two facts. Refused files do not count.
SELECT source, reason, count(*) AS "number: int" FROM refusal WHERE seq BETWEEN :facts[0] AND :facts[1] GROUP BY source,
       reason;

-- def count() -> dict[str, int]
-- Return a dict from source to the number of files that it lists now.
SELECT source, count(*) AS "number: int" FROM mirror WHERE present = 1 GROUP BY source;

-- def count_failing() -> dict[str, int]
-- Return a dict from source to the number of failed files among those that it lists now.
-- A file that is done counts too, if a member that its latest attempt fetched has failed.
WITH failed (file) AS (
    SELECT p.item FROM pending_step p WHERE p.status = 5
    UNION SELECT v.listed_file FROM pending_step p JOIN member m ON m.seq = p.item JOIN attempt v ON v.seq = m.attempt
    WHERE p.status = 5 AND {of_latest} AND NOT EXISTS (SELECT 1 FROM pending_step f WHERE f.item = v.listed_file)
)
SELECT o.source, count(*) AS "number: int" FROM failed f JOIN mirror o ON o.listed_file = f.file
WHERE o.present = 1 GROUP BY o.source;

-- row: FailingCount
-- The number of failing files of a source with one reason.

-- def failing_reasons() -> list[FailingCount]
-- Count the files that `count_failing` counts by source and reason.
-- A file with members that failed for several reasons is counted for each.
WITH failed (file, reason) AS (
    SELECT p.item, p.reason FROM pending_step p WHERE p.status = 5
    UNION SELECT v.listed_file, p.reason FROM pending_step p JOIN member m ON m.seq = p.item
    JOIN attempt v ON v.seq = m.attempt
    WHERE p.status = 5 AND {of_latest} AND NOT EXISTS (SELECT 1 FROM pending_step f WHERE f.item = v.listed_file)
)
SELECT o.source, f.reason AS "reason: Reason", count(*) AS "number: int" FROM failed f
JOIN mirror o ON o.listed_file = f.file WHERE o.present = 1 AND f.reason IS NOT NULL GROUP BY o.source, f.reason;

-- row: WaitingFiles
-- The number of files that wait for a step, and the key of one of them.
-- `source` lists them or, if `is_listed` is false, may have listed them.

-- def waiting(collection: str, step: str, sources: Sequence[str]) -> list[WaitingFiles]
-- Count the files that wait for a step by source, and by whether one of these sources lists them now.
SELECT source AS "source: str", is_listed AS "is_listed: bool", count(*) AS "number: int", min(file_key) AS "key: str" FROM (
    SELECT f.file_key, coalesce((SELECT o.source FROM mirror o WHERE o.listed_file = f.seq
        ORDER BY o.present = 0, o.source NOT IN (SELECT value FROM json_each(:sources)), o.source LIMIT 1), '') AS source,
        EXISTS (SELECT 1 FROM mirror o WHERE o.listed_file = f.seq AND o.present = 1
            AND o.source IN (SELECT value FROM json_each(:sources))) AS is_listed
    FROM pending_step p JOIN listed_file f ON f.seq = p.item
    WHERE p.collection = :collection AND p.step = :step AND p.status = 1
) GROUP BY 1, 2 ORDER BY 1, 2;

-- row: RefusalRow
-- An entry of a listing, or a listed file, that was refused, for example because of its name.

-- def refused(name: str) -> list[RefusalRow]
-- Return refused entries whose path, last part of the path, or source and path are `name`.
-- Entries that could not be parsed are returned if their line ends with a blank and `name`.
SELECT seq, at, session, source, path, reason FROM refusal
WHERE path = :name OR substr(path, -length('/' || :name)) = '/' || :name OR source || '/' || path = :name
OR (reason = 'protocol_error' AND substr(path, -length(' ' || :name)) = ' ' || :name) ORDER BY seq;

-- def refused_at(source: str, limit: int) -> list[RefusalRow]
-- Return the refused entries and files of a source's listings, the last ones first.
SELECT seq, at, session, source, path, reason AS "reason: Reason" FROM (
    SELECT seq, at, session, source, path, reason FROM refusal WHERE source = :source
    UNION ALL SELECT l.seq, l.at, l.session, l.source, l.path, f.reason FROM listing l
        JOIN listed_file f ON f.seq = l.listed_file WHERE l.source = :source AND l.event = 'refused'
        AND f.reason IS NOT NULL
) ORDER BY seq DESC LIMIT :limit;

-- row: ListingRow
-- An event of a file at a source: listed, refused, changed, gone or compared.
-- The source began to list the file (listed or, if its name was refused, refused), listed it with changes, or stopped
-- listing it (gone), or the file or its checksum file was compared with the archived file.

-- def listings(file: int) -> list[ListingRow]
-- Return the events of a file at its sources, in order.
SELECT seq, at, session, source, path, event, size, modified FROM listing WHERE listed_file = :file ORDER BY seq;

-- row: InconsistentMirror
-- A mirror whose `present` does not agree with the last event of its listings.

-- def inconsistent() -> Iterator[InconsistentMirror]
-- Yield the mirrors whose `present` does not agree with the last event of their listings.
SELECT o.source, o.listed_file AS file, o.present AS "present: int", l.event FROM mirror o
JOIN listing l ON l.seq = (SELECT max(k.seq) FROM listing k
    WHERE k.source = o.source AND k.listed_file = o.listed_file) WHERE o.present <> (l.event <> 'gone');

-- row: ListedChange
-- An event of a file at a source, with the file's key. `before` is the size in the file's previous event there.

-- def changes(collection: str, facts: tuple[int, int]) -> Iterator[ListedChange]
-- Yield, in order, the events of a collection's files at sources between two facts, except comparisons.
SELECT l.seq, l.at, l.source, l.event, f.file_key AS key, l.path, l.size, (
    SELECT p.size FROM listing p WHERE p.listed_file = l.listed_file AND p.source = l.source AND p.seq < l.seq
    ORDER BY p.seq DESC LIMIT 1) AS "before: int | None"
FROM listing l JOIN listed_file f ON f.seq = l.listed_file
WHERE l.seq BETWEEN :facts[0] AND :facts[1] AND f.collection = :collection AND l.event <> 'compared' ORDER BY l.seq;

-- def first_of_newest(collection: str, facts: tuple[int, int], most: int) -> int
-- Return the number of the first of the last `most` events that `changes` yields, or 0 if there are fewer.
SELECT coalesce((SELECT l.seq FROM listing l JOIN listed_file f ON f.seq = l.listed_file
WHERE l.seq BETWEEN :facts[0] AND :facts[1] AND f.collection = :collection AND l.event <> 'compared'
ORDER BY l.seq DESC LIMIT 1 OFFSET :most - 1), 0);

-- row: UncomparedMirror
-- A source that lists a file which was fetched from `held_from`, with the digest and the size of the fetched bytes.
-- `was_fetched` is true if the file was ever fetched from `source`, too.

-- def uncompared(collection: str, sources: Sequence[str], limit: int) -> list[UncomparedMirror]
-- Return mirrors of fetched files at others of these sources that must still be compared, ordered by source.
-- They were not compared since the file was fetched and since the last other event of the mirror.
SELECT o.listed_file AS file, f.file_key AS key, o.source, o.path, o.size, o.modified, o.sidecar, v.digest,
       v.size AS held_size, h.source AS held_from, f.owner, EXISTS (SELECT 1 FROM attempt e JOIN host g ON g.seq = e.host
           WHERE e.listed_file = o.listed_file AND g.source = o.source AND e.reason IS NULL) AS "was_fetched: bool"
FROM mirror o JOIN listed_file f ON f.seq = o.listed_file JOIN attempt v ON v.seq = (SELECT g.seq FROM attempt g
    WHERE g.listed_file = o.listed_file AND g.end_seq > 0 AND g.reason IS NULL ORDER BY g.end_seq DESC LIMIT 1)
JOIN host h ON h.seq = v.host
WHERE o.listed_file IN (SELECT listed_file FROM mirror GROUP BY listed_file HAVING count(*) > 1)
AND o.present = 1 AND f.collection = :collection AND o.source IN (SELECT value FROM json_each(:sources))
AND o.source <> h.source
AND NOT EXISTS (SELECT 1 FROM attempt s JOIN host g ON g.seq = s.host
    WHERE s.listed_file = o.listed_file AND g.source = o.source AND s.reason IS NULL AND s.digest = v.digest)
AND NOT EXISTS (SELECT 1 FROM listing c
    WHERE c.listed_file = o.listed_file AND c.source = o.source AND c.event = 'compared' AND c.seq > v.end_seq
    AND c.seq > (SELECT max(l.seq) FROM listing l
        WHERE l.listed_file = o.listed_file AND l.source = o.source AND l.event <> 'compared'))
ORDER BY o.source, o.listed_file LIMIT :limit;

-- row: HeldMirror
-- A file that was fetched from a source, which still lists it, with the digest, size and validators of its bytes.
-- `fetched` is when that ended, and `compared` is when it was last compared since then, or None. `is_changed` is true if
-- the source listed it with changes after both, for example with a checksum file. `is_stated` is true if its size or
-- time is listed.

-- def held(collection: str, sources: Sequence[str]) -> Iterator[HeldMirror]
-- Yield the files that were last fetched from one of these sources, where they may have changed unseen.
-- They have a checksum file, or their source lists neither size nor time. Files that are known to have changed are left
-- out.
SELECT o.listed_file AS file, f.file_key AS key, o.source, o.path, o.size, o.modified, o.sidecar, v.digest,
       v.size AS held_size, v.etag, v.modified AS "last_modified: str", v.ended AS "fetched: datetime",
       c.at AS "compared: datetime | None", (SELECT max(l.seq) FROM listing l
           WHERE l.listed_file = o.listed_file AND l.source = o.source AND l.event <> 'compared'
       ) > coalesce(c.seq, v.seq) AS "is_changed: bool",
       o.size IS NOT NULL OR o.modified IS NOT NULL AS "is_stated: bool"
FROM mirror o JOIN listed_file f ON f.seq = o.listed_file JOIN attempt v ON v.seq = (SELECT g.seq FROM attempt g
    WHERE g.listed_file = o.listed_file AND g.end_seq > 0 ORDER BY g.end_seq DESC LIMIT 1)
JOIN host h ON h.seq = v.host AND h.source = o.source
LEFT JOIN listing c ON c.seq = (SELECT max(d.seq) FROM listing d WHERE d.listed_file = o.listed_file
    AND d.source = o.source AND d.event = 'compared' AND d.seq > v.end_seq)
WHERE o.source IN (SELECT value FROM json_each(:sources)) AND o.present = 1 AND v.reason IS NULL
AND (o.sidecar <> '' OR (o.size IS NULL AND o.modified IS NULL)) AND f.collection = :collection
AND NOT EXISTS (SELECT 1 FROM finding g WHERE g.item = o.listed_file AND g.kind = 'ContentChanged' AND g.seq > v.seq)
ORDER BY o.source, o.listed_file;

-- row: LastLook
-- A file, and when it was last fetched or had its last event at a source.

-- def last_looks(source: str, files: Sequence[int]) -> list[LastLook]
-- Return when each of these files was last fetched, or had its last event at a source.
SELECT file AS "file: int", at AS "at: datetime" FROM (SELECT file, at, max(seq) FROM (
    SELECT listed_file AS file, at, seq FROM listing
    WHERE source = :source AND listed_file IN (SELECT value FROM json_each(:files))
    UNION ALL SELECT listed_file, ended, end_seq FROM attempt
    WHERE end_seq > 0 AND reason IS NULL AND listed_file IN (SELECT value FROM json_each(:files))
) GROUP BY file);
