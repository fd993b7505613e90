"""Transactions of SQLite that Ctrl-C interrupts."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from types import FrameType
from typing import Any

from windrow.stores import databases
from windrow.stores.sqlite import SqliteReader, transaction


def interruptions(act: Callable[[], object]) -> Iterator[str]:
    """Call `act` again and again, with a KeyboardInterrupt before its first instruction, its second, and so on.

    Yield the interrupted line after each call.
    """
    for number in count(1):
        numbers, lines = count(1), []

        def interrupt(frame: FrameType, event: str, _argument: Any) -> Any:
            frame.f_trace_opcodes = True
            if event == "opcode" and next(numbers) == number:  # noqa: B023 the function is called in this round
                sys.settrace(None)
                lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")  # noqa: B023 as above
                raise KeyboardInterrupt
            return interrupt

        try:
            sys.settrace(interrupt)
            act()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        if not lines:
            return
        yield lines[0]


def test_an_interrupt_at_any_instruction_leaves_no_transaction_open(tmp_path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE number (value)")

        def write() -> None:
            with transaction(connection):
                connection.execute("INSERT INTO number VALUES (1)")

        assert [line for line in interruptions(write) if connection.in_transaction] == []
        write()  # a transaction that was left open would prevent this


def test_an_interrupt_at_any_instruction_leaves_a_reader_usable(tmp_path) -> None:
    sqlite3.connect(tmp_path / "a.sqlite").close()
    with closing(SqliteReader(tmp_path / "a.sqlite")) as reader:

        def read() -> None:
            with reader.reading() as connection:
                assert connection.in_transaction

        read()
        for _line in interruptions(read):
            read()


def test_a_transaction_that_was_interrupted_within_sqlalchemy_does_not_lock_the_file(tmp_path, monkeypatch) -> None:
    """The traceback keeps its connection alive while the end of the session is written."""
    monkeypatch.setattr(databases, "_BUSY_TIMEOUT", 1)
    engine = databases.connect(f"sqlite:///{tmp_path}/a.sqlite")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE number (value)")
    interrupted = engine.connect()
    interrupted.begin()
    interrupted.exec_driver_sql("INSERT INTO number VALUES (1)")
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO number VALUES (2)")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT value FROM number").all() == [(2,)]
    interrupted.close()
    engine.dispose()


def test_a_connection_that_is_closed_with_an_open_cursor_does_not_lock_the_file(tmp_path, monkeypatch) -> None:
    """Ctrl-C within a statement makes SQLAlchemy close its connection; the traceback keeps the cursor."""
    monkeypatch.setattr(databases, "_BUSY_TIMEOUT", 1)
    engine = databases.connect(f"sqlite:///{tmp_path}/a.sqlite")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE number (value)")
    interrupted = engine.connect()
    interrupted.begin()
    rows = interrupted.exec_driver_sql("INSERT INTO number VALUES (1), (2) RETURNING value")
    cursor = rows.cursor
    interrupted.invalidate()
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO number VALUES (3)")
    del cursor
    engine.dispose()
