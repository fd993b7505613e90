"""The types of elements in the two kinds of XML files, and the tables that they fill, as data.

They are taken from the three core schemas (`common`, `specimen_definition`, `procedure_definition`). Every element that
is more than a text in its parent has its own table, named in the singular; attributes and single texts are columns.
Names are in lower case, with underscores. Some differ further from those of the schemas:

- `centre` is `centre_specimen` or `centre_procedure`, as the schemas' types are called; `term` is `ontology_term`;
- `value` is `series_value` or `series_media_value`, depending on its parent; `dim` is `dimension`;
- `specimenID` of an experiment is a row of `experiment_specimen`, since an experiment may have several;
- `start`, `end` and a dimension's `id` have longer names, since SQL or each table's column `id` uses these words;
- for an element with several possible parents, `parent_table` names the table of its parent.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class ColumnKind(StrEnum):
    """The type of a column's values."""

    NAME = "name"  # text of at most `MAX_NAME_LENGTH` characters, fit for an index
    TEXT = "text"  # text of any length
    INTEGER = "integer"  # 64 bits, signed
    DOUBLE = "double"  # finite
    DECIMAL = "decimal"  # text: its digits as received; no number type in a database holds all of them
    BOOLEAN = "boolean"
    DATE = "date"  # spelled YYYY-MM-DD


MAX_NAME_LENGTH = 255
"""The maximum number of characters of a value in a column of the kind `NAME`."""


class Column(NamedTuple):
    """One column of a table; `indexed` says whether it has an index."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT
    indexed: bool = False


class ElementTable(NamedTuple):
    """The table of one type of element.

    Besides `columns`, it has the columns `id`, `parent_id`, `entity_id`, `submission_id` and `ordinal`. `entity` is the
    kind of record that begins with a row of this table, or empty if its rows are only parts of records. `parents` are
    the tables to which `parent_id` may refer (ids are unique over all tables).
    """

    name: str
    columns: tuple[Column, ...]
    parents: tuple[str, ...] = ()
    entity: str = ""


class CountTable(NamedTuple):
    """Which rows are counted for each submission and over all submissions, and by which columns (`keys`).

    Each of `queries` is a SELECT of `submission_id`, `entity_id` and the keys, which returns one row for each row to
    count. `{chosen}` in it is replaced by the condition that chooses the submissions. Names reserved by SQL are in
    double quotes.
    """

    keys: tuple[str, ...]
    queries: tuple[str, ...]


_NAMESPACE_PREFIX = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"
SPECIMEN_NAMESPACE = f"{_NAMESPACE_PREFIX}specimen"
PROCEDURE_NAMESPACE = f"{_NAMESPACE_PREFIX}procedure"

ROOT_TAGS = {
    "specimen": f"{{{SPECIMEN_NAMESPACE}}}centreSpecimenSet",
    "experiment": f"{{{PROCEDURE_NAMESPACE}}}centreProcedureSet",
}
"""The tag of the root element of each kind of document. Instead of a row, the root element has a submission."""


class ElementField(NamedTuple):
    """A column, and the location of its text: an attribute (`@x`), a child (`x`), or the element's own text (`.`)."""

    location: str
    column: Column


class Element(NamedTuple):
    """A type of element. `children` are (name, table) of elements in it; `entity` is its kind of record, or empty."""

    table: str
    fields: tuple[ElementField, ...]
    children: tuple[tuple[str, str], ...] = ()
    entity: str = ""


def _field(location: str, name: str, kind: ColumnKind = ColumnKind.TEXT) -> ElementField:
    return ElementField(location, Column(name, kind))


def _id_field(location: str, name: str, *, indexed: bool = True) -> ElementField:
    return ElementField(location, Column(name, ColumnKind.NAME, indexed))


_SEQUENCE_FIELD = _field("@sequenceID", "sequence_id", ColumnKind.INTEGER)
_PARAMETER_FIELD = _id_field("@parameterID", "parameter_id")
_STATUS_FIELD = _field("parameterStatus", "parameter_status")
_MEDIA_FIELDS = (_field("@URI", "uri"), _field("@fileType", "file_type"), _field("@link", "link"))
_MEDIA_CHILDREN = (("parameterAssociation", "parameter_association"), ("procedureMetadata", "procedure_metadata"))

