"""Requests of an operator that cannot be met are refused; `why` shows the story of a zip, also by other spellings."""

import pytest

from tests.faults.workspace import DAY, put
from windrow.app.decisions import decide
from windrow.app.workspace import Windrow
from windrow.demo.partner import drop, pack, specimens
from windrow.errors import UsageError
from windrow.ledger import Ledger

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"


def test_to_cancel_a_zip_that_is_through_is_refused_and_its_records_stay(make_workspace):
    workspace = make_workspace()
    put(workspace.add_folder("own"), NAME, CONTENT)
    assert workspace.run().code == 0
    ledger = Ledger(workspace.root / "ledger.sqlite")
    with pytest.raises(UsageError, match="is finished"):
        decide(Windrow(workspace.root).config, ledger, "cancel", [NAME])
    ledger.close()
    workspace.assert_complete(KEY)


def test_a_named_source_in_maintenance_says_so(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    workspace.add_folder("own", state="maintenance")
    outcome = workspace.run("own")
    assert outcome.code == 2
    assert "its state is maintenance" in str(outcome.error)
    assert workspace.run().code == 0
    workspace.assert_complete(good)


def test_names_that_differ_in_case_are_one_zip_known_by_the_centres_own_spelling(make_workspace):
    workspace = make_workspace()
    lower_case = NAME.replace("H.", "h.")
    put(workspace.add_folder("one", "H"), lower_case, CONTENT)
    put(workspace.add_folder("two", "J"), NAME, CONTENT)
    assert workspace.run().code == 0
    workspace.assert_complete(KEY)
    assert workspace.query_ledger("SELECT file_key FROM listed_file") == [(KEY,)]
    assert workspace.query_tracker("SELECT file_name FROM zip_file") == [(NAME,)]
    session = Windrow(workspace.root)
    assert session.why(lower_case).story.key == KEY
    assert session.why(f"add/{lower_case}").story.key == KEY

    folder = workspace.add_folder("three", "H")
    put(folder, lower_case, CONTENT)
    put(folder, NAME, CONTENT)
    bad = NAME.replace("impc", "IMPC")
    put(folder, bad, CONTENT)
    assert workspace.run().code == 0
    refused = workspace.query_ledger("SELECT path, reason FROM refusal ORDER BY path")
    assert refused == [(f"add/{bad}", "bad_name"), (f"add/{lower_case}", "other_spelling")]
    assert workspace.query_tracker("SELECT file_name FROM zip_file") == [(NAME,)]
    workspace.assert_complete(KEY)


def test_why_of_a_zip_names_line_column_and_rule_of_what_is_wrong_in_its_documents(make_workspace):
    workspace = make_workspace()
    member = f"H.{DAY}.1.specimen.impc.xml"
    put(workspace.add_folder("own"), NAME, pack({member: specimens("H", 1).replace(b"gender=", b"sex=", 1)}))
    workspace.run()
    findings = [event for event in Windrow(workspace.root).why(NAME).story.events if event.event == "finding"]
    assert any(
        event.message.startswith(f"{member}: error, line ") and " column " in event.message and "'sex'" in event.message
        for event in findings
    )
    assert all(event.line for event in findings if event.kind == "SchemaError")
