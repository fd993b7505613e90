"""Whether the tables of a Summary Database agree with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import sqlalchemy as sa

from windrow.collections.pages.database.entries import hash_of_links
from windrow.stores.connect import READS, guarded

Digest = Callable[[Sequence[str]], bytes]
"""The digest of a text pile's six fields."""

_FEW = 5  # examples of one kind of fault

_NONE = "NOT EXISTS (SELECT 1 FROM {} n WHERE n.entity_generation_id = g.entity_generation_id)"

_RULES = {
    "have two versions open at once": """
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE g.confirmed_end_unix_utc IS NULL GROUP BY g.url_id, g.url_fragment HAVING count(*) > 1""",
    "have versions that overlap in time": """
        SELECT u.str_url FROM (
          SELECT url_id, coalesce(confirmed_end_unix_utc, last_seen_unix_utc) AS ended, lead(first_seen_unix_utc) OVER (
            PARTITION BY url_id, url_fragment ORDER BY first_seen_unix_utc, entity_generation_id) AS following
          FROM entity_generation) g JOIN url u ON u.url_id = g.url_id WHERE following < ended""",
    "have a version that ended before it was last seen": """
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE g.confirmed_end_unix_utc < g.last_seen_unix_utc""",
    "are marked as duplicates of nothing, or are duplicates without the mark": """
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE (g.marked_duplicate <> 0) <> EXISTS (SELECT 1 FROM duplicate_summary d
          WHERE d.subject_entity_generation_id = g.entity_generation_id AND d.duplicate_status_end_unix_utc IS NULL)""",
    "stand for others and are duplicates themselves": """
        SELECT u.str_url FROM duplicate_summary d
        JOIN entity_generation g ON g.entity_generation_id = d.duplicate_of_entity_generation_id
        JOIN url u ON u.url_id = g.url_id WHERE d.duplicate_status_end_unix_utc IS NULL AND g.marked_duplicate""",
    "have a crawl twice": """
        SELECT u.str_url FROM crawl_summary c
        JOIN entity_generation g ON g.entity_generation_id = c.entity_generation_id JOIN url u ON u.url_id = g.url_id
        GROUP BY c.crawl_uuid, g.url_id, g.url_fragment HAVING count(*) > 1""",
    "have a version that no crawl saw": """
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id WHERE NOT EXISTS (
          SELECT 1 FROM crawl_summary c WHERE c.entity_generation_id = g.entity_generation_id)""",
    "have a crawl without its answer": """
        SELECT u.str_url FROM crawl_summary c
        JOIN entity_generation g ON g.entity_generation_id = c.entity_generation_id JOIN url u ON u.url_id = g.url_id
        WHERE NOT EXISTS (SELECT 1 FROM http_summary h WHERE h.crawl_summary_id = c.crawl_summary_id)""",
    "have a version that is neither a file nor a redirect": f"""
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id WHERE {_NONE.format("file_summary")}
          AND (g.text_pile_id IS NOT NULL OR {_NONE.format("redirect_summary")})""",
    "have a text without a description": f"""
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE g.text_pile_id IS NOT NULL AND {_NONE.format("document_description")}""",
}

_OPEN = """
EXISTS (SELECT 1 FROM entity_generation o WHERE o.entity_generation_id = {} AND o.confirmed_end_unix_utc IS NULL)
"""
_SETTLED = "NOT EXISTS (SELECT 1 FROM windrow_touched)"  # else a run was stopped, and the next one goes on
_NAMED = "SELECT coalesce(u.str_url, 'a version that is gone') FROM {} n"
_NAMED += " LEFT JOIN entity_generation g ON g.entity_generation_id = n.generation_id LEFT JOIN url u USING (url_id)"
_BESIDE = {
    "windrow_observation": {
        "have lost their links": f"""
            SELECT u.str_url FROM windrow_observation o JOIN url u ON u.url_id = o.url_id
            JOIN entity_generation g ON g.entity_generation_id = o.entity_generation_id
            WHERE o.linked NOT IN (x'', x'{hash_of_links(()).hex()}') AND {_NONE.format("link_summary")}
              AND o.at = (SELECT max(p.at) FROM windrow_observation p WHERE p.url_id = o.url_id AND p.linked <> x''
                AND p.entity_generation_id = o.entity_generation_id)"""
    },
    "windrow_near_duplicate": {
        "are near-duplicates of what has ended, or is one itself": f"""
            {_NAMED.format("windrow_near_duplicate")} WHERE {_SETTLED} AND NOT (
              {_OPEN.format("n.generation_id")} AND {_OPEN.format("n.other_id")}
              AND n.other_id NOT IN (SELECT generation_id FROM windrow_near_duplicate))"""
    },
    "windrow_representative": {
        "are stood for by what has ended, or does not stand for itself": f"""
            {_NAMED.format("windrow_representative")} WHERE {_SETTLED} AND NOT (
              {_OPEN.format("n.generation_id")} AND EXISTS (SELECT 1 FROM windrow_representative r
                WHERE r.generation_id = n.representative_id AND r.representative_id = n.representative_id))"""
    },
}
"""Rules for tables of our own, where they are there."""

_PILES = (
    "SELECT text_pile_id, blake2b512_digest, text, secondary_text, big_headlines, small_headlines, code_text,"
    " quote_text FROM text_pile"
)


def reached(engine: sa.Engine) -> int:
    """Return the ledger's number of the last visit that a Summary Database tells of, 0 where it does not say."""
    sql = "SELECT value FROM unobtanium_database_info WHERE key = 'windrow.visit'"
    with guarded(engine), engine.connect().execution_options(**READS) as link:
        return int(link.exec_driver_sql(sql).scalar() or 0)


def faults(engine: sa.Engine, digest: Digest) -> Iterator[str]:
    """Yield what does not agree, a line each, with some addresses; reads every text once. Raises StoreError."""
    with guarded(engine), engine.connect().execution_options(**READS, stream_results=True) as link, link.begin():
        told = link.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if told != "ok":
            yield f"the file is damaged: {told}"
            return
        for table, _, parent, _ in link.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(_FEW):
            yield f"a row of {table} refers to a row of {parent} that is not there"
        there = {row[0] for row in link.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
        rules = dict(_RULES)
        for table, some in _BESIDE.items():
            rules |= some if table in there else {}
        for what, sql in rules.items():
            found = [str(row[0]) for row in link.exec_driver_sql(f"SELECT DISTINCT * FROM ({sql}) LIMIT {_FEW + 1}")]
            if found:
                more = " and others" if len(found) > _FEW else ""
                yield f"{', '.join(found[:_FEW])}{more} {what}"
        for pile, name, *fields in link.exec_driver_sql(_PILES):
            if digest(fields) != name:
                yield f"text pile {pile} is not the text that its digest names"
