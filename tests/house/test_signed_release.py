"""A release is built twice with the same bytes, signed, with a bill of materials; dependencies are audited."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.house.tree import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import release

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SIGNER = "releases@windrow.example"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


@pytest.fixture(scope="module")
def built(key: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    release.build(folder, key, COMMIT, "1700000000")
    return folder


def verify(folder: Path, key: Path, sums: bytes) -> bool:
    signers = folder.parent / "signers"
    signers.write_text(f"{SIGNER} {key.with_suffix('.pub').read_text()}")
    signature = ["-f", signers, "-I", SIGNER, "-n", "windrow-release", "-s", folder / "SHA256SUMS.sig"]
    result = subprocess.run(["ssh-keygen", "-Y", "verify", *signature], input=sums, capture_output=True, check=False)
    return result.returncode == 0


def test_sums_are_signed_and_those_of_all_files(built: Path, key: Path) -> None:
    sums = (built / "SHA256SUMS").read_bytes()
    assert verify(built, key, sums)
    assert not verify(built, key, sums.replace(b"a", b"b", 1))
    names = {path.name for path in built.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig"}
    assert {line.split()[1].decode() for line in sums.splitlines()} == names
    assert {re.sub(r"[\d.]+\d", "V", name) for name in names} == {
        "windrow-V-py3-none-any.whl", "windrow-V.tar.gz", "windrow-V.cdx.json", "windrow-V.provenance.json",
    }  # fmt: skip
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=built, check=False).returncode == 0


def test_builds_of_one_commit_have_the_same_bytes(built: Path, key: Path, tmp_path: Path) -> None:
    release.build(tmp_path, key, COMMIT, "1700000000")
    assert (tmp_path / "SHA256SUMS").read_text() == (built / "SHA256SUMS").read_text()


def test_bill_has_every_locked_dependency_of_the_extras(built: Path) -> None:
    bill = json.loads(next(built.glob("*.cdx.json")).read_text())
    versions = {(part["name"], part["version"]) for part in bill["components"]}
    locked = re.findall(r"(?m)^([a-z0-9-]+)==([^\s;]+)", (ROOT / "requirements/demo.txt").read_text())
    assert len(locked) > 10
    assert set(locked) <= versions
    assert "pyarrow" in {name for name, _ in versions}  # of an extra that the demo does not need
    assert "pytest" not in {name for name, _ in versions}


def test_provenance_names_files_commit_and_build_tools(built: Path) -> None:
    statement = json.loads(next(built.glob("*.provenance.json")).read_text())
    digests = {line.split()[1]: line.split()[0] for line in (built / "SHA256SUMS").read_text().splitlines()}
    subjects = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert subjects == {name: digest for name, digest in digests.items() if "provenance" not in name}
    source, *tools = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert source["digest"] == {"gitCommit": COMMIT}
    (hatchling,) = (tool for tool in tools if tool["uri"].startswith("pkg:pypi/hatchling@"))
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest) for digest in hatchling["annotations"]["hashes"])


class Vulnerabilities(BaseHTTPRequestHandler):
    """Answers as OSV's API does; `vulnerable` is the package that has a vulnerability."""

    def __init__(self, *arguments: object, vulnerable: str) -> None:
        self.vulnerable = vulnerable
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        named = [query["package"]["name"] == self.vulnerable for query in queries]
        modified = {"modified": "2026-01-01T00:00:00Z"}
        self._send({"results": [{"vulns": [{"id": "TEST-1", **modified}]} if is_bad else {} for is_bad in named]})

    def do_GET(self) -> None:
        package = {"name": self.vulnerable, "ecosystem": "PyPI"}
        ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]
        self._send(
            {
                "schema_version": "1.7.0", "id": "TEST-1", "modified": "2026-01-01T00:00:00Z",
                "summary": "it runs what it reads", "affected": [{"package": package, "ranges": ranges}],
            }
        )  # fmt: skip

    def _send(self, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def database_of_vulnerabilities(vulnerable: str) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Vulnerabilities, vulnerable=vulnerable)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def locked() -> Iterator[Path]:
    with release.locked_project() as project:
        yield project


@pytest.fixture
def audited(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all audits use one lock file: `uv lock` takes longer than they do."""
    monkeypatch.setattr(release, "locked_project", lambda: nullcontext(locked))


@pytest.mark.parametrize(("vulnerable", "exit_code"), [("lxml", 1), ("pytest", 0), ("", 0)])
@pytest.mark.usefixtures("audited")
def test_audit_fails_for_what_users_install(vulnerable: str, exit_code: int, capsys) -> None:
    with database_of_vulnerabilities(vulnerable) as address:
        assert release.audit(address) == exit_code
    assert ("TEST-1" in capsys.readouterr().out) == bool(exit_code)


@pytest.mark.usefixtures("audited")
def test_audit_says_that_it_could_not_ask(capsys, monkeypatch) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    assert release.audit("http://127.0.0.1:9/") == 0
    assert "NOT AUDITED" in capsys.readouterr().out
