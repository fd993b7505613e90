"""LOAD: turn a document into rows, one for each element that has a table, and find its entities.

A pure function. A large document is read as a stream and freed record by record, so that only the rows take memory;
a small one is parsed as a whole, which takes half the time. The document must be valid against its schema; an element
without a table or column is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

from windrow.collections.drops import documents
from windrow.collections.drops.documents import READERS, Node, Read, line, parse, read_all, stream
from windrow.collections.drops.elements import CENTRES, ELEMENTS, ROOTS, Element, parents
from windrow.contract import Entity, Rows, Task
from windrow.errors import StepError
from windrow.model import Limits
from windrow.reasons import Reason

Row = tuple[Any, ...]
ROOT_DEPTH, CENTRE_DEPTH, RECORD_DEPTH = 1, 2, 3
SMALL = 1 << 20
"""Bytes of a document that is parsed as a whole: its tree takes some ten times as much memory."""


class Plan(NamedTuple):
    """How to read one element type of one namespace, prepared for speed."""

    table: str
    parent: str | None  # the table named in `parent_table`, where there is such a column
    attributes: dict[str, tuple[int, Read | None]]  # by name: the place among the columns, and how to read it
    texts: dict[str, int]  # a child that is only a text -> its place among the columns
    own: int  # the place of the element's own text, -1 without
    own_read: Read | None
    width: int
    children: dict[str, Plan]
    entity: str


def rows(task: Task) -> Rows:
    """Read the document of `task` into rows for the tables of `element.TABLES`.

    Raises StepError, with the reason and the line of the record, for a value that databases cannot store: a number of
    more than 64 bits, or an id of more than 255 characters.
    """
    return RowReader(task.limits).read(task.view)


class RowReader:
    """Read one document."""

    def __init__(self, limits: Limits) -> None:
        """Read no more elements than `limits.elements`."""
        self._limits = limits
        self._max_elements = limits.elements
        self._count = 0
        self._tables: dict[str, list[Row]] = {name: [] for name in ELEMENTS}
        self._entities: list[Entity] = []

    def read(self, view: BinaryIO) -> Rows:
        """Read the whole document."""
        content = read_all(view)
        if len(content) <= SMALL:
            self._read_tree(parse(content, self._limits))
        else:
            self._read_stream(content)
        full = {name: table_rows for name, table_rows in self._tables.items() if table_rows}
        return Rows(self._entities, full, self._count)

    def _read_tree(self, root: Node) -> None:
        plan = self._plan_for(root)
        for element in root:
            centre = self._add_centre(plan, element)
            for ordinal, record in enumerate(element):
                self._add_record(plan, record, centre, ordinal)

    def _read_stream(self, content: bytes) -> None:
        centre, ordinal, depth = (0, ""), 0, 0
        plan: Plan | None = None
        for event, element in stream(content, self._limits):
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
                    _free(element)
                depth -= 1

    def _plan_for(self, root: Node) -> Plan:
        """Return the plan for the kind of document with this root element; raise StepError if there is none."""
        for kind, tag in ROOTS.items():
            if root.tag == tag:
                namespace = tag.partition("}")[0] + "}"
                return prepare(namespace, CENTRES[kind])
        raise StepError(f"the root element is {root.tag}", Reason.WRONG_ROOT)

    def _add_centre(self, plan: Plan, element: Node) -> tuple[int, str]:
        local = self._count
        self._add_row(plan, element, None, None, len(self._tables[plan.table]))
        return local, element.get("centreID", "")

    def _add_record(self, plan: Plan, element: Node, centre: tuple[int, str], ordinal: int) -> None:
        """Add the rows and the entity of a record: a specimen, a housing, a line or an experiment."""
        record_plan = plan.children.get(element.tag)
        if record_plan is None:
            raise _make_unexpected_error(element)
        centre_number, centre_id = centre
        local = self._count
        try:
            self._add_row(record_plan, element, centre_number, local, ordinal)
            identifier = IDENTIFY[record_plan.entity](centre_id, element)
        except StepError as error:
            raise StepError(str(error), error.reason, line=error.line or line(element)) from None
        self._entities.append(Entity(local, record_plan.entity, identifier))

    def _add_row(self, plan: Plan, element: Node, parent: int | None, entity: int | None, ordinal: int) -> None:
        """Add an element's row, followed by those of the elements in it."""
        local = self._count
        if local >= self._max_elements:
            raise StepError(f"more than {self._max_elements} elements", Reason.TOO_MANY_ELEMENTS)
        self._count = local + 1
        cells: list[Any] = [None] * plan.width
        if plan.parent is not None:
            cells[0] = plan.parent
        attributes = plan.attributes
        pairs: Any = element.items()
        for name, text in pairs:
            if name in attributes:
                place, read = attributes[name]
                cells[place] = text if read is None else read(text)
        if plan.own >= 0:
            own_text = element.text or ""
            cells[plan.own] = own_text if plan.own_read is None else plan.own_read(own_text)
        table = self._tables[plan.table]
        row_index = len(table)
        table.append(())  # a placeholder: rows are in the order of their elements, and the cells are not all read yet
        if entity is not None:  # a centre's row is added at its start tag, its records one by one
            texts, children, number = plan.texts, plan.children, 0
            for child in element:
                tag = child.tag
                if tag in texts:
                    cells[texts[tag]] = child.text or ""
                elif tag in children:
                    self._add_row(children[tag], child, local, entity, number)
                    number += 1
                else:
                    raise _make_unexpected_error(child)
        table[row_index] = (local, parent, entity, ordinal, *cells)


