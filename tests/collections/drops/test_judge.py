from __future__ import annotations

from pathlib import Path

import pytest

from tests.collections.drops.sample import (
    embryo,
    experiment,
    experiments,
    mouse,
    procedure,
    simple,
    specimens,
    task,
)
from windrow.collections.drops.judge import judge
from windrow.collections.drops.reference import MAX_FINDINGS
from windrow.errors import StepError
from windrow.model import Finding, Level, Reading

CODES = b"\nIMPC_PSC_001 ~ died ~ found dead\nIMPC_PARAMSC_005 ~ free text\nIMPC_SSC_001~x\n"
PROJECTS = b"projects = MGP Legacy, BaSH,\n JAX"
STRAINS = (
    b'<mgiStrains xmlns="u" parsed="x"><mgiStrain MGI_ID="MGI:1" strainID="C57BL/6N" strainType="x"/></mgiStrains>'
)
EXTERNAL = "http://www.mousephenotype.org/dcc/exportlibrary/external/"


def attempt(colony: str, centre: str = "Harwell", status: str = "Phenotyping Started", parent: str = "M1") -> str:
    return (
        f'<phenotypeAttempt phenotypeColonyName="{colony}" productionCentre="{centre}" phenotypeStatus="{status}">'
        f'<genotypicInformation microInjectionAttemptColonyName="{parent}"/></phenotypeAttempt>'
    )


COLONIES = (
    f'<phenotypeAttempts xmlns="{EXTERNAL}imits" retrieved="x">'
    + attempt("C1")
    + attempt("other", "JAX")
    + attempt("early", status="Rederivation Started")
    + attempt("unsure", parent="M2")
    + "</phenotypeAttempts>"
).encode()
PARENTS = (
    f'<microinjectionAttempts xmlns="{EXTERNAL}imits" retrieved="x">'
    '<microinjectionAttempt colonyName="M1" statusName="Genotype confirmed"/>'
    '<microinjectionAttempt colonyName="M2" statusName="Chimeras obtained"/></microinjectionAttempts>'
).encode()


def parameter(
    key: str, kind: str = "simpleParameter", value: str = "TEXT", inner: str = "", *, required: bool = False
) -> str:
    return (
        f'<impressParameter parameter_key="{key}" type="{kind}" value_type="{value}"'
        f' is_required="{str(required).lower()}">{inner}</impressParameter>'
    )


def increments(*texts: str, minimum: int = 0, kind: str = "") -> str:
    return "".join(f'<impressParameterIncrement min="{minimum}" string="{text}" type="{kind}"/>' for text in texts)


PIPELINES = (
    f'<impressPipelineContainer xmlns="{EXTERNAL}impress" queried="x">'
    '<pipeline pipeline_key="IMPC_001"><impressProcedure procedure_key="P_001">'
    + parameter("req", required=True)
    + parameter("float", value="FLOAT")
    + parameter("option", inner='<impressParameterOption name="yes"/><impressParameterOption name="no"/>')
    + parameter("onto", "ontologyParameter", inner='<impressOntologyParameterOption ontology_id="MP:"/>')
    + parameter("series", "seriesParameter", "INT", increments("", minimum=3, kind="float"))
    + parameter("named", "seriesParameter", "INT", increments("left", "right"))
    + parameter("pic", "mediaParameter", "IMAGE")
    + parameter("pics", "seriesMediaParameter", "IMAGE")
    + parameter("meta", "procedureMetadata")
    + "</impressProcedure></pipeline></impressPipelineContainer>"
).encode()

LISTS = {
    "status_codes": CODES,
    "projects": PROJECTS,
    "strains": STRAINS,
    "colonies": COLONIES,
    "parent_colonies": PARENTS,
    "pipelines": PIPELINES,
}
BASE = simple("req")


def read(content: bytes, lists: dict[str, bytes] | None = None, **options: str) -> Reading:
    return judge(task(content, LISTS if lists is None else lists, **options))


