-- To find media types by name and by each parameter: some servers send a different parameter for every page.
CREATE INDEX IF NOT EXISTS windrow_mimetype_by_name ON mimetype (mime_type, mime_subtype);
CREATE INDEX IF NOT EXISTS windrow_mime_parameter_by_value ON mime_parameter (value, name);
