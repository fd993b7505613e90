"""The standard's own documents, packed into conforming zips, from a folder of drops into tracker and store."""

import hashlib
import sqlite3
from collections import Counter

import pytest
from lxml import etree

from tests.faults.workspace import DropsWorkspace, put
from windrow.demo.partner import pack

DAY = "2013-06-17"
NOT_VALID = {
    "xmlserialization_procedures": ("SchemaError", 6, 9),
    "xsdvalidation_procedure_results_wrong_attribute": ("SchemaError", 30, 17),
    "xsdvalidation_procedure_results_wrong_tag": ("SchemaError", 45, 17),
    "xsdvalidation_specimens": ("SchemaError", 5, 5),
    "xsdvalidation_procedures_2attributesSameName": ("SyntaxError", 30, 103),
}
"""The samples that must be refused, and where."""
ZIPS = {"examples": f"H.{DAY}.1.impc.zip", "good": f"H.{DAY}.2.impc.zip", "bad": f"H.{DAY}.3.impc.zip"}


def name_documents(paths):
    """Give documents names by the convention: yield sample, name, content."""
    for number, path in enumerate(sorted(paths), 1):
        kind = "specimen" if path.stem.endswith("specimens") else "experiment"
        yield path.stem, f"H.{DAY}.{number}.{kind}.impc.xml", path.read_bytes()


@pytest.fixture(scope="module")
def packed(shared):
    """Return the documents by zip: (sample, member, content)."""
    folder = shared / "data/drops"
    samples = list((folder / "samples-exportlibrary").glob("*.xml"))
    return {
        "examples": list(name_documents((folder / "examples").glob("*.xml"))),
        "good": list(name_documents(path for path in samples if path.stem not in NOT_VALID)),
        "bad": list(name_documents(path for path in samples if path.stem in NOT_VALID)),
    }


@pytest.fixture(scope="module")
def harvested(tmp_path_factory, shared, packed):
    core, lists = shared / "data/drops/xsd/core", shared / "data/drops/lists"
    settings = (
        f'[drops.schemas]\nspecimen = "{core}/specimen_definition.xsd"\n'
        f'experiment = "{core}/procedure_definition.xsd"\n'
        f'[drops.lists]\nstatus_codes = "{lists}/statusCodes.csv"\nprojects = "{lists}/projects.txt"\n'
    )
    workspace = DropsWorkspace(tmp_path_factory.mktemp("real") / "w", settings)
    folder = workspace.add_folder("own", "H")
    for zip_name, documents in packed.items():
        put(folder, ZIPS[zip_name], pack({member: content for _, member, content in documents}))
    assert workspace.run().code == 0
    return workspace


def states(workspace, zip_name):
    rows = workspace.query_tracker(
        "SELECT x.fname, p.short_name, s.short_name FROM xml_file x JOIN zip_download d ON d.id = x.zip_id"
        " JOIN file_source_has_zip h ON h.id = d.zf_id JOIN zip_action a ON a.id = h.za_id"
        " JOIN zip_file f ON f.id = a.zip_id JOIN phase p ON p.id = x.phase_id JOIN a_status s ON s.id = x.status_id"
        " WHERE f.file_name = ?",
        zip_name,
    )
    return {fname: state for fname, *state in rows}


def store_rows(workspace, text, *parameters):
    connection = sqlite3.connect(workspace.root / "drops.sqlite")
    try:
        return connection.execute(text, parameters).fetchall()
    finally:
        connection.close()


def test_there_are_as_many_as_published(packed):
    assert {zip_name: len(documents) for zip_name, documents in packed.items()} == {
        "examples": 22,
        "good": 10,
        "bad": 5,
    }


@pytest.mark.parametrize("zip_name", ["examples", "good"])
def test_valid_documents_are_through(harvested, packed, zip_name):
    expected = {member: ["overview", "done"] for _, member, _ in packed[zip_name]}
    assert states(harvested, ZIPS[zip_name]) == expected
    assert harvested.action_state(ZIPS[zip_name]) == ("overview", "done")


