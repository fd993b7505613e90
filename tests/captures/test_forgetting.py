"""Takedowns over collections: what others took of a capture goes with it, and nothing of its bytes stays in a file."""

import zlib
from contextlib import closing

import pytest

from tests.captures import test_foreign as foreign
from tests.captures.quotes import ADAPTER, configured, run, run_quotes, setup_of
from tests.toy_collection.site import Site, page
from windrow.app import check
from windrow.app.check import take_down
from windrow.collections.pages.adapter import ADAPTER as PAGES
from windrow.engine.check import Fault, check_archive, check_index, check_standing
from windrow.ledger import Ledger

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


def forget(workspace, *names, adapters=("pages", "quotes")):
    made = {"pages": PAGES, "quotes": ADAPTER}
    return take_down(workspace, setup_of(workspace), names, "asked", {name: made[name] for name in adapters})


def quotes(workspace):
    with ADAPTER._store(workspace) as store:
        assert not list(store.faults())
        return sorted(version.value["quote"] for version in store.versions() if version.value)


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
    files = [path for path in root.rglob("*") if path.is_file()]
    return {file.name for file in files if any(word in part for part in unpacked(file.read_bytes()))}


def sound(workspace):
    ledger = Ledger(workspace.ledger)
    faults = [*check_archive(ledger, workspace.archive.folder), *check_index(ledger, workspace.archive.folder)]
    faults += [*check_standing(ledger), *ADAPTER.check(workspace, ledger), *PAGES.check(workspace, ledger)]
    ledger.close()
    return [fault for fault in faults if isinstance(fault, Fault)]


@pytest.mark.parametrize("what", ["address", "source", "host"])
def test_forgetting_a_capture_takes_with_it_the_records_that_another_collection_made_of_it(tmp_path, site, what):
    workspace = configured(tmp_path, site)
    run(workspace)
    assert len(quotes(workspace)) == 2
    assert "quotes.db" in holding(tmp_path)
    name = {"address": f"{site.url}article1.html", "source": "web", "host": site.url.split("/")[2]}[what]
    told = forget(workspace, name)
    assert [one for one in told if one.errors or not one.done] == []
    assert quotes(workspace) == (["that is the question"] if what == "address" else [])
    assert holding(tmp_path) == set()
    assert sound(workspace) == []
    run(workspace)  # nothing of it is asked, nor taken, again
    assert quotes(workspace) == (["that is the question"] if what == "address" else [])
    assert holding(tmp_path) == set()


def test_an_address_that_several_collections_know_is_counted_once(tmp_path, site, monkeypatch):
    workspace = configured(tmp_path, site)
    run(workspace)
    monkeypatch.setattr(check, "capable", lambda _capability, _among: {"pages": PAGES, "quotes": ADAPTER})
    with closing(Ledger(workspace.ledger)) as ledger:
        url = f"{site.url}article1.html"
        (counted,) = check.estimate(workspace, ledger, [url])
        assert (counted.target, counted.addresses) == (url, 1)


def test_forgetting_a_record_takes_with_it_the_page_that_it_was_made_of(tmp_path, site):
    workspace = configured(tmp_path, site)
    run(workspace)
    (told,) = forget(workspace, f"{site.url}article1.html#1")
    assert told.done
    assert not told.errors
    assert quotes(workspace) == ["that is the question"]
    assert holding(tmp_path) == set()
    assert sound(workspace) == []


def test_forgetting_a_source_that_took_captures_names_the_source_that_keeps_the_bytes(tmp_path, site):
    workspace = configured(tmp_path, site)
    run(workspace)
    (told,) = forget(workspace, "said")
    assert told.errors == (
        "2 captures stay, since pages has them for its source web; to take them down there: windrow forget web",
    )
    assert told.done
    assert quotes(workspace) == []
    assert sound(workspace) == []
    assert "quotes.db" not in holding(tmp_path)
    (told,) = forget(workspace, "web")
    assert told.errors == ()
    assert holding(tmp_path) == set()


def test_forgetting_that_was_cut_short_is_finished_in_all_collections_by_whichever_run_comes_next(tmp_path, site):
    workspace = configured(tmp_path, site)
    run(workspace)
    url = f"{site.url}article1.html"
    told = forget(workspace, url, adapters=["pages"])
    assert "quotes is not installed" in told[0].errors[0]
    assert not told[0].done
    assert "quotes.db" in holding(tmp_path)
    assert [one.done for one in forget(workspace)] == [True]
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
    (told,) = forget(workspace, f"{foreign.ORIGIN}/said/1.html", adapters=["quotes"])
    assert told.done
    run_quotes(workspace)
    assert quotes(workspace) == ["first", "second"]
    assert holding(root) == set()
