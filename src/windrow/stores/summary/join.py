"""Pieces of SQL for all who read generations (as `g`): what the tables beside tell of one."""

ORIGINAL = """
(SELECT ou.str_url FROM duplicate_summary x
 JOIN entity_generation og ON og.entity_generation_id = x.duplicate_of_entity_generation_id
 JOIN url ou ON ou.url_id = og.url_id
 WHERE x.subject_entity_generation_id = g.entity_generation_id AND x.duplicate_status_end_unix_utc IS NULL LIMIT 1)
"""
"""The address that it is marked as a duplicate of, or null."""

BESIDE = """
LEFT JOIN document_description d ON d.entity_generation_id = g.entity_generation_id
LEFT JOIN file_summary f ON f.entity_generation_id = g.entity_generation_id
LEFT JOIN mimetype m ON m.mimetype_id = f.mimetype_id
LEFT JOIN url c ON c.url_id = f.canonical_url_id
LEFT JOIN redirect_summary r ON r.entity_generation_id = g.entity_generation_id
LEFT JOIN url t ON t.url_id = r.to_url_id
"""
"""Its description `d`, file `f` with media type `m` and canonical address `c`, and redirect `r` with target `t`."""