def kinds(content: bytes, lists: dict[str, bytes] | None = None, **options: str) -> list[str]:
    return [finding.kind for finding in read(content, lists, **options).findings]


def of_mouse(**fields: object) -> list[str]:
    return kinds(specimens(mouse("s1", **fields)))  # type: ignore[arg-type]


def of_procedure(*parameters: str) -> list[str]:
    return kinds(experiments(experiment("e1", "s1", inner=procedure(*parameters))))


def test_a_sound_document_has_no_findings() -> None:
    assert of_mouse() == []
    assert of_mouse(baseline=True, colony=None, strain="MGI:1") == []
    assert of_mouse(baseline=True, colony=None, strain="C57BL/6N") == []
    assert of_procedure(BASE) == []
    assert read(specimens(mouse("s1"), mouse("s2"))).count == 2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"project": "nowhere"}, "UnknownProject"),
        ({"inner": "<statusCode>nothing</statusCode>"}, "UnknownStatusCode"),
        ({"inner": "<statusCode>IMPC_SSC_001: lost</statusCode>"}, None),
        ({"baseline": True}, "StrainMissing"),
        ({"baseline": True, "strain": "MGI:9"}, "UnknownStrain"),
        ({"colony": None}, "ColonyMissing"),
        ({"colony": "C9"}, "UnknownColony"),
        ({"colony": "early"}, "ColonyNotReady"),
        ({"colony": "unsure"}, "ColonyNotReady"),
        ({"colony": "other"}, "WrongProductionCentre"),
        ({"colony": "other", "production": "J"}, None),
        ({"production": "Ccpcz"}, "CheckNotRun"),
        ({"dob": "2024-05-01"}, None),
        ({"dob": "2024-05-02"}, "BirthDateInFuture"),
    ],
)
def test_specimens(fields: dict[str, object], expected: str | None) -> None:
    assert of_mouse(**fields) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("stage", "unit", "expected"),
    [
        *[(stage, "DPC", None) for stage in ("E9.5", "0", "19.99", "12.")],
        *[(stage, "DPC", "StageOutOfRange") for stage in ("20", "E20.5")],
        *[(stage, "DPC", "StageNotRecognised") for stage in ("e9", "TS9", "-1", "")],
        *[(stage, "Theiler", None) for stage in ("TS1", "25", "TS12c")],
        *[(stage, "Theiler", "StageOutOfRange") for stage in ("0", "TS26", "26a")],
        *[(stage, "Theiler", "StageNotRecognised") for stage in ("9.5", "TS9e", "E9")],
    ],
)
def test_stages(stage: str, unit: str, expected: str | None) -> None:
    assert kinds(specimens(embryo("s1", stage, unit))) == ([expected] if expected else [])


def test_levels_are_the_standards() -> None:
    def level(content: bytes) -> Level:
        (finding,) = read(content).findings
        return finding.level

    assert level(specimens(mouse("s1", project="x"))) is Level.WARN
    assert level(specimens(mouse("s1", colony=None))) is Level.ERROR
    assert level(experiments(experiment("e", "s"), pipeline="x")) is Level.FATAL


def test_of_a_centre_with_an_unknown_pipeline_only_identifiers_are_checked() -> None:
    reading = read(experiments(experiment("e ", "s", inner=""), pipeline="x", project="y"))
    unknown_pipeline, blanks = reading.findings
    assert (unknown_pipeline.kind, blanks.kind) == ("UnknownPipeline", "BlanksInIdentifier")
    assert "only the identifiers of records, specimens and procedures were checked" in unknown_pipeline.message
    assert reading.lookups == ()


def test_specimens_of_experiments_are_asked_for_once() -> None:
    content = experiments(experiment("e1", "s1", "s2"), experiment("e2", "s1"), centre="J")
    asks = read(content).lookups
    assert [(ask.question, ask.key) for ask in asks] == [("specimen", "J_s1"), ("specimen", "J_s2")]
    assert asks[0].finding.kind == "SpecimenNotSubmitted"
    assert asks[0].finding.line == 2


