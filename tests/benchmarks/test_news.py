"""The comparison of article readers: each page is read once, without a network, for a limited time."""

import base64
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.news import __main__ as comparisons

from benchmarks import news

PEER = """
import socket, urllib.request
class Article:
    publish_date, authors, text = None, (), ""
    def __init__(self, url): self.url = url
    def download(self, input_html): self.html = input_html
    def parse(self):
        self.title = "read"
        if "picture" in self.html:
            try: urllib.request.urlopen("http://127.0.0.1:9/", timeout=600)
            except OSError as error: self.title = str(error)
        while "endless" in self.html:
            try: [None] * 1000
            except Exception: pass
"""
PAGE = """<title>{0} | Paper</title><meta property=og:type content=article><meta name=author content="Ann Lee">
<meta property=article:published_time content=2025-03-04><article><h1>{0}</h1><p>{1}</p></article>"""


def test_a_reader_of_the_benchmark_reaches_no_network_and_is_stopped_on_a_page_that_takes_too_long(tmp_path):
    (tmp_path / "newspaper.py").write_text(PEER)
    pages = ["<p>plain", "<p>picture", "<p>endless", "<p>plain again"]
    stdin = "".join(json.dumps({"raw": base64.b64encode(page.encode()).decode(), "url": ""}) + "\n" for page in pages)
    code = "import sys, extract; extract.LONGEST = 0.2; sys.argv = ['extract.py', 'newspaper4k']; extract.main()"
    done = subprocess.run(
        [sys.executable, "-c", code], input=stdin, capture_output=True, text=True, check=True, timeout=120,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(*news.__path__)}"},
    )  # fmt: skip
    titles = [json.loads(line)["title"] for line in done.stdout.splitlines()]
    assert titles[0] == titles[3] == "read"
    assert "without a network" in titles[1]
    assert titles[2] == ""


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """Put a page of an article and one of a shop where the shared pages lie."""
    folder = tmp_path / "data" / "extraction"
    for name, kind in (("1", "article"), ("2", "product")):
        text = "The council met at the quay. " * 20
        gold = {"title": "Tea", "author": "Ann Lee", "publish_date": "2025-03-04", "main_content": text}
        sample = {"url": "", "ground_truth": gold, "_internal": {"page_type": {"primary": kind}}}
        for part in ("html", "ground-truth"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "ground-truth" / f"{name}.json").write_text(json.dumps(sample))
        (folder / "html" / f"{name}.html.gz").write_bytes(gzip.compress(PAGE.format("Tea", text).encode()))
    monkeypatch.setenv("WINDROW_SHARED", str(tmp_path))
    monkeypatch.delenv("WINDROW_PEERS", raising=False)


def test_accuracy_is_told_of_each_field_of_articles_alone_and_peers_that_are_not_here_are_left_out(shared, monkeypatch):
    monkeypatch.setattr(comparisons, "READERS", ())
    rows = {comparison.work.partition(" ")[0]: comparison for comparison in comparisons.accuracy()}
    assert {name: (row.ours, row.theirs) for name, row in rows.items()} == dict.fromkeys(
        ("title", "author", "date", "text"), (100.0, None)
    )
    assert {row.note for row in rows.values()} == {"of the pages that have it, 1"}


def test_a_reader_of_the_benchmark_that_does_not_end_is_left_out_and_named(shared, monkeypatch):
    monkeypatch.setenv("WINDROW_PATIENCE", "0")
    with pytest.raises(comparisons.Missing, match=r"did not read 1 pages in 0 seconds"):
        list(comparisons.accuracy())
