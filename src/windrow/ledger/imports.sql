-- Queries on imported WARC files, which other programs wrote. Files are given by their numbers.

-- row: ImportRow
-- An imported WARC file. All its records before `offset` are on the ledger.

-- def get(warc: str) -> ImportRow | None
-- Return how far the records of an imported file are on the ledger, or None if the file is not known.
SELECT seq, source, place_offset AS offset FROM intake WHERE warc = :warc;

-- def payload(spelled: str) -> KeptResponse | None
-- Return the response whose digest another program wrote as `spelled`, or None.
SELECT digest, size, warc, place_offset AS offset, place_length AS length FROM payload WHERE spelled = :spelled;

-- row: ResolvedRevisit
-- A revisit whose bytes were imported after it was read.

-- def resolved(after: tuple[int, int], limit: int) -> list[ResolvedRevisit]
-- Return the first `limit` revisits after the place `after` (file, offset) whose bytes are imported now.
SELECT w.intake, w.place_offset AS offset, i.warc, i.source FROM intake_waiting w JOIN payload p ON p.spelled = w.spelled
JOIN intake i ON i.seq = w.intake
WHERE (w.intake, w.place_offset) > (:after[0], :after[1]) ORDER BY w.intake, w.place_offset LIMIT :limit;

-- def count_waiting(source: str) -> int
-- Count the revisits in a source's files that wait for their bytes to be imported.
SELECT count(*) FROM intake_waiting w JOIN intake i ON i.seq = w.intake WHERE i.source = :source;

-- row: ImportSource
-- A source that imported files, and its collection.

-- def sources() -> list[ImportSource]
-- Return the sources that imported files.
SELECT DISTINCT source AS name, collection FROM intake ORDER BY 1;

-- def count_waiting_in(intake: int) -> int
-- Count the revisits in one file that wait for their bytes to be imported.
SELECT count(*) FROM intake_waiting WHERE intake = :intake;

-- def waiting_in(intake: int, limit: int) -> list[int]
-- Return the offsets of the first `limit` revisits in one file that wait for their bytes to be imported.
SELECT place_offset AS offset FROM intake_waiting WHERE intake = :intake ORDER BY place_offset LIMIT :limit;

-- def names(intake: int) -> list[str]
-- Return the names under which a file was imported.
SELECT name FROM intake_name WHERE intake = :intake ORDER BY name;

-- def named(name: str) -> list[ItemKey]
-- Return the files that were imported under a name.
SELECT i.seq AS item, i.warc AS key FROM intake_name n JOIN intake i ON i.seq = n.intake
WHERE n.name = :name ORDER BY i.seq;

-- def by_tail(tail: str) -> list[ItemKey]
-- Return the files with a name that ends with `tail`, and those in a WACZ file with such a name.
SELECT DISTINCT i.seq AS item, i.warc AS key FROM intake_name n JOIN intake i ON i.seq = n.intake
WHERE substr(n.name, -length(:tail)) = :tail OR (:tail LIKE '%.wacz' AND instr(n.name, :tail || '/')) ORDER BY i.seq;
