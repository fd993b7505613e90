-- The ledger's facts. Every fact table is append-only; `seq` is unique over all of them and rises in
-- the order of writing, so that facts of all kinds have one order. Times are ISO 8601 text in UTC.

CREATE TABLE counter (name VARCHAR(32) PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counter (name, value) VALUES ('seq', 0);

-- Who holds the workspace. The one table that is overwritten: `beat` rises while the holder lives.
CREATE TABLE lease (
    name VARCHAR(32) PRIMARY KEY, token VARCHAR(64) NOT NULL, holder VARCHAR(256) NOT NULL,
    since VARCHAR(32) NOT NULL, expires VARCHAR(32) NOT NULL, beat BIGINT NOT NULL
);

CREATE TABLE session (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, holder VARCHAR(256) NOT NULL, command TEXT NOT NULL
);
CREATE TABLE session_end (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, outcome INTEGER NOT NULL
);
CREATE TABLE task (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL,
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, phase INTEGER NOT NULL
);
CREATE TABLE task_end (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, task BIGINT NOT NULL, failed INTEGER NOT NULL,
    reason VARCHAR(32), comment TEXT NOT NULL
);

-- A thing that moves through the phases of its collection.
CREATE TABLE item (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL,
    collection VARCHAR(32) NOT NULL, kind VARCHAR(32) NOT NULL, item_key VARCHAR(512) NOT NULL,
    parent BIGINT, owner VARCHAR(128) NOT NULL, fetch BIGINT NOT NULL, digest VARCHAR(96) NOT NULL,
    member VARCHAR(512) NOT NULL, size BIGINT, md5 VARCHAR(32) NOT NULL, place VARCHAR(256) NOT NULL
);
CREATE UNIQUE INDEX item_by_key ON item (item_key, collection, fetch, seq);
CREATE INDEX item_by_parent ON item (parent);

-- A source began to offer an item, changed what it says of it, or stopped: listed, changed, gone.
CREATE TABLE listing (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL,
    source VARCHAR(128) NOT NULL, item BIGINT NOT NULL, path VARCHAR(1024) NOT NULL,
    event VARCHAR(16) NOT NULL, size BIGINT, modified VARCHAR(32), sidecar VARCHAR(1024) NOT NULL
);

-- An entry refused whose name fits no table of its standard: it is on record here only.
CREATE TABLE refusal (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL,
    source VARCHAR(128) NOT NULL, path TEXT NOT NULL, path_digest VARCHAR(96) NOT NULL,
    reason VARCHAR(32) NOT NULL
);
CREATE UNIQUE INDEX refusal_once ON refusal (source, path_digest, reason);

-- One attempt to get an item; an attempt without an end was cut and goes on in the next session.
CREATE TABLE fetch (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    source VARCHAR(128) NOT NULL, path VARCHAR(1024) NOT NULL
);
CREATE INDEX fetch_by_item ON fetch (item);
-- Its end, and the capture where there is one: digest and place (WARC, offset, length) of the record.
CREATE TABLE fetch_end (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, fetch BIGINT NOT NULL, item BIGINT NOT NULL,
    source VARCHAR(128) NOT NULL, seconds DOUBLE PRECISION NOT NULL, status INTEGER,
    received BIGINT NOT NULL, reason VARCHAR(32), message TEXT NOT NULL,
    digest VARCHAR(96) NOT NULL, size BIGINT, warc VARCHAR(256) NOT NULL, place_offset BIGINT,
    place_length BIGINT, revisit INTEGER NOT NULL, etag VARCHAR(256) NOT NULL,
    modified VARCHAR(64) NOT NULL, checksum VARCHAR(96) NOT NULL
);
CREATE INDEX fetch_end_by_fetch ON fetch_end (fetch);
CREATE INDEX fetch_end_by_digest ON fetch_end (digest);
CREATE INDEX fetch_end_by_warc ON fetch_end (warc, place_offset);

-- What a step made of a document; remembered by (digest, step, version).
CREATE TABLE reading (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    step VARCHAR(32) NOT NULL, version VARCHAR(128) NOT NULL, digest VARCHAR(96) NOT NULL,
    reason VARCHAR(32), number BIGINT NOT NULL, md5 VARCHAR(32) NOT NULL
);
CREATE INDEX reading_by_digest ON reading (digest, step, version);
CREATE TABLE move (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    phase INTEGER NOT NULL, status INTEGER NOT NULL, reason VARCHAR(32), message TEXT NOT NULL
);
CREATE INDEX move_by_item ON move (item);
CREATE TABLE finding (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    phase INTEGER NOT NULL, kind VARCHAR(64) NOT NULL, level VARCHAR(8) NOT NULL,
    message TEXT NOT NULL, line BIGINT, col BIGINT
);
CREATE INDEX finding_by_item ON finding (item);

-- Present state, derived: each row follows from the facts above and can be made again from them.
CREATE TABLE standing (
    item BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, kind VARCHAR(32) NOT NULL,
    parent BIGINT, fetch BIGINT NOT NULL, place VARCHAR(256) NOT NULL, phase INTEGER NOT NULL,
    status INTEGER NOT NULL, reason VARCHAR(32), since BIGINT NOT NULL
);
CREATE INDEX standing_due ON standing (collection, kind, phase, status, place, item);
CREATE INDEX standing_by_parent ON standing (parent, fetch, phase, status);
CREATE TABLE offering (
    source VARCHAR(128) NOT NULL, item BIGINT NOT NULL, path VARCHAR(1024) NOT NULL,
    present INTEGER NOT NULL, size BIGINT, modified VARCHAR(32), sidecar VARCHAR(1024) NOT NULL,
    PRIMARY KEY (source, item)
);
CREATE INDEX offering_by_item ON offering (item);
