"""Hostile or broken XML is refused with its reason, and its line if there is one; the rest is loaded."""

import pytest

from tests.faults.workspace import DAY, put
from windrow.demo.partner import pack, specimens

GOOD = specimens("H", 1, 3)
HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'
BODY = GOOD.removeprefix(HEAD)
LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
DOCUMENTS = {
    "dtd": HEAD + b"<!DOCTYPE centreSpecimenSet [<!ELEMENT a ANY>]>\n" + BODY,
    "external_dtd": HEAD + b'<!DOCTYPE centreSpecimenSet SYSTEM "http://127.0.0.1:9/x.dtd">\n' + BODY,
    "external_entity": HEAD + b'<!DOCTYPE centreSpecimenSet [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n'
    + BODY.replace(b'"BaSH"', b'"&x;"', 1),
    "laughs": HEAD + b'<!DOCTYPE centreSpecimenSet [<!ENTITY l0 "ha">' + LAUGHS + b"]>\n"
    + BODY.replace(b'"BaSH"', b'"&l9;"', 1),
    "wrong_encoding": GOOD.replace(b"UTF-8", b"UTF-16", 1),
    "wrong_bytes": GOOD.replace(b'"BaSH"', b'"Ba\xff\xfeH"', 1),
    "unknown_encoding": GOOD.replace(b"UTF-8", b"EBCDIC-XY", 1),
    "cut": GOOD[: len(GOOD) // 2],
    "empty": b"",
    "binary": bytes(range(256)) * 20,
    "other_root": HEAD + b"<html/>",
    "invalid": GOOD.replace(b'gender="', b'gender="un', 1),
    "deep": HEAD + b"<a>" * 5000 + b"</a>" * 5000,
}  # fmt: skip
EXPECTED = {
    "dtd": ("dtd_forbidden", "DtdForbidden"), "external_dtd": ("dtd_forbidden", "DtdForbidden"),
    "external_entity": ("dtd_forbidden", "DtdForbidden"), "laughs": ("dtd_forbidden", "DtdForbidden"),
    "wrong_encoding": ("wrong_encoding", "WrongEncoding"), "wrong_bytes": ("wrong_encoding", "WrongEncoding"),
    "unknown_encoding": ("wrong_encoding", "WrongEncoding"), "cut": ("not_well_formed", "SyntaxError"),
    "empty": ("not_well_formed", "SyntaxError"), "binary": ("not_well_formed", "SyntaxError"),
    "other_root": ("wrong_root", "WrongRoot"), "invalid": ("not_valid", "SchemaError"),
    "deep": ("too_large", "TooLarge"),
}  # fmt: skip
LINES = {"wrong_encoding": 1, "unknown_encoding": 1, "invalid": 4, "wrong_bytes": 4}


def name(number):
    return f"H.{DAY}.{number}.specimen.impc.xml"


@pytest.fixture(scope="module")
def harvested(make_shared_workspace):
    workspace = make_shared_workspace("[limits]\nratio = 5000\n")
    workspace.good = workspace.add_healthy()
    folder = workspace.add_folder("bad")
    workspace.keys = {}
    for number, (word, content) in enumerate(DOCUMENTS.items(), 1):
        key = put(folder, f"H.{DAY}.{number}.impc.zip", pack({name(number): content}))
        workspace.keys[word] = (key, name(number))
    workspace.mixed = put(folder, f"H.{DAY}.900.impc.zip", pack({name(900): GOOD, name(901): DOCUMENTS["cut"]}))
    workspace.outcome = workspace.run()
    return workspace


@pytest.mark.parametrize("word", DOCUMENTS)
def test_a_bad_document_is_refused_with_its_reason(harvested, word):
    key, fname = harvested.keys[word]
    reason, kind = EXPECTED[word]
    assert harvested.item_state(f"{key}/{fname}") == ("xsd", "failed", reason)
    assert harvested.item_state(key)[:2] == ("xsd", "failed")
    assert harvested.action_state(key) == ("xsd", "failed")
    logged_kind, message, line, column = harvested.xml_log(fname)[0]
    assert logged_kind == kind
    assert message
    assert (line or 0) == LINES.get(word, line or 0)
    assert column != 0
    assert key.rpartition("/")[2] not in harvested.loaded_zips()


def test_nothing_of_another_file_came_into_the_books(harvested):
    text = " ".join(str(row) for row in harvested.query_tracker("SELECT message FROM xml_log"))
    assert "root:" not in text


def test_the_good_ones_are_loaded_and_the_exit_code_says_so(harvested):
    assert harvested.outcome.code == 0
    assert harvested.session_status() == 0
    harvested.assert_complete(harvested.good)
    assert harvested.item_state(f"{harvested.mixed}/{name(900)}") == ("overview", "done", None)
    assert harvested.item_state(f"{harvested.mixed}/{name(901)}") == ("xsd", "failed", "not_well_formed")
    assert harvested.action_state(harvested.mixed) == ("xsd", "failed")


def test_ten_million_elements_are_refused_in_little_time_and_memory(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    large_document = HEAD + b"<centreSpecimenSet>" + b"<a/>" * 10_000_000 + b"</centreSpecimenSet>"
    key = put(workspace.add_folder("bad"), f"H.{DAY}.1.impc.zip", pack({name(1): large_document}))
    workspace.configure("[limits]\nratio = 2000\ncpu_time = 20\n")  # of CPU time; a reading may take 120
    assert workspace.run().code == 0
    assert workspace.item_state(f"{key}/{name(1)}") == ("xsd", "failed", "too_many_elements")
    assert workspace.xml_log(name(1))[0][0] == "TooManyElements"
    workspace.assert_complete(good)
