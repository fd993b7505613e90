-- WARC files of other makers, each an item of kind `warc` too.

-- `place_offset` is how far its records are on record: the next one begins there.
CREATE TABLE intake (
    item BIGINT PRIMARY KEY, source VARCHAR(128) NOT NULL, warc VARCHAR(256) NOT NULL, size BIGINT NOT NULL,
    place_offset BIGINT NOT NULL
);
CREATE UNIQUE INDEX intake_by_warc ON intake (warc);
CREATE INDEX intake_by_source ON intake (source);

-- What people call them.
CREATE TABLE intake_name (item BIGINT NOT NULL, name VARCHAR(1024) NOT NULL, PRIMARY KEY (item, name));

-- Where bytes lie, by the digest that their own file gives them: what revisits refer to.
CREATE TABLE payload (
    spelled VARCHAR(160) PRIMARY KEY, digest VARCHAR(96) NOT NULL, size BIGINT NOT NULL,
    warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL, place_length BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX payload_by_digest ON payload (digest);

-- Revisits whose bytes no file has brought yet.
CREATE TABLE intake_waiting (
    item BIGINT NOT NULL, place_offset BIGINT NOT NULL, spelled VARCHAR(160) NOT NULL, PRIMARY KEY (item, place_offset)
);
CREATE INDEX intake_waiting_by_payload ON intake_waiting (spelled);

CREATE INDEX host_by_source ON host (source);
