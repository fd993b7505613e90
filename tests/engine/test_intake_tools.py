"""WARC files as other tools write them: wget and warcio."""

import io
import shutil
import subprocess

import pytest
from warcio.capture_http import capture_http
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.engine.test_intake_summary import read_summary, take_and_summarise
from tests.waiting import PATIENCE


@pytest.fixture
def pages(nginx, tmp_path):
    """Write a small site."""
    folder, origin, path = nginx.folder(tmp_path.name)
    for name, links in (("index", "abc"), ("a", "b"), ("b", "a"), ("c", "x")):
        anchors = "".join(f'<a href="{link}.html">{link}</a>' for link in links)
        (folder / f"{name}.html").write_text(f"<title>{name}</title><p>This is {name}.</p>{anchors}")
    return f"{origin}{path}"


def titles(root):
    return sorted(row[4] for row in read_summary(root)["document_description"])


@pytest.mark.parametrize("more", [["--no-warc-compression"], [], ["--no-warc-digests"], ["--warc-max-size=1k"]])
def test_wget(pages, tmp_path, more):
    if not shutil.which("wget"):
        pytest.skip("there is no wget: make servers")
    command = [
        "wget",
        "-q",
        "-r",
        "-np",
        "-e",
        "robots=off",
        "--warc-file=got",
        "--warc-cdx",
        *more,
        f"{pages}index.html",
    ]
    subprocess.run(
        command, cwd=tmp_path, timeout=PATIENCE, check=False
    )  # it ends with 8 for the page that is not there
    files = sorted(path for path in tmp_path.glob("got*.warc*") if "meta" not in path.name)
    assert files
    root = tmp_path / "root"
    root.mkdir()
    assert take_and_summarise(root, *files) == 0
    assert titles(root) == ["a", "b", "c", "index"]
    assert take_and_summarise(root, *files) == 0
    assert len(read_summary(root)["crawl_summary"]) == 4


def test_warcio_records_what_python_asks(pages, tmp_path):
    import http.client  # noqa: PLC0415 the recorder must be there before it

    path = tmp_path / "got.warc.gz"
    with capture_http(str(path)):
        for name in ("index", "a", "missing"):
            connection = http.client.HTTPConnection(pages.split("/")[2])
            connection.request("GET", f"/{pages.split('/', 3)[3]}{name}.html", headers={"Accept-Encoding": "gzip"})
            connection.getresponse().read()
            connection.close()
    assert take_and_summarise(tmp_path, path) == 0
    assert titles(tmp_path) == ["a", "index"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # warcio leaves its own files open
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_warcio_revisits(tmp_path):
    path = tmp_path / "made.warc.gz"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
        payload = io.BytesIO("<title>Tee</title><p>Grüner Tee".encode())
        first = writer.create_warc_record("http://a.example/1", "response", payload=payload, http_headers=head)
        writer.write_record(first)
        headers = first.rec_headers
        again = writer.create_revisit_record(
            "http://a.example/2",
            headers["WARC-Payload-Digest"],
            headers["WARC-Target-URI"],
            headers["WARC-Date"],
            http_headers=head,
        )
        writer.write_record(again)
    assert take_and_summarise(tmp_path, path) == 0
    assert titles(tmp_path) == ["Tee", "Tee"]
    assert [row[5] for row in read_summary(tmp_path)["entity_generation"]] == [0, 1]
