-- Queries on mirrors: where listed files lie, what listings said of them, and what was refused.

-- row: Mirror
-- What a source said of a file when it was last listed; `present` is whether it still lists it.

-- part: mirror
SELECT o.listed_file AS file, f.file_key AS key, f.owner, o.source, o.path, o.present, o.size, o.modified, o.sidecar
FROM mirror o JOIN listed_file f ON f.seq = o.listed_file

-- def of_source(source: str) -> list[Mirror]
-- Return what a source lists, and what it listed before.
{mirror} WHERE o.source = :source;

-- def of_files(files: Sequence[int]) -> list[Mirror]
-- Return who lists these files now.
{mirror} WHERE o.present = 1 AND o.listed_file IN (SELECT value FROM json_each(:files)) ORDER BY o.listed_file, o.source;

-- def sources() -> set[str]
-- Return every source that ever listed something.
SELECT DISTINCT source FROM mirror ORDER BY source;

-- row: ListingCount
-- How often listings of a source said something: listed, refused, changed or gone.

-- def listed_between(span: tuple[int, int]) -> list[ListingCount]
-- Count what listings said between two facts.
SELECT source, event, count(*) AS "number: int" FROM listing
WHERE seq BETWEEN :span[0] AND :span[1] AND event <> 'compared' GROUP BY 1, 2;

-- def refused_between(span: tuple[int, int]) -> list[RefusalCount]
-- Count what was refused between two facts.
SELECT source, reason, count(*) AS "number: int" FROM refusal WHERE seq BETWEEN :span[0] AND :span[1] GROUP BY source,
       reason;

-- def count() -> dict[str, int]
-- Count what each source lists now.
SELECT source, count(*) AS "number: int" FROM mirror WHERE present = 1 GROUP BY source;

-- def count_failing() -> dict[str, int]
-- Count what each source lists that failed, or of which a member did.
WITH failed (file) AS (
    SELECT p.item FROM pending_step p WHERE p.status = 5
    UNION SELECT v.listed_file FROM pending_step p JOIN member m ON m.seq = p.item JOIN attempt v ON v.seq = m.attempt
    WHERE p.status = 5 AND {of_latest} AND NOT EXISTS (SELECT 1 FROM pending_step f WHERE f.item = v.listed_file)
)
SELECT o.source, count(*) AS "number: int" FROM failed f JOIN mirror o ON o.listed_file = f.file
WHERE o.present = 1 GROUP BY o.source;

-- row: RefusalRow
-- An entry of a listing whose name fits no table.

-- def refused(name: str) -> list[RefusalRow]
-- Return refused entries by path, by the last part of it, or by source and path; and lines that end with it.
-- A line that could not be read is a path as it came: what it ends with may be the name.
SELECT seq, at, session, source, path, reason FROM refusal
WHERE path = :name OR substr(path, -length('/' || :name)) = '/' || :name OR source || '/' || path = :name
OR (reason = 'protocol_error' AND substr(path, -length(' ' || :name)) = ' ' || :name) ORDER BY seq;

-- row: ListingRow
-- A source began to list a file, changed what it says of it, or stopped: listed or refused, changed, gone.

-- def listings(file: int) -> list[ListingRow]
-- Return what listings said of a file, in order.
SELECT seq, at, session, source, path, event, size, modified FROM listing WHERE listed_file = :file ORDER BY seq;

-- def wrong() -> Iterator[WrongMirror]
-- Yield mirrors that are there or not, other than the last listing says.
SELECT o.source, o.listed_file AS file, o.present AS "present: int", l.event FROM mirror o
JOIN listing l ON l.seq = (SELECT max(k.seq) FROM listing k
    WHERE k.source = o.source AND k.listed_file = o.listed_file) WHERE o.present <> (l.event <> 'gone');

-- row: ListedChange
-- What a source said of a file, with the file's name and the size that it had there before.

-- def changes(collection: str, span: tuple[int, int]) -> Iterator[ListedChange]
-- Yield what the sources of a collection said between two facts, in order.
SELECT l.at, l.source, l.event, f.file_key AS key, l.path, l.size, (
    SELECT p.size FROM listing p WHERE p.listed_file = l.listed_file AND p.source = l.source AND p.seq < l.seq
    ORDER BY p.seq DESC LIMIT 1) AS "before: int | None"
FROM listing l JOIN listed_file f ON f.seq = l.listed_file
WHERE l.seq BETWEEN :span[0] AND :span[1] AND f.collection = :collection AND l.event <> 'compared' ORDER BY l.seq;

-- row: UncomparedMirror
-- A source that lists a file of which bytes are held from another one, `held_from`, by their digest.

-- def uncompared(collection: str, limit: int) -> list[UncomparedMirror]
-- Return who lists what is held from another source in the same size, and was not compared with it yet.
-- That is, not since it was listed and the bytes were fetched.
SELECT o.listed_file AS file, f.file_key AS key, o.source, o.path, o.size, o.modified, o.sidecar, v.digest,
       h.source AS held_from
FROM mirror o JOIN listed_file f ON f.seq = o.listed_file JOIN attempt v ON v.seq = (SELECT g.seq FROM attempt g
    WHERE g.listed_file = o.listed_file AND g.end_seq > 0 AND g.reason IS NULL ORDER BY g.end_seq DESC LIMIT 1)
JOIN host h ON h.seq = v.host
WHERE o.listed_file IN (SELECT listed_file FROM mirror WHERE present = 1 GROUP BY listed_file HAVING count(*) > 1)
AND o.present = 1 AND f.collection = :collection AND o.source <> h.source AND coalesce(o.size, v.size) = v.size
AND NOT EXISTS (SELECT 1 FROM attempt s JOIN host g ON g.seq = s.host
    WHERE s.listed_file = o.listed_file AND g.source = o.source AND s.reason IS NULL AND s.digest = v.digest)
AND NOT EXISTS (SELECT 1 FROM listing c
    WHERE c.listed_file = o.listed_file AND c.source = o.source AND c.event = 'compared' AND c.seq > v.end_seq
    AND c.seq > (SELECT max(l.seq) FROM listing l
        WHERE l.listed_file = o.listed_file AND l.source = o.source AND l.event <> 'compared'))
ORDER BY o.source, o.listed_file LIMIT :limit;
