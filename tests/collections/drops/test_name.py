from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.drops.name import DocumentKind, XmlName, ZipName, read_xml_name, read_zip_name
from windrow.errors import ConfigError
from windrow.reasons import Reason

CENTRES = ("Bcm", "Gmc", "H", "Ics", "J", "Krb", "Ning", "Rbrc", "Tcp", "Ucd", "Wtsi")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("H.2012-11-20.03.impc.zip", ZipName("H", date(2012, 11, 20), 3)),
        ("J.2023-03-02.50.impc.zip", ZipName("J", date(2023, 3, 2), 50)),
        ("WTSI.2013-10-31.14.impc.zip", ZipName("Wtsi", date(2013, 10, 31), 14)),
        ("H.2016-02-29.0.impc.zip", ZipName("H", date(2016, 2, 29), 0)),
    ],
)
def test_good_zip(name, expected):
    assert read_zip_name(name, CENTRES) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("WTSI.2013-10-31.14.experiment.impc.xml", XmlName("Wtsi", date(2013, 10, 31), 14, DocumentKind.EXPERIMENT)),
        ("GMC.2013-04-26.3.experiment.impc.xml", XmlName("Gmc", date(2013, 4, 26), 3, DocumentKind.EXPERIMENT)),
        ("Ics.2013-06-19.11.specimen.impc.xml", XmlName("Ics", date(2013, 6, 19), 11, DocumentKind.SPECIMEN)),
        ("Krb.2016-04-15.1.specimen.impc.xml", XmlName("Krb", date(2016, 4, 15), 1, DocumentKind.SPECIMEN)),
    ],
)
def test_good_xml(name, expected):
    assert read_xml_name(name, CENTRES) == expected


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("H.2012-1-2.1.impc.zip", Reason.BAD_NAME),
        ("H.2012-11-20.123456.impc.zip", Reason.BAD_NAME),
        ("H.2012-11-20.03.IMPC.zip", Reason.BAD_NAME),
        ("H.2012-11-20.03.impc.ZIP", Reason.BAD_NAME),
        ("H.2012-13-01.1.impc.zip", Reason.BAD_DATE),
        ("H.2012-02-31.1.impc.zip", Reason.BAD_DATE),
        ("H.2015-02-29.1.impc.zip", Reason.BAD_DATE),
        ("H.0000-01-01.1.impc.zip", Reason.BAD_DATE),
        ("Xyz.2013-01-01.1.impc.zip", Reason.UNKNOWN_CENTRE),
        ("tmp-H.2012-11-20.03.impc.zip", Reason.BAD_NAME),
        ("H.2012-11-20.03.impc.zip.part.zip", Reason.BAD_NAME),
        ("H.2012-11-20.03.experiment.impc.xml.zip", Reason.BAD_NAME),
        ("Cam-Su.2020-01-01.1.impc.zip", Reason.BAD_NAME),
        (".2012-11-20.03.impc.zip", Reason.BAD_NAME),
        ("H.2012-11-20.03.impc.zip\n", Reason.UNSAFE_NAME),
        ("../H.2012-11-20.03.impc.zip", Reason.UNSAFE_NAME),
        ("a\\H.2012-11-20.03.impc.zip", Reason.UNSAFE_NAME),
        ("H.2012-11-20.03..impc.zip", Reason.UNSAFE_NAME),
        ("H.2012-11-20.03.impc.zip\0", Reason.UNSAFE_NAME),
        ("H.\uff12\uff10\uff11\uff12-11-20.03.impc.zip", Reason.BAD_NAME),
        ("\uff28.2012-11-20.03.impc.zip", Reason.BAD_NAME),
        ("H.2012-11-20.0\uff13.impc.zip", Reason.BAD_NAME),
        ("H" * 129 + ".zip", Reason.NAME_TOO_LONG),
        ("", Reason.BAD_NAME),
    ],
)
def test_bad_zip(name, reason):
    assert read_zip_name(name, CENTRES) is reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("UCD.2013-06-17.experiment.impc.xml", Reason.BAD_NAME),
        ("UCD2013-06-17experiment.impc.xml", Reason.BAD_NAME),
        ("H.2012-11-20.03.both.impc.xml", Reason.BAD_NAME),
        ("H.2012-11-20.03.impc.zip", Reason.BAD_NAME),
        ("MRC_Harwell.2012-10-02.01.experiment.impc.xml", Reason.UNKNOWN_CENTRE),
        ("H.2012-11-31.03.specimen.impc.xml", Reason.BAD_DATE),
    ],
)
def test_bad_xml(name, reason):
    assert read_xml_name(name, CENTRES) is reason


@given(st.sampled_from(CENTRES), st.dates(), st.integers(0, 99999), st.sampled_from(list(DocumentKind)))
def test_what_is_written_is_read(centre, day, inc, kind):
    assert read_zip_name(f"{centre.upper()}.{day}.{inc:02}.impc.zip", CENTRES) == ZipName(centre, day, inc)
    parsed = read_xml_name(f"{centre.lower()}.{day}.{inc}.{kind}.impc.xml", CENTRES)
    assert parsed == XmlName(centre, day, inc, kind)


@given(st.text(max_size=140))
def test_any_text_has_an_answer(text):
    for name in (text, f"{text}.2012-11-20.03.impc.zip", f"H.2012-11-20.{text}.impc.zip", f"H.{text}.1.impc.zip"):
        parsed = read_zip_name(name, CENTRES)
        if isinstance(parsed, ZipName):
            assert name.casefold().startswith(f"{parsed.centre.casefold()}.{parsed.date}.")
            assert "/" not in name
            assert len(name) <= 128


def test_own_pattern():
    own = r"(?P<centre>[A-Z]+)-(?P<inc>\d+)-(?P<date>\d{4}-\d{2}-\d{2})\.zip"
    assert read_zip_name("H-7-2020-01-02.zip", CENTRES, own) == ZipName("H", date(2020, 1, 2), 7)
    assert read_zip_name(f"H-{10**30}-2020-01-02.zip", CENTRES, own) is Reason.BAD_NAME
    assert read_zip_name("H.2012-11-20.03.impc.zip", CENTRES, own) is Reason.BAD_NAME


@pytest.mark.parametrize("pattern", ["(", r"(?P<centre>\w+)\.zip", r"(?P<date>a)(?P<inc>b)"])
def test_a_pattern_that_cannot_work_is_a_wrong_configuration(pattern):
    with pytest.raises(ConfigError, match="zip_name"):
        read_zip_name("H.2012-11-20.03.impc.zip", CENTRES, pattern)


def test_an_xml_pattern_needs_a_kind():
    with pytest.raises(ConfigError, match="kind"):
        read_xml_name("x", CENTRES, r"(?P<centre>a)(?P<date>b)(?P<inc>c)")
