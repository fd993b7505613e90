import io
import random
import zipfile
from dataclasses import replace
from hashlib import md5

import pytest

from windrow.collections.drops.steps import check_xsd, unzip
from windrow.contract import Task
from windrow.digest import digest
from windrow.formats.zip import open_member
from windrow.model import Item, Level, Limits
from windrow.reasons import Reason

ZIP = "H.2012-11-20.03.impc.zip"
SPECIMENS = "H.2012-11-20.4.specimen.impc.xml"
EXPERIMENTS = "H.2012-11-20.3.experiment.impc.xml"
OPTIONS = {"centres": "H,J,Ucd,Wtsi"}
CORE = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core"
EMPTY = (
    f"<centreProcedureSet xmlns='{CORE}/procedure'><centre centreID='H' pipeline='P' project='p'/></centreProcedureSet>"
)


def packed(*members):
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in members:
            writer.writestr(name, content)
    return buffer.getvalue()


def read(content, limits=Limits(), key=f"add/{ZIP}", **options):  # noqa: B008
    item = Item(1, "drops", "action", key)
    return unzip(Task(item, io.BytesIO(content), limits, {}, OPTIONS | options))


def checked(content, schemas, name=EXPERIMENTS, limits=Limits()):  # noqa: B008
    item = Item(2, "drops", "xml", f"add/{ZIP}/{name}", member=name)
    return check_xsd(Task(item, io.BytesIO(content), limits, schemas, OPTIONS))


def test_members_with_their_digests_in_the_order_of_loading():
    names = [
        "H.2012-11-20.10.experiment.impc.xml",
        "UCD.2012-11-20.9.experiment.impc.xml",
        "J.2011-01-01.99.experiment.impc.xml",
        "H.2013-01-01.1.specimen.impc.xml",
        "WTSI.2012-01-01.1.specimen.impc.xml",
    ]
    content = packed(*((name, name.encode()) for name in names))
    reading = read(content)
    assert (reading.reason, reading.findings, reading.count) == (None, (), 5)
    assert reading.md5 == md5(content).hexdigest()
    assert [member.name for member in reading.members] == names
    assert [member.name for member in sorted(reading.members, key=lambda member: member.rank)] == names[::-1]
    for member in reading.members:
        assert member.digest == digest(member.name.encode())
        assert member.md5 == md5(member.name.encode()).hexdigest()
        assert member.size == len(member.name)
        assert member.kind in member.name


def test_rank_goes_by_the_zip_first():
    content = packed((EXPERIMENTS, b"1"))
    later, sooner = (read(content, key=f"add/{name}").members[0].rank for name in ("H.2012-11-20.10.impc.zip", ZIP))
    assert sooner < later


def test_what_is_left_out_by_rule_is_noted():
    reading = read(
        packed(
            ("folder/", b""),
            ("folder/" + EXPERIMENTS, b"1"),
            ("notes.txt", b"1"),
            ("../" + EXPERIMENTS, b"1"),
            (EXPERIMENTS, b"1"),
        )
    )
    assert reading.done
    assert [member.name for member in reading.members] == [EXPERIMENTS]
    assert [finding.level for finding in reading.findings] == [Level.NOTE, Level.NOTE, Level.NOTE, Level.WARN]
    assert reading.left_out == ((Reason.NOT_WANTED, 3),), "without the folder itself"


def test_xml_files_of_bad_names_are_members_with_their_reason():
    link = zipfile.ZipInfo("J.2012-11-20.4.specimen.impc.xml")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    bad = ("UCD.2013-06-17.experiment.impc.xml", "Xyz.2013-06-17.1.experiment.impc.xml", "a\\b.xml", "x" * 125 + ".xml")
    reading = read(packed((EXPERIMENTS, b"1"), *((name, b"2") for name in bad), (link, b"/etc/passwd")))
    assert reading.done
    assert [member.reason for member in reading.members] == [
        None,
        Reason.BAD_NAME,
        Reason.UNKNOWN_CENTRE,
        Reason.UNSAFE_NAME,
        Reason.NAME_TOO_LONG,
        Reason.NOT_A_FILE,
    ]
    assert [finding.kind for finding in reading.findings] == [
        "BadName",
        "UnknownCentre",
        "UnsafeName",
        "NameTooLong",
        "NotAFile",
    ]


