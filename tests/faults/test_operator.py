"""What an operator asks for that cannot be: said so; and what `why` tells of a zip and of its other spellings."""

import pytest

from tests.faults.place import DAY, put
from windrow.app.question import decide
from windrow.app.workspace import Windrow
from windrow.demo.partner import drop, pack, specimens
from windrow.errors import UsageError
from windrow.ledger import Ledger

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"


def test_to_cancel_a_zip_that_is_through_is_refused_and_its_records_stay(place):
    made = place()
    put(made.folder("own"), NAME, CONTENT)
    assert made.run().code == 0
    ledger = Ledger(made.root / "ledger.sqlite")
    with pytest.raises(UsageError, match="through already"):
        decide(Windrow(made.root).config, ledger, "cancel", [NAME])
    ledger.close()
    made.whole(KEY)


def test_a_named_source_in_maintenance_says_so(place):
    made = place()
    good = made.healthy()
    made.folder("own", state="maintenance")
    went = made.run("own")
    assert went.code == 2
    assert "its state is maintenance" in str(went.error)
    assert made.run().code == 0
    made.whole(good)


def test_names_that_differ_in_case_are_one_zip_known_by_the_centres_own_spelling(place):
    made = place()
    other = NAME.replace("H.", "h.")
    put(made.folder("one", "H"), other, CONTENT)
    put(made.folder("two", "J"), NAME, CONTENT)
    assert made.run().code == 0
    made.whole(KEY)
    assert made.ask("SELECT file_key FROM listed_file") == [(KEY,)]
    assert made.tracked("SELECT file_name FROM zip_file") == [(NAME,)]
    window = Windrow(made.root)
    assert window.why(other).story.key == KEY
    assert window.why(f"add/{other}").story.key == KEY

    folder = made.folder("three", "H")
    put(folder, other, CONTENT)
    put(folder, NAME, CONTENT)
    bad = NAME.replace("impc", "IMPC")
    put(folder, bad, CONTENT)
    assert made.run().code == 0
    refused = made.ask("SELECT path, reason FROM refusal ORDER BY path")
    assert refused == [(f"add/{bad}", "bad_name"), (f"add/{other}", "other_spelling")]
    assert made.tracked("SELECT file_name FROM zip_file") == [(NAME,)]
    made.whole(KEY)


def test_why_of_a_zip_names_line_column_and_rule_of_what_is_wrong_in_its_documents(place):
    made = place()
    member = f"H.{DAY}.1.specimen.impc.xml"
    put(made.folder("own"), NAME, pack({member: specimens("H", 1).replace(b"gender=", b"sex=", 1)}))
    made.run()
    told = [event for event in Windrow(made.root).why(NAME).story.events if event.event == "finding"]
    assert any(
        event.message.startswith(f"{member}: error, line ") and " column " in event.message and "'sex'" in event.message
        for event in told
    )
    assert all(event.line for event in told if event.kind == "SchemaError")