def test_a_date_with_a_time_zone_has_a_note() -> None:
    inner = "<statusCode>IMPC_PSC_001</statusCode>"
    (finding,) = read(experiments(experiment("e1", "s1", inner=inner, day="2024-02-01+14:00"))).findings
    assert (finding.kind, finding.level) == ("DateWithZone", Level.NOTE)
    assert "dateOfExperiment '2024-02-01+14:00' has a time zone" in finding.message
    assert of_mouse(dob="2024-01-31Z") == ["DateWithZone"]
    status = '<statusCode date="2024-02-02-08:00">IMPC_PSC_001</statusCode>'
    housing = '<housing fromLIMS="1" lastUpdated=" 2024-01-01+05:00 "><procedure procedureID="P"/></housing>'
    line = f'<line colonyID="c1">{status}</line>'
    findings = read(experiments(experiment("e1", "s1", inner=status), line, housing)).findings
    messages = [finding.message for finding in findings if finding.kind == "DateWithZone"]
    assert [message.partition(" has ")[0] for message in messages] == [
        "experiment 'e1': date '2024-02-02-08:00'",
        "line 'c1': date '2024-02-02-08:00'",
        "housing: lastUpdated '2024-01-01+05:00'",
    ]


def test_experiments_and_lines_need_a_status_or_a_procedure() -> None:
    assert kinds(experiments(experiment("e1", "s1", inner="<!-- none -->"))) == ["ProcedureMissing"]
    status = "<statusCode>IMPC_PSC_001</statusCode>"
    assert kinds(experiments(experiment("e1", "s1", inner=procedure("", name="x") + status))) == []
    assert kinds(experiments(experiment("e1", "s1", inner="<statusCode>no</statusCode>"))) == ["UnknownStatusCode"]
    line = '<line colonyID="{}">{}</line>'
    assert kinds(experiments(line.format("C1", procedure(BASE)))) == []
    assert kinds(experiments(line.format("C9", procedure(BASE)))) == ["UnknownColony"]
    assert kinds(experiments(line.format("C9", procedure(BASE) + status))) == []


def series(key: str, *values: tuple[str, str], status: str | None = None) -> str:
    mark = "" if status is None else f' incrementStatus="{status}"'
    inner = "".join(f'<value incrementValue="{name}"{mark}>{value}</value>' for name, value in values)
    return f'<seriesParameter parameterID="{key}">{inner}</seriesParameter>'


def onto(*terms: str) -> str:
    inner = "".join(f"<term>{term}</term>" for term in terms)
    return f'<ontologyParameter parameterID="onto">{inner}</ontologyParameter>'


def media(target: str) -> str:
    link = f'<parameterAssociation parameterID="{target}"/>'
    return f'<mediaParameter parameterID="pic" URI="u" fileType="t">{link}</mediaParameter>'


