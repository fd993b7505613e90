-- Media types are found by their names and by each of their parameters: a server may make one up for every page.
CREATE INDEX IF NOT EXISTS windrow_mimetype_by_name ON mimetype (mime_type, mime_subtype);
CREATE INDEX IF NOT EXISTS windrow_mime_parameter_by_value ON mime_parameter (value, name);
