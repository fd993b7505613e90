"""The element types of the two kinds of documents, and the tables that they fill, as data.

Written after the three core schemas (`common`, `specimen_definition`, `procedure_definition`).
Every element that is more than a text of its parent has a table of its own, named in the singular;
attributes and single texts are columns. What differs from the schemas' own names, and why:

- `centre` is `centre_specimen` or `centre_procedure`, as the schemas' types are called;
- `value` is `series_value` or `series_media_value` by its parent; `dim` is `dimension`;
- `specimenID` of an experiment is a row of `experiment_specimen`: an experiment may have many;
- `start`, `end` and a dimension's `id` have longer names: SQL, or our own `id`, has taken these;
- an element with several possible parents says in `parent_table` which one it is in.

A collection declares `ElementTable`s and a `CountTable`; a store creates them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class ColumnKind(StrEnum):
    """The type of a column's values."""

    NAME = "name"  # text of at most `NAME_LIMIT` characters, fit for an index
    TEXT = "text"  # text of any length
    INTEGER = "integer"  # 64 bits, signed
    DOUBLE = "double"  # finite
    DECIMAL = "decimal"  # text: its digits as received; no engine's own type holds all of them
    BOOLEAN = "boolean"
    DATE = "date"  # spelled YYYY-MM-DD


NAME_LIMIT = 255
"""Most characters of a NAME."""


class Column(NamedTuple):
    """One column; `indexed` if rows are looked up by it."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT
    indexed: bool = False


class ElementTable(NamedTuple):
    """The rows of one type of element.

    Every such table also has `id`, `parent_id`, `entity_id`, `submission_id` and `ordinal`.
    `entity` is the kind of entity whose first row is in this table; empty if its rows are only parts of one; `parents`
    the tables in which `parent_id` is found (ids are unique over all tables).
    """

    name: str
    columns: tuple[Column, ...]
    parents: tuple[str, ...] = ()
    entity: str = ""


class CountTable(NamedTuple):
    """The numbers of rows by some keys, stored for every submission and for all of them.

    Each of `queries` is a SELECT of `submission_id`, `entity_id` and the keys, for the
    submissions that meet the condition `{chosen}`; names in it that SQL reserves are in double quotes.
    """

    keys: tuple[str, ...]
    queries: tuple[str, ...]


ROOT = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"
SPECIMEN = f"{ROOT}specimen"
PROCEDURE = f"{ROOT}procedure"
"""The namespaces of the two kinds of documents."""

ROOTS = {"specimen": f"{{{SPECIMEN}}}centreSpecimenSet", "experiment": f"{{{PROCEDURE}}}centreProcedureSet"}
"""The root element of each kind. It has no attributes and no row: its place is the submission."""


class ElementField(NamedTuple):
    """One column and where its text is: an attribute `@x`, a child `x`, or the element's own text `.`."""

    place: str
    column: Column


class Element(NamedTuple):
    """One element type: its table, its fields and the elements in it by their names."""

    table: str
    fields: tuple[ElementField, ...]
    children: tuple[tuple[str, str], ...] = ()
    entity: str = ""


def _field(place: str, name: str, kind: ColumnKind = ColumnKind.TEXT) -> ElementField:
    return ElementField(place, Column(name, kind))


def _name(place: str, name: str, *, indexed: bool = True) -> ElementField:
    return ElementField(place, Column(name, ColumnKind.NAME, indexed))


_SEQUENCE = _field("@sequenceID", "sequence_id", ColumnKind.INTEGER)
_PARAMETER = _name("@parameterID", "parameter_id")
_STATUS = _field("parameterStatus", "parameter_status")
_MEDIA = (_field("@URI", "uri"), _field("@fileType", "file_type"), _field("@link", "link"))
_NOTES = (("parameterAssociation", "parameter_association"), ("procedureMetadata", "procedure_metadata"))

