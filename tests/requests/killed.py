"""A run of the toy in a process of its own, which kills itself after so many transactions."""

import os
import signal
import sqlite3
import sys
from pathlib import Path

from tests.requests.glossary import COLLECTION, run
from windrow.config import load
from windrow.engine.ledger import database
from windrow.stores import records


class Dying(sqlite3.Connection):
    """A connection that ends its process before or after a commit."""

    left = 0
    after = False

    def execute(self, sql, *values):
        if sql != "COMMIT":
            return super().execute(sql, *values)
        Dying.left -= 1
        if Dying.left == 0 and not Dying.after:
            os.kill(os.getpid(), signal.SIGKILL)
        done = super().execute(sql, *values)
        if Dying.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done


class Sqlite:
    """The module sqlite3, with connections that die."""

    def __getattr__(self, name):
        return getattr(sqlite3, name)

    def connect(self, *values, **named):
        return sqlite3.connect(*values, factory=Dying, **named)


if __name__ == "__main__":
    root, Dying.left, Dying.after = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "after"
    database.sqlite3 = records.sqlite3 = Sqlite()
    run(load(root, environ={}, collections={"glossary": COLLECTION}))