THREE = (("1", "1"), ("2", "2"), ("3", "3"))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ((), "RequiredParameterMissing"),
        ((BASE, simple("foreign")), "ParameterNotInProcedure"),
        ((BASE, simple("meta")), "WrongParameterType"),
        ((BASE, BASE), "ParameterRepeated"),
        ((BASE, simple("req", sequence=1), simple("req", sequence=2)), None),
        ((BASE, simple("float", sequence=1), simple("float", sequence=1)), "ParameterRepeated"),
        ((BASE, simple("float", "1.5e3")), None),
        ((BASE, simple("float", "many")), "ValueNotCastable"),
        ((BASE, simple("float", "")), "ValueMissing"),
        ((BASE, simple("float", None)), "ValueMissing"),
        ((BASE, simple("float", "many", status="IMPC_PARAMSC_005:broke")), None),
        ((BASE, simple("float", None, status="why")), "UnknownStatusCode"),
        ((BASE, simple("option", "yes")), None),
        ((BASE, simple("option", "Yes")), "OptionNotPermitted"),
        ((BASE, onto("MP:0001", "MP:2")), None),
        ((BASE, onto("EMAP:1")), "TermNotPermitted"),
        ((BASE, onto("")), "ValueMissing"),
        ((BASE, onto()), "ValueMissing"),
        ((BASE, series("series", *THREE)), None),
        ((BASE, series("series", *THREE[:2])), "IncrementsTooFew"),
        ((BASE, series("series", ("x", "1"), *THREE)), "IncrementNotCastable"),
        ((BASE, series("series", ("0", "1.5"), *THREE)), "ValueNotCastable"),
        ((BASE, series("series", ("0", ""), *THREE)), "ValueMissing"),
        ((BASE, series("series")), "ValueMissing"),
        ((BASE, series("named", ("left", ""), ("right", ""), status="IMPC_PARAMSC_005:lost")), None),
        ((BASE, series("named", ("left", "1"), ("right", "2"))), None),
        ((BASE, series("named", ("left", "1"))), "IncrementMissing"),
        ((BASE, series("named", ("left", "1"), ("right", "2"), ("up", "3"))), "IncrementNotPermitted"),
        ((BASE, media("req")), None),
        ((BASE, media("gone")), "AssociationUndefined"),
        ((BASE, '<seriesMediaParameter parameterID="pics"/>'), "ValueMissing"),
        ((BASE, '<procedureMetadata parameterID="meta"><value>x</value></procedureMetadata>'), None),
        ((BASE, '<procedureMetadata parameterID="meta"/>'), "ValueMissing"),
    ],
)
def test_procedures(parameters: tuple[str, ...], expected: str | None) -> None:
    assert of_procedure(*parameters) == ([expected] if expected else [])


def test_a_value_or_a_status_not_both() -> None:
    findings = of_procedure(BASE, series("named", ("left", "1"), ("right", ""), status="IMPC_PARAMSC_005"))
    assert findings == ["SeriesValueConflict"]


def test_the_status_of_each_increment_is_checked() -> None:
    findings = of_procedure(BASE, series("named", ("left", ""), ("right", ""), status="lost"))
    assert findings == ["UnknownStatusCode", "UnknownStatusCode"]


def test_a_procedure_of_another_pipeline_is_told_once() -> None:
    assert kinds(experiments(experiment("e", "s", inner=procedure(simple("a"), name="P_9")))) == [
        "ProcedureNotInPipeline"
    ]


def test_blanks_around_ids_are_told() -> None:
    assert of_procedure(BASE, simple(" float")) == ["BlanksInIdentifier", "ParameterNotInProcedure"]
    assert kinds(specimens(mouse("s1 "))) == ["BlanksInIdentifier"]
    assert kinds(specimens(mouse(" "))) == ["IdentifierMissing"]


def test_findings_know_their_lines() -> None:
    content = experiments(experiment("e1", "s1", inner=procedure(BASE, simple("float", "x"), simple("option", "y"))))
    assert [finding.line for finding in read(content).findings] == [4, 5]


def test_lines_stay_right_beyond_65535() -> None:
    content = specimens(*["" for _ in range(70_000)], mouse("s1"), mouse("s2", project="x"))
    (finding,) = read(content).findings
    assert finding.line == content[: content.index(b'"s2"')].count(b"\n") + 1 == 70_003


def test_missing_lists_are_named_in_one_note() -> None:
    (note,) = read(experiments(experiment("e", "s"), '<line colonyID="C">' + procedure() + "</line>"), {}).findings
    assert (note.kind, note.level) == ("CheckNotRun", Level.NOTE)
    for words in (
        "the list `pipelines` is not configured: ",
        "UnknownPipeline",
        "the list `projects` is not configured: UnknownProject",
        "the list `colonies` is not configured",
    ):
        assert words in note.message
    (note,) = read(specimens(mouse("s"), mouse("b", baseline=True, strain="x")), {}, today="").findings
    for words in ("the list `strains` is not configured", "today's date is not known: BirthDateInFuture"):
        assert words in note.message


