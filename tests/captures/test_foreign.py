"""WARC files of other programs, read by Captures: from end to end, or by the CDX lines that point into them."""

import gzip as gz
import os
import time
from contextlib import closing

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.archive.foreign_records import pack_records, response_record, revisit_record, sha1, warcinfo_record
from tests.captures.quotes import ADAPTER, CRAWLED, load_workspace, run_quotes
from tests.clock import pass_time, real_clock  # noqa: F401
from tests.sessions import session_settings
from tests.toy_collection.site import page
from windrow.app.takedowns import take_down
from windrow.collections.pages.adapter.explain import explain as explain_page
from windrow.engine.captures.warc_names import WarcNames
from windrow.engine.check import Fault, check_archive
from windrow.formats.cdx import surt
from windrow.ledger import Ledger
from windrow.ledger.captures import failed_file
from windrow.reasons import Reason

ORIGIN = "http://press.example"


def quotes_page(*quotes):
    return page("said", body="".join(f"<p><q>{quote}</q></p>" for quote in quotes)).encode()


class ForeignWarc:
    """A WARC file of another program, and a CDX line for each of its responses."""

    def __init__(self, path, *, gzip=True):
        self.path, self.lines, self._pack = path, [], pack_records if gzip else b"".join
        self._content = self._pack([warcinfo_record()])

    def add(self, path, body, mime="text/html", *, digest="", revisit=False):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\n\r\n".encode()
        url, offset = f"{ORIGIN}{path}", len(self._content)
        record = self._pack([(revisit_record if revisit else response_record)(url, body, head)])
        self._content += record
        mime_field, digest = "warc/revisit" if revisit else mime, digest or sha1(body).removeprefix("sha1:")
        self.lines.append(
            f"example,press){path} 20240301120000 {url} {mime_field} 200 {digest} - - {len(record)} {offset} {self.path.name}"
        )

    def close(self):
        self.path.write_bytes(self._content)
        return self


def configure(root, *, pages="said", **inputs):
    lines = "".join(f"{name} = {[str(path) for path in paths]!r}\n" for name, paths in inputs.items())
    (root / "windrow.toml").write_text(f'{CRAWLED}\n[source.press]\ncollection = "quotes"\npages = "{pages}"\n{lines}')
    return load_workspace(root)


def records(workspace):
    with ADAPTER._store(workspace) as store:
        return (
            {version.key.removeprefix(ORIGIN): version.value["quote"] for version in store.versions()} if store else {}
        )


def capture_counts(workspace):
    """Return the counts of lines seen, taken, and left out by rule, and the reasons why wanted records failed."""
    ledger = Ledger(workspace.ledger)
    try:
        assert not [fault for fault in check_archive(ledger, workspace.archive.folder) if isinstance(fault, Fault)]
        indexes = ledger.captures.indexes("quotes", "press")
        rules = {row.rule: row.lines for index in indexes for row in ledger.captures.left_out(index.id)}
        failed = ledger.captures.failed(("quotes", "press"), ("", -1, ""), [*Reason], (), 99)
        return (
            sum(index.seen for index in indexes),
            sum(index.taken for index in indexes),
            rules,
            [row.reason for row in failed],
        )
    finally:
        ledger.close()


@pytest.mark.parametrize("gzip", [True, False])
def test_captures_of_a_warc_file_are_chosen_by_rules_copied_and_read_once(tmp_path, gzip):
    warc = ForeignWarc(tmp_path / ("press.warc.gz" if gzip else "press.warc"), gzip=gzip)
    warc.add("/said/1.html", quotes_page("one", "two"))
    warc.add("/other.html", quotes_page("left out"))
    warc.add("/said/2.json", b"{}", "application/json")
    warc.add("/said/3.html", quotes_page("three"))
    warc.close()
    workspace = configure(tmp_path, warc=[warc.path])
    for _ in range(2):
        run_quotes(workspace)
        assert records(workspace) == {
            "/said/1.html#1": "one", "/said/1.html#2": "two", "/said/3.html#1": "three",
        }  # fmt: skip
        seen, taken, rules, failed = capture_counts(workspace)
        assert (seen, taken, failed) == (5, 2, [])
        assert rules["it is no HTML"] == rules["the record is left out: warcinfo"] == 1
    warc.path.unlink()  # it is no longer needed: the wanted records were copied
    capture_counts(workspace)


