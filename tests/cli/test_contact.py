"""Every collection needs a contact to fetch from other machines, but not from loopback."""

from __future__ import annotations

from contextlib import closing

from windrow.ledger import Ledger

SOURCE = """
[source.council]
collection = "events"
url = "{url}"
reader = "icalendar"
branch = "Other"
entity = "Senate"
timezone = "America/New_York"
"""


def test_a_collection_that_asks_by_requests_refuses_to_ask_others_without_a_contact(
    tmp_path, monkeypatch, windrow
) -> None:
    monkeypatch.chdir(tmp_path)
    path, away = tmp_path / "windrow.toml", SOURCE.format(url="https://council.example.org/a.ics")
    for head, code in (
        ("", 4), ('user_agent = "somebody"', 4), ('contact = "us"', 4), ('contact = "us@example.org"', 0),
        ('user_agent = "some/1 (+https://a.example.org/about)"', 0),
    ):  # fmt: skip
        path.write_text(f"{head}\n{away}")
        output = windrow("run", "council", "--dry-run")
        assert (head, output.code) == (head, code)
        assert ("must name a contact" in output.err) == bool(code)
    path.write_text(SOURCE.format(url="http://127.0.0.1:1/a.ics"))
    assert windrow("run", "council", "--dry-run").code == 0


def test_a_run_without_a_contact_asks_nobody(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "windrow.toml"
    path.write_text(SOURCE.format(url="https://council.example.org/a.ics"))
    output = windrow("run", "council")
    assert output.code == 4
    assert "requests to council.example.org must name a contact, but none is configured" in output.err
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.attempts.last_number() == 0
    assert windrow("run", "council", "--from", "read").code == 0  # what is kept is read without asking anybody
    path.write_text(SOURCE.format(url="http://127.0.0.1:1/a.ics"))
    output = windrow("run", "council")
    assert output.code == 3  # nobody listens there
    assert "contact" not in output.err


def test_a_calendar_is_begun_by_one_command_that_has_all_that_its_source_must_say(
    tmp_path, monkeypatch, windrow
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "windrow.toml").write_text('contact = "us@example.org"\n')
    words = ("--reader", "icalendar", "--entity", "Senate", "--timezone", "America/New_York", "--every", "1h")
    address = "https://council.example.org/a.ics"
    output = windrow("new", "source", "council", address, "--collection", "events", "--branch", "Othr", *words)
    assert output.code == 2
    assert "did you mean Other?" in output.err
    assert not (tmp_path / "sources" / "council.toml").exists()
    output = windrow("new", "source", "council", address, "--collection", "events", "--branch", "Other", *words)
    assert output.code == 0
    assert windrow("run", "council", "--dry-run").code == 0
    output = windrow("new", "source", "senate", "https://www.senate.gov/general/committee_schedules/hearings.xml",
                   "--collection", "events", "--parser", "senate-hearings")  # fmt: skip
    assert output.code == 0


def test_try_asks_no_other_machine_without_a_contact_as_a_run_does(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in ("pages", "news", "events", "papers"):
        output = windrow("try", "https://council.example.org/a", "--collection", kind)
        assert (kind, output.code) == (kind, 4)
        assert "requests to council.example.org must name a contact" in output.err
        assert (
            'windrow init, then: contact = "https://example.org/our-crawler" at the top of windrow.toml' in output.err
        )
    path = tmp_path / "windrow.toml"
    path.write_text("")
    for kind in ("pages", "news", "events", "papers"):
        output = windrow("try", "https://council.example.org/a", "--collection", kind)
        assert (kind, output.code) == (kind, 4)
        missing = "operator" if kind == "pages" else "contact"
        assert ("operator is missing" if kind == "pages" else "must name a contact") in output.err.replace("pages.", "")
        assert f'{missing} = "' in output.err
        assert str(path) in output.err
        output = windrow("try", "http://127.0.0.1:1/a", "--collection", kind)
        assert (kind, output.code) == (kind, 1)  # nobody listens there, and nobody need be told
        assert "contact" not in output.err


def test_files_of_another_machine_are_not_fetched_without_a_contact(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    source = '[source.library]\ncollection = "papers"\ncdx = ["a.cdx"]\nwarc_urls = ["https://crawls.example.org/"]\n'
    (tmp_path / "a.cdx").write_text("")
    for head, code in (("", 4), ('contact = "us@example.org"', 0)):
        (tmp_path / "windrow.toml").write_text(f"{head}\n{source}")
        output = windrow("run", "library", "--dry-run")
        assert (head, output.code) == (head, code)
        assert ("requests to crawls.example.org must name a contact" in output.err) == bool(code)
