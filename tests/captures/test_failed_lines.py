"""Index lines whose record cannot be read: each source has its own until they are read, or their line is gone."""

from contextlib import closing

from tests.captures.quotes import ADAPTER, CRAWLED, load_workspace, run_quotes
from tests.captures.test_foreign import ORIGIN, ForeignWarc, quotes_page
from windrow.digest import hash64
from windrow.ledger import Ledger


def run_sources(root, **sources):
    """Run sources, each with its index in one folder and its WARC files in another; return the failures by source."""
    lines = [
        f'[source.{name}]\ncollection = "quotes"\npages = "said"\ncdx = ["{root}/cdx/{kind}.cdx"]\nwarc = ["{root}/{kind}"]\n'
        for name, kind in sources.items()
    ]
    (root / "windrow.toml").write_text(CRAWLED + "".join(lines))
    workspace = load_workspace(root)
    run_quotes(workspace)
    with closing(Ledger(workspace.ledger)) as ledger:
        return ledger.captures.failed_by_source()


def test_failures_belong_to_their_index_and_end_when_they_are_read_or_their_line_is_gone(tmp_path):
    """Failures at missing files of one name replaced each other, and a renamed source never read its own."""
    warcs = {}
    (tmp_path / "cdx").mkdir()
    for kind in ("hay", "straw"):
        (tmp_path / kind).mkdir()
        warcs[kind] = ForeignWarc(tmp_path / kind / "press.warc.gz")
        warcs[kind].add(f"/said/{kind}.html", quotes_page(kind))
        (tmp_path / "cdx" / f"{kind}.cdx").write_text("\n".join(warcs[kind].lines) + "\n")
    assert run_sources(tmp_path, old="hay", other="straw") == {"old": 1, "other": 1}
    index = tmp_path / "cdx" / "straw.cdx"
    (line,) = warcs["straw"].lines
    for name in ("stays", "goes"):
        line += "\n" + warcs["straw"].lines[0].replace("press.warc.gz", f"{name}.warc.gz")
    index.write_text(f"{line}\n")
    assert run_sources(tmp_path, new="hay", other="straw") == {"old": 1, "new": 1, "other": 3}
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        comments = " ".join(str(task.comment) for task in ledger.sessions.tasks_of_source("other"))
    assert "goes.warc.gz is not in any folder of the source; press.warc.gz is not in any folder" in comments
    for warc in warcs.values():
        warc.close()
    index.write_text(line.rpartition("\n")[0] + "\n")
    assert run_sources(tmp_path, new="hay", other="straw") == {"old": 1, "other": 1}
    with ADAPTER._store(load_workspace(tmp_path)) as store:
        assert {version.value["quote"] for version in store.versions()} == {"hay", "straw"}
    address = f"{ORIGIN}/said/hay.html"
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        sources = ledger.takedowns.target_sources(hash64(address), 0, address)
    assert sources == ["new", "old"]
    index.unlink()
    assert run_sources(tmp_path, new="hay", other="straw") == {"old": 1}


def test_each_line_of_an_index_has_a_failure_of_its_own(tmp_path):
    """Lines without an offset, and lines that name the place of another's record, were counted as one, or as known."""
    (tmp_path / "cdx").mkdir()
    (tmp_path / "hay").mkdir()
    with closing(ForeignWarc(tmp_path / "hay" / "press.warc.gz")) as warc:
        warc.add("/said/hay.html", quotes_page("hay"))
        (line,) = warc.lines
    fields = line.split()
    without_offset = [*fields[:-2], "-", fields[-1]]
    at_another_time = [fields[0], f"2019{fields[1][4:]}", *without_offset[2:]]
    misplaced = [line.replace("/hay.html", f"/{name}.html") for name in ("oats", "rye")]
    lines = [line, " ".join(without_offset), *misplaced, " ".join(at_another_time)]
    (tmp_path / "cdx" / "hay.cdx").write_text("\n".join(lines) + "\n")
    assert run_sources(tmp_path, press="hay") == {"press": 4}
    assert run_sources(tmp_path, press="hay") == {"press": 4}
    (tmp_path / "cdx" / "hay.cdx").write_text("\n".join(lines[:3]) + "\n")
    assert run_sources(tmp_path, press="hay") == {"press": 2}
