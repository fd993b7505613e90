-- Each line of an index is a failure of its own, also if several lines name the same place.
CREATE TABLE failed (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, capture_index INTEGER NOT NULL,
    warc VARCHAR(1024) NOT NULL, place_offset BIGINT NOT NULL, line TEXT NOT NULL, reason REASON_TEXT NOT NULL,
    address BIGINT NOT NULL, attempt BIGINT NOT NULL,
    PRIMARY KEY (collection, warc, place_offset, line)
) WITHOUT ROWID;
INSERT INTO failed SELECT * FROM capture_failed;
DROP TABLE capture_failed;
ALTER TABLE failed RENAME TO capture_failed;
CREATE INDEX capture_failed_by_address ON capture_failed (address);
