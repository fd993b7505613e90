-- Captures that a collection takes though somebody else had them made: another collection of the workspace, or
-- another maker of WARC files.

-- Where a source looks for captures. `name` is a collection, a source as collection:source, or the path of a file.
-- `rules` is a digest of the rules by which lines were chosen (and of what the file was), `place` how far that got: a
-- visit, a line of an index file, an offset in a WARC file; or -1 where a file is through.
CREATE TABLE capture_index (
    id INTEGER PRIMARY KEY, collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, name VARCHAR(1024) NOT NULL,
    rules VARCHAR(96) NOT NULL, place BIGINT NOT NULL, seen BIGINT NOT NULL, taken BIGINT NOT NULL
);
CREATE UNIQUE INDEX capture_index_by_name ON capture_index (collection, source, name);

-- How many lines of an index a rule left out, and the address of the first one.
CREATE TABLE capture_left_out (
    capture_index INTEGER NOT NULL, reason VARCHAR(32) NOT NULL, rule VARCHAR(200) NOT NULL, lines BIGINT NOT NULL,
    url VARCHAR(2048) NOT NULL, PRIMARY KEY (capture_index, reason, rule)
) WITHOUT ROWID;

-- Visits that asked nobody, since the capture was there: whose source it is, the visit that it was made in, the index
-- it was found by (0: it was there when it was to be asked for), and where the record was found. `original` is 0 for the
-- record of another maker, which was copied.
CREATE TABLE captured (
    visit BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, original BIGINT NOT NULL,
    capture_index INTEGER NOT NULL, warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL
);
CREATE UNIQUE INDEX captured_by_place ON captured (collection, warc, place_offset) WHERE capture_index <> 0;

-- Wanted lines of indexes whose record could not be had: where it should lie, the line (as a JSON list), why not, and the
-- visit that says so.
CREATE TABLE capture_failed (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, capture_index INTEGER NOT NULL,
    warc VARCHAR(1024) NOT NULL, place_offset BIGINT NOT NULL, line TEXT NOT NULL, reason VARCHAR(32) NOT NULL,
    address BIGINT NOT NULL, visit BIGINT NOT NULL, PRIMARY KEY (collection, warc, place_offset)
) WITHOUT ROWID;
CREATE INDEX capture_failed_by_address ON capture_failed (address);