@lru_cache(maxsize=256)
def prepare(namespace: str, table: str, parent: str = "") -> Plan:
    """Prepare to read an element type and all below it; `namespace` is in braces, or empty."""
    element: Element = ELEMENTS[table]
    has_parent_column = len(parents(table)) > 1
    start = 1 if has_parent_column else 0
    attributes, texts, own_place, own_read = {}, {}, -1, None
    for place, field in enumerate(element.fields, start):
        read = READERS[field.column.kind]
        if field.place.startswith("@"):
            attributes[field.place[1:]] = (place, read)
        elif field.place == ".":
            own_place, own_read = place, read
        else:
            texts[namespace + field.place] = place
    return Plan(
        table=table,
        parent=parent if has_parent_column else None,
        attributes=attributes,
        texts=texts,
        own=own_place,
        own_read=own_read,
        width=start + len(element.fields),
        children={namespace + name: prepare(namespace, child, table) for name, child in element.children},
        entity=element.entity,
    )


def _free(element: Node) -> None:
    """Free the memory of a record and of all records before it; later ones may be parsed already."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _make_unexpected_error(element: Node) -> StepError:
    return StepError(
        f"the element {str(element.tag).rpartition('}')[2][:80]} has no table or column",
        Reason.NOT_VALID,
        line=line(element),
    )


def _child_texts(element: Node, name: str) -> list[str]:
    namespace = str(element.tag).partition("}")[0] + "}"
    return [child.text or "" for child in element.findall(namespace + name)]


def _procedure_id(element: Node) -> str | None:
    namespace = str(element.tag).partition("}")[0] + "}"
    procedure = element.find(f"{namespace}procedure")
    return None if procedure is None else procedure.get("procedureID")


def _identify_specimen(centre: str, element: Node) -> str:
    return documents.specimen(centre, element.get("specimenID", ""))


def _identify_experiment(centre: str, element: Node) -> str:
    specimens = _child_texts(element, "specimenID")
    return documents.experiment(centre, element.get("experimentID", ""), element.get("sequenceID"), specimens)


def _identify_line(centre: str, element: Node) -> str:
    colony = element.get("colonyID", "")
    return documents.line_identity(centre, colony, element.get("sequenceID"), _procedure_id(element))


def _identify_housing(centre: str, element: Node) -> str:
    from_lims = "true" if element.get("fromLIMS", "").strip() in {"true", "1"} else "false"
    return documents.housing(centre, from_lims, element.get("lastUpdated"), _procedure_id(element))


IDENTIFY: dict[str, Callable[[str, Node], str]] = {
    "specimen": _identify_specimen,
    "experiment": _identify_experiment,
    "line": _identify_line,
    "housing": _identify_housing,
}
"""How each kind of entity is identified."""
