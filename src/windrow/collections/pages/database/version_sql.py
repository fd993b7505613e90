"""SQL fragments that select the versions of pages; a search imports them without SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlalchemy as sa

ORIGINAL = """
(SELECT ou.str_url FROM duplicate_summary x
 JOIN entity_generation og ON og.entity_generation_id = x.duplicate_of_entity_generation_id
 JOIN url ou ON ou.url_id = og.url_id
 WHERE x.subject_entity_generation_id = g.entity_generation_id AND x.duplicate_status_end_unix_utc IS NULL LIMIT 1)
"""
"""The address of which the version is marked as a duplicate, or null."""

BESIDE = """
LEFT JOIN mimetype m ON m.mimetype_id = g.mimetype_id
LEFT JOIN url c ON c.url_id = g.canonical_url_id
LEFT JOIN redirect_summary r ON r.entity_generation_id = g.entity_generation_id
LEFT JOIN url t ON t.url_id = r.to_url_id
"""
"""The media type `m`, canonical address `c`, and redirect `r` with target `t` of a version `g`."""

_DESCRIBED = """
  n.marked_duplicate, n.text_pile_id, {said}.title, {said}.primary_headline, {said}.description,
  {said}.primary_language, {said}.time_created_unix_utc, {said}.time_updated_unix_utc,
  coalesce({said}.indexiness, 0) AS indexiness, {file}.mimetype_id, {file}.canonical_url_id
"""
_OWN = "n.entity_generation_id, n.entity_generation_uuid, n.url_id, n.url_fragment"
_LAST = f"""
(SELECT n.entity_generation_id AS version_id, {_OWN}, {{first}} AS first_seen_unix_utc, n.last_seen_unix_utc,
  n.confirmed_end_unix_utc, {_DESCRIBED.format(said="d", file="f")}, f.file_size
FROM entity_generation n LEFT JOIN document_description d ON d.entity_generation_id = n.entity_generation_id
LEFT JOIN file_summary f ON f.entity_generation_id = n.entity_generation_id)
"""
PLAIN = _LAST.format(first="n.first_seen_unix_utc")
"""The latest version of every generation, in the columns of the view `windrow_version`, from its first sight on."""
LATEST = _LAST.format(
    first="coalesce((SELECT max(p.confirmed_end_unix_utc) FROM windrow_past p"
    " WHERE p.entity_generation_id = n.entity_generation_id), n.first_seen_unix_utc)"
)
"""The latest version of every generation, from the end of the version before on."""
PAST = f"""
(SELECT -p.version_id AS version_id, {_OWN}, p.first_seen_unix_utc, p.last_seen_unix_utc, p.confirmed_end_unix_utc,
  {_DESCRIBED.format(said="w", file="w")}, NULL AS file_size
FROM windrow_past p JOIN entity_generation n ON n.entity_generation_id = p.entity_generation_id
JOIN windrow_wording w ON w.said = p.said)
"""
"""The versions before the latest. Query `PAST` and `LATEST` one by one: SQLite would materialise a view of both."""

_PAST = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_past'"


def versions(connection: sa.Connection) -> str:
    """Return the relation to select versions from: a database of another tool has no past versions."""
    return "windrow_version" if connection.exec_driver_sql(_PAST).scalar() else PLAIN
