"""The step `upload`: turn a valid XML file into rows, one for each element that has a table, and identify its records.

A large document is read as a stream, and the tree of each record is freed once its rows are made; a small document is
parsed as a whole, which takes half the time. An element with neither table nor column, or an attribute without a
column, is refused with its document.

In a document, a root element contains centres, and a centre contains records. Rows are numbered from 0 in the order of
their elements; a row is (its number, its parent's number, its record's number, its ordinal among its siblings, cells).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

from windrow.caps import STORED_FINDINGS
from windrow.collections.drops import documents
from windrow.collections.drops.documents import PARSERS, Node, ParseText, line_number, parse_document
from windrow.collections.drops.elements import CENTRE_TABLES, ELEMENTS, ROOT_TAGS, Element, parent_tables
from windrow.contract import Entity, Rows, Task
from windrow.errors import StepError
from windrow.formats.text import counted
from windrow.model import Finding, Level, Limits
from windrow.reasons import Reason

Row = tuple[Any, ...]
ROOT_DEPTH, CENTRE_DEPTH, RECORD_DEPTH = 1, 2, 3
MAX_TREE_BYTES = 1 << 20
"""The maximum size, in bytes, of a document that is parsed as a whole. Its tree needs about ten times as many bytes."""


class ElementPlan(NamedTuple):
    """How to read the elements with one tag, prepared once because that is faster. Columns are given by their index."""

    table: str
    empty_cells: tuple[str | None, ...]  # all None, except for the content of the column `parent_table`
    attributes: dict[str, tuple[int, ParseText | None]]  # by name: the column, and the parser of its text
    text_columns: dict[str, int]  # by tag: the column of a child that is only a text
    own_text_column: int  # the column of the element's own text, or -1
    parse_own_text: ParseText | None
    children: dict[str, ElementPlan]  # by tag
    entity: str  # the kind of record that the element is, or empty


def read_rows(task: Task) -> Rows:
    """Return the rows of the document of `task` for the tables of `elements.TABLES`.

    Raises StepError if the document cannot be parsed, has the wrong root, too many elements or one with neither table
    nor column, or has a text that its column does not accept, such as an id of more than 255 characters.
    """
    return RowReader(task.limits).read(task.view)


class RowReader:
    """Collects the rows and records of one document."""

    def __init__(self, limits: Limits) -> None:
        """Take the limits; a document with more than `limits.elements` elements is refused."""
        self._limits = limits
        self._max_elements = limits.elements
        self._row_count = 0
        self._tables: dict[str, list[Row]] = {name: [] for name in ELEMENTS}
        self._entities: list[Entity] = []
        self._last_lines: dict[tuple[str, str], Any] = {}  # numbers, by a record's kind and identifier
        self._repeated = 0
        self._findings: list[Finding] = []  # about repeated records

    def read(self, view: BinaryIO) -> Rows:
        """Return the rows and records of the whole document; raise StepError if it is refused."""
        content = documents.read_all(view)
        if len(content) <= MAX_TREE_BYTES:
            self._read_tree(parse_document(content, self._limits))
        else:
            self._read_stream(content)
        filled_tables = {name: table_rows for name, table_rows in self._tables.items() if table_rows}
        if self._repeated > STORED_FINDINGS.number:
            omitted = counted(self._repeated - STORED_FINDINGS.number, "more finding")
            message = f"not listed: {omitted} of this kind"
            self._findings.append(Finding("RecordRepeated", message, Level.WARN))
        return Rows(self._entities, filled_tables, self._row_count, tuple(self._findings), self._repeated)

    def _read_tree(self, root: Node) -> None:
        plan = self._plan_for(root)
        for element in root:
            centre = self._add_centre(plan, element)
            for ordinal, record in enumerate(element):
                self._add_record(plan, record, centre, ordinal)

    def _read_stream(self, content: bytes) -> None:
        """Add a centre's row at its start tag, and a record's rows at its end tag, when the record is complete."""
        centre, ordinal, depth = (0, ""), 0, 0
        plan: ElementPlan | None = None
        for event, element in documents.stream_elements(content, self._limits):
            if event == "start":
                depth += 1
                if depth == ROOT_DEPTH:
                    plan = self._plan_for(element)
                elif depth == CENTRE_DEPTH and plan is not None:
                    centre, ordinal = self._add_centre(plan, element), 0
            else:
                if depth == RECORD_DEPTH and plan is not None:
                    self._add_record(plan, element, centre, ordinal)
                    ordinal += 1
                    _free_read_records(element)
                depth -= 1

    def _plan_for(self, root: Node) -> ElementPlan:
        for kind, tag in ROOT_TAGS.items():
            if root.tag == tag:
                namespace = tag.partition("}")[0] + "}"
                return prepare_plan(namespace, CENTRE_TABLES[kind])
        raise StepError(f"the root element {root.tag} is not that of specimens or experiments", Reason.WRONG_ROOT)

    def _add_centre(self, plan: ElementPlan, element: Node) -> tuple[int, str]:
        row_number = self._row_count
        self._add_row(plan, element, None, None, len(self._tables[plan.table]))
        return row_number, element.get("centreID", "")

    def _add_record(self, plan: ElementPlan, element: Node, centre: tuple[int, str], ordinal: int) -> None:
        """Add the rows and the entity of a record in `centre` (row number, id).

        An error without a line number gets that of the record.
        """
        record_plan = plan.children.get(element.tag)
        if record_plan is None:
            raise _make_unexpected_error(element)
        centre_row, centre_id = centre
        row_number = self._row_count
        try:
            self._add_row(record_plan, element, centre_row, row_number, ordinal)
            identifier = IDENTIFIERS[record_plan.entity](centre_id, element)
        except StepError as error:
            raise StepError(str(error), error.reason, line=error.line or line_number(element)) from None
        self._entities.append(Entity(row_number, record_plan.entity, identifier))
        name = record_plan.entity, identifier
        if name in self._last_lines:
            self._report_repeated(name, element)
        self._last_lines[name] = element.sourceline or None

    def _report_repeated(self, name: tuple[str, str], later: Node) -> None:
        """Report that the record `later` replaces an earlier one with the same kind and identifier."""
        self._repeated += 1
        if len(self._findings) < STORED_FINDINGS.number:
            message = f"{name[0]} {name[1]} is repeated in line {line_number(later)}; only its last occurrence counts"
            self._findings.append(Finding("RecordRepeated", message, Level.WARN, self._last_lines[name]))

    def _add_row(
        self, plan: ElementPlan, element: Node, parent_row: int | None, entity_row: int | None, ordinal: int
    ) -> None:
        """Add an element's row and, unless it is a centre, the rows of the elements in it.

        `parent_row` and `entity_row` are the row numbers of its parent and its record, None for a centre.
        """
        row_number = self._row_count
        if row_number >= self._max_elements:
            raise StepError(f"the document has more than {self._max_elements} elements", Reason.TOO_MANY_ELEMENTS)
        self._row_count = row_number + 1
        cells: list[Any] = [*plan.empty_cells]
        attributes = plan.attributes
        attribute_pairs: Any = element.items()
        for name, text in attribute_pairs:
            if name in attributes:
                column, parse_text = attributes[name]
                cells[column] = text if parse_text is None else parse_text(text)
            elif "}" not in name:  # those of other namespaces, such as xsi:schemaLocation, are not data
                raise _make_unexpected_error(element, name)
        if plan.own_text_column >= 0:
            own_text = element.text or ""
            cells[plan.own_text_column] = own_text if plan.parse_own_text is None else plan.parse_own_text(own_text)
        table = self._tables[plan.table]
        row_index = len(table)
        table.append(())  # a placeholder: rows are in the order of their elements, and the cells are not all read yet
        if entity_row is not None:  # a centre's row is added at its start tag, and its records are added one by one
            text_columns, children, child_ordinal = plan.text_columns, plan.children, 0
            for child in element:
                tag = child.tag
                if tag in text_columns and not len(child):
                    cells[text_columns[tag]] = child.text or ""
                elif tag in children:
                    self._add_row(children[tag], child, row_number, entity_row, child_ordinal)
                    child_ordinal += 1
                else:
                    raise _make_unexpected_error(child[0] if tag in text_columns else child)
        table[row_index] = (row_number, parent_row, entity_row, ordinal, *cells)


@lru_cache(maxsize=256)
def prepare_plan(namespace: str, table: str, containing_table: str = "") -> ElementPlan:
    """Return the plan for the elements of `table` in elements of `containing_table`, with the plans for their children.

    `namespace` is in braces, or empty. `containing_table` is empty for a centre.
    """
    element: Element = ELEMENTS[table]
    has_parent_column = len(parent_tables(table)) > 1
    first_field_column = 1 if has_parent_column else 0
    attributes, text_columns, own_text_column, parse_own_text = {}, {}, -1, None
    for column, field in enumerate(element.fields, first_field_column):
        parse_text = PARSERS[field.column.kind]
        if field.location.startswith("@"):
            attributes[field.location[1:]] = (column, parse_text)
        elif field.location == ".":
            own_text_column, parse_own_text = column, parse_text
        else:
            text_columns[namespace + field.location] = column
    return ElementPlan(
        table=table,
        empty_cells=(*([containing_table] if has_parent_column else []), *([None] * len(element.fields))),
        attributes=attributes,
        text_columns=text_columns,
        own_text_column=own_text_column,
        parse_own_text=parse_own_text,
        children={namespace + name: prepare_plan(namespace, child, table) for name, child in element.children},
        entity=element.entity,
    )


def _free_read_records(element: Node) -> None:
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _make_unexpected_error(element: Node, attribute: str = "") -> StepError:
    """Return the error for an element that has no place in its parent, or for an attribute of it."""
    element_text = f"the element {str(element.tag).rpartition('}')[2][:80]}"
    problem = (
        f"the attribute {attribute[:80]} of {element_text} has no column"
        if attribute
        else f"{element_text} has no table or column"
    )
    return StepError(problem, Reason.NOT_VALID, line=line_number(element))


def _child_texts(element: Node, name: str) -> list[str]:
    namespace = str(element.tag).partition("}")[0] + "}"
    return [child.text or "" for child in element.findall(namespace + name)]


def _procedure_id(element: Node) -> str | None:
    namespace = str(element.tag).partition("}")[0] + "}"
    procedure = element.find(f"{namespace}procedure")
    return None if procedure is None else procedure.get("procedureID")


def _identify_specimen(centre_id: str, element: Node) -> str:
    return documents.specimen_identifier(centre_id, element.get("specimenID", ""))


def _identify_experiment(centre_id: str, element: Node) -> str:
    specimen_ids = _child_texts(element, "specimenID")
    experiment_id, sequence_id = element.get("experimentID", ""), element.get("sequenceID")
    return documents.experiment_identifier(centre_id, experiment_id, sequence_id, specimen_ids)


def _identify_line(centre_id: str, element: Node) -> str:
    colony_id = element.get("colonyID", "")
    return documents.line_identifier(centre_id, colony_id, element.get("sequenceID"), _procedure_id(element))


def _identify_housing(centre_id: str, element: Node) -> str:
    from_lims = "true" if element.get("fromLIMS", "").strip() in {"true", "1"} else "false"
    day = element.get("lastUpdated")
    last_updated = None if day is None else documents.parse_date(day)
    return documents.housing_identifier(centre_id, from_lims, last_updated, _procedure_id(element))


IDENTIFIERS: dict[str, Callable[[str, Node], str]] = {
    "specimen": _identify_specimen,
    "experiment": _identify_experiment,
    "line": _identify_line,
    "housing": _identify_housing,
}
"""A dict from the kind of a record to the function that makes identifiers from a centre's id and a record's element."""
