-- What pages call themselves, by the hash that `windrow_observation.said` has: title, headline, description and
-- canonical address may change while the text stays, and with it the generation.
CREATE TABLE IF NOT EXISTS windrow_wording (
  said BLOB PRIMARY KEY,
  title TEXT,
  primary_headline TEXT,
  description TEXT,
  canonical_url_id INTEGER REFERENCES url
) WITHOUT ROWID;

-- The wordings of each generation, since when each was seen. The first is that of its first crawl.
CREATE VIEW IF NOT EXISTS windrow_version AS
SELECT o.url_id, o.entity_generation_id, o.at AS first_seen_unix_utc, o.said, w.title, w.primary_headline,
  w.description, w.canonical_url_id
FROM (
  SELECT url_id, entity_generation_id, at, said,
    lag(said) OVER (PARTITION BY url_id, entity_generation_id ORDER BY at, crawl_uuid) AS before
  FROM windrow_observation WHERE said <> x'' AND entity_generation_id IS NOT NULL
) o JOIN windrow_wording w ON w.said = o.said
WHERE o.before IS NOT o.said;