def test_an_index_that_was_read_while_the_clock_was_behind_is_read_again(tmp_path, real_clock):  # noqa: F811
    """Readers have the machine's clock, so another content of the file stands for another time."""
    index, warc, written_at = tmp_path / "press.cdx", ForeignWarc(tmp_path / "press.warc.gz"), time.time() + 3600
    warc.add("/said/1.html", quotes_page("one"))
    warc.close()

    def write_index(timestamp: str) -> None:
        lines = [" CDX N b a m s k r M S V g", *warc.lines]
        index.write_text("\n".join(lines).replace(" 20240301120000 ", f" {timestamp} ") + "\n")
        os.utime(index, (written_at, written_at))

    workspace = configure(tmp_path, cdx=[index], warc=[tmp_path])
    for timestamp in ("99991231235959", "20240301120000"):
        write_index(timestamp)
        run_quotes(workspace)
    assert capture_counts(workspace)[2] == {"the time of the index line is in the future": 1}
    pass_time(7200)
    run_quotes(workspace)
    assert records(workspace) == {"/said/1.html#1": "one"}
    assert capture_counts(workspace)[2] == {}


def test_captures_by_cdx_are_verified_and_each_line_has_one_outcome(tmp_path):
    (tmp_path / "warcs").mkdir()
    warc = ForeignWarc(tmp_path / "warcs" / "press.warc.gz")
    warc.add("/said/1.html", quotes_page("one"))
    warc.add("/said/2.html", quotes_page("two"), digest=sha1(b"something else").removeprefix("sha1:"))
    warc.add("/said/3.pdf", b"%PDF", "application/pdf")
    warc.add("/said/1.html", quotes_page("one"), revisit=True)
    warc.close()
    away = ForeignWarc(tmp_path / "away.warc.gz")
    away.add("/said/4.html", quotes_page("four"))
    away.close()
    future = warc.lines[0].replace(" 20240301120000 ", " 99991231235959 ")
    lines = [" CDX N b a m s k r M S V g", *warc.lines, *away.lines, "junk", "", warc.lines[0], future]
    (tmp_path / "press.cdx").write_text("\n".join(lines) + "\n")
    workspace = configure(tmp_path, cdx=[tmp_path / "press.cdx"], warc=[tmp_path / "warcs"])
    away.path.rename(tmp_path / "hidden.gz")
    run_quotes(workspace)
    assert records(workspace) == {"/said/1.html#1": "one"}
    seen, taken, rules, failed = capture_counts(workspace)
    assert (seen, taken) == (8, 1)
    assert rules == {
        "it is no HTML": 2,
        "a line in an index of captures, or in a catalogue, cannot be read": 1,
        "the time of the index line is in the future": 1,
    }
    assert sorted(failed) == ["digest_mismatch", "not_found"]
    (tmp_path / "hidden.gz").rename(tmp_path / "warcs" / "away.warc.gz")
    run_quotes(workspace)
    assert records(workspace) == {"/said/1.html#1": "one", "/said/4.html#1": "four"}
    assert capture_counts(workspace)[3] == ["digest_mismatch"]


def index_line(url, mime, digest, record, warc):
    key, digest = surt(url), digest.removeprefix("sha1:")
    return f"{key} 20240301120000 {url} {mime} 200 {digest} - - {len(record)} 0 {warc}\n"