def test_what_needs_no_list_is_checked_without_lists() -> None:
    content = experiments(experiment("e", "s", inner=procedure(simple("a"), simple("a"), simple("b", ""), media("c"))))
    assert kinds(content, {})[:-1] == ["ParameterRepeated", "ValueMissing", "AssociationUndefined"]


def test_of_a_delete_only_identifiers_are_checked() -> None:
    content = specimens(mouse("s1", colony=None, project="x"), mouse(" s2"))
    assert kinds(content, action="delete") == ["BlanksInIdentifier"]
    reading = read(experiments(experiment("e", "s"), pipeline="x"), action="delete")
    assert reading.findings == reading.lookups == ()


def test_findings_are_bounded_but_fatal_ones_are_kept() -> None:
    many = specimens(*(mouse(f"s{number}", colony=None) for number in range(MAX_FINDINGS + 5)))
    findings = read(many).findings
    assert len(findings) == MAX_FINDINGS + 1
    assert findings[-1] == Finding("MoreFindings", "not listed: 5 more findings", Level.NOTE)


def test_lists_come_in_several_forms() -> None:
    codes = b'<Statuscodes xmlns="u" lastUpdated="2024-01-01"><statusCode code="A_1" description="" explanation=""/>'
    codes += b'<statusCode code="" description="" explanation=""/></Statuscodes>'
    strains = b"MGI:7\tna\xc2\x85me\tinbred\nMGI:8\tother\tinbred\n"
    content = specimens(
        mouse("s", baseline=True, strain="MGI:8", inner="<statusCode>A_1</statusCode>", project="two"),
        mouse("t", baseline=True, strain="na\x85me", project="one"),
    )
    lists = {"status_codes": codes, "strains": strains, "projects": b"one\ntwo\n"}
    assert kinds(content, lists) == []
    assert kinds(content.replace(b"A_1", b"lost"), lists) == ["UnknownStatusCode"]


def test_a_broken_list_is_an_error_that_names_it() -> None:
    with pytest.raises(StepError, match="list `pipelines`"):
        read(experiments(experiment("e", "s")), {"pipelines": b"<open>"})
    with pytest.raises(StepError, match="list `colonies`"):
        read(specimens(mouse("s")), {"colonies": b"<a><phenotypeAttempt/></a>"})


def test_the_standards_own_lists_are_read(shared: Path) -> None:
    folder = shared / "data/drops"
    lists = {
        "status_codes": (folder / "lists/statusCodes.csv").read_bytes(),
        "projects": (folder / "lists/projects.txt").read_bytes(),
    }
    for number in range(1, 18):
        status = f"<statusCode>IMPC_PSC_{number:03}</statusCode>"
        findings = read(specimens(mouse("s", inner=status, project="Helmholtz GMC")), lists).findings
        assert [finding.kind for finding in findings] == ["CheckNotRun"]
    assert kinds(specimens(mouse("s", inner="<statusCode>IMPC_PSC_018</statusCode>")), lists)[0] == "UnknownStatusCode"


def test_the_standards_own_bad_examples_are_found(shared: Path) -> None:
    folder = shared / "data/drops/samples-exportlibrary"
    repeated = read((folder / "xmlvalidation_IMPC_BWT_001_repeated_parameters.xml").read_bytes(), {})
    assert "ParameterRepeated" in [finding.kind for finding in repeated.findings]
    good = read((folder / "xmlvalidation_IMPC_CAL_001.xml").read_bytes(), {})
    assert [finding.kind for finding in good.findings] == ["CheckNotRun"]
