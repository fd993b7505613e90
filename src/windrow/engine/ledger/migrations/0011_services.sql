-- What is asked of services: kept documents that are sent with a request, and for which documents it is asked.

-- `attachments` has, as JSON, where in the body which bytes of which visit go; `seconds` is for how long at most.
ALTER TABLE request ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
ALTER TABLE request ADD COLUMN seconds DOUBLE PRECISION NOT NULL DEFAULT 0;

-- A visit whose step asks this of a service.
CREATE TABLE asked (
    visit BIGINT NOT NULL, digest BIGINT NOT NULL, host BIGINT NOT NULL, PRIMARY KEY (visit, digest, host)
) WITHOUT ROWID;
CREATE INDEX asked_by_request ON asked (digest, host);
INSERT INTO asked SELECT v.seq, a.digest, a.host FROM request r
JOIN address a ON a.digest = r.digest AND a.host = r.host AND a.kind = 3
JOIN host h ON h.seq = a.host JOIN host g ON g.collection = h.collection
JOIN visit v ON v.host = g.seq AND v.address = a.via AND v.warc <> '';
