import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from windrow.errors import StepError
from windrow.formats import xsd
from windrow.model import Finding, Level, Limits
from windrow.reasons import Reason

LIMITS = Limits()
SCHEMA = b"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:s" xmlns:t="urn:t"
  targetNamespace="urn:s" elementFormDefault="qualified">
  <xs:import namespace="urn:t" schemaLocation="http://example.org/types.xsd"/>
  <xs:element name="set"><xs:complexType><xs:sequence>
    <xs:element name="row" minOccurs="0" maxOccurs="unbounded"><xs:complexType><xs:sequence>
      <xs:element name="n" type="t:small"/><xs:element name="m" type="xs:date" minOccurs="0"/>
    </xs:sequence><xs:attribute name="id" type="xs:int" use="required"/></xs:complexType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>"""
TYPES = b"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t">
  <xs:simpleType name="small"><xs:restriction base="xs:int"><xs:maxInclusive value="9"/></xs:restriction></xs:simpleType>
</xs:schema>"""
GOOD = b"<row id='1'><n>5</n></row>\n"


def sheets(name="test", content=SCHEMA, **imports):
    return xsd.SchemaFiles(name, content, imports or {"types.xsd": TYPES})


@pytest.fixture(scope="module")
def schema():
    return xsd.compile_schema(sheets())


def document(*rows):
    return b"<set xmlns='urn:s'>\n" + b"".join(rows) + b"</set>"


def test_a_valid_document_has_no_findings(schema):
    assert xsd.validate(document(GOOD * 3), schema, LIMITS) == []


def test_findings_with_line_and_column(schema):
    content = document(GOOD, b"<row id='x'><n>5</n></row>\n", b"  <row id='1'><n>10</n></row><row\nid='2'/>\n", b"<b/>")
    assert [
        (finding.kind, finding.line, finding.column, finding.message.split(":")[0])
        for finding in xsd.validate(content, schema, LIMITS)
    ] == [
        ("SchemaError", 3, 1, "Element 'row', attribute 'id'"),
        ("SchemaError", 4, 15, "Element 'n'"),
        ("SchemaError", 4, 30, "Element 'row'"),
        ("SchemaError", 6, 1, "Element 'b'"),
    ]


def test_space_around_a_date_is_removed_before_it_is_read(schema):
    row = b"<row id=' 1 '><n> 5 </n><m>%b</m></row>\n"
    assert xsd.validate(document(row % b"\n 2024-01-31+01:00\t", row % b"2024-01-31"), schema, LIMITS) == []
    bad = (b" 2024-02-30 ", b"2024 -01-31", "\u00a02024-01-31".encode(), b" 2024-01-31Z'", b"")
    findings = xsd.validate(document(row % b" 2024-01-31 ", *(row % text for text in bad)), schema, LIMITS)
    assert [finding.line for finding in findings] == [3, 4, 5, 6, 7]
    many = document(*[row % b" 2024-01-31 "] * (2 * xsd.MAX_FINDINGS), row % b"x")
    assert [finding.line for finding in xsd.validate(many, schema, LIMITS)] == [2 * xsd.MAX_FINDINGS + 2]


def test_prefixes_and_other_encodings_have_places_too(schema):
    content = (
        "<?xml version='1.0' encoding='UTF-16'?>\n<p:set xmlns:p='urn:s'>\u00e9<p:row id='1'><p:n/></p:row></p:set>"
    )
    findings = xsd.validate(content.encode("utf-16"), schema, LIMITS)
    assert {(finding.line, finding.column) for finding in findings} == {(2, 1), (2, 39)}


def test_lines_beyond_65535(schema):
    bad = b"<row id='1'\n>\n<n\n>10</n><m\n>x</m></row>\n"
    content = document(GOOD * 70_000, bad, GOOD * 29_990, bad)
    lines = content.split(b"\n")
    findings = xsd.validate(content, schema, LIMITS)
    assert len(lines) > 100_000
    assert [schema_finding.line for schema_finding in findings[::2]] == [
        number + 1 for number, line in enumerate(lines) if line == b"<n"
    ]
    for finding in findings:
        assert lines[finding.line - 1][finding.column - 1 :].startswith((b"<n", b"<m"))


def test_lines_agree_with_libxml2_where_it_knows_them(schema):
    content = document(*(GOOD if number % 7 else b"<row id='%d'>\n<n>x</n></row>\n" % number for number in range(3000)))
    schema.compiled.validate(etree.fromstring(content))
    theirs = [(entry.line, entry.message.replace("{urn:s}", "")) for entry in schema.compiled.error_log]
    assert [(finding.line, finding.message) for finding in xsd.validate(content, schema, LIMITS)] == theirs


