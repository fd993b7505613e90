import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.collections.drops import documents
from windrow.errors import StepError
from windrow.formats import xml, xsd
from windrow.model import Limits
from windrow.reasons import Reason

LIMITS = Limits()
SCHEMA = xsd.compile_schema(
    xsd.SchemaFiles(
        "a", b'<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:element name="a" type="s:string"/></s:schema>'
    )
)
BOM = b"\xef\xbb\xbf"


def refusal(content, limits=LIMITS):
    with pytest.raises(StepError) as caught:
        xml.parse(content, limits)
    return caught.value


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE a><a/>",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        b"<?xml version='1.0'?>\n<!-- <a> -->\n<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
        b"\xef\xbb\xbf<?pi x?><!DOCTYPE a><a/>",
        "<!DOCTYPE a><a/>".encode("utf-16"),
        "<?xml version='1.0' encoding='UTF-16BE'?><!DOCTYPE a><a/>".encode("utf-16-be"),
        "\ufeff<!DOCTYPE a><a/>".encode("utf-32-le"),
    ],
)
def test_doctypes_are_refused_in_any_dress(content):
    assert refusal(content).reason is Reason.DTD_FORBIDDEN


@pytest.mark.parametrize("before", [BOM * 2, BOM + b" " + BOM, b"x", "\u2028".encode(), b"\x0b"])
def test_no_doctype_hides_behind_what_a_parser_passes_over(before):
    """A second byte order mark was passed over by the parser, and the document type behind it with it."""
    doctype = b'<!DOCTYPE a [<!ENTITY e "v">]>'
    for content in (before + doctype + b"<a>&e;</a>", before + b"<?xml version='1.0'?>" + doctype + b"<a/>"):
        assert refusal(content).reason in {Reason.DTD_FORBIDDEN, Reason.NOT_WELL_FORMED, Reason.WRONG_ENCODING}
        with pytest.raises(StepError):
            xsd.validate(content, SCHEMA, LIMITS)
        with pytest.raises(StepError):
            list(documents.stream_elements(content, LIMITS))


def test_what_only_looks_like_a_doctype_is_not():
    assert xml.parse(b"<!-- <!DOCTYPE a> --><a><![CDATA[<!DOCTYPE a>]]></a>", LIMITS).text == "<!DOCTYPE a>"


def test_an_encoding_that_hides_its_brackets_is_not_read():
    hidden = b"<?xml version='1.0' encoding='UTF-7'?>+ADwAIQ-DOCTYPE a+AD4-+ADw-a/+AD4-"
    assert refusal(hidden).reason is Reason.WRONG_ENCODING
    assert refusal("<?xml version='1.0' encoding='cp037'?><a/>".encode("cp037")).reason is Reason.NOT_WELL_FORMED


def test_entities_that_nobody_declared():
    assert refusal(b"<a>\n&b;</a>").reason is Reason.NOT_WELL_FORMED
    assert xml.parse(b"<a>&lt;&#65;</a>", LIMITS).text == "<A"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<a>\u00e9</a>".encode(), "\u00e9"),
        ("<?xml version='1.0' encoding='utf8'?><a>\u00e9</a>".encode(), "\u00e9"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a>\u00e9</a>".encode("latin-1"), "\u00e9"),
        ("<?xml version='1.0' encoding='windows-1252'?><a>\u20ac</a>".encode("cp1252"), "\u20ac"),
        (b"<?xml version='1.0' encoding='US-ASCII'?><a>e</a>", "e"),
        ("<?xml version='1.0' encoding='UTF-16'?><a>\u00e9</a>".encode("utf-16"), "\u00e9"),
        ("<?xml version='1.0' encoding='UTF-16LE'?><a>\u00e9</a>".encode("utf-16-le"), "\u00e9"),
        ("<?xml version='1.0' encoding='Shift_JIS'?><a>\u30bd</a>".encode("shift_jis"), "\u30bd"),
        ("\ufeff<?xml version='1.0' encoding='UTF-8'?><a>\u00e9</a>".encode(), "\u00e9"),
        ("<?xml version='1.0'\nencoding = \"UTF-8\" standalone='yes' ?><a>\u00e9</a>".encode(), "\u00e9"),
    ],
)
def test_encodings(content, text):
    assert xml.parse(content, LIMITS).text == text


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"<a>\n\n\xe9</a>", 3),
        (b"<?xml version='1.0' encoding='US-ASCII'?>\n<a>\xc3\xa9</a>", 2),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", 1),
        (b"<?xml version='1.0' encoding='zlib'?><a/>", 1),
        (b"<?xml version='1.0' encoding='UTF-16'?><a/>", 1),
        ("<?xml version='1.0' encoding='UTF-8'?><a/>".encode("utf-16"), 1),
        ("\ufeff<?xml version='1.0' encoding='latin1'?><a/>".encode(), 1),
        (b"<?xml version='1.0' encoding='windows-1252'?>\n<a>\x81</a>", 2),
        (b"\xff\xfe<\0a\0/\0>\0\x00\xd8", 1),
    ],
)
def test_bytes_that_do_not_fit(content, line):
    error = refusal(content)
    assert (error.reason, error.line) == (Reason.WRONG_ENCODING, line)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", (1, 1)),
        (b"<a>\n<b></a>", (2, 8)),
        (b"<a b='1'\n b='2'/>", (2, 7)),
        (b"<a/>\n<b/>", (2, 1)),
        (b"<a>" + b"\n" * 100_000 + b"<b></a>", (100_001, 8)),
        (b"<a>\0</a>", (1, 4)),
        (b"<p:a/>", (1, 5)),
    ],
)
def test_not_well_formed_with_its_place(content, place):
    error = refusal(content)
    assert (error.reason, error.line, error.column) == (Reason.NOT_WELL_FORMED, *place)


