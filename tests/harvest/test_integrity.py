"""Integrity through the whole harvest: documents with fatal errors are not current; errors and skipped checks are logged."""

import re

import pytest
from lxml import etree

from tests.faults.workspace import DAY, put
from windrow.app.decisions import decide
from windrow.app.summary import describe_end
from windrow.app.workspace import Windrow
from windrow.demo.partner import pack, specimens
from windrow.ledger import Ledger

NAMESPACE = "http://www.mousephenotype.org/dcc/exportlibrary/external/impress"
SAMPLE = "xmlvalidation_IMPC_CAL_001"


def pipelines(content: bytes) -> bytes:
    """Return a list in IMPReSS' format that defines just the procedures and parameters of a document."""
    centre = etree.fromstring(content)[0]
    container = etree.Element(f"{{{NAMESPACE}}}impressPipelineContainer", queried="2013-06-17T00:00:00")
    pipeline = etree.SubElement(container, f"{{{NAMESPACE}}}pipeline", pipeline_key=centre.get("pipeline"))
    for procedure in centre.iter("{*}procedure"):
        procedure_element = etree.SubElement(
            pipeline, f"{{{NAMESPACE}}}impressProcedure", procedure_key=procedure.get("procedureID")
        )
        for parameter in procedure:
            attributes = {"parameter_key": parameter.get("parameterID"), "type": etree.QName(parameter).localname}
            required = "true" if attributes["parameter_key"] == "IMPC_CAL_002_001" else "false"
            etree.SubElement(
                procedure_element,
                f"{{{NAMESPACE}}}impressParameter",
                **attributes,
                value_type="TEXT",
                is_required=required,
            )
    return etree.tostring(container)


@pytest.fixture
def sample(shared):
    folder = shared / "data/drops/samples-exportlibrary"
    return lambda more="": (folder / f"{SAMPLE}{more}.xml").read_bytes()


@pytest.fixture
def workspace(make_workspace, sample, shared, tmp_path):
    (tmp_path / "pipelines.xml").write_bytes(pipelines(sample()))
    lists = shared / "data/drops/lists"
    return make_workspace(
        f'[drops.lists]\npipelines = "{tmp_path}/pipelines.xml"\nstatus_codes = "{lists}/statusCodes.csv"\n'
        f'projects = "{lists}/projects.txt"\n'
    )


def kinds_logged(workspace, fname):
    return [kind for kind, *_ in workspace.xml_log(fname)]


def test_the_standards_samples_with_wrong_contents(workspace, sample):
    folder = workspace.add_folder("own", "J")
    words = ("", "_wrong_parameterID", "_wrong_procedure")
    names = {word: f"J.{DAY}.{number}.experiment.impc.xml" for number, word in enumerate(words, 1)}
    twice = f"J.{DAY}.4.specimen.impc.xml"
    members = {names[word]: sample(word) for word in words}
    members[twice] = re.sub(rb"(?s)(<mouse .*?</mouse>)", rb"\1\n\1", specimens("J", 1), count=1)
    key = put(folder, f"J.{DAY}.1.impc.zip", pack(members))
    assert workspace.run().code == 0
    assert describe_end(workspace.status().last).endswith(" errors in documents")
    workspace.assert_complete(key)
    (count,) = workspace.status().left_out
    assert (count.source, count.reason, count.addresses) == ("own", "duplicate_record", 1)
    assert count.example == f"{key}/{twice}"
    assert count in workspace.status().last.left_out
    assert "RecordRepeated" in kinds_logged(workspace, twice)
    always = {"UnknownProject", "SpecimenNotSubmitted"}
    parameter = {"RequiredParameterMissing", "ParameterNotInProcedure"}
    assert set(kinds_logged(workspace, names[""])) == always
    # They all hold the same experiment, so that the later ones replace the first.
    assert set(kinds_logged(workspace, names["_wrong_parameterID"])) == always | parameter | {"AlreadyKnown"}
    assert set(kinds_logged(workspace, names["_wrong_procedure"])) == always | {
        "ProcedureNotInPipeline",
        "AlreadyKnown",
    }
    levels = dict(workspace.query_ledger("SELECT f.kind, f.level FROM finding f JOIN member m ON m.seq = f.item"))
    assert levels["UnknownProject"] == "warn"
    assert levels["ProcedureNotInPipeline"] == "error"