def test_the_rest_is_counted(schema):
    findings = xsd.validate(document(GOOD * 500, b"<row><n>5</n></row>\n" * 20_000), schema, LIMITS)
    assert len(findings) == xsd.MAX_FINDINGS + 1
    assert [finding.line for finding in findings[:-1]] == list(range(502, 1502))
    assert findings[-1] == Finding("SchemaError", "19,000 more findings", Level.NOTE)


def test_exactly_as_many_as_are_told(schema):
    assert len(xsd.validate(document(b"<row><n>5</n></row>\n" * xsd.MAX_FINDINGS), schema, LIMITS)) == xsd.MAX_FINDINGS


def test_a_long_text_where_none_is_allowed_counts_once(schema):
    findings = xsd.validate(document(b"y" * 2_000_000, GOOD, b"<row id='x'><n>1</n></row>"), schema, LIMITS)
    assert [finding.line for finding in findings] == [1, 3]


def test_everything_on_one_line(schema):
    rows = [b"<row id='1'><n>5</n></row>", b"<row id='1'><n>50</n></row>"] * 5
    content = b"<set xmlns='urn:s'>" + b"".join(rows) + b"</set>"
    columns = [match.start() + 1 for match in re.finditer(rb"<n>50", content)]
    assert [finding.column for finding in xsd.validate(content, schema, LIMITS)] == columns


@pytest.mark.parametrize(
    ("content", "reason", "line"),
    [
        (document(b"<row>")[:-3], Reason.NOT_WELL_FORMED, 2),
        (document(b"<row id='x'/>\n<row"), Reason.NOT_WELL_FORMED, 3),
        (document(b"\xff"), Reason.WRONG_ENCODING, 2),
        (b"<!DOCTYPE set>" + document(), Reason.DTD_FORBIDDEN, 1),
        (document(b"<p:b/>"), Reason.NOT_WELL_FORMED, 2),
        (b"", Reason.NOT_WELL_FORMED, 1),
    ],
)
def test_what_cannot_be_validated(schema, content, reason, line):
    with pytest.raises(StepError) as caught:
        xsd.validate(content, schema, LIMITS)
    assert (caught.value.reason, caught.value.line) == (reason, line)


def test_the_documents_own_hints_play_no_part(schema, tmp_path):
    lax = tmp_path / "lax.xsd"
    lax.write_bytes(SCHEMA.replace(b"t:small", b"xs:string"))
    hint = f"<set xmlns='urn:s' xmlns:i='http://www.w3.org/2001/XMLSchema-instance' i:schemaLocation='urn:s {lax.as_uri()}'>"
    assert len(xsd.validate(hint.encode() + b"<row id='1'><n>x</n></row></set>", schema, LIMITS)) == 1


def test_a_long_value_does_not_make_a_long_message(schema):
    (finding,) = xsd.validate(document(b"<row id='" + b"9" * 10**6 + b"'><n>1</n></row>"), schema, LIMITS)
    assert len(finding.message) == xsd.MAX_MESSAGE_CHARACTERS


def test_a_schema_is_compiled_once_for_a_digest():
    assert xsd.compile_schema(sheets("one")) is xsd.compile_schema(sheets("one", b"not even read"))


@pytest.mark.parametrize(
    ("content", "imports", "words"),
    [
        (SCHEMA, {"other.xsd": TYPES}, "types.xsd"),
        (b"<a/>", {}, "schema"),
        (b"<a>", {}, "schema"),
        (SCHEMA.replace(b"t:small", b"t:large"), {}, "large"),
    ],
)
def test_schemas_that_cannot_be_used(content, imports, words):
    with pytest.raises(StepError, match=words) as caught:
        xsd.compile_schema(sheets(f"bad {content[:9]} {words} {len(imports)}", content, **imports))
    assert caught.value.reason is Reason.NO_SCHEMA


pieces = st.sampled_from(
    [
        b"<row id='1'>",
        b"</row>",
        b"<n>",
        b"</n>",
        b"<m>",
        b"</m>",
        b"5",
        b"x",
        b"\n",
        b"<!-- -->",
        b"<n/>",
        b"2020-01-01",
        GOOD,
    ]
)


@settings(max_examples=400)
@given(st.lists(pieces, max_size=12))
def test_streaming_finds_what_the_tree_finds(schema, parts):
    content = document(*parts)
    try:
        root = etree.fromstring(content, etree.XMLParser(remove_comments=True))
    except etree.XMLSyntaxError:
        with pytest.raises(StepError):
            xsd.validate(content, schema, LIMITS)
        return
    schema.compiled.validate(root)
    theirs = [(entry.line, entry.message.replace("{urn:s}", "")) for entry in schema.compiled.error_log]
    ours = xsd.validate(content, schema, LIMITS)
    assert [(finding.line, finding.message) for finding in ours] == theirs
    assert all(finding.column for finding in ours)
