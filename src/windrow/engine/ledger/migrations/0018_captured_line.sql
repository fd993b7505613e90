-- What the index said of a capture of another maker that was taken: the line, as a JSON list. Its address, key and file
-- name are spelled as the index has them; the visit has the address in its normal form. Empty where no line told of it,
-- or where the capture was taken down.
ALTER TABLE captured ADD COLUMN line TEXT NOT NULL DEFAULT '';
