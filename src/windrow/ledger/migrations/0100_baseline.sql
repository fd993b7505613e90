-- The ledger's facts. Every fact table is append-only; `seq` is unique over all of them and rises in the order of
-- writing, so that facts of all kinds have one order.
-- Some types say what a column means: TIME_TEXT is ISO 8601 in UTC, REASON_TEXT one of windrow.reasons, LEVEL_TEXT how
-- grave a finding is, STATUS_INT a windrow.model.Status, FLAG_INT is 0 or 1. SQLite looks for TEXT and INT in them.

CREATE TABLE counter (name VARCHAR(32) PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counter (name, value) VALUES ('seq', 0);

-- Who holds the workspace. The one table that is overwritten: `beat` rises while the holder lives.
CREATE TABLE lease (
    name VARCHAR(32) PRIMARY KEY, token VARCHAR(64) NOT NULL, holder VARCHAR(256) NOT NULL,
    since TIME_TEXT NOT NULL, expires TIME_TEXT NOT NULL, beat BIGINT NOT NULL
);

-- Sessions are counted 1, 2, 3 for people (`number`). `seq` is their number among the facts, and in the names of WARC files.
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

-- Listed files and what is in them. An item is what steps take: a listed file, a member of one, or an imported WARC file
-- (`intake`). Their numbers are of one sequence, like those of all facts.

-- A file that sources list, wherever it lies. `reason` says why its name was refused.
CREATE TABLE listed_file (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    kind VARCHAR(32) NOT NULL, file_key VARCHAR(512) NOT NULL, owner VARCHAR(128) NOT NULL, size BIGINT,
    place VARCHAR(256) NOT NULL, reason REASON_TEXT
);
CREATE UNIQUE INDEX listed_file_by_key ON listed_file (file_key, collection);

-- A document in a listed file, as an attempt brought it. `reason` says why its name was refused.
CREATE TABLE member (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    kind VARCHAR(32) NOT NULL, member_key VARCHAR(512) NOT NULL, attempt BIGINT NOT NULL, name VARCHAR(512) NOT NULL,
    size BIGINT, digest VARCHAR(96) NOT NULL, md5 VARCHAR(32) NOT NULL, place VARCHAR(256) NOT NULL, reason REASON_TEXT
);
CREATE INDEX member_by_key ON member (member_key);
CREATE INDEX member_by_attempt ON member (attempt);

-- A source began to list a file, changed what it says of it, or stopped: listed, changed, gone; refused where it began
-- to, and the file's name is no good.
CREATE TABLE listing (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL,
    source VARCHAR(128) NOT NULL, listed_file BIGINT NOT NULL, path VARCHAR(1024) NOT NULL,
    event VARCHAR(16) NOT NULL, size BIGINT, modified TIME_TEXT, sidecar VARCHAR(1024) NOT NULL
);
CREATE INDEX listing_by_file ON listing (listed_file);

-- An entry refused whose name fits no table of its standard: it is on record here only.
CREATE TABLE refusal (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL,
    source VARCHAR(128) NOT NULL, path TEXT NOT NULL, path_digest VARCHAR(96) NOT NULL,
    reason REASON_TEXT NOT NULL
);
CREATE UNIQUE INDEX refusal_once ON refusal (source, path_digest, reason);

-- A step was begun for an item: without a later reading it is under way, or was cut.
CREATE TABLE step_start (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    step VARCHAR(32) NOT NULL
);
CREATE INDEX step_start_by_item ON step_start (item);

-- What a step made of a document. The first reading of (digest, step, version) is remembered: what it says is on record
-- for each item of these bytes, with its findings. One that stands for the end of a replay has no digest.
CREATE TABLE reading (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, item BIGINT NOT NULL,
    step VARCHAR(32) NOT NULL, version VARCHAR(128) NOT NULL, digest VARCHAR(96) NOT NULL,
    reason REASON_TEXT, number BIGINT NOT NULL, md5 VARCHAR(32) NOT NULL
);
CREATE INDEX reading_by_digest ON reading (digest, step, version);
CREATE INDEX reading_by_item ON reading (item);

-- An operator, or a listing, decided that an item is fetched again (retried) or ends where it stands (cancelled). A
-- document ends where it stands in both cases, since another fetch brings its successor.
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

-- Present state, derived: each row follows from the facts above and can be made again from them.

-- The step that an item waits for, failed at, or was ended before; what is through has no row. `step` is the phase of
-- the transfers where a file is to be fetched, and empty where a name was refused. `attempt` is the one whose capture it
-- is, or lies in, and `since` the fact by which it stands so.
CREATE TABLE pending_step (
    item BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, step VARCHAR(32) NOT NULL, status STATUS_INT NOT NULL,
    place VARCHAR(256) NOT NULL, attempt BIGINT NOT NULL, reason REASON_TEXT, since BIGINT NOT NULL
);
CREATE INDEX pending_step_due ON pending_step (collection, step, status, place, item);

-- A place of a listed file: what a source said of it when it was last listed, and whether it still lists it.
CREATE TABLE mirror (
    source VARCHAR(128) NOT NULL, listed_file BIGINT NOT NULL, path VARCHAR(1024) NOT NULL,
    present FLAG_INT NOT NULL, size BIGINT, modified TIME_TEXT, sidecar VARCHAR(1024) NOT NULL,
    PRIMARY KEY (source, listed_file)
);
CREATE INDEX mirror_by_file ON mirror (listed_file);

-- What is asked of hosts, and what came.

-- An origin (scheme, host and port) as one source of a collection asks it.
CREATE TABLE host (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL,
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, origin VARCHAR(512) NOT NULL
);
CREATE UNIQUE INDEX host_by_origin ON host (origin, collection, source);
CREATE INDEX host_by_source ON host (source);

-- Until when an origin asked to be left alone (seconds since 1970), whichever collection it said that to.
CREATE TABLE rest (origin VARCHAR(512) PRIMARY KEY, until BIGINT NOT NULL) WITHOUT ROWID;

-- An address belongs to a host, so that each source has every address it wants. Keyed by 64 bits of the hash of what is
-- asked: the URL alone for a plain GET. `via` is the address of the same collection that it was first found at, 0 for a
-- beginning; a low `place` goes first. What follows `place` is present state: when it is due (seconds since 1970; 0 for
-- never asked, 1 for next, NULL for never again), after how many seconds it was last thought to change (-1: only known
-- from elsewhere), its last attempt with a body, how many in a row failed; and the collection's own word for what lies
-- there. The rows stay in the order in which they were found.
CREATE TABLE address (
    digest BIGINT NOT NULL, host BIGINT NOT NULL, url VARCHAR(2048) NOT NULL, via BIGINT NOT NULL,
    place INTEGER NOT NULL, due BIGINT, pause BIGINT NOT NULL, capture BIGINT NOT NULL, failures INTEGER NOT NULL,
    kind INTEGER NOT NULL, PRIMARY KEY (digest, host)
);
CREATE INDEX address_due ON address (host, due, place);

-- What is asked at an address where that is no plain GET, and a text that its discovery gave it for itself.
-- `attachments` has, as JSON, where in the body which bytes of which attempt go; `seconds` is for how long at most.
CREATE TABLE request (
    digest BIGINT NOT NULL, host BIGINT NOT NULL, method VARCHAR(16) NOT NULL, headers TEXT NOT NULL,
    body BLOB NOT NULL, context TEXT NOT NULL, attachments TEXT NOT NULL, seconds DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (digest, host)
) WITHOUT ROWID;

-- One table of attempts, for all discoveries: what was asked, of which host, and what came of it.
-- What is asked is an address of the host (0 for its robots.txt), or a file that its source lists; `url` is spelled out
-- where no address of ours has it. `kind` is the collection's own word for it. `started` is the date of the record in the
-- archive, where there is one.
-- The end of an attempt is a fact too. That of an address is put on record with its begin: `end_seq` is `seq`, the
-- moment is `at`. That of a listed file is put on record on its own, since it may take hours: `end_seq` and `ended` are
-- written then, once, with all that follows; an attempt without them is under way, or was cut.
-- `received` are bytes over the line, where that is not `size`; `checksum` what a file beside it said of its bytes.
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
CREATE INDEX attempt_rules ON attempt (host, seq) WHERE address = 0;  -- found without a look at the host's pages
CREATE INDEX attempt_by_file ON attempt (listed_file) WHERE listed_file IS NOT NULL;
CREATE INDEX attempt_by_end ON attempt (end_seq) WHERE end_seq IS NOT seq;  -- those whose end is a fact of its own
CREATE INDEX attempt_by_digest ON attempt (digest) WHERE listed_file IS NOT NULL;

-- Attempts whose answer a step did not read, and not by the answer's fault: a later run reads it again. The reason, how
-- often in a row this version of the step failed so, and when last; the version is empty where an operator asked for
-- another attempt.
CREATE TABLE unread (
    attempt BIGINT NOT NULL, collection VARCHAR(32) NOT NULL, phase INTEGER NOT NULL, version VARCHAR(128) NOT NULL,
    reason REASON_TEXT NOT NULL, times INTEGER NOT NULL, at TIME_TEXT NOT NULL,
    PRIMARY KEY (attempt, phase)
);

-- What is found by requests: what each answer led to, what was learned of the sources, and what there is.

-- One answer that was followed, and how long it took. A source's last one is how far its following got.
CREATE TABLE followed (
    attempt BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, requests INTEGER NOT NULL,
    offers INTEGER NOT NULL, fresh INTEGER NOT NULL, reason REASON_TEXT, ending TEXT NOT NULL, findings TEXT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL
);
CREATE INDEX followed_by_source ON followed (collection, source, attempt);

-- What a discovery learned of a source, for itself, as JSON; and the answer that it was learned from, 0 where that is
-- not on record: it goes when the answer is taken down.
CREATE TABLE learned (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, name VARCHAR(128) NOT NULL, value TEXT NOT NULL,
    attempt BIGINT NOT NULL, PRIMARY KEY (collection, source, name)
) WITHOUT ROWID;

-- What an answer offers, and where in its plain body that lies; a length of -1 is the whole.
CREATE TABLE offered (
    attempt BIGINT NOT NULL, ordinal INTEGER NOT NULL, name VARCHAR(512) NOT NULL, part_offset BIGINT NOT NULL,
    part_length BIGINT NOT NULL, url VARCHAR(2048) NOT NULL, PRIMARY KEY (attempt, ordinal)
) WITHOUT ROWID;

-- What a source offered ever, and the answer that did so first.
CREATE TABLE offer_known (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, name VARCHAR(512) NOT NULL, attempt BIGINT NOT NULL,
    PRIMARY KEY (collection, source, name)
) WITHOUT ROWID;

-- Listings of all that a source has: the answers with which each began and ended.
CREATE TABLE whole_listing (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, began BIGINT NOT NULL, ended BIGINT PRIMARY KEY
);
CREATE INDEX whole_listing_by_source ON whole_listing (collection, source, ended);

-- An attempt whose step asks this of a service.
CREATE TABLE asked (
    attempt BIGINT NOT NULL, digest BIGINT NOT NULL, host BIGINT NOT NULL, PRIMARY KEY (attempt, digest, host)
) WITHOUT ROWID;
CREATE INDEX asked_by_request ON asked (digest, host);

-- WARC files of other makers; `place_offset` is how far its records are on record: the next one begins there.
CREATE TABLE intake (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    source VARCHAR(128) NOT NULL, warc VARCHAR(256) NOT NULL, size BIGINT NOT NULL, place_offset BIGINT NOT NULL
);
CREATE UNIQUE INDEX intake_by_warc ON intake (warc);
CREATE INDEX intake_by_source ON intake (source);

-- What people call them.
CREATE TABLE intake_name (intake BIGINT NOT NULL, name VARCHAR(1024) NOT NULL, PRIMARY KEY (intake, name));

-- Where bytes lie, by the digest that their own file gives them: what revisits refer to.
CREATE TABLE payload (
    spelled VARCHAR(160) PRIMARY KEY, digest VARCHAR(96) NOT NULL, size BIGINT NOT NULL,
    warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL, place_length BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX payload_by_digest ON payload (digest);

-- Revisits whose bytes no file has brought yet.
CREATE TABLE intake_waiting (
    intake BIGINT NOT NULL, place_offset BIGINT NOT NULL, spelled VARCHAR(160) NOT NULL,
    PRIMARY KEY (intake, place_offset)
);
CREATE INDEX intake_waiting_by_payload ON intake_waiting (spelled);

-- Captures that a collection takes though somebody else had them made: another collection of the workspace, or another
-- maker of WARC files.

-- Where a source looks for captures. `name` is a collection, a source as collection:source, or the path of a file.
-- `rules` is a digest of the rules by which lines were chosen (and of what the file was), `place` how far that got: a
-- attempt, a line of an index file, an offset in a WARC file; or -1 where a file is through.
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

-- Attempts that asked nobody, since the capture was there: whose source it is, the attempt that it was made in, the index
-- it was found by (0: it was there when it was to be asked for), and where the record was found. `original` is 0 for the
-- record of another maker, which was copied. `line` is what the index said of it, as a JSON list: its address, key and
-- file name are spelled as the index has them; the attempt has the address in its normal form. It is empty where no line
-- told of it, or where the capture was taken down.
CREATE TABLE captured (
    attempt BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, original BIGINT NOT NULL,
    capture_index INTEGER NOT NULL, warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL, line TEXT NOT NULL
);
CREATE UNIQUE INDEX captured_by_place ON captured (collection, warc, place_offset) WHERE capture_index <> 0;
CREATE INDEX captured_by_original ON captured (original) WHERE original <> 0;

-- Wanted lines of indexes whose record could not be had: where it should lie, the line (as a JSON list), why not, and the
-- attempt that says so.
CREATE TABLE capture_failed (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, capture_index INTEGER NOT NULL,
    warc VARCHAR(1024) NOT NULL, place_offset BIGINT NOT NULL, line TEXT NOT NULL, reason REASON_TEXT NOT NULL,
    address BIGINT NOT NULL, attempt BIGINT NOT NULL, PRIMARY KEY (collection, warc, place_offset)
) WITHOUT ROWID;
CREATE INDEX capture_failed_by_address ON capture_failed (address);

-- What was taken down: an address of a crawl, or with `host` all of an origin; by whom, and why. Nothing of it is asked
-- for again. `target` is how it is called, `holder` who ran the command.
CREATE TABLE tombstone (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    target VARCHAR(2048) NOT NULL, address BIGINT NOT NULL, host BIGINT NOT NULL, holder VARCHAR(256) NOT NULL,
    reason TEXT NOT NULL
);
CREATE INDEX tombstone_by_address ON tombstone (address, host);

-- What became of it: everything is gone ('done'), with what that was, or it may be asked for again ('lifted').
CREATE TABLE tombstone_end (
    seq BIGINT PRIMARY KEY, at TIME_TEXT NOT NULL, session BIGINT NOT NULL, tombstone BIGINT NOT NULL,
    event VARCHAR(16) NOT NULL, captures BIGINT NOT NULL, bytes BIGINT NOT NULL, records BIGINT NOT NULL
);
CREATE INDEX tombstone_end_by_tombstone ON tombstone_end (tombstone);

-- Which records of the archive are to be erased: a killed run's successor need not look for them, and could not find
-- what is erased by half. They stay here, since the files keep their lengths.
CREATE TABLE tombstone_span (
    tombstone BIGINT NOT NULL, warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL, place_length BIGINT NOT NULL,
    PRIMARY KEY (tombstone, warc, place_offset)
);