def test_nothing_usable():
    reading = read(packed(("bad.xml", b"1"), ("notes.txt", b"1")))
    assert reading.reason is Reason.EMPTY_ARCHIVE
    assert [member.reason for member in reading.members] == [Reason.BAD_NAME]
    assert read(packed()).reason is Reason.EMPTY_ARCHIVE


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", Reason.NOT_A_ZIP),
        (packed((EXPERIMENTS, b"1"))[:-1], Reason.TRUNCATED),
        (packed((EXPERIMENTS, b"1"), ("more.zip", b"1")), Reason.NESTED_ARCHIVE),
        (packed((EXPERIMENTS, packed(("a", b"1")))), Reason.NESTED_ARCHIVE),
        (packed((EXPERIMENTS, bytes(10**6))), Reason.BOMB_RATIO),
        (
            packed((EXPERIMENTS, b"1234567890" * 9), ("notes.txt", b"1234567890" * 9)).replace(
                b"1234567890", b"1234567891"
            ),
            None,
        ),
    ],
)
def test_a_faulty_archive_fails_as_a_whole(content, reason):
    reading = read(content)
    assert reading.reason is reason
    assert reading.md5 == md5(content).hexdigest()
    if reason:
        assert reading.members == ()
        assert reading.findings[0].level is Level.ERROR


def test_bytes_that_belong_to_no_member_are_told():
    content = packed((EXPERIMENTS, b"1" * 99), (SPECIMENS, random.Random(1).randbytes(600_000)))
    second = content.index(b"PK\3\4", 4)
    directory = content.index(b"PK\1\2")

    def with_junk(place, packed_place, junk):
        """Read the zip with bytes inserted at `place`, which the member at `packed_place` states as packed bytes."""
        grown = bytearray(content[:place] + junk + content[place:])
        record = grown.index(b"PK\1\2")
        for member in (record, grown.index(b"PK\1\2", record + 4)):
            offset, packed_size = (int.from_bytes(grown[member + at :][:4], "little") for at in (42, 20))
            offset += len(junk) * (offset >= place)
            packed_size += len(junk) * (offset == packed_place)
            grown[member + 20 : member + 24] = packed_size.to_bytes(4, "little")
            grown[member + 42 : member + 46] = offset.to_bytes(4, "little")
        grown[-6:-2] = record.to_bytes(4, "little")
        return read(bytes(grown))

    for place, message in (
        (0, "7 bytes at offset 0 of the zip belong to no member"),
        (second, f"7 bytes at offset {second} of the zip belong to no member"),
        (directory, f"7 bytes at offset {directory} of the zip belong to no member"),
    ):
        reading = with_junk(place, None, b"garbage")
        assert reading.done
        assert [(finding.kind, finding.message) for finding in reading.findings] == [("TrailingBytes", message)]
        assert reading.left_out == ((Reason.TRAILING_BYTES, 1),)
    for place, name, member in ((second, EXPERIMENTS, 0), (directory, SPECIMENS, second)):
        reading = with_junk(place, member, b"garbage" * 50_000)
        assert [finding.message for finding in reading.findings] == [
            f"350000 bytes follow the end of the deflate stream of {name!r}"
        ]
        assert len(reading.members) == 2


def test_one_bad_checksum_anywhere_fails_the_zip():
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as writer:
        writer.writestr(EXPERIMENTS, b"<a/>")
        writer.writestr("notes.txt", b"remember")
    assert read(buffer.getvalue().replace(b"remember", b"december")).reason is Reason.CORRUPT


def test_limits_of_the_workspace():
    content = packed((EXPERIMENTS, b"1" * 50), (SPECIMENS, b"2" * 50))
    assert read(content, Limits(members=1)).reason is Reason.TOO_MANY_MEMBERS
    assert read(content, Limits(member_size=49)).reason is Reason.TOO_LARGE
    assert read(content, Limits(total_size=99)).reason is Reason.BOMB_TOTAL