@pytest.mark.parametrize(
    ("stated", "states_own"), [("payload_digest", False), ("payload_digest", True), ("block_digest", False)]
)
def test_a_record_with_a_false_digest_is_refused_and_gives_no_revisit_its_bytes(tmp_path, stated, states_own):
    good, evil, url, evil_url = (
        quotes_page("good"),
        quotes_page("evil"),
        f"{ORIGIN}/said/1",
        "http://evil.example/said/1",
    )
    false = pack_records([response_record(evil_url, evil, **{stated: sha1(good)})])
    revisit = pack_records([revisit_record(url, good)])
    (tmp_path / "a.warc.gz").write_bytes(false)
    (tmp_path / "b.warc.gz").write_bytes(revisit)
    (tmp_path / "press.cdx").write_text(
        index_line(evil_url, "text/html", sha1(evil) if states_own else "-", false, "a.warc.gz")
        + index_line(url, "text/html", sha1(good), revisit, "b.warc.gz")
    )
    workspace = configure(tmp_path, cdx=[tmp_path / "press.cdx"])
    run_quotes(workspace)
    assert records(workspace) == {}
    assert sorted(capture_counts(workspace)[3]) == ["digest_mismatch", "no_original"]


def test_a_line_with_the_place_of_another_record_takes_nothing_that_is_forgotten_or_not_chosen(tmp_path):
    pages = {"/said/1.html": quotes_page("secret one"), "/other/2.html": quotes_page("not chosen")}
    for name in ("first.warc.gz", "again.warc.gz"):
        warc = ForeignWarc(tmp_path / name)
        for path, body in pages.items():
            warc.add(path, body)
        warc.close()
    index = tmp_path / "press.cdx"
    index.write_text(f"{warc.lines[0].replace('again', 'first')}\n")
    workspace = configure(tmp_path, cdx=[index])
    run_quotes(workspace)
    assert records(workspace) == {"/said/1.html#1": "secret one"}
    take_down(workspace, session_settings(workspace), [f"{ORIGIN}/said/1.html"], "asked", {"quotes": ADAPTER})
    lines = [line.replace(path, "/said/9.html") for line, path in zip(warc.lines, pages, strict=True)]
    index.write_text("\n".join([*lines, warc.lines[0].replace("//press.", "//www.press.")]) + "\n")
    run_quotes(workspace)
    assert records(workspace) == {}
    assert capture_counts(workspace)[3] == ["bad_line", "bad_line"]
    contents = [gz.decompress(path.read_bytes()) for path in workspace.archive.folder.glob("*.warc.gz")]
    assert not [content for content in contents if b"secret" in content or b"not chosen" in content]


@pytest.mark.parametrize(
    ("line_url", "shift", "failed"),
    [
        ("https://press.example:443/said/1?b=2&a=1#top", 0, []),
        ("http://WWW.press.example/said/1?b=2&a=1", -4, []),
        ("http://press.example/said/1?a=1&b=2", None, []),
        ("http://press.example/said/1?b=2", 0, ["bad_line"]),
        ("http://other.example/said/1?b=2&a=1", 0, ["bad_line"]),
        ("http://press.example/said/1?b=2&a=1", -5, ["bad_line"]),
        ("http://press.example/said/1?b=2&a=1", 10**17, ["bad_line"]),
    ],
)
def test_a_record_has_the_address_and_the_length_of_its_line(tmp_path, line_url, shift, failed):
    url, body = f"{ORIGIN}/said/1?b=2&a=1", quotes_page("one")
    record = pack_records([response_record(url, body)])
    (tmp_path / "a.warc.gz").write_bytes(record)
    length = "-" if shift is None else str(len(record) + shift)
    honest, index = index_line(url, "text/html", "-", record, "a.warc.gz"), tmp_path / "press.cdx"
    line = honest.replace(f" {url} ", f" {line_url} ").replace(f" {len(record)} 0 ", f" {length} 0 ")
    index.write_text(line)
    workspace = configure(tmp_path, cdx=[index])
    run_quotes(workspace)
    assert [*records(workspace).values()] == ([] if failed else ["one"])
    assert capture_counts(workspace)[3] == failed
    index.write_text(line + honest)  # the false line does not hide the record from the true one
    run_quotes(workspace)
    assert [*records(workspace).values()] == ["one"]
    assert capture_counts(workspace)[3] == failed, "it stays a failure as long as it is there"


