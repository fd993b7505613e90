"""`windrow forget X --lift` lifts what X names, and lists what is still taken down."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from windrow.app import Windrow
from windrow.app.begin import prepare
from windrow.engine.session import Session
from windrow.ledger import Ledger

HOST, PORT = "https://a.example", "https://a.example:8443"


@pytest.fixture
def taken_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make a workspace with two origins of a host; return a function that returns those that are taken down."""
    prepare(tmp_path)
    (tmp_path / "windrow.toml").write_text(
        '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\n'
        f'[source.town]\ncollection = "pages"\nseeds = ["{HOST}/", "{PORT}/"]\n'
    )
    monkeypatch.chdir(tmp_path)
    workspace = Windrow(tmp_path)
    with Session(workspace.setup, "run") as session, session.ledger.writing() as writer:
        for origin in (HOST, PORT):
            writer.addresses.add_host(session.number, "pages", "town", origin)

    def read() -> list[str]:
        with closing(Ledger(workspace.config.ledger)) as ledger:
            return sorted({str(target.origin) for target in ledger.takedowns.taken_down()})

    return read


def test_a_lifted_host_leaves_the_takedown_of_its_port(taken_down, windrow) -> None:
    assert windrow("forget", "a.example:8443", "--yes").code == 0
    assert windrow("forget", "a.example", "--yes").code == 0
    assert taken_down() == [HOST, PORT]
    told = windrow("forget", "a.example", "--lift").err
    assert "2 targets may be fetched again" in told
    assert f"still taken down, since it was named otherwise: {PORT}" in told
    assert taken_down() == [PORT]
    told = windrow("forget", "A.example:8443", "--lift").err
    assert "1 target may be fetched again" in told
    assert "still taken down" not in told
    assert taken_down() == []
    (message,) = windrow("forget", "a.example", "--lift", "--json").of("lifted")
    assert (message["tombstones"], message["standing"]) == (0, [])


@pytest.mark.parametrize("name", ["a.example", "HTTPS://A.example", "town"])
def test_a_lifted_host_or_source_is_lifted_with_all_ports_with_which_it_was_taken_down(
    taken_down, windrow, name
) -> None:
    assert windrow("forget", name, "--yes").code == 0
    assert taken_down() == [HOST, PORT]
    assert windrow("forget", "a.example:8443", "--lift").code == 0
    assert taken_down() == [HOST]
    told = windrow("forget", name, "--lift").err
    assert "1 target may be fetched again" in told
    assert "still" not in told
    assert taken_down() == []