def test_many_notes_are_counted():
    reading = read(packed(*((f"{number}.txt", b"") for number in range(1500)), (EXPERIMENTS, b"1")))
    assert len(reading.findings) == 1001
    assert reading.findings[-1].message == "not listed: 500 more findings"


def test_own_patterns():
    own = r"(?P<centre>\w+)_(?P<date>[\d-]+)_(?P<inc>\d+)_(?P<kind>specimen|experiment)\.xml"
    reading = read(packed(("H_2020-01-01_1_specimen.xml", b"1")), xml_name=own)
    assert [member.kind for member in reading.members] == ["specimen"]


def test_open_member():
    view = io.BytesIO(packed((EXPERIMENTS, b"<a/>"), (SPECIMENS, b"<b/>")))
    with open_member(view, SPECIMENS, Limits()) as file:
        assert file.read() == b"<b/>"


def test_the_examples_are_valid(shared, schemas):
    examples = sorted((shared / "data/drops/examples").glob("*.xml"))
    assert len(examples) == 22
    for path in examples:
        assert checked(path.read_bytes(), schemas).done, path.name


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("xmlserialization_procedures", [(6, 9)]),
        ("xsdvalidation_procedure_results_wrong_attribute", [(30, 17)]),
        ("xsdvalidation_procedure_results_wrong_tag", [(45, 17)]),
        ("xsdvalidation_specimens", [(5, 5)]),
        ("xsdvalidation_procedures_2attributesSameName", [(30, 103)]),
    ],
)
def test_the_samples_that_are_not(shared, schemas, name, places):
    content = (shared / f"data/drops/samples-exportlibrary/{name}.xml").read_bytes()
    reading = checked(content, schemas, SPECIMENS if "specimens" in name else EXPERIMENTS)
    is_broken = "2attributes" in name
    assert reading.reason is (Reason.NOT_WELL_FORMED if is_broken else Reason.NOT_VALID)
    assert {finding.kind for finding in reading.findings} == {"SyntaxError" if is_broken else "SchemaError"}
    assert [(finding.line, finding.column) for finding in reading.findings] == places


def test_all_other_samples_are(shared, schemas):
    folder = shared / "data/drops/samples-exportlibrary"
    bad = ("xmlserialization_procedures", "wrong_attribute", "wrong_tag", "xsdvalidation_specimens", "2attributes")
    good = [path for path in folder.glob("*.xml") if not any(word in path.name for word in bad)]
    assert len(good) == 10
    for path in good:
        name = SPECIMENS if "specimens" in path.name else EXPERIMENTS
        assert checked(path.read_bytes(), schemas, name).done, path.name


def test_the_root_must_be_what_the_name_says(schemas):
    reading = checked(EMPTY.encode(), schemas, SPECIMENS)
    assert (reading.reason, reading.findings[0].kind) == (Reason.WRONG_ROOT, "WrongRoot")
    assert checked(EMPTY.encode(), schemas).done
    assert checked(EMPTY.replace("core/procedure", "core/other").encode(), schemas).reason is Reason.NOT_VALID
    assert checked(b"no xml", schemas).reason is Reason.NOT_WELL_FORMED


def test_no_schema(schemas):
    assert checked(EMPTY.encode(), {}).reason is Reason.NO_SCHEMA
    alone = replace(schemas["experiment"], siblings=())
    assert checked(EMPTY.encode(), {"experiment": alone}).reason is Reason.NO_SCHEMA


def test_hostile_documents(schemas):
    bomb = b"<!DOCTYPE a [<!ENTITY b 'bb'><!ENTITY c '&b;&b;'>]>" + EMPTY.encode()
    assert checked(bomb, schemas).reason is Reason.DTD_FORBIDDEN
    assert checked(EMPTY.encode().replace(b"'P'", b"'\xff'"), schemas).reason is Reason.WRONG_ENCODING
    assert checked(EMPTY.encode(), schemas, limits=Limits(member_size=9)).reason is Reason.TOO_LARGE
    assert checked(EMPTY.encode(), schemas, limits=Limits(elements=1)).reason is Reason.TOO_MANY_ELEMENTS
    assert checked(EMPTY.encode(), schemas, "nonsense.xml").reason is Reason.BAD_NAME