@pytest.mark.parametrize("has_digests", [True, False])
@pytest.mark.parametrize("prefix", ["", "{folder}/"])
def test_warc_files_of_one_name_in_two_folders_are_two_files(tmp_path, prefix, has_digests):
    for folder in ("east", "west"):
        (tmp_path / folder).mkdir()
        warc = ForeignWarc(tmp_path / folder / "press.warc.gz")
        warc.add(f"/said/{folder}.html", quotes_page(folder))
        warc.close()
        lines = [line.replace("press.warc.gz", f"{prefix.format(folder=folder)}press.warc.gz") for line in warc.lines]
        lines = lines if has_digests else [line.replace(line.split()[5], "-") for line in lines]
        index = tmp_path / f"{folder}.cdx" if prefix else tmp_path / folder / "press.cdx"
        index.write_text("\n".join([" CDX N b a m s k r M S V g", *lines]) + "\n")
    cdx = [tmp_path / "east.cdx", tmp_path / "west.cdx"] if prefix else [tmp_path / "east", tmp_path / "west"]
    workspace = configure(tmp_path, cdx=cdx, warc=[tmp_path / "east", tmp_path / "west"])
    run_quotes(workspace)
    assert records(workspace) == {"/said/east.html#1": "east", "/said/west.html#1": "west"}


def test_a_line_that_may_mean_either_of_two_files_is_a_failure_until_the_folder_decides(tmp_path):
    for folder in ("east", "west"):
        (tmp_path / folder).mkdir()
        warc = ForeignWarc(tmp_path / folder / "press.warc.gz")
        warc.add(f"/said/{folder}.html", quotes_page(folder))
        warc.close()
    (tmp_path / "press.cdx").write_text("\n".join([" CDX N b a m s k r M S V g", *warc.lines]) + "\n")
    workspace = configure(tmp_path, cdx=[tmp_path / "press.cdx"], warc=[tmp_path / "east", tmp_path / "west"])
    run_quotes(workspace)
    assert records(workspace) == {}
    assert capture_counts(workspace)[3] == ["not_found"]
    ledger = Ledger(workspace.ledger)
    (failed,) = ledger.captures.failed(("quotes", "press"), ("", -1, ""), [*Reason], (), 9)
    ledger.close()
    assert failed_file(failed.warc) == str(tmp_path / "press.warc.gz")
    (tmp_path / "east" / "press.warc.gz").rename(tmp_path / "east" / "other.warc.gz")
    run_quotes(workspace)
    assert records(workspace) == {"/said/west.html#1": "west"}
    assert capture_counts(workspace)[3] == []


def test_two_missing_files_of_one_name_are_two_failures_until_both_are_there(tmp_path):
    warcs = []
    for folder in ("east", "west"):
        (tmp_path / folder).mkdir()
        warc = ForeignWarc(tmp_path / folder / "press.warc.gz")
        warc.add(f"/said/{folder}.html", quotes_page(folder))
        warcs.append(warc)
        (tmp_path / folder / "press.cdx").write_text("\n".join([" CDX N b a m s k r M S V g", *warc.lines]) + "\n")
    workspace = configure(tmp_path, cdx=[tmp_path / "east", tmp_path / "west"])
    run_quotes(workspace)
    assert (records(workspace), capture_counts(workspace)[3]) == ({}, ["not_found", "not_found"])
    for warc in warcs:
        warc.close()
    run_quotes(workspace, limit=1)
    assert len(records(workspace)) == 1, "the limit bounds what is tried again, too"
    run_quotes(workspace)
    assert records(workspace) == {"/said/east.html#1": "east", "/said/west.html#1": "west"}
    assert capture_counts(workspace)[3] == []


