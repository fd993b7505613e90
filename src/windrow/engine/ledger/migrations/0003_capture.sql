-- What a capture's record in the archive says of itself: its date, and its media type.
-- For captures put on record before, the date is not known and the type guessed from the name.
ALTER TABLE fetch_end ADD COLUMN dated VARCHAR(32) NOT NULL DEFAULT '';
ALTER TABLE fetch_end ADD COLUMN mime VARCHAR(128) NOT NULL DEFAULT '';
