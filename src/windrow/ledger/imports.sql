-- What is asked of WARC files of other makers.

-- row: ImportRow
-- A WARC file of another maker: all its records before `offset` are on record.

-- def get(warc: str) -> ImportRow | None
-- Return how far a file is on record, None where it is not.
SELECT seq, source, place_offset AS offset FROM intake WHERE warc = :warc;

-- def payload(spelled: str) -> KeptResponse | None
-- Return where bytes lie, by the digest that their own file gives them.
SELECT digest, size, warc, place_offset AS offset, place_length AS length FROM payload WHERE spelled = :spelled;

-- row: ResolvedRevisit
-- A revisit whose bytes have come since it was read.

-- def resolved(after: tuple[int, int], limit: int) -> list[ResolvedRevisit]
-- Return revisits, after a given file and offset, whose bytes have come since.
SELECT w.intake, w.place_offset AS offset, i.warc, i.source FROM intake_waiting w JOIN payload p ON p.spelled = w.spelled
JOIN intake i ON i.seq = w.intake
WHERE (w.intake, w.place_offset) > (:after[0], :after[1]) ORDER BY w.intake, w.place_offset LIMIT :limit;

-- def count_waiting(source: str) -> int
-- Count the revisits of a source's files that wait for their bytes.
SELECT count(*) FROM intake_waiting w JOIN intake i ON i.seq = w.intake WHERE i.source = :source;

-- row: ImportSource
-- A source that files came in by, and the collection that has them.

-- def sources() -> list[ImportSource]
-- Return the sources that files came in by.
SELECT DISTINCT source AS name, collection FROM intake ORDER BY 1;

-- def count_waiting_in(intake: int) -> int
-- Count the revisits of one file that wait for their bytes.
SELECT count(*) FROM intake_waiting WHERE intake = :intake;

-- def names(intake: int) -> list[str]
-- Return what people call a file.
SELECT name FROM intake_name WHERE intake = :intake ORDER BY name;

-- def named(name: str) -> list[ItemKey]
-- Return files that are called so.
SELECT i.seq AS item, i.warc AS key FROM intake_name n JOIN intake i ON i.seq = n.intake
WHERE n.name = :name ORDER BY i.seq;

-- def by_tail(tail: str, limit: int) -> list[ItemKey]
-- Return files of which a name ends so.
SELECT DISTINCT i.seq AS item, i.warc AS key FROM intake_name n JOIN intake i ON i.seq = n.intake
WHERE substr(n.name, -length(:tail)) = :tail ORDER BY i.seq LIMIT :limit;
