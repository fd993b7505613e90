"""Indexes that are piped into runs belong to the sources of those runs."""

import os
from contextlib import closing
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from tests.captures.quotes import ADAPTER, load_workspace
from tests.captures.test_foreign import ForeignWarc, configure, quotes_page
from tests.sessions import session_settings
from windrow.app.workspace import Windrow
from windrow.engine.captures.piped_indexes import store_piped
from windrow.engine.session import Session
from windrow.errors import DiskFull
from windrow.ledger import Ledger
from windrow.model import Limits


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


def test_a_pipe_without_an_end_leaves_free_what_must_stay_free_and_is_ended_when_the_run_stops(tmp_path):
    reading_end, writing_end = os.pipe()
    os.write(writing_end, b" CDX N b a m s k r M S V g\n")
    settings = SimpleNamespace(archive=tmp_path, limits=Limits(free_space=2**62))
    run = SimpleNamespace(settings=settings, tick=lambda: None, stopping=lambda: 0)
    with pytest.raises(DiskFull, match="must stay free"):
        store_piped(run, Path(f"/dev/fd/{reading_end}"), ["press"])
    run.stopping = lambda: 1  # while the pipe is silent, but open
    assert "pipe it again" in store_piped(run, Path(f"/dev/fd/{reading_end}"), ["press"])
    os.close(reading_end)
    os.close(writing_end)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