_SPECIMEN_FIELDS = (
    _name("@specimenID", "specimen_id"),
    _name("@colonyID", "colony_id"),
    _name("@strainID", "strain_id"),
    _field("@isBaseline", "is_baseline", ColumnKind.BOOLEAN),
    _field("@gender", "gender"),
    _field("@zygosity", "zygosity"),
    _field("@litterId", "litter_id"),
    _field("@pipeline", "pipeline"),
    _field("@productionCentre", "production_centre"),
    _field("@phenotypingCentre", "phenotyping_centre"),
    _field("@project", "project"),
)
_SPECIMEN_CHILDREN = (
    ("relatedSpecimen", "related_specimen"),
    ("genotype", "genotype"),
    ("chromosomalAlteration", "chromosomal_alteration"),
    ("parentalStrain", "parental_strain"),
    ("statusCode", "status_code"),
)
_CHROMOSOME = (
    _field("@start", "start_position"),
    _field("@end", "end_position"),
    _field("@species", "species"),
)

ELEMENTS: dict[str, Element] = {
    element.table: element
    for element in (
        # specimens
        Element(
            "centre_specimen",
            (_name("@centreID", "centre_id"),),
            (("mouse", "mouse"), ("embryo", "embryo")),
        ),
        Element(
            "mouse",
            (*_SPECIMEN_FIELDS, _field("@DOB", "dob", ColumnKind.DATE)),
            _SPECIMEN_CHILDREN,
            entity="specimen",
        ),
        Element(
            "embryo",
            (*_SPECIMEN_FIELDS, _field("@stage", "stage"), _field("@stageUnit", "stage_unit")),
            _SPECIMEN_CHILDREN,
            entity="specimen",
        ),
        Element(
            "related_specimen",
            (_name("@specimenID", "specimen_id"), _field("@relationship", "relationship")),
        ),
        Element(
            "genotype",
            (
                _name("@MGIGeneId", "mgi_gene_id"),
                _field("@geneSymbol", "gene_symbol"),
                _field("@MGIAlleleId", "mgi_allele_id"),
                _field("@fatherZygosity", "father_zygosity"),
                _field("@motherZygosity", "mother_zygosity"),
            ),
        ),
        Element(
            "chromosomal_alteration",
            (),
            (("chromosomeAdded", "chromosome_added"), ("chromosomeRemoved", "chromosome_removed")),
        ),
        Element("chromosome_added", _CHROMOSOME),
        Element("chromosome_removed", _CHROMOSOME),
        Element(
            "parental_strain",
            (
                _field("@percentage", "percentage", ColumnKind.DOUBLE),
                _field("@MGIStrainID", "mgi_strain_id"),
                _field("@gender", "gender"),
                _field("@level", "level", ColumnKind.INTEGER),
            ),
        ),
        Element("status_code", (_field(".", "value"), _field("@date", "date", ColumnKind.DATE))),
        # experiments
        Element(
            "centre_procedure",
            (
                _name("@centreID", "centre_id"),
                _name("@pipeline", "pipeline", indexed=False),
                _field("@project", "project"),
            ),
            (("housing", "housing"), ("line", "line"), ("experiment", "experiment")),
        ),
        Element(
            "housing",
            (
                _field("@fromLIMS", "from_lims", ColumnKind.BOOLEAN),
                _field("@lastUpdated", "last_updated", ColumnKind.DATE),
            ),
            (("procedure", "procedure"),),
            entity="housing",
        ),
        Element(
            "line",
            (_name("@colonyID", "colony_id"), _name("@sequenceID", "sequence_id", indexed=False)),
            (("procedure", "procedure"), ("statusCode", "status_code")),
            entity="line",
        ),
        Element(
            "experiment",
            (
                _name("@experimentID", "experiment_id"),
                _name("@sequenceID", "sequence_id", indexed=False),
                _field("@dateOfExperiment", "date_of_experiment", ColumnKind.DATE),
            ),
            (
                ("specimenID", "experiment_specimen"),
                ("procedure", "procedure"),
                ("statusCode", "status_code"),
            ),
            entity="experiment",
        ),
        Element("experiment_specimen", (_name(".", "specimen_id"),)),
        Element(
            "procedure",
            (_name("@procedureID", "procedure_id"),),
            (
                ("simpleParameter", "simple_parameter"),
                ("ontologyParameter", "ontology_parameter"),
                ("seriesParameter", "series_parameter"),
                ("mediaParameter", "media_parameter"),
                ("mediaSampleParameter", "media_sample_parameter"),
                ("seriesMediaParameter", "series_media_parameter"),
                ("procedureMetadata", "procedure_metadata"),
            ),
        ),
        Element(
            "simple_parameter",
            (_PARAMETER, _SEQUENCE, _field("@unit", "unit"), _field("value", "value"), _STATUS),
        ),
        Element("ontology_parameter", (_PARAMETER, _SEQUENCE, _STATUS), (("term", "ontology_term"),)),
        Element("ontology_term", (_field(".", "term"),)),
        Element(
            "series_parameter",
            (_PARAMETER, _SEQUENCE, _field("@unit", "unit"), _STATUS),
            (("value", "series_value"),),
        ),
        Element(
            "series_value",
            (
                _field("@incrementValue", "increment_value"),
                _field(".", "value"),
                _field("@incrementStatus", "increment_status"),
            ),
        ),
        Element("media_parameter", (_PARAMETER, *_MEDIA, _STATUS), _NOTES),
        Element("media_sample_parameter", (_PARAMETER, _STATUS), (("mediaSample", "media_sample"),)),
        Element("media_sample", (_field("@localId", "local_id"),), (("mediaSection", "media_section"),)),
        Element("media_section", (_field("@localId", "local_id"),), (("mediaFile", "media_file"),)),
        Element("media_file", (_field("@localId", "local_id"), *_MEDIA), _NOTES),
        Element(
            "series_media_parameter",
            (_PARAMETER, _STATUS),
            (("value", "series_media_value"), ("procedureMetadata", "procedure_metadata")),
        ),
        Element("series_media_value", (_field("@incrementValue", "increment_value"), *_MEDIA), _NOTES),
        Element(
            "parameter_association",
            (_PARAMETER, _SEQUENCE, _field("@link", "link")),
            (("dim", "dimension"),),
        ),
        Element(
            "dimension",
            (
                _field("@id", "dimension_id"),
                _field(".", "value", ColumnKind.DECIMAL),
                _field("@origin", "origin"),
                _field("@unit", "unit"),
            ),
        ),
        Element("procedure_metadata", (_PARAMETER, _SEQUENCE, _field("value", "value"), _STATUS)),
    )
}
"""Every element type by its table, parents before their children."""