def test_size_depth_and_single_texts():
    assert refusal(b"<a>12345</a>", Limits(member_size=8)).reason is Reason.TOO_LARGE
    assert refusal(b"<a>" * 5000 + b"</a>" * 5000).reason is Reason.TOO_LARGE
    assert refusal(b"<a>" + b"x" * 11_000_000 + b"</a>").reason is Reason.TOO_LARGE


@pytest.mark.parametrize(("before", "after"), [(b"", b""), (b"<![CDATA[", b"]]>"), (b"<!--", b"-->")])
def test_a_text_of_more_than_ten_megabytes_is_too_large_and_told_with_its_line(before, after):
    content = b"<a>\n\n<b>" + before + b"x\n" * 5_500_000 + after + b"</b></a>"
    message = refusal(content)
    assert (message.reason, message.line) == (Reason.TOO_LARGE, 3)
    with pytest.raises(StepError) as streamed:
        list(documents.stream_elements(b"<a><b>" + (b"x" * 9_000_000 + b"<!---->") * 2 + b"</b></a>", Limits()))
    assert streamed.value.reason is Reason.TOO_LARGE
    assert "XML_PARSE_HUGE" not in f"{message} {streamed.value}"  # no advice for readers of the message


def test_too_many_elements():
    few = Limits(elements=100)
    assert len(xml.parse(b"<a>" + b"<b/>" * 99 + b"</a>", few)) == 99
    assert refusal(b"<a>" + b"<b/>" * 100 + b"</a>", few).reason is Reason.TOO_MANY_ELEMENTS
    noise = b"<!-- <<<< --><![CDATA[<<<<]]>" * 500
    assert len(xml.parse(b"<a>" + noise + b"<b/>" * 99 + b"</a>", few)) == 99
    assert refusal(b"<a>" + noise + b"<b/>" * 100 + b"</a>", few).reason is Reason.TOO_MANY_ELEMENTS


def test_ten_million_elements_are_refused_at_once():
    content = b"<a>" + b"<b/>" * 10_000_000 + b"</a>"
    reasons = []
    assert cpu_seconds(lambda: reasons.append(refusal(content).reason)) < 30
    assert reasons == [Reason.TOO_MANY_ELEMENTS]


def test_comments_and_instructions_do_not_split_a_text():
    root = xml.parse(b"<?x y?><a>1<!-- - -->2<?z?>3</a><!-- end -->", LIMITS)
    assert (root.text, len(root)) == ("123", 0)


def test_a_namespace_on_the_root():
    assert xml.admit(b"\n<p:set\nxmlns:p='u'/>", LIMITS).root == "set"
    assert xml.admit(b"no xml", LIMITS).root == ""


@settings(max_examples=500)
@given(
    st.sampled_from(
        [
            b"<?xml version='1.0' encoding='UTF-8'?>\n<a b='c'>t<!-- c --><d/><![CDATA[e]]></a>",
            "<a>\u00e9</a>".encode("utf-16"),
        ]
    ),
    st.lists(
        st.tuples(
            st.integers(0, 99), st.binary(max_size=6) | st.sampled_from([b"<", b"&", b"]]>", b"<!DOCTYPE", b"<!--"])
        ),
        max_size=4,
    ),
)
def test_mutated_documents(seed, changes):
    content = bytearray(seed)
    for place, patch in changes:
        content[place : place + len(patch) // 2] = patch
    try:
        root = xml.parse(bytes(content), LIMITS)
    except StepError as error:
        assert error.reason in {Reason.NOT_WELL_FORMED, Reason.WRONG_ENCODING, Reason.DTD_FORBIDDEN}
    else:
        assert root.getroottree().docinfo.internalDTD is None
