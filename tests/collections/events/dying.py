"""A process whose children harvest events, or write their documents, and kill themselves at a given moment.

A line `FOLDER run|derive MOMENT` on its input makes one child. The moments are before and after each commit to a SQLite
file, and before and after each request to a CouchDB; MOMENT 0 kills nothing. Each line is answered by how many moments
the child lived to see, and how it ended. Children are forked, since loading windrow takes longer than what they do.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from itertools import count
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, cast

from tests.collections.events.place import run
from windrow.collections.events.adapter import ADAPTER, projection
from windrow.collections.events.collection import COLLECTION
from windrow.config import load
from windrow.engine.runtime import warm_up
from windrow.stores import couchdb_connection


def child(folder: Path, command: str, deadly: int, out: int) -> None:
    moments = count(1)

    def pass_moment(deadly: int) -> None:
        passed = next(moments)
        os.pwrite(out, f"{passed:09}".encode(), 0)
        if passed == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    class Connection(sqlite3.Connection):
        def execute(self, text: str, *parameters: Any) -> sqlite3.Cursor:
            if text.strip().upper() != "COMMIT":
                return super().execute(text, *parameters)
            pass_moment(deadly)
            done = super().execute(text, *parameters)
            pass_moment(deadly)
            return done

        def commit(self) -> None:
            pass_moment(deadly)
            super().commit()
            pass_moment(deadly)

    sqlite, couch = cast(Any, sqlite3), cast(Any, couchdb_connection.CouchConnection)
    connect, send = sqlite.connect, couch.send

    def asked(*arguments: Any) -> Any:
        pass_moment(deadly)
        answer = send(*arguments)
        pass_moment(deadly)
        return answer

    sqlite.connect = lambda *arguments, **more: connect(*arguments, **({"factory": Connection} | more))
    couch.send = asked
    projection.PAGE_SIZE = 3  # several writes of each kind
    workspace = load(folder, environ={}, collections={"events": COLLECTION})
    if command == "run":
        run(workspace)
    else:
        ADAPTER._derive(workspace, lambda: True)


def main(folder: Path) -> None:
    warm_up({"http"}, {"windrow.collections.events.discover", "windrow.collections.events.reading"})
    out = os.open(folder / "passed", os.O_RDWR | os.O_CREAT)
    for line in sys.stdin:
        where, command, moment = line.split()
        os.ftruncate(out, 0)
        number = os.fork()
        if not number:
            # The fork server belongs to the parent and serves all its children.
            serving: Any = forkserver
            serving.ensure_running = serving._forkserver.ensure_running = lambda: None
            child(Path(where), command, int(moment), out)
            os._exit(0)
        _, status = os.waitpid(number, 0)
        sys.stdout.write(f"{int(os.pread(out, 9, 0) or 0)} {os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
