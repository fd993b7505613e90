-- One table of attempts, for all discoveries: what was asked, of which host, and what came of it. A host is an origin as
-- one source of a collection asks it, so an attempt's source, collection and origin are those of its host.

-- The origins that listed files were fetched from. Their numbers come after all that are given.
CREATE TABLE fetched_origin AS
SELECT f.seq AS fetch, f.at AS at, f.session AS session, i.collection AS collection, f.source AS source,
    CASE WHEN instr(f.path, '://') = 0 THEN ''
        WHEN instr(substr(f.path, instr(f.path, '://') + 3), '/') = 0 THEN f.path
        ELSE substr(f.path, 1, instr(f.path, '://') + 1 + instr(substr(f.path, instr(f.path, '://') + 3), '/'))
    END AS origin
FROM fetch f JOIN item i ON i.seq = f.item;
INSERT INTO host (seq, at, session, collection, source, origin)
SELECT (SELECT value FROM counter WHERE name = 'seq') + row_number() OVER (ORDER BY min(o.fetch)), min(o.at),
    min(o.session), o.collection, o.source, o.origin
FROM fetched_origin o WHERE NOT EXISTS (SELECT 1 FROM host h
    WHERE h.origin = o.origin AND h.collection = o.collection AND h.source = o.source)
GROUP BY o.collection, o.source, o.origin;
UPDATE counter SET value = max(value, coalesce((SELECT max(seq) FROM host), 0)) WHERE name = 'seq';

-- What is asked is an address of the host (0 for its robots.txt), or an item that its source lists; `url` is spelled out
-- where no address of ours has it. `started` is the date of the record in the archive, where there is one.
-- The end of an attempt is a fact too. That of an address is put on record with its begin: `end_seq` is `seq`, the
-- moment is `at`. That of an item is put on record on its own, since a file may take hours: `end_seq` and `ended` are
-- written then, once, with all that follows; an attempt without them is under way, or was cut.
-- `received` are bytes over the line, where that is not `size`; `checksum` what a file beside it said of its bytes.
CREATE TABLE attempt (
    seq INTEGER PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, host BIGINT NOT NULL, address BIGINT,
    item BIGINT, url VARCHAR(2048) NOT NULL, kind INTEGER NOT NULL, allowed INTEGER NOT NULL,
    started VARCHAR(32) NOT NULL, end_seq BIGINT, ended VARCHAR(32), seconds DOUBLE PRECISION NOT NULL, status INTEGER,
    received BIGINT, reason VARCHAR(32), message TEXT NOT NULL, digest VARCHAR(96) NOT NULL, size BIGINT,
    warc VARCHAR(256) NOT NULL, place_offset BIGINT, place_length BIGINT, revisit INTEGER NOT NULL,
    etag VARCHAR(256) NOT NULL, modified VARCHAR(64) NOT NULL, location VARCHAR(2048) NOT NULL,
    checksum VARCHAR(96) NOT NULL, mime VARCHAR(128) NOT NULL
);
INSERT INTO attempt
SELECT seq, at, session, host, address, NULL, url, kind, allowed, started, seq, NULL, seconds, status, NULL, reason,
    message, digest, size, warc, place_offset, place_length, revisit, etag, modified, location, '', mime
FROM visit ORDER BY seq;
INSERT INTO attempt
SELECT f.seq, f.at, f.session, h.seq, NULL, f.item, f.path, 0, 1,
    coalesce(nullif(e.dated, ''), CASE WHEN e.warc <> '' THEN e.at END, f.at), e.seq, e.at, coalesce(e.seconds, 0),
    e.status, e.received, e.reason, coalesce(e.message, ''), coalesce(e.digest, ''), e.size, coalesce(e.warc, ''),
    e.place_offset, e.place_length, coalesce(e.revisit, 0), coalesce(e.etag, ''), coalesce(e.modified, ''), '',
    coalesce(e.checksum, ''), coalesce(e.mime, '')
FROM fetch f JOIN fetched_origin o ON o.fetch = f.seq
JOIN host h ON h.origin = o.origin AND h.collection = o.collection AND h.source = o.source
LEFT JOIN fetch_end e ON e.seq = (SELECT min(k.seq) FROM fetch_end k WHERE k.fetch = f.seq) ORDER BY f.seq;
DROP TABLE fetched_origin;
DROP TABLE fetch;
DROP TABLE fetch_end;
DROP TABLE visit;

CREATE INDEX attempt_by_address ON attempt (address);
CREATE INDEX attempt_by_warc ON attempt (warc, place_offset);
-- The rules of a host are found without a look at its pages.
CREATE INDEX attempt_rules ON attempt (host, seq) WHERE address = 0;
CREATE INDEX attempt_by_item ON attempt (item) WHERE item IS NOT NULL;
CREATE INDEX attempt_by_end ON attempt (end_seq) WHERE item IS NOT NULL;
CREATE INDEX attempt_by_digest ON attempt (digest) WHERE item IS NOT NULL;