def test_what_is_fatal_is_not_current(workspace, sample):
    folder = workspace.add_folder("own", "J")
    bad = sample().replace(b'pipeline="IMPC_001"', b'pipeline="IMPC_999"')
    names = [f"J.{DAY}.{number}.experiment.impc.xml" for number in (1, 2)]
    spoilt = put(folder, f"J.{DAY}.1.impc.zip", pack({names[0]: bad}))
    good = put(folder, f"J.{DAY}.2.impc.zip", pack({names[1]: sample()}))
    assert workspace.run().code == 0
    workspace.assert_complete(good)
    assert workspace.item_state(spoilt)[:2] == ("data", "failed")
    assert workspace.action_state(spoilt) == ("data", "failed")
    assert kinds_logged(workspace, names[0]) == ["UnknownPipeline"]
    assert workspace.loaded_zips() == {good.rpartition("/")[2]}
    list_of_pipelines = workspace.root.parent / "pipelines.xml"
    list_of_pipelines.write_bytes(list_of_pipelines.read_bytes().replace(b"IMPC_001", b"IMPC_999"))
    ledger = Ledger(workspace.root / "ledger.sqlite")
    decide(Windrow(workspace.root).config, ledger, "retry", [spoilt])
    ledger.close()
    assert workspace.run().code == 0
    workspace.assert_complete(spoilt)
    assert [state[:2] for state in workspace.downloads(spoilt)] == [("data", "failed"), ("overview", "done")]


def test_checks_without_their_list_are_told_as_not_run(workspace):
    folder = workspace.add_folder("own")
    name = f"H.{DAY}.1.specimen.impc.xml"
    key = put(folder, f"H.{DAY}.1.impc.zip", pack({name: specimens("H", 1)}))
    assert workspace.run().code == 0
    workspace.assert_complete(key)
    ((kind, message, line, column),) = workspace.xml_log(name)
    assert kind == "CheckNotRun"
    assert "the list `strains` is not configured: UnknownStrain" in message
    assert "the list `colonies` is not configured: ColonyNotReady, UnknownColony, WrongProductionCentre" in message
    assert "status_codes" not in message
    assert (line, column) == (None, None)


def test_lines_and_columns_far_down(workspace):
    name = f"H.{DAY}.1.specimen.impc.xml"
    content = specimens("H", 1, 2).replace(b"    <mouse", b"\n" * 70_000 + b"    <mouse")
    content = content.replace(b'gender="', b'gender="un', 2)
    put(workspace.add_folder("own"), f"H.{DAY}.1.impc.zip", pack({name: content}))
    assert workspace.run().code == 0
    lines = content.split(b"\n")
    places = [(number, line.index(b"<mouse") + 1) for number, line in enumerate(lines, 1) if b"<mouse" in line]
    assert places[0][0] > 65_535
    assert (
        sorted({(line, column) for kind, _, line, column in workspace.xml_log(name) if kind == "SchemaError"}) == places
    )


@pytest.mark.parametrize(
    ("setting", "content", "words"),
    [
        ("lists.pipelines", "<open>", "the list `pipelines` is not valid"),
        ("lists.colonies", "<a><phenotypeAttempt/></a>", "the list `colonies` is not valid"),
        ("schemas.specimen", "<open>", "line 1"),
        ("schemas.experiment", '<schema xmlns="http://www.w3.org/2001/XMLSchema"><import/>x</schema>', "schema"),
    ],
)
def test_a_list_or_schema_that_cannot_be_used_fails_no_document(make_workspace, tmp_path, setting, content, words):
    (tmp_path / "file.xml").write_text(content)
    table, _, name = setting.partition(".")
    workspace = make_workspace(f'[drops.{table}]\n{name} = "{tmp_path}/file.xml"\n')
    good = workspace.add_healthy()
    outcome = workspace.run()
    assert outcome.code == 4
    assert words in str(outcome.error)
    workspace.configure()
    assert workspace.run().code == 0
    workspace.assert_complete(good)
