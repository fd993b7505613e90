"""Takedowns over collections: what others took of a capture goes with it, and nothing of its bytes stays in a file."""

import zlib

import pytest

from tests.captures import test_foreign as foreign
from tests.captures.quotes import ADAPTER, configured, run, run_quotes, setup_of
from tests.toy_collection.site import Site, page
from windrow.collections.pages.adapter import ADAPTER as PAGES
from windrow.engine.check import Fault, check_archive, check_index, check_standing
from windrow.engine.ledger import Ledger

SECRET = "xylophone"


@pytest.fixture
def site():
    served = Site(
        {
            "/": page("home", "/article1.html", "/article2.html"),
            "/article1.html": page("one", body=f"<p><q>never say {SECRET}</q></p>"),
            "/article2.html": page("two", body="<p><q>that is the question</q></p>"),
        }
    )
    yield served
    served.close()


def quotes(workspace):
    with ADAPTER._store(workspace) as store:
        assert not list(store.faults())
        return sorted(one.value["quote"] for one in store.versions() if one.value)


def unpacked(content):
    """Return the content of a file, and of each member that is packed in it."""
    yield content
    while content:
        member = zlib.decompressobj(31)
        try:
            yield member.decompress(content)
        except zlib.error:
            return
        content = member.unused_data


def holding(root):
    """Return the files that hold anything of the secret."""
    word = SECRET.encode()
    files = [one for one in root.rglob("*") if one.is_file()]
    return {one.name for one in files if any(word in part for part in unpacked(one.read_bytes()))}


def sound(workspace):
    ledger = Ledger(workspace.ledger)
    faults = [*check_archive(ledger, workspace.archive.folder), *check_index(ledger, workspace.archive.folder)]
    faults += [*check_standing(ledger), *ADAPTER.check(workspace, ledger), *PAGES.check(workspace, ledger)]
    ledger.close()
    return [one for one in faults if isinstance(one, Fault)]


def test_forgetting_an_address_takes_with_it_the_records_that_another_collection_made_of_its_captures(tmp_path, site):
    workspace = configured(tmp_path, site)
    run(workspace)
    assert "quotes.db" in holding(tmp_path)
    for one in (PAGES, ADAPTER):  # as the command asks them: the first one removes the bytes
        (told,) = one.take_down(workspace, setup_of(workspace), [f"{site.url}article1.html"], "asked")
        assert told.done
        assert not told.trouble
    assert quotes(workspace) == ["that is the question"]
    assert holding(tmp_path) == set()
    assert sound(workspace) == []


def test_forgetting_an_address_keeps_out_what_files_of_other_makers_have_of_it(tmp_path):
    made = []
    for name in ("first", "second"):
        one = foreign.Made(tmp_path / f"{name}.warc.gz")
        one.add("/said/1.html", foreign.quoted(f"never say {SECRET}"))
        one.add(f"/said/{name}.html", foreign.quoted(name))
        made.append(one.close().path)
    root = tmp_path / "workspace"
    root.mkdir()
    run_quotes(foreign.configured(root, warc=made[:1]))
    workspace = foreign.configured(root, warc=made)
    assert quotes(workspace) == ["first", f"never say {SECRET}"]
    (told,) = ADAPTER.take_down(workspace, setup_of(workspace), [f"{foreign.ORIGIN}/said/1.html"], "asked")
    assert told.done
    run_quotes(workspace)
    assert quotes(workspace) == ["first", "second"]
    assert holding(root) == set()
