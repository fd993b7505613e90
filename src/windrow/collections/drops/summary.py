"""What is counted of loaded documents: parameters by centre, pipeline, procedure and parameter.

Specimens are counted too, by centre and pipeline, with empty procedure and parameter.
"""

from __future__ import annotations

from windrow.collections.drops.element import ELEMENTS
from windrow.shape import CountTable

_RECORDS = ("experiment", "line", "housing")
_PARAMETERS = tuple(
    name
    for name, element in ELEMENTS.items()
    if name != "parameter_association" and any(field.column.name == "parameter_id" for field in element.fields)
)

# A record holds one procedure at most and begins its entity, so that both are found by the entity's
# id from any depth: a parameter, or a metadata of a media file within it.
_OF_PARAMETERS = """
    SELECT t.submission_id, t.entity_id, c.centre_id AS centre, c.pipeline AS pipeline,
      p.procedure_id AS "procedure", t.parameter_id AS parameter
    FROM {table} t
    JOIN {record} r ON r.id = t.entity_id
    JOIN "procedure" p ON p.parent_id = r.id
    JOIN centre_procedure c ON c.id = r.parent_id
    WHERE {{chosen}}"""

_OF_SPECIMENS = """
    SELECT t.submission_id, t.entity_id, c.centre_id AS centre, t.pipeline AS pipeline,
      '' AS "procedure", '' AS parameter
    FROM {table} t
    JOIN centre_specimen c ON c.id = t.parent_id
    WHERE {{chosen}}"""

SUMMARY = CountTable(
    keys=("centre", "pipeline", "procedure", "parameter"),
    queries=(
        *(_OF_PARAMETERS.format(table=table, record=record) for table in _PARAMETERS for record in _RECORDS),
        *(_OF_SPECIMENS.format(table=table) for table in ("mouse", "embryo")),
    ),
)
"""For the tables `context` (by document) and `overview`."""
