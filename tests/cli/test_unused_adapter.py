"""Every command works if an unused collection's adapter cannot be loaded."""

from __future__ import annotations

import sys
from contextlib import closing
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from windrow.contract import Collection, FollowResult, Request, Requests, registry
from windrow.ledger import Ledger
from windrow.settings.configuration import Configuration
from windrow.settings.setting import ASKED, store_of


class Broken(ModuleType):
    """A module that cannot be loaded, as import finds it: whatever is taken from it fails."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError("the licence has run out")


def begin(source, learned):
    return (Request(""),)


def follow(source, learned, answer):
    return FollowResult()


@pytest.fixture
def broken(monkeypatch):
    """Install such a collection beside the others."""
    collection = Collection(
        "licensed", ("ask",), Requests(begin, follow), (), "licensed.adapter:ADAPTER",
        Configuration(settings=(store_of("licensed"),), source=ASKED),
    )  # fmt: skip
    module = ModuleType("licensed")
    module.COLLECTION = collection
    monkeypatch.setitem(sys.modules, "licensed", module)
    monkeypatch.setitem(sys.modules, "licensed.adapter", Broken("licensed.adapter"))
    points = {**registry._entry_points(), "licensed": (EntryPoint("licensed", "licensed:COLLECTION", registry.GROUP),)}
    monkeypatch.setattr(registry, "_entry_points", lambda: points)
    registry._load_collection.cache_clear()
    yield "licensed"
    monkeypatch.undo()
    registry._load_collection.cache_clear()


VERBS = (
    "status", "why harwell", "changes", "check", "replay", "search mouse", "config", "export captures --as cdxj",
    "export tracker --as sqlite", "retry --source harwell --dry-run", "cancel --source harwell --dry-run",
    "forget harwell --dry-run", "diff harwell", "run --dry-run", "try windrow.toml --collection drops", "run",
)  # fmt: skip
WELL = ("status", "why", "changes", "check", "config", "export", "replay")


def test_every_verb_does_without_the_adapter_of_a_collection_that_is_not_used(workspace, windrow, broken):
    """Some end in an error of their own, such as a search without documents; none mentions the adapter."""
    windrow("run")
    for verb in VERBS:
        output = windrow(*verb.split())
        assert "licence" not in output.err, verb
        assert "cannot be loaded" not in output.err, verb
        if verb.startswith(WELL):
            assert output.code == 0, (verb, output.err)


def test_every_verb_about_pages_does_without_an_adapter_that_is_not_used(crawled, small, windrow, broken):
    assert windrow("search", "home").code == 0
    assert windrow("why", f"{small.origin(0)}/a.html").code == 0
    assert windrow("check").code == 0
    assert windrow("export", "pages", "--as", "jsonl").code == 0
    assert windrow("forget", f"{small.origin(0)}/a.html", "--yes").code == 0
    assert windrow("replay").code == 0
    assert "licence" not in windrow("diff", f"{small.origin(0)}/b.html").err


@pytest.mark.parametrize("state", ["broken", "uninstalled"])
def test_status_and_run_do_without_the_adapter_of_a_collection_that_is_not_declared_any_more(
    harvested, windrow, request, state
):
    name = request.getfixturevalue("broken") if state == "broken" else "stamps"
    before = windrow("status", "--json").of("status")[0]
    with closing(Ledger(harvested / "ledger.sqlite")) as ledger, ledger.writing() as writer:
        session = writer.sessions.open("a test", "run")
        writer.sessions.close_task(writer.sessions.open_task(session, name, "stall", 1), None, "", failed=False)
        writer.sessions.close(session, 0)
    output = windrow("status")
    assert output.code == 0, output.err
    (line,) = (line for line in output.out.splitlines() if line.startswith("not counted: "))
    assert f"'{name}'" in line
    after = windrow("status", "--json").of("status")[0]
    assert line == f"not counted: {after['not_counted'][0]}"
    assert [after[part] for part in ("sources", "states", "reasons")] == [
        before[part] for part in ("sources", "states", "reasons")
    ]
    assert windrow("run", "--quiet").code == 0
    assert windrow("why", "2").code == 0


def test_a_verb_that_needs_a_broken_adapter_names_it(workspace, windrow, broken):
    output = windrow("try", "https://example.org/", "--collection", broken)
    assert output.code == 4
    assert "'licensed'" in output.err
    assert "the licence has run out" in output.err
