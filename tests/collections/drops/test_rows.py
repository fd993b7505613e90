from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from tests.collections.drops.conftest import SCHEMAS
from tests.collections.drops.sample import (
    embryo,
    experiment,
    experiments,
    load,
    mouse,
    procedure,
    simple,
    specimens,
    task,
)
from windrow.collections.drops.elements import (
    CENTRE_TABLES,
    ELEMENTS,
    MAX_NAME_LENGTH,
    PROCEDURE_NAMESPACE,
    ROOT_TAGS,
    SPECIMEN_NAMESPACE,
    TABLES,
    ColumnKind,
    parent_tables,
)
from windrow.collections.drops.rows import read_rows
from windrow.errors import StepError
from windrow.model import Finding, Level, Limits
from windrow.reasons import Reason

XS = "{http://www.w3.org/2001/XMLSchema}"
KINDS = {
    "boolean": ColumnKind.BOOLEAN,
    "date": ColumnKind.DATE,
    "integer": ColumnKind.INTEGER,
    "int": ColumnKind.INTEGER,
    "double": ColumnKind.DOUBLE,
    "decimal": ColumnKind.DECIMAL,
}


class Walk:
    """Follow the types of a schema and hold every element and attribute against the declarations."""

    def __init__(self, file: str, namespace: str) -> None:
        self.types: dict[str, etree._Element] = {}
        for name in ("common.xsd", file):
            for complex_type in etree.parse(str(SCHEMAS / name)).getroot().iterchildren(f"{XS}complexType"):
                self.types[complex_type.get("name", "")] = complex_type
        self.schema = etree.parse(str(SCHEMAS / file)).getroot()
        self.seen: set[str] = set()
        self.attributes = 0

    def local(self, name: str) -> str:
        return name.rpartition(":")[2]

    def parts(self, kind: etree._Element, tag: str) -> list[etree._Element]:
        """All declarations of a tag in a type and in those that it extends."""
        declarations = []
        for part in kind.iterchildren():
            if part.tag == f"{XS}{tag}":
                declarations.append(part)
            elif part.tag == f"{XS}extension":
                base = self.types.get(self.local(part.get("base", "")))
                if base is not None:
                    declarations += self.parts(base, tag)
                declarations += self.parts(part, tag)
            elif part.tag in {f"{XS}{name}" for name in ("sequence", "choice", "complexContent", "simpleContent")}:
                declarations += self.parts(part, tag)
        return declarations

    def text(self, kind: etree._Element) -> str:
        """The simple type of a type's own text, empty without."""
        for extension in kind.iter(f"{XS}extension"):
            if extension.getparent().tag == f"{XS}simpleContent":
                return self.local(extension.get("base", ""))
        return ""

    def check(self, table: str, kind: etree._Element) -> None:
        if table in self.seen:
            return
        self.seen.add(table)
        element = ELEMENTS[table]
        fields = {field.location: field.column for field in element.fields}
        children = dict(element.children)
        expected, below = {}, {}
        for attribute in self.parts(kind, "attribute"):
            expected[f"@{attribute.get('name')}"] = self.local(attribute.get("type", ""))
        if self.text(kind):
            expected["."] = self.text(kind)
        for child in self.parts(kind, "element"):
            name, inner = child.get("name", ""), self.local(child.get("type", ""))
            if inner in self.types:
                below[name] = self.types[inner]
            elif child.get("maxOccurs") == "unbounded":
                assert ELEMENTS[children[name]].fields[0].location == ".", name  # a text with a row of its own
                self.seen.add(children[name])
            else:
                expected[name] = inner
        assert set(fields) == set(expected), table
        for place, simple_type in expected.items():
            kinds = {KINDS[simple_type]} if simple_type in KINDS else {ColumnKind.TEXT, ColumnKind.NAME}
            assert fields[place].kind in kinds, (table, place)
        self.attributes += len(expected)
        for name, inner in below.items():
            self.check(children[name], inner)