def test_documents_that_are_not_valid_are_refused_where_they_are_wrong(harvested, packed):
    assert states(harvested, ZIPS["bad"]) == {member: ["xsd", "failed"] for _, member, _ in packed["bad"]}
    assert harvested.action_state(ZIPS["bad"]) == ("xsd", "failed")
    logged = harvested.query_tracker(
        "SELECT x.fname, e.short_name, l.line, l.col FROM xml_log l JOIN xml_file x ON x.id = l.xml_id"
        " JOIN an_exception e ON e.id = l.exception_id WHERE x.phase_id = 6 ORDER BY l.id"
    )
    members = {member: sample for sample, member, _ in packed["bad"]}
    assert {members[fname]: tuple(rest) for fname, *rest in logged} == NOT_VALID
    assert len(logged) == len(NOT_VALID)
    zips = {row[0] for row in store_rows(harvested, "SELECT DISTINCT zip_name FROM submission")}
    assert zips == {ZIPS["examples"], ZIPS["good"]}


def test_the_books_are_filled(harvested, packed):
    for zip_name, documents in packed.items():
        content = (harvested.root / "partner/own/add" / ZIPS[zip_name]).read_bytes()
        rows = harvested.query_tracker(
            "SELECT f.centre_id, f.created, f.inc, f.size_bytes, f.content_md5, d.downloaded_size_bytes, h.num_retries"
            " FROM zip_file f JOIN zip_action a ON a.zip_id = f.id JOIN file_source_has_zip h ON h.za_id = a.id"
            " JOIN zip_download d ON d.zf_id = h.id WHERE f.file_name = ?",
            ZIPS[zip_name],
        )
        inc = int(ZIPS[zip_name].split(".")[2])
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        assert rows == [(3, DAY, inc, len(content), md5, len(content), 0)]
        for number, (_, member, text) in enumerate(documents, 1):
            row = harvested.query_tracker(
                "SELECT x.centre_id, x.created, x.inc, x.size_bytes, x.content_md5 FROM xml_file x"
                " JOIN zip_download d ON d.id = x.zip_id JOIN file_source_has_zip h ON h.id = d.zf_id"
                " JOIN zip_action a ON a.id = h.za_id JOIN zip_file f ON f.id = a.zip_id"
                " WHERE f.file_name = ? AND x.fname = ?",
                *(ZIPS[zip_name], member),
            )
            assert row == [(3, DAY, number, len(text), hashlib.md5(text, usedforsecurity=False).hexdigest())]


def test_every_element_of_the_valid_ones_is_a_row(harvested, packed):
    """All elements are rows, except the roots and those that are stored as a column of their parent's row."""
    single = {"value", "parameterStatus"}
    for zip_name in ("examples", "good"):
        for _, member, content in packed[zip_name]:
            root = etree.fromstring(content)
            expected = 0
            for element in root.iterdescendants(tag=etree.Element):
                tag, above = etree.QName(element).localname, etree.QName(element.getparent()).localname
                expected += not (tag in single and above in {"simpleParameter", "procedureMetadata"}) and (
                    tag != "parameterStatus"
                )
            ((count,),) = store_rows(
                harvested,
                "SELECT element_count FROM submission WHERE zip_name = ? AND name = ?",
                *(ZIPS[zip_name], member),
            )
            assert count == expected, member


def test_what_is_wrong_with_the_contents_is_told(harvested, packed):
    """Without lists of pipelines, strains and colonies their checks are logged as not run; the others run."""
    members = {sample: member for sample, member, _ in packed["good"]}
    logged = harvested.query_tracker(
        "SELECT f.file_name, x.fname, e.short_name, l.message FROM xml_log l JOIN xml_file x ON x.id = l.xml_id"
        " JOIN an_exception e ON e.id = l.exception_id JOIN zip_download d ON d.id = x.zip_id"
        " JOIN file_source_has_zip h ON h.id = d.zf_id JOIN zip_action a ON a.id = h.za_id"
        " JOIN zip_file f ON f.id = a.zip_id"
    )
    good = [(fname, kind, message) for file_name, fname, kind, message in logged if file_name == ZIPS["good"]]
    repeated = Counter(fname for fname, kind, _ in good if kind == "ParameterRepeated")
    assert set(repeated) == {
        members["xmlvalidation_IMPC_BWT_001_repeated_parameters"],
        members["xmlvalidation_multiple_repeats.experiment.impc"],
    }
    silent = {member for _, member, _ in packed["good"]} - {
        fname for fname, kind, message in good if kind == "CheckNotRun" and "is not configured" in message
    }
    assert not silent
    assert "SpecimenNotSubmitted" in {kind for _, kind, _ in good}
