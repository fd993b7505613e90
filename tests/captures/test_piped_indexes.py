"""Indexes that are piped into runs belong to the sources of those runs."""

import os
from contextlib import closing
from threading import Thread

from tests.captures.quotes import ADAPTER, load_workspace
from tests.captures.test_foreign import ForeignWarc, configure, quotes_page
from tests.sessions import session_settings
from windrow.app.workspace import Windrow
from windrow.engine.session import Session
from windrow.ledger import Ledger


def test_an_index_from_a_pipe_is_read_by_the_sources_of_its_run_only(tmp_path):
    warc = ForeignWarc(tmp_path / "press.warc.gz")
    warc.add("/said/1.html", quotes_page("one"))
    warc.close()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    workspace = configure(tmp_path, cdx=[pipe], warc=[tmp_path])
    head, _, section = (tmp_path / "windrow.toml").read_text().partition("[source.press]")
    for names, lines, folders in (
        (["other"], f"{warc.lines[0]}\n", ["other"]),
        (["press"], "", ["other"]),
        (["press", "other"], " CDX N b a m s k r M S V g\n", ["other", "other", "press"]),
    ):
        (tmp_path / "windrow.toml").write_text(head + "".join(f"[source.{name}]{section}" for name in names))
        writing = Thread(target=pipe.write_text, args=(lines,))
        writing.start()
        with Session(session_settings(workspace), "run") as session:
            harvest = ADAPTER.harvest(load_workspace(tmp_path))
            harvest.pipe_readers = {pipe: names}
            session.run_harvest(harvest)
        writing.join()
        assert bool(session.failed) == (not lines), "an empty pipe is a failure: its command may have failed"
        indexes = [*(workspace.archive.folder / "indexes").glob("*/*.cdx")]
        assert sorted(index.parent.name for index in indexes) == folders
        with closing(Ledger(workspace.ledger)) as ledger:
            assert len(ledger.captures.indexes("quotes", "press")) == folders.count("press")


def test_an_index_from_a_pipe_is_read_by_sources_of_two_collections(tmp_path):
    reading_end, writing_end = os.pipe()
    os.write(writing_end, b" CDX N b a m s k r M S V g\n")
    os.close(writing_end)
    settings = f'cdx = ["/{{}}/fd/{reading_end}"]\nwarc = ["{tmp_path}"]\n'
    (tmp_path / "windrow.toml").write_text(
        f'[source.press]\ncollection = "news"\n{settings.format("dev")}'
        f'[source.library]\ncollection = "papers"\n{settings.format("proc/self")}'
    )
    workspace = Windrow(tmp_path)
    assert workspace.run().exit_code == 0
    os.close(reading_end)
    indexes = (workspace.config.archive.folder / "indexes").glob("*/*.cdx")
    assert sorted(index.parent.name for index in indexes) == ["library", "press"]
