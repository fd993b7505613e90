-- The ledger's facts. Rows are only ever added to the tables of facts. `seq` is the number of a fact: it is unique over
-- all these tables and increases in the order of writing, so that facts of all kinds have one order.
-- Some types say what a column means: TIME_TEXT is ISO 8601 in UTC, REASON_TEXT one of windrow.reasons, LEVEL_TEXT the
-- level of a finding, STATUS_INT a windrow.model.Status, FLAG_INT 0 or 1. SQLite only looks for TEXT and INT in them.

CREATE TABLE counter (name VARCHAR(32) PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counter (name, value) VALUES ('seq', 0);

-- The lease of the workspace. Its row is overwritten: `beat` counts its renewals.
CREATE TABLE lease (
    name VARCHAR(32) PRIMARY KEY, token VARCHAR(64) NOT NULL, holder VARCHAR(256) NOT NULL,
    since TIME_TEXT NOT NULL, expires TIME_TEXT NOT NULL, beat BIGINT NOT NULL
);

-- Sessions are counted 1, 2, 3 for people (`number`). `seq` is their number among the facts, and in the names of WARC
-- files.
CREATE TABLE session (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, holder VARCHAR(256) NOT NULL, command TEXT NOT NULL,
    number BIGINT NOT NULL
);
CREATE UNIQUE INDEX session_by_number ON session (number);

CREATE TABLE session_end (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, outcome INTEGER NOT NULL
);

CREATE TABLE task (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL,
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, phase INTEGER NOT NULL
);

CREATE TABLE task_end (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, task BIGINT NOT NULL, failed FLAG_INT NOT NULL,
    reason REASON_TEXT, comment TEXT NOT NULL
);

-- Listed files and their members. An item, which steps read, is a listed file, a member of one, or an imported WARC
-- file (`intake`). Items have the numbers of facts.

-- A file that sources list, at whichever source. `reason` says why its name was refused.
CREATE TABLE listed_file (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    kind VARCHAR(32) NOT NULL, file_key VARCHAR(512) NOT NULL, owner VARCHAR(128) NOT NULL, size BIGINT,
    rank VARCHAR(256) NOT NULL, reason REASON_TEXT
);
CREATE UNIQUE INDEX listed_file_by_key ON listed_file (file_key, collection);

-- A document in a listed file, as an attempt fetched it. `reason` says why its name was refused.
CREATE TABLE member (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    kind VARCHAR(32) NOT NULL, member_key VARCHAR(512) NOT NULL, attempt BIGINT NOT NULL, name VARCHAR(512) NOT NULL,
    size BIGINT, digest VARCHAR(96) NOT NULL, md5 VARCHAR(32) NOT NULL, rank VARCHAR(256) NOT NULL, reason REASON_TEXT
);
CREATE INDEX member_by_key ON member (member_key);
CREATE INDEX member_by_attempt ON member (attempt);

-- An event of a listing: a source began to list a file (listed, or refused if the file's name is not valid), changed
-- its entry (changed), or stopped listing it (gone).
CREATE TABLE listing (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL,
    source VARCHAR(128) NOT NULL, listed_file BIGINT NOT NULL, path VARCHAR(1024) NOT NULL,
    event VARCHAR(16) NOT NULL, size BIGINT, modified TIME_TEXT, sidecar VARCHAR(1024) NOT NULL
);
CREATE INDEX listing_by_file ON listing (listed_file);

-- An entry of a listing that was refused because its name cannot be stored in any table of its standard.
CREATE TABLE refusal (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL,
    source VARCHAR(128) NOT NULL, path TEXT NOT NULL, path_digest VARCHAR(96) NOT NULL,
    reason REASON_TEXT NOT NULL
);
CREATE UNIQUE INDEX refusal_once ON refusal (source, path_digest, reason);

-- A step has begun to read an item: if there is no later reading, it is running or was interrupted.
CREATE TABLE step_start (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    step VARCHAR(32) NOT NULL
);
CREATE INDEX step_start_by_item ON step_start (item);

-- The result of a step for an item. The first reading of (digest, step, version) is used again for every other item
-- with the same bytes, with its findings. A reading that a replay took over at its end has no digest.
CREATE TABLE reading (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    step VARCHAR(32) NOT NULL, version VARCHAR(128) NOT NULL, digest VARCHAR(96) NOT NULL,
    reason REASON_TEXT, number BIGINT NOT NULL, md5 VARCHAR(32) NOT NULL
);
CREATE INDEX reading_by_digest ON reading (digest, step, version);
CREATE INDEX reading_by_item ON reading (item);

-- An operator, or a listing, decided that an item is fetched again (retried) or ends before its pending step
-- (cancelled). A member ends in both cases, since another attempt fetches a new one.
CREATE TABLE decision (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    act REASON_TEXT NOT NULL, message TEXT NOT NULL
);
CREATE INDEX decision_by_item ON decision (item);

CREATE TABLE finding (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    phase INTEGER NOT NULL, kind VARCHAR(64) NOT NULL, level LEVEL_TEXT NOT NULL,
    message TEXT NOT NULL, line BIGINT, col BIGINT
);
CREATE INDEX finding_by_item ON finding (item);

-- The present state: each row follows from the facts above and can be derived from them again.

-- The step that an item waits for, failed at, or was ended before; an item whose steps are all done has no row. `step`
-- is the phase of transfers if a file is to be fetched, and empty if a name was refused. `attempt` is the one whose
-- capture is, or contains, the item, and `since` the fact from which the row follows.
CREATE TABLE pending_step (
    item BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, step VARCHAR(32) NOT NULL, status STATUS_INT NOT NULL,
    rank VARCHAR(256) NOT NULL, attempt BIGINT NOT NULL, reason REASON_TEXT, since BIGINT NOT NULL
);
CREATE INDEX pending_step_due ON pending_step (collection, step, status, rank, item);

-- A mirror of a listed file: a source's entry when it last listed the file, and whether it still lists it.
CREATE TABLE mirror (
    source VARCHAR(128) NOT NULL, listed_file BIGINT NOT NULL, path VARCHAR(1024) NOT NULL,
    present FLAG_INT NOT NULL, size BIGINT, modified TIME_TEXT, sidecar VARCHAR(1024) NOT NULL,
    PRIMARY KEY (source, listed_file)
);
CREATE INDEX mirror_by_file ON mirror (listed_file);

-- Requests to hosts, and their responses.

-- An origin (scheme, host and port) as one source of a collection requests it.
CREATE TABLE host (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL,
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, origin VARCHAR(512) NOT NULL
);
CREATE UNIQUE INDEX host_by_origin ON host (origin, collection, source);
CREATE INDEX host_by_source ON host (source);

-- The time (in seconds since 1970) until which an origin asks all collections to pause.
CREATE TABLE rest (origin VARCHAR(512) PRIMARY KEY, until BIGINT NOT NULL) WITHOUT ROWID;

-- An address belongs to a host, so that each source has every address that it wants. `digest` has 64 bits of the hash
-- of the request, which is the URL alone for a plain GET. `via` is the address of the same collection on which it was
-- first found, 0 for a seed; addresses with a low `place` are requested first. The next columns are the present state:
-- `due` (seconds since 1970; 0 for never requested, 1 for next, NULL for never again), `interval`, the seconds after which
-- it is expected to change (-1 if it is only known from a WARC file of another program, -2 - interval if it is taken down
-- and would be requested otherwise), `capture`, the last attempt with a body, and `failures` in a row. `kind` is the
-- collection's own number. The rows stay in the order of finding.
CREATE TABLE address (
    digest BIGINT NOT NULL, host BIGINT NOT NULL, url VARCHAR(2048) NOT NULL, via BIGINT NOT NULL,
    place INTEGER NOT NULL, due BIGINT, interval BIGINT NOT NULL, capture BIGINT NOT NULL, failures INTEGER NOT NULL,
    kind INTEGER NOT NULL, PRIMARY KEY (digest, host)
);
CREATE INDEX address_due ON address (host, due, place);

-- The request at an address that is not a plain GET, with a text, `context`, that only its discovery uses.
-- `attachments` has, as JSON, the bytes of attempts to insert into the body, and where; `seconds` is the time limit.
CREATE TABLE request (
    digest BIGINT NOT NULL, host BIGINT NOT NULL, method VARCHAR(16) NOT NULL, headers TEXT NOT NULL,
    body BLOB NOT NULL, context TEXT NOT NULL, attachments TEXT NOT NULL, seconds DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (digest, host)
) WITHOUT ROWID;

-- The attempts of all discoveries to fetch something from a host, and their results. An attempt is at an address of the
-- host (0 for its robots.txt), or at a file that its source lists; `url` is filled in if it is not that of an address.
-- `kind` is the collection's own number. `started` is the date of the archive record, if there is one. The end of an
-- attempt is a fact too. At an address, begin and end are written together: `end_seq` is `seq`, and the time is `at`.
-- At a listed file, which may take hours, `end_seq`, `ended` and the columns after them are written once, when it ends;
-- an attempt without them is running or was interrupted. `received` is the number of bytes received, if it is not
-- `size`; `checksum` is that in the file's side-car.
CREATE TABLE attempt (
    seq INTEGER PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, host BIGINT NOT NULL, address BIGINT,
    listed_file BIGINT, url VARCHAR(2048) NOT NULL, kind INTEGER NOT NULL, allowed FLAG_INT NOT NULL,
    started TIME_TEXT NOT NULL, end_seq BIGINT, ended TIME_TEXT, seconds DOUBLE PRECISION NOT NULL, status INTEGER,
    received BIGINT, reason REASON_TEXT, message TEXT NOT NULL, digest VARCHAR(96) NOT NULL, size BIGINT,
    warc VARCHAR(256) NOT NULL, place_offset BIGINT, place_length BIGINT, revisit FLAG_INT NOT NULL,
    etag VARCHAR(256) NOT NULL, modified VARCHAR(64) NOT NULL, location VARCHAR(2048) NOT NULL,
    checksum VARCHAR(96) NOT NULL, mime VARCHAR(128) NOT NULL
);
CREATE INDEX attempt_by_address ON attempt (address);
CREATE INDEX attempt_by_warc ON attempt (warc, place_offset);
CREATE INDEX attempt_rules ON attempt (host, seq) WHERE address = 0;  -- finds them without reading the host's pages
CREATE INDEX attempt_by_file ON attempt (listed_file) WHERE listed_file IS NOT NULL;
CREATE INDEX attempt_by_end ON attempt (end_seq) WHERE end_seq IS NOT seq;  -- those whose end is a fact of its own
CREATE INDEX attempt_by_digest ON attempt (digest) WHERE listed_file IS NOT NULL;

-- Attempts whose response a step failed to read through no fault of the response: a later run reads it again. `times`
-- is how often in a row this version of the step failed with this reason, and `at` when last; the version is empty if
-- an operator ordered another reading.
CREATE TABLE unread (
    attempt BIGINT NOT NULL, collection VARCHAR(32) NOT NULL, phase INTEGER NOT NULL, version VARCHAR(128) NOT NULL,
    reason REASON_TEXT NOT NULL, times INTEGER NOT NULL, at TIME_TEXT NOT NULL,
    PRIMARY KEY (attempt, phase)
);

-- Discovery by requests: the results of following answers, values learned about sources, and offers.

-- An answer that was followed, and how long that took. A source is followed up to its last row.
CREATE TABLE followed (
    attempt BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, requests INTEGER NOT NULL,
    offers INTEGER NOT NULL, fresh INTEGER NOT NULL, reason REASON_TEXT, ending TEXT NOT NULL, findings TEXT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL
);
CREATE INDEX followed_by_source ON followed (collection, source, attempt);

-- A value that a discovery learned about a source for its own use, as JSON, and the answer from which it was learned (0
-- if that is not known): the value is deleted when the answer is taken down.
CREATE TABLE learned (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, name VARCHAR(128) NOT NULL, value TEXT NOT NULL,
    attempt BIGINT NOT NULL, PRIMARY KEY (collection, source, name)
) WITHOUT ROWID;

-- An offer in an answer, and its part of the decoded body; a length of -1 means the whole body.
CREATE TABLE offered (
    attempt BIGINT NOT NULL, ordinal INTEGER NOT NULL, name VARCHAR(512) NOT NULL, part_offset BIGINT NOT NULL,
    part_length BIGINT NOT NULL, url VARCHAR(2048) NOT NULL, PRIMARY KEY (attempt, ordinal)
) WITHOUT ROWID;

-- The names that a source has ever offered, and the first answer with each.
CREATE TABLE offer_known (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, name VARCHAR(512) NOT NULL, attempt BIGINT NOT NULL,
    PRIMARY KEY (collection, source, name)
) WITHOUT ROWID;

-- Complete listings of a source: the answers with which each began and ended.
CREATE TABLE whole_listing (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, began BIGINT NOT NULL, ended BIGINT PRIMARY KEY
);
CREATE INDEX whole_listing_by_source ON whole_listing (collection, source, ended);

-- A request to a service that the step of an attempt makes.
CREATE TABLE asked (
    attempt BIGINT NOT NULL, digest BIGINT NOT NULL, host BIGINT NOT NULL, PRIMARY KEY (attempt, digest, host)
) WITHOUT ROWID;
CREATE INDEX asked_by_request ON asked (digest, host);

-- Imported WARC files, which other programs wrote; all their records before `place_offset` are on the ledger.
CREATE TABLE intake (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    source VARCHAR(128) NOT NULL, warc VARCHAR(256) NOT NULL, size BIGINT NOT NULL, place_offset BIGINT NOT NULL
);
CREATE UNIQUE INDEX intake_by_warc ON intake (warc);
CREATE INDEX intake_by_source ON intake (source);

-- The names under which they were imported.
CREATE TABLE intake_name (intake BIGINT NOT NULL, name VARCHAR(1024) NOT NULL, PRIMARY KEY (intake, name));

-- The places of imported bytes, by the digest in their own file, with which revisits refer to them.
CREATE TABLE payload (
    spelled VARCHAR(160) PRIMARY KEY, digest VARCHAR(96) NOT NULL, size BIGINT NOT NULL,
    warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL, place_length BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX payload_by_digest ON payload (digest);

-- Revisits whose bytes are not imported yet.
CREATE TABLE intake_waiting (
    intake BIGINT NOT NULL, place_offset BIGINT NOT NULL, spelled VARCHAR(160) NOT NULL,
    PRIMARY KEY (intake, place_offset)
);
CREATE INDEX intake_waiting_by_payload ON intake_waiting (spelled);

-- Captures that a collection takes from another collection of the workspace, or from WARC files of other programs.

-- An index in which a source looks for captures. `name` is a collection, a source as collection:source, or the path of
-- a file. `rules` is a digest of the rules by which lines are chosen (and of the file's identity). `place` is how far
-- the index was read: an attempt, a line of an index file, an offset in a WARC file, or -1 at the end of a file.
CREATE TABLE capture_index (
    id INTEGER PRIMARY KEY, collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, name VARCHAR(1024) NOT NULL,
    rules VARCHAR(96) NOT NULL, place BIGINT NOT NULL, seen BIGINT NOT NULL, taken BIGINT NOT NULL
);
CREATE UNIQUE INDEX capture_index_by_name ON capture_index (collection, source, name);

-- How many lines of an index a rule left out, and the address of the first one.
CREATE TABLE capture_left_out (
    capture_index INTEGER NOT NULL, reason REASON_TEXT NOT NULL, rule VARCHAR(200) NOT NULL, lines BIGINT NOT NULL,
    url VARCHAR(2048) NOT NULL, PRIMARY KEY (capture_index, reason, rule)
) WITHOUT ROWID;

-- Attempts that took an existing capture instead of making a request: `original` is the attempt that made it, and 0 if
-- its record was copied from another program's file. `capture_index` is the index in which it was found, 0 if it
-- existed when the address was to be requested; `warc` and `place_offset` are where the record was found. `line` is the
-- index line as a JSON list: its address, key and file name are as in the index, and the address of the attempt is
-- normalised. It is empty if there was no line, or if the capture was taken down.
CREATE TABLE captured (
    attempt BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, original BIGINT NOT NULL,
    capture_index INTEGER NOT NULL, warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL, line TEXT NOT NULL
);
CREATE UNIQUE INDEX captured_by_place ON captured (collection, warc, place_offset) WHERE capture_index <> 0;
CREATE INDEX captured_by_original ON captured (original) WHERE original <> 0;

-- Wanted lines of indexes whose record could not be read: its place, the line (as a JSON list), the reason, and the
-- attempt that failed.
CREATE TABLE capture_failed (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, capture_index INTEGER NOT NULL,
    warc VARCHAR(1024) NOT NULL, place_offset BIGINT NOT NULL, line TEXT NOT NULL, reason REASON_TEXT NOT NULL,
    address BIGINT NOT NULL, attempt BIGINT NOT NULL, PRIMARY KEY (collection, warc, place_offset)
) WITHOUT ROWID;
CREATE INDEX capture_failed_by_address ON capture_failed (address);

-- Takedowns of an address, or of all addresses of a host if `host` is not 0, which are never requested again. `target`
-- is the name of what was taken down, `holder` the process that ran the command.
CREATE TABLE tombstone (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    target VARCHAR(2048) NOT NULL, address BIGINT NOT NULL, host BIGINT NOT NULL, holder VARCHAR(256) NOT NULL,
    reason TEXT NOT NULL
);
CREATE INDEX tombstone_by_address ON tombstone (address, host);

-- A takedown is done, with counts of what was deleted ('done'), or its target may be requested again ('lifted').
CREATE TABLE tombstone_end (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, tombstone BIGINT NOT NULL,
    event VARCHAR(16) NOT NULL, captures BIGINT NOT NULL, bytes BIGINT NOT NULL, records BIGINT NOT NULL
);
CREATE INDEX tombstone_end_by_tombstone ON tombstone_end (tombstone);

-- The records of the archive to erase. They are listed because a run that continues a killed one could not find records
-- that are half erased. The rows stay, since the files keep their lengths.
CREATE TABLE tombstone_span (
    tombstone BIGINT NOT NULL, warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL, place_length BIGINT NOT NULL,
    PRIMARY KEY (tombstone, warc, place_offset)
);
