"""Integrity through the whole harvest: what is fatal is not current, what is wrong is told, what was not run too."""

import pytest
from lxml import etree

from tests.faults.place import DAY, put
from windrow.app.question import decide
from windrow.app.workspace import Windrow
from windrow.demo.partner import pack, specimens
from windrow.ledger import Ledger

NAMESPACE = "http://www.mousephenotype.org/dcc/exportlibrary/external/impress"
SAMPLE = "xmlvalidation_IMPC_CAL_001"


def pipelines(content: bytes) -> bytes:
    """Return a list of IMPReSS' form that defines just what a document has."""
    centre = etree.fromstring(content)[0]
    made = etree.Element(f"{{{NAMESPACE}}}impressPipelineContainer", queried="2013-06-17T00:00:00")
    pipeline = etree.SubElement(made, f"{{{NAMESPACE}}}pipeline", pipeline_key=centre.get("pipeline"))
    for procedure in centre.iter("{*}procedure"):
        one = etree.SubElement(pipeline, f"{{{NAMESPACE}}}impressProcedure", procedure_key=procedure.get("procedureID"))
        for parameter in procedure:
            said = {"parameter_key": parameter.get("parameterID"), "type": etree.QName(parameter).localname}
            required = "true" if said["parameter_key"] == "IMPC_CAL_002_001" else "false"
            etree.SubElement(one, f"{{{NAMESPACE}}}impressParameter", **said, value_type="TEXT", is_required=required)
    return etree.tostring(made)


@pytest.fixture
def sample(shared):
    folder = shared / "data/drops/samples-exportlibrary"
    return lambda more="": (folder / f"{SAMPLE}{more}.xml").read_bytes()


@pytest.fixture
def made(place, sample, shared, tmp_path):
    (tmp_path / "pipelines.xml").write_bytes(pipelines(sample()))
    lists = shared / "data/drops/lists"
    return place(
        f'[drops.lists]\npipelines = "{tmp_path}/pipelines.xml"\nstatus_codes = "{lists}/statusCodes.csv"\n'
        f'projects = "{lists}/projects.txt"\n'
    )


def told(made, fname):
    return [kind for kind, *_ in made.xml_log(fname)]


def test_the_standards_samples_with_wrong_contents(made, sample):
    folder = made.folder("own", "J")
    words = ("", "_wrong_parameterID", "_wrong_procedure")
    names = {word: f"J.{DAY}.{number}.experiment.impc.xml" for number, word in enumerate(words, 1)}
    key = put(folder, f"J.{DAY}.1.impc.zip", pack({names[word]: sample(word) for word in words}))
    assert made.run().code == 0
    made.whole(key)
    always = {"UnknownProject", "SpecimenNotSubmitted"}
    parameter = {"RequiredParameterMissing", "ParameterNotInProcedure"}
    assert set(told(made, names[""])) == always
    # They all tell of one experiment, so that the later ones take the place of the first.
    assert set(told(made, names["_wrong_parameterID"])) == always | parameter | {"AlreadyKnown"}
    assert set(told(made, names["_wrong_procedure"])) == always | {"ProcedureNotInPipeline", "AlreadyKnown"}
    levels = dict(made.ask("SELECT f.kind, f.level FROM finding f JOIN member m ON m.seq = f.item"))
    assert levels["UnknownProject"] == "warn"
    assert levels["ProcedureNotInPipeline"] == "error"


def test_what_is_fatal_is_not_current(made, sample):
    folder = made.folder("own", "J")
    bad = sample().replace(b'pipeline="IMPC_001"', b'pipeline="IMPC_999"')
    names = [f"J.{DAY}.{number}.experiment.impc.xml" for number in (1, 2)]
    spoilt = put(folder, f"J.{DAY}.1.impc.zip", pack({names[0]: bad}))
    good = put(folder, f"J.{DAY}.2.impc.zip", pack({names[1]: sample()}))
    assert made.run().code == 0
    made.whole(good)
    assert made.item(spoilt)[:2] == ("data", "failed")
    assert made.action(spoilt) == ("data", "failed")
    assert told(made, names[0]) == ["UnknownPipeline"]
    assert made.loaded() == {good.rpartition("/")[2]}
    list_of_pipelines = made.root.parent / "pipelines.xml"
    list_of_pipelines.write_bytes(list_of_pipelines.read_bytes().replace(b"IMPC_001", b"IMPC_999"))
    ledger = Ledger(made.root / "ledger.sqlite")
    decide(Windrow(made.root).config, ledger, "retry", [spoilt])
    ledger.close()
    assert made.run().code == 0
    made.whole(spoilt)
    assert [state[:2] for state in made.downloads(spoilt)] == [("data", "failed"), ("overview", "done")]


def test_checks_without_their_list_are_told_as_not_run(made):
    folder = made.folder("own")
    name = f"H.{DAY}.1.specimen.impc.xml"
    key = put(folder, f"H.{DAY}.1.impc.zip", pack({name: specimens("H", 1)}))
    assert made.run().code == 0
    made.whole(key)
    ((kind, message, line, column),) = made.xml_log(name)
    assert kind == "CheckNotRun"
    assert "no list strains: UnknownStrain" in message
    assert "no list colonies: ColonyNotReady, UnknownColony, WrongProductionCentre" in message
    assert "status_codes" not in message
    assert (line, column) == (None, None)


def test_lines_and_columns_far_down(made):
    name = f"H.{DAY}.1.specimen.impc.xml"
    content = specimens("H", 1, 2).replace(b"    <mouse", b"\n" * 70_000 + b"    <mouse")
    content = content.replace(b'gender="', b'gender="un', 2)
    put(made.folder("own"), f"H.{DAY}.1.impc.zip", pack({name: content}))
    assert made.run().code == 0
    lines = content.split(b"\n")
    places = [(number, line.index(b"<mouse") + 1) for number, line in enumerate(lines, 1) if b"<mouse" in line]
    assert places[0][0] > 65_535
    assert sorted({(line, column) for kind, _, line, column in made.xml_log(name) if kind == "SchemaError"}) == places


@pytest.mark.parametrize(
    ("setting", "content", "words"),
    [
        ("lists.pipelines", "<open>", "the list pipelines cannot be read"),
        ("lists.colonies", "<a><phenotypeAttempt/></a>", "the list colonies cannot be read"),
        ("schemas.specimen", "<open>", "line 1"),
        ("schemas.experiment", '<schema xmlns="http://www.w3.org/2001/XMLSchema"><import/>x</schema>', "schema"),
    ],
)
def test_a_list_or_schema_that_cannot_be_used_fails_no_document(place, tmp_path, setting, content, words):
    (tmp_path / "file.xml").write_text(content)
    table, _, name = setting.partition(".")
    made = place(f'[drops.{table}]\n{name} = "{tmp_path}/file.xml"\n')
    good = made.healthy()
    went = made.run()
    assert went.code == 4
    assert words in str(went.error)
    made.configure()
    assert made.run().code == 0
    made.whole(good)
