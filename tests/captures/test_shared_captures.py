"""Captures that several sources of one collection want: each source has them, and a takedown of one leaves the others."""

from contextlib import closing

import pytest

from tests.captures.quotes import CRAWLED, load_workspace, run_again, run_pages, run_quotes
from tests.captures.test_foreign import ORIGIN, ForeignWarc, quotes_page
from tests.captures.test_forgetting import SECRET, files_with_secret, find_faults, quotes, take_down_by_name
from tests.toy_collection.site import Site, page
from windrow.ledger import Ledger


def configure(root, inputs, *, crawled=""):
    sources = (f'[source.{name}]\ncollection = "quotes"\npages = "said"\n{lines}\n' for name, lines in inputs.items())
    (root / "windrow.toml").write_text("\n".join([CRAWLED, crawled, *sources]))
    return load_workspace(root)


def comments(workspace):
    """Return the comment of the last task of each source."""
    with closing(Ledger(workspace.ledger)) as ledger:
        tasks = {name: ledger.sessions.tasks_of_source(name) for name in ("first", "second")}
        return [next(task.comment for task in tasks[name] if "examined" in task.comment) for name in tasks]


@pytest.fixture
def warc(tmp_path):
    file = ForeignWarc(tmp_path / "press.warc.gz")
    file.add("/said/1.html", quotes_page(f"never say {SECRET}"))
    file.add("/said/2.html", quotes_page("two"))
    file.close()
    (tmp_path / "press.cdx").write_text("\n".join(file.lines) + "\n")
    return file


def test_a_record_that_two_sources_want_is_copied_once_and_belongs_to_both(tmp_path, warc):
    """The second source had none of the records that the first one took, and neither the summary nor status said so."""
    root = tmp_path / "workspace"
    root.mkdir()
    by_index = f'cdx = ["{tmp_path}/press.cdx"]\nwarc = ["{tmp_path}"]'
    workspace = configure(root, {"first": by_index, "second": f'warc = ["{warc.path}"]'})
    run_quotes(workspace)
    assert [comment.split(";")[0] for comment in comments(workspace)] == [
        "first: 2 captures examined, 2 taken", "second: 3 captures examined, 2 taken",
    ]  # fmt: skip
    with closing(Ledger(workspace.ledger)) as ledger:
        assert len([*ledger.captures.held()]) == 2
    (tmp_path / "press.cdx").write_text("\n".join([*warc.lines, *warc.lines]) + "\n")
    run_quotes(workspace)
    assert "0 taken; 4 were taken, or failed, before" in comments(workspace)[0]
    (takedown,) = take_down_by_name(workspace, "first", adapters=["quotes"])
    (error,) = takedown.errors
    assert error.startswith(
        "2 captures not removed, since quotes uses the bytes for its source second, which keeps them;"
    )
    assert quotes(workspace) == [f"never say {SECRET}", "two"]
    (takedown,) = take_down_by_name(workspace, f"{ORIGIN}/said/1.html", adapters=["quotes"])
    assert quotes(workspace) == ["two"]
    assert (takedown.errors, files_with_secret(root)) == ((), set())
    assert find_faults(workspace) == []


@pytest.mark.parametrize("name", ["first", "web"])
def test_a_capture_of_pages_belongs_to_each_source_that_wants_it(tmp_path, name):
    site = Site({"/": page("home", "/said.html"), "/said.html": page("one", body=f"<p><q>never say {SECRET}</q></p>")})
    crawled = f'[source.web]\ncollection = "pages"\nurl = "{site.url}"\n'
    workspace = configure(tmp_path, {"first": 'from = ["pages"]', "second": 'from = ["pages:web"]'}, crawled=crawled)
    with closing(site):
        run_pages(workspace)
        run_quotes(workspace)
        run_again(tmp_path)
    with closing(Ledger(workspace.ledger)) as ledger:
        indexes = [index for name in ("first", "second") for index in ledger.captures.indexes("quotes", name)]
    assert [(index.seen, index.taken) for index in indexes] == [(2, 1), (2, 1)]
    (takedown,) = take_down_by_name(workspace, name)
    assert quotes(workspace) == ([] if name == "web" else [f"never say {SECRET}"])
    assert bool(takedown.errors) == (name == "first")
    assert find_faults(workspace) == []
