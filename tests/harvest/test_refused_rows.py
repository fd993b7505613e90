"""Rows that the store refuses by their content cost their own document: all others are loaded, and it is tried again."""

from contextlib import closing

import pytest
import sqlalchemy as sa

import windrow
from tests.crash.workspace import make_workspace
from windrow.collections.drops.adapter.harvest import DropsStore
from windrow.errors import StoreError, StoreUnreachable
from windrow.ledger import Ledger
from windrow.reasons import Reason


@pytest.fixture
def workspace(tmp_path):
    return windrow.Windrow(make_workspace(tmp_path / "w", zips=2, documents=2))


def refuse(monkeypatch, method_name, error, is_refused):
    """Have a method of the store raise an error if `is_refused` holds for a document of its group."""
    method = getattr(DropsStore, method_name)

    def refuse_or_call(self, documents, at):
        if any(map(is_refused, documents)):
            raise error
        return method(self, documents, at)

    monkeypatch.setattr(DropsStore, method_name, refuse_or_call)


def unread(workspace):
    """Return the reasons of the documents that wait for a later run."""
    with closing(Ledger(workspace.config.ledger)) as ledger:
        return [document.reason for phase in ("upload", "data") for document in ledger.unread.items("drops", phase)]


def count_rows(workspace):
    """Return the number of rows of all tables of the store."""
    engine = sa.create_engine(f"sqlite:///{workspace.config.root}/drops.sqlite")
    with engine.connect() as connection:
        tables = sa.inspect(engine).get_table_names()
        counts = {name: connection.execute(sa.text(f'SELECT count(*) FROM "{name}"')).scalar_one() for name in tables}
    engine.dispose()
    return counts


def test_a_document_that_the_store_refuses_stops_no_other_and_is_loaded_by_a_later_run(tmp_path, monkeypatch):
    whole = windrow.Windrow(make_workspace(tmp_path / "whole", zips=2, documents=2))
    whole.run()
    workspace = windrow.Windrow(make_workspace(tmp_path / "w", zips=2, documents=2))
    first_items = []

    def is_first(document):
        first_items.append(document[0].id)
        return document[0].id == first_items[0]

    refuse(monkeypatch, "stage", StoreError("the row is larger than max_allowed_packet"), is_first)
    summary = workspace.run()
    assert summary.exit_code == 3
    assert any("larger than max_allowed_packet" in error for error in summary.errors)
    assert unread(workspace) == [Reason.STORE_FAILED]
    assert 0 < sum(count_rows(workspace).values()) < sum(count_rows(whole).values())
    monkeypatch.undo()
    workspace.run()
    assert unread(workspace) == []
    assert count_rows(workspace) == count_rows(whole)


@pytest.mark.parametrize(
    "error",
    [StoreUnreachable("it is away"), StoreError("the disk is full", reason=Reason.DISK_FULL), StoreError("all")],
)
def test_an_error_that_is_not_about_the_rows_of_a_document_ends_the_run(workspace, monkeypatch, error):
    refuse(monkeypatch, "stage", error, lambda _: True)
    with pytest.raises(type(error)):
        workspace.run()
    assert unread(workspace) == []