def test_a_file_that_is_read_without_an_index_is_the_one_that_its_own_lines_mean(tmp_path):
    names = WarcNames()
    paths = [tmp_path / "press.warc.gz", tmp_path / "below" / "press.warc.gz"]
    names.add(paths)
    assert [names.find("press.warc.gz", path) for path in paths] == paths
    assert names.find("press.warc.gz", tmp_path / "press.cdx") is None


def test_a_source_that_gave_12_captures_a_day_and_gives_1_has_failed_until_it_gives_more(tmp_path):
    (tmp_path / "warcs").mkdir()
    workspace = configure(tmp_path, warc=[tmp_path / "warcs"])
    outcomes = []
    for day, count in enumerate([12] * 5 + [1, 0, 12]):
        if count:
            warc = ForeignWarc(tmp_path / "warcs" / f"day-{day}.warc.gz")
            for number in range(count):
                warc.add(f"/said/{day}-{number}.html", quotes_page(f"{day} {number}"))
            warc.close()
        outcomes.append(run_quotes(workspace).failed)
        pass_time(2 * 86_400)
    assert outcomes == [0] * 5 + [1, 1, 0]
    ledger = Ledger(workspace.ledger)
    comments = [task.comment for task in reversed([*ledger.sessions.tasks_of_source("press")]) if task.failed]
    ledger.close()
    message = "drift: it gives {} captures; on the 5 earlier days compared, it usually gave 12, and never fewer than 12"
    assert [comment.split("; drift")[1] for comment in comments] == [
        f"{message.format(n)[5:]}; if that is right, set `usual_since` for the source" for n in (1, 0)
    ]


def test_why_explains_a_host_of_a_collection_of_records(tmp_path):
    warc = ForeignWarc(tmp_path / "press.warc.gz")
    warc.add("/said/1.html", quotes_page("one"))
    warc.close()
    workspace = configure(tmp_path, warc=[warc.path])
    run_quotes(workspace)
    ledger = Ledger(workspace.ledger)
    try:
        for name in ("press.example", "http://press.example/", "PRESS.example"):
            explanation = ADAPTER.explain(workspace, ledger, name)
            assert explanation.lines[:2] == (
                "press.example: a host of quotes",
                f"  {ORIGIN}, source press: 1 address: 0 failed at the last request, 0 are due",
            )
            assert "      1 attempt: status 200" in explanation.lines
            assert [message.type for message in explanation.messages] == ["host"]
        assert explain_page(workspace, ledger, "press.example") is None, "no page was requested there"
        for name in ("example", "press.exampl", "press_example", "%", "other.example"):
            assert ADAPTER.explain(workspace, ledger, name) is None
    finally:
        ledger.close()


def test_why_explains_the_index_lines_of_a_taken_address_that_were_left_out(tmp_path):
    warc = ForeignWarc(tmp_path / "press.warc.gz")
    warc.add("/said/1.html", quotes_page("one"))
    warc.add("/said/1.html", b"%PDF", "application/pdf")
    warc.close()
    future = warc.lines[0].replace(" 20240301120000 ", " 99991231235959 ")
    (tmp_path / "press.cdx").write_text("\n".join([" CDX N b a m s k r M S V g", *warc.lines, future]) + "\n")
    workspace = configure(tmp_path, cdx=[tmp_path / "press.cdx"])
    run_quotes(workspace)
    with closing(Ledger(workspace.ledger)) as ledger:
        explanation = ADAPTER.explain(workspace, ledger, f"{ORIGIN}/said/1.html")
    assert explanation.lines[0].startswith(f"{ORIGIN}/said/1.html: taken for quotes")
    head, line, line_of_future = explanation.lines[-3:]
    assert head == f"{ORIGIN}/said/1.html: further captures"
    assert "application/pdf: left out: it is no HTML (not_wanted)" in line
    assert "text/html: left out: the time of the index line is in the future (bad_date)" in line_of_future