@pytest.mark.parametrize(
    ("kind", "file", "namespace", "start"),
    [
        ("specimen", "specimen_definition.xsd", SPECIMEN_NAMESPACE, "CentreSpecimen"),
        ("experiment", "procedure_definition.xsd", PROCEDURE_NAMESPACE, "CentreProcedure"),
    ],
)
def test_every_element_and_attribute_of_the_schemas_has_a_place(
    kind: str, file: str, namespace: str, start: str
) -> None:
    walk = Walk(file, namespace)
    (root,) = walk.schema.findall(f"{XS}element")
    assert ROOT_TAGS[kind] == f"{{{walk.schema.get('targetNamespace')}}}{root.get('name')}"
    assert [element.get("type") for element in root.iter(f"{XS}element") if element is not root] == [start]
    assert not list(root.iter(f"{XS}attribute"))
    walk.check(CENTRE_TABLES[kind], walk.types[start])
    reached, waiting = set(), [CENTRE_TABLES[kind]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [child for _, child in ELEMENTS[name].children]
    assert walk.seen == reached
    assert walk.attributes > 20


def test_both_kinds_together_use_every_table() -> None:
    assert [table.name for table in TABLES] == list(ELEMENTS)
    assert {name for name in ELEMENTS if not parent_tables(name)} == set(CENTRE_TABLES.values())


def test_rows_stand_in_document_order_with_their_parents() -> None:
    inner = '<relatedSpecimen specimenID="m" relationship="mother"/><statusCode date="2024-02-03">X</statusCode>'
    loaded = load(specimens(mouse("s1", inner=inner), embryo("s2")))
    assert loaded.count == 5
    assert [(entity.local, entity.kind, entity.identifier) for entity in loaded.entities] == [
        (1, "specimen", "H_s1"),
        (4, "specimen", "H_s2"),
    ]
    assert loaded.tables["centre_specimen"] == [(0, None, None, 0, "H")]
    assert loaded.tables["related_specimen"] == [(2, 1, 1, 0, "mouse", "m", "mother")]
    assert loaded.tables["status_code"] == [(3, 1, 1, 1, "mouse", "X", "2024-02-03")]
    (row,) = loaded.tables["embryo"]
    assert row[:5] == (4, 0, 4, 1, "s2")


def test_every_row_is_as_wide_as_its_table() -> None:
    loaded = load(experiments(experiment("e1", "s1", inner=procedure(simple("a", None, sequence=3)))))
    for table in TABLES:
        for row in loaded.tables.get(table.name, []):
            assert len(row) == 4 + len(table.columns)
    (row,) = loaded.tables["simple_parameter"]
    assert row[4:] == ("a", 3, None, None, None)


def test_an_empty_text_is_not_a_missing_one() -> None:
    loaded = load(experiments(experiment("e1", "s1", inner=procedure(simple("a", ""), simple("b", None)))))
    assert [row[7] for row in loaded.tables["simple_parameter"]] == ["", None]


def test_texts_are_kept_as_they_are() -> None:
    text = " a\n&lt;b&gt; <!-- no --><![CDATA[<c> ]]>\U0001f42d "
    loaded = load(experiments(experiment("e1", "s1", inner=procedure(simple("a", text)))))
    assert loaded.tables["simple_parameter"][0][7] == " a\n<b> <c> \U0001f42d "


def test_large_documents_are_read_whole() -> None:
    many = [mouse(f"s{number}") for number in range(3000)]
    loaded = load(specimens(*many))
    assert [entity.identifier for entity in loaded.entities] == [f"H_s{number}" for number in range(3000)]
    assert [row[3] for row in loaded.tables["mouse"]] == list(range(3000))


def test_repeated_records_are_named_with_their_lines_up_to_a_limit() -> None:
    few = load(specimens(mouse("s1", colony="a"), embryo("s2"), mouse("s1", colony="b"), mouse("s1")))
    message = "specimen H_s1 is repeated in line {}; only its last occurrence counts"
    assert few.findings == tuple(
        Finding("RecordRepeated", message.format(later), Level.WARN, line) for line, later in ((2, 4), (4, 5))
    )
    many = load(specimens(*[mouse("s1")] * 6000))  # read as a stream
    assert (many.repeated, len(many.findings), many.findings[-2].line) == (5999, 1001, 1001)
    assert many.findings[-1].message == "not listed: 4,999 more findings of this kind"


def identifiers(content: bytes) -> list[str]:
    return [entity.identifier for entity in load(content).entities]


def test_experiments_are_known_by_centre_id_sequence_and_sorted_specimens() -> None:
    content = experiments(experiment("e", "b", "a"), experiment("e", "s", sequence="2"), centre="J")
    assert identifiers(content) == ["J_e_a_b", "J_e_2_s"]


def test_procedures_of_one_line_are_records_of_their_own() -> None:
    def line(name: str, sequence: str = "") -> str:
        return f'<line colonyID="C"{sequence}>{procedure(name=name)}</line>'

    content = experiments(line("P_1"), line("P_2"), line("P_1", ' sequenceID="2"'))
    assert identifiers(content) == ["H_C_P_1", "H_C_P_2", "H_C_2_P_1"]


def test_housing_is_known_by_its_origin_and_date() -> None:
    first = f'<housing fromLIMS="1" lastUpdated="2024-01-02">{procedure(name="P_HOU")}</housing>'
    second = f'<housing fromLIMS="false">{procedure(name="P_HOU")}</housing>'
    assert identifiers(experiments(first, second)) == ["H_true_2024-01-02_P_HOU", "H_false_P_HOU"]
    for day in ("2024-01-02Z", "2024-01-02+05:00", " 2024-01-02 "):
        assert identifiers(experiments(first.replace("2024-01-02", day))) == ["H_true_2024-01-02_P_HOU"]


def test_long_identifiers_are_shortened_and_stay_distinct() -> None:
    many = [f"specimen-{number}" for number in range(100)]
    first, second = identifiers(experiments(experiment("e", *many), experiment("e", *many[1:])))
    assert first != second
    assert len(first) == len(second) == MAX_NAME_LENGTH


@pytest.mark.parametrize(
    ("content", "reason", "words"),
    [
        (specimens(mouse("s" * 256)), Reason.TOO_LARGE, "256 characters"),
        (specimens(mouse("s", dob="0000-01-01")), Reason.NOT_VALID, "not a date"),
        (experiments(experiment("e", "s", inner=procedure(simple("a", sequence=2**63)))), Reason.TOO_LARGE, "64 bits"),
        (specimens("<rat/>"), Reason.NOT_VALID, "rat has no table or column"),
        (specimens(mouse("s", inner="<tail/>")), Reason.NOT_VALID, "tail has no table or column"),
        (
            specimens(mouse("s", inner='<genotype geneColour="red"/>')),
            Reason.NOT_VALID,
            "geneColour .* genotype has no",
        ),
        (experiments(experiment("e", "s", inner=procedure(simple("a", "1<b/>2")))), Reason.NOT_VALID, "b has no table"),
        (specimens(mouse("s", inner='<parentalStrain percentage="INF"/>')), Reason.NOT_VALID, "finite"),
        (b"<other/>", Reason.WRONG_ROOT, "root"),
        (specimens(mouse("s"))[:-3], Reason.NOT_WELL_FORMED, "."),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', Reason.DTD_FORBIDDEN, "declaration"),
    ],
)
def test_what_has_no_place_is_refused_with_a_reason(content: bytes, reason: Reason, words: str) -> None:
    with pytest.raises(StepError, match=words) as caught:
        load(content)
    assert caught.value.reason is reason


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(StepError) as caught:
        load(specimens(mouse("s1"), mouse("s2", dob="soon")))
    assert caught.value.line == 3


def test_the_number_of_elements_is_bounded() -> None:
    with pytest.raises(StepError) as caught:
        read_rows(task(specimens(mouse("s1"), mouse("s2")), limits=Limits(elements=2)))
    assert caught.value.reason is Reason.TOO_MANY_ELEMENTS


def test_real_documents_are_read_whole(shared: Path) -> None:
    files = sorted((shared / "data/drops/examples").glob("*.xml"))
    assert len(files) == 22
    texts = {f"{{{PROCEDURE_NAMESPACE}}}{name}" for name in ("parameterStatus", "value")}
    for file in files:
        content = file.read_bytes()
        loaded = load(content)
        elements = 0
        for element in etree.fromstring(content).iter(etree.Element):
            parent = element.getparent()
            single = element.tag in texts and "eries" not in etree.QName(parent).localname
            elements += not (parent is None or single or etree.QName(element).localname == "parameterStatus")
        assert loaded.count == sum(map(len, loaded.tables.values())) == elements, file.name