CENTRES = {"specimen": "centre_specimen", "experiment": "centre_procedure"}
"""The table of `centre` in each kind of document."""


def parents(table: str) -> tuple[str, ...]:
    """Return the tables whose elements may contain elements of this table."""
    return tuple(name for name, element in ELEMENTS.items() if any(child == table for _, child in element.children))


def columns(element: Element) -> tuple[Column, ...]:
    """Return the columns of an element's table, in the order of its rows."""
    field_columns = tuple(field.column for field in element.fields)
    return (
        (Column("parent_table", ColumnKind.NAME), *field_columns) if len(parents(element.table)) > 1 else field_columns
    )


TABLES = tuple(
    ElementTable(name, columns(element), parents(name), entity=element.entity) for name, element in ELEMENTS.items()
)
"""The tables that the store creates."""


_RECORDS = ("experiment", "line", "housing")
_PARAMETERS = tuple(
    name
    for name, element in ELEMENTS.items()
    if name != "parameter_association" and any(field.column.name == "parameter_id" for field in element.fields)
)

# A record holds one procedure at most and begins its entity, so that both are found by the entity's
# id from any depth: a parameter, or a metadata of a media file within it. The records of a document are few and looked
# at first; SQLite keeps to the order of a CROSS JOIN.
_OF_PARAMETERS = """
    SELECT t.submission_id, t.id AS entity_id, c.centre_id AS centre, c.pipeline AS pipeline,
      p.procedure_id AS "procedure", v.parameter_id AS parameter
    FROM {record} t
    CROSS JOIN {table} v
    JOIN "procedure" p ON p.parent_id = t.id
    JOIN centre_procedure c ON c.id = t.parent_id
    WHERE v.entity_id = t.id AND {{chosen}}"""

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