@pytest.mark.parametrize("kind", ["cdx", "warc"])
def test_a_folder_without_a_file_to_read_is_a_failure(tmp_path, kind):
    """The folder of a disk that was not mounted was read as nothing, and the run said that all was well."""
    (tmp_path / "empty").mkdir()
    assert run_quotes(configure(tmp_path, **{kind: [tmp_path / "empty"]})).failed
    ledger = Ledger(tmp_path / "ledger.sqlite")
    (comment,) = [task.comment for task in ledger.sessions.tasks_of_source("press") if task.failed]
    ledger.close()
    assert f"{tmp_path}/empty contains no file whose name ends in .{kind}" in comment


def test_all_index_files_that_are_missing_are_counted(tmp_path):
    session = run_quotes(configure(tmp_path, cdx=[tmp_path / f"{number:02}.cdx" for number in range(25)]))
    assert session.failed
    ledger = Ledger(tmp_path / "ledger.sqlite")
    comments = [task.comment for task in ledger.sessions.tasks_of_source("press") if task.failed]
    ledger.close()
    shown = "; ".join(f"{tmp_path}/{number:02}.cdx does not exist" for number in range(5))
    assert comments[0].endswith(f"; 25 files could not be read, including these; {shown}")


def test_an_index_line_that_is_not_utf_8_costs_itself_alone(tmp_path):
    """A file name or an address with other bytes ended the run with a traceback."""
    warc = ForeignWarc(tmp_path / "press.warc.gz")
    for number in range(2):
        warc.add(f"/said/{number}.html", quotes_page(f"number {number}"))
    first, second = (line.encode() for line in warc.close().lines)
    lines = [
        first.replace(b"press.warc.gz", b"caf\xe9.warc.gz"),
        first.replace(b"0.html text", b"\xe9.html text"),
        second,
    ]
    (tmp_path / "press.cdx").write_bytes(b"\n".join([b" CDX N b a m s k r M S V g", *lines]))
    workspace = configure(tmp_path, cdx=[tmp_path / "press.cdx"])
    run_quotes(workspace)
    assert records(workspace) == {"/said/1.html#1": "number 1"}
    assert capture_counts(workspace)[3] == ["not_found", "bad_line"]


def test_files_whose_names_are_not_utf_8_are_reported_and_the_others_are_read(tmp_path):
    """A name from an old file system ended the run with a traceback."""
    for name in ("press.warc.gz", os.fsdecode(b"caf\xe9.warc.gz"), os.fsdecode(b"caf\xe9.warc.xz")):
        warc = ForeignWarc(tmp_path / "warcs" / name)
        warc.path.parent.mkdir(exist_ok=True)
        warc.add("/said/1.html", quotes_page("one"))
        warc.close()
    workspace = configure(tmp_path, warc=[tmp_path / "warcs"])
    assert run_quotes(workspace).failed
    assert records(workspace) == {"/said/1.html#1": "one"}
    ledger = Ledger(tmp_path / "ledger.sqlite")
    (comment,) = [task.comment for task in ledger.sessions.tasks_of_source("press") if task.failed]
    ledger.close()
    assert f"{tmp_path}/warcs/caf\\udce9.warc.gz cannot be read: its name is not valid UTF-8; rename it" in comment


def test_captures_of_other_makers_are_limited_and_gone_on_with(tmp_path):
    warc = ForeignWarc(tmp_path / "press.warc.gz")
    for number in range(5):
        warc.add(f"/said/{number}.html", quotes_page(f"number {number}"))
    warc.close()
    workspace = configure(tmp_path, warc=[warc.path])
    run_quotes(workspace, limit=2)
    assert len(records(workspace)) == 2
    run_quotes(workspace)
    assert len(records(workspace)) == 5
    assert capture_counts(workspace)[:2] == (6, 5)