_SPECIMEN_FIELDS = (
    _id_field("@specimenID", "specimen_id"),
    _id_field("@colonyID", "colony_id"),
    _id_field("@strainID", "strain_id"),
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
_CHROMOSOME_FIELDS = (_field("@start", "start_position"), _field("@end", "end_position"), _field("@species", "species"))

ELEMENTS: dict[str, Element] = {
    element.table: element
    for element in (
        # specimens
        Element("centre_specimen", (_id_field("@centreID", "centre_id"),), (("mouse", "mouse"), ("embryo", "embryo"))),
        Element(
            "mouse", (*_SPECIMEN_FIELDS, _field("@DOB", "dob", ColumnKind.DATE)), _SPECIMEN_CHILDREN, entity="specimen"
        ),
        Element(
            "embryo",
            (*_SPECIMEN_FIELDS, _field("@stage", "stage"), _field("@stageUnit", "stage_unit")),
            _SPECIMEN_CHILDREN,
            entity="specimen",
        ),
        Element("related_specimen", (_id_field("@specimenID", "specimen_id"), _field("@relationship", "relationship"))),
        Element(
            "genotype",
            (
                _id_field("@MGIGeneId", "mgi_gene_id"),
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
        Element("chromosome_added", _CHROMOSOME_FIELDS),
        Element("chromosome_removed", _CHROMOSOME_FIELDS),
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
                _id_field("@centreID", "centre_id"),
                _id_field("@pipeline", "pipeline", indexed=False),
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
            (_id_field("@colonyID", "colony_id"), _id_field("@sequenceID", "sequence_id", indexed=False)),
            (("procedure", "procedure"), ("statusCode", "status_code")),
            entity="line",
        ),
        Element(
            "experiment",
            (
                _id_field("@experimentID", "experiment_id"),
                _id_field("@sequenceID", "sequence_id", indexed=False),
                _field("@dateOfExperiment", "date_of_experiment", ColumnKind.DATE),
            ),
            (("specimenID", "experiment_specimen"), ("procedure", "procedure"), ("statusCode", "status_code")),
            entity="experiment",
        ),
        Element("experiment_specimen", (_id_field(".", "specimen_id"),)),
        Element(
            "procedure",
            (_id_field("@procedureID", "procedure_id"),),
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
            (_PARAMETER_FIELD, _SEQUENCE_FIELD, _field("@unit", "unit"), _field("value", "value"), _STATUS_FIELD),
        ),
        Element("ontology_parameter", (_PARAMETER_FIELD, _SEQUENCE_FIELD, _STATUS_FIELD), (("term", "ontology_term"),)),
        Element("ontology_term", (_field(".", "term"),)),
        Element(
            "series_parameter",
            (_PARAMETER_FIELD, _SEQUENCE_FIELD, _field("@unit", "unit"), _STATUS_FIELD),
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
        Element("media_parameter", (_PARAMETER_FIELD, *_MEDIA_FIELDS, _STATUS_FIELD), _MEDIA_CHILDREN),
        Element("media_sample_parameter", (_PARAMETER_FIELD, _STATUS_FIELD), (("mediaSample", "media_sample"),)),
        Element("media_sample", (_field("@localId", "local_id"),), (("mediaSection", "media_section"),)),
        Element("media_section", (_field("@localId", "local_id"),), (("mediaFile", "media_file"),)),
        Element("media_file", (_field("@localId", "local_id"), *_MEDIA_FIELDS), _MEDIA_CHILDREN),
        Element(
            "series_media_parameter",
            (_PARAMETER_FIELD, _STATUS_FIELD),
            (("value", "series_media_value"), ("procedureMetadata", "procedure_metadata")),
        ),
        Element("series_media_value", (_field("@incrementValue", "increment_value"), *_MEDIA_FIELDS), _MEDIA_CHILDREN),
        Element(
            "parameter_association",
            (_PARAMETER_FIELD, _SEQUENCE_FIELD, _field("@link", "link")),
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
        Element("procedure_metadata", (_PARAMETER_FIELD, _SEQUENCE_FIELD, _field("value", "value"), _STATUS_FIELD)),
    )
}
"""A dict from the name of each table to the type of its elements."""

CENTRE_TABLES = {"specimen": "centre_specimen", "experiment": "centre_procedure"}
"""A dict from the kind of a document to the table of its element `centre`."""


def parent_tables(table: str) -> tuple[str, ...]:
    """Return the tables whose elements may contain elements of this table."""
    return tuple(name for name, element in ELEMENTS.items() if any(child == table for _, child in element.children))


def element_columns(element: Element) -> tuple[Column, ...]:
    """Return the columns of an element's table that have data from the document, in the order of a row's cells."""
    field_columns = tuple(field.column for field in element.fields)
    return (
        (Column("parent_table", ColumnKind.NAME), *field_columns)
        if len(parent_tables(element.table)) > 1
        else field_columns
    )


TABLES = tuple(
    ElementTable(name, element_columns(element), parent_tables(name), entity=element.entity)
    for name, element in ELEMENTS.items()
)
"""The tables for elements that the store creates."""


_RECORD_TABLES = ("experiment", "line", "housing")
_PARAMETER_TABLES = tuple(
    name
    for name, element in ELEMENTS.items()
    if name != "parameter_association" and any(field.column.name == "parameter_id" for field in element.fields)
)

# A record has at most one procedure, and its own row has the entity's id. So both are found by the entity's id from a
# parameter at any depth, such as the metadata of a media file. SQLite follows the order of a CROSS JOIN: it looks
# first at the records, of which a document has few.
_PARAMETER_QUERY = """
    SELECT t.submission_id, t.id AS entity_id, c.centre_id AS centre, c.pipeline AS pipeline,
      p.procedure_id AS "procedure", v.parameter_id AS parameter
    FROM {record} t
    CROSS JOIN {table} v
    JOIN "procedure" p ON p.parent_id = t.id
    JOIN centre_procedure c ON c.id = t.parent_id
    WHERE v.entity_id = t.id AND {{chosen}}"""

_SPECIMEN_QUERY = """
    SELECT t.submission_id, t.entity_id, c.centre_id AS centre, t.pipeline AS pipeline,
      '' AS "procedure", '' AS parameter
    FROM {table} t
    JOIN centre_specimen c ON c.id = t.parent_id
    WHERE {{chosen}}"""

SUMMARY_COUNTS = CountTable(
    keys=("centre", "pipeline", "procedure", "parameter"),
    queries=(
        *(
            _PARAMETER_QUERY.format(table=table, record=record)
            for table in _PARAMETER_TABLES
            for record in _RECORD_TABLES
        ),
        *(_SPECIMEN_QUERY.format(table=table) for table in ("mouse", "embryo")),
    ),
)
"""The rows that are counted in the tables `context` (by document) and `overview` (over all documents)."""
