"""A run that is killed while it takes captures: the next one continues, and the tables are the same."""

from tests.captures import test_foreign as foreign
from tests.captures.quotes import ADAPTER, configure, load_workspace, run_pages
from tests.requests.killed import killed_at_each_kind
from tests.toy_collection.site import Site, page
from windrow.engine.check import Fault, check_archive
from windrow.ledger import Ledger


def read_outcome(workspace):
    """Return what must not depend on where a run was killed: versions, and the counts of each index of captures."""
    with ADAPTER._store(workspace) as store:
        versions = sorted(
            (version.key, version.at, version.source, version.change, version.json) for version in store.versions()
        )
        assert not list(store.faults())
    ledger = Ledger(workspace.ledger)
    captures, indexes = ledger.captures, []
    for source in ("said", "files", "lines"):
        for index in captures.indexes("quotes", source):
            left_out = sorted((row.rule, row.lines) for row in captures.left_out(index.id))
            indexes.append((source, index.name.split("/")[-1], index.seen, index.taken, left_out))
    assert not [fault for fault in check_archive(ledger, workspace.archive.folder) if isinstance(fault, Fault)]
    ledger.close()
    return versions, sorted(indexes)


def test_captures_of_a_run_killed_at_a_commit_of_each_kind_are_gone_on_with_and_tell_the_same(tmp_path):
    site = Site({"/": page("home", "/article1.html"), "/article1.html": page("one", body="<p><q>once</q></p>")})
    warcs = [foreign.ForeignWarc(tmp_path / f"{name}.warc.gz") for name in ("read", "pointed")]
    for warc in warcs:
        warc.add(f"/said/{warc.path.name}.html", foreign.quotes_page("first", "second"))
        warc.add(f"/other/{warc.path.name}.html", foreign.quotes_page("left out"))
        warc.close()
    missing = warcs[1].lines[0].replace("/said/", "/said/missing-").replace("pointed.warc.gz", "missing.warc.gz")
    index = tmp_path / "pointed.cdx"
    index.write_text("\n".join([" CDX N b a m s k r M S V g", *warcs[1].lines, missing]) + "\n")
    template = tmp_path / "template"
    template.mkdir()
    run_pages(configure(template, site))
    site.close()
    with (template / "windrow.toml").open("a") as file:
        for name, setting in (("files", f'warc = ["{warcs[0].path}"]'), ("lines", f'cdx = ["{index}"]')):
            file.write(f'\n[source.{name}]\ncollection = "quotes"\npages = "said"\n{setting}\n')
    expected, kinds = None, set()
    for kind, when, root in killed_at_each_kind("tests.captures.quotes", template, tmp_path):
        expected = expected or read_outcome(load_workspace(tmp_path / "whole"))
        assert read_outcome(load_workspace(root)) == expected, f"killed {when} the commit of {kind}"
        kinds.add(kind)
    assert len(expected[0]) == 5
    assert {row[0] for row in expected[1]} == {"said", "files", "lines"}
    written = {table for kind in kinds for table in kind.split()}
    assert written >= {"capture_index", "captured", "capture_failed", "attempt", "followed", "offered", "observation"}