@pytest.mark.parametrize("by_cdx", [True, False], ids=["by-cdx", "end-to-end"])
@pytest.mark.parametrize("gzip", [True, False], ids=["gzip", "plain"])
def test_records_of_an_arc_file_lie_in_the_archive_as_warc_records_that_others_replay(tmp_path, gzip, by_cdx):
    head = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"
    bodies = {"/said/1.html": quotes_page("one"), "/said/2.html": quotes_page("long" * 90_000)}
    note = b"1 0 Someone\nURL IP-address Archive-date Content-type Archive-length\n"
    content, lines = b"", [" CDX N b a m s k r M S V g"]
    for path, block in {"": note, **{path: head + body for path, body in bodies.items()}}.items():
        url, kind = (f"{ORIGIN}{path}", "text/html") if path else ("filedesc://old.arc", "text/plain")
        arc_record = f"{url} 192.0.2.1 20040131120000 {kind} {len(block)}\n".encode() + block + b"\n"
        arc_record = gz.compress(arc_record) if gzip else arc_record
        if path:
            digest = sha1(bodies[path]).removeprefix("sha1:")
            place = f"{len(arc_record)} {len(content)} old.arc"
            lines.append(f"example,press){path} 20040131120000 {url} {kind} 200 {digest} - - {place}")
        content += arc_record
    (tmp_path / "old.arc").write_bytes(content)
    (tmp_path / "old.cdx").write_text("\n".join(lines) + "\n")
    cdx = {"cdx": [tmp_path / "old.cdx"]} if by_cdx else {}
    workspace = configure(tmp_path, warc=[tmp_path / "old.arc"], **cdx)
    run_quotes(workspace)
    assert set(records(workspace)) == {"/said/1.html#1", "/said/2.html#1"}
    assert capture_counts(workspace)[1:2] == (2,)
    body_by_path = {}
    for file in workspace.archive.folder.glob("*.warc*"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, arc2warc=False):
                assert record.format == "warc"
                if record.rec_type == "response":
                    url, at = (record.rec_headers[f"WARC-{name}"] for name in ("Target-URI", "Date"))
                    assert at == "2004-01-31T12:00:00Z"
                    body_by_path[url.removeprefix(ORIGIN)] = record.content_stream().read()
    assert body_by_path == bodies


def taken_lines(workspace):
    """Return the CDX line of each capture that was taken, by the attempt's address."""
    ledger = Ledger(workspace.ledger)
    try:
        attempts = ledger.attempts.after("quotes", 0, 99)
        captured_by_url = {
            attempt.attempt.url.removeprefix(ORIGIN): ledger.captures.captured(attempt.seq) for attempt in attempts
        }
        return {url: captured and captured.line for url, captured in captured_by_url.items()}
    finally:
        ledger.close()


def test_the_ledger_keeps_the_spelling_of_the_index_line_that_told_of_a_capture(tmp_path):
    warc = ForeignWarc(tmp_path / "press.warc.gz")
    warc.add("/said/1.html", quotes_page("one"))
    warc.add("/said/2.html", quotes_page("two"))
    warc.close()
    spelled = warc.lines[0].replace(f"{ORIGIN}/said/1", "HTTP://Press.Example:80/said/%31").replace(
        "example,press)/said/1.html 2024", "example,press)/Said/1.html 2024").replace("press.warc.gz", "item-7/press.warc.gz")  # fmt: skip
    (tmp_path / "press.cdx").write_text("\n".join([spelled, warc.lines[1]]) + "\n")
    workspace = configure(tmp_path, cdx=[tmp_path / "press.cdx"], warc=[tmp_path])
    run_quotes(workspace)
    first, second = taken_lines(workspace)["/said/1.html"], taken_lines(workspace)["/said/2.html"]
    assert (first.key, first.url) == ("example,press)/Said/1.html", "HTTP://Press.Example:80/said/%31.html")
    assert (first.warc, first.length) == ("item-7/press.warc.gz", int(spelled.split()[8]))
    assert (second.key, second.url) == ("example,press)/said/2.html", f"{ORIGIN}/said/2.html")
