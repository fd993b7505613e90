"""Servers that repeat the password: it reaches no message, listing or archive."""

import base64

import pytest

from tests.faults.workspace import DAY
from tests.servers.daemon import driver
from tests.servers.script import ftp, http, listening
from tests.servers.sftp import asyncssh_server
from windrow.demo.partner import drop

PASSWORD = "open sesame"
BASIC = base64.b64encode(b"windrow:open sesame")
NAME, CONTENT = drop("H", DAY, 5)


def found_in(root):
    """Return the files below a folder that contain the password, or the part of its Base64 that only it decides."""
    spellings = (PASSWORD.encode(), b"open%20sesame", BASIC[11:-2])
    paths = (path for path in root.rglob("*") if path.is_file() and path != root / "password")
    return [path for path in paths if any(word in path.read_bytes() for word in spellings)]


def run_with(workspace, url, **more):
    # Processes of earlier tests, from which fetchers are forked, would not see a variable of the environment.
    (workspace.root / "password").write_text(PASSWORD)
    (workspace.root / "password").chmod(0o600)
    good = workspace.add_healthy()
    workspace.add_source("echo", url, secret="file:password", timeout=5, attempts=1, **more)
    outcome = workspace.run()
    workspace.assert_complete(good)
    assert found_in(workspace.root) == []
    assert PASSWORD not in repr(outcome)
    assert outcome.code in {0, 3}
    return repr(workspace.tasks("echo"))


@pytest.mark.parametrize(
    "replies",
    [
        {"TYPE": b"530 open sesame may not log in\r\n"},
        {"MLSD": b"550 permission denied for windrow:open sesame\r\n", "FEAT": b"211-f\r\n MLST type*;\r\n211 end\r\n"},
        {"MLSD": b"451 open%20sesame\r\n"},
    ],
    ids=["login", "folder", "escaped"],
)
def test_by_ftp(make_workspace, replies):
    with listening(ftp(replies)) as port:
        tasks = run_with(make_workspace(), f"ftp://windrow@127.0.0.1:{port}/")
    assert "xxxxxxxxxxx" in tasks


def test_as_a_listed_name(make_workspace):
    lines = b"type=file;size=1; open sesame.zip\r\nopen sesame\r\n"
    workspace = make_workspace()
    with listening(ftp({"FEAT": b"211-f\r\n MLST type*;\r\n211 end\r\n"}, lines)) as port:
        tasks = run_with(workspace, f"ftp://windrow@127.0.0.1:{port}/")
    assert "0 new" in tasks


@pytest.mark.parametrize(
    "head",
    [
        b"401 no open sesame",
        b"302 Found\r\nLocation: http://windrow:open%20sesame@h.example/",
        b"403 no\r\nX-Sent: Basic " + BASIC,
    ],
    ids=["status", "location", "field"],
)
def test_by_http(make_workspace, head):
    with listening(http(b"HTTP/1.1 " + head + b"\r\nContent-Length: 0\r\n\r\n")) as port:
        run_with(make_workspace(), f"http://windrow@127.0.0.1:{port}/")


def test_in_the_archived_head_of_a_file(make_workspace):
    def talk(connection):
        for line in connection.makefile("rb"):
            if not line.startswith(b"GET "):
                continue
            path, body, echoed = line.split()[1].decode(), b'<title>Index of</title><a href="../">up</a>', b""
            if path.endswith(".zip"):
                body = CONTENT
                echoed = b'X-You-Sent: Basic %s\r\nX-User: windrow:open sesame\r\nETag: "open sesame"\r\n' % BASIC
            elif path == "/add/":
                body = f'<title>Index of</title><a href="{NAME}">x</a>'.encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s" % (echoed, len(body), body))

    workspace = make_workspace()
    with listening(talk) as port:
        assert "1 fetched" in run_with(workspace, f"http://windrow@127.0.0.1:{port}/")
    warcs = b"".join(path.read_bytes() for path in workspace.root.rglob("*.warc"))
    assert b"X-User: windrow:xxxxxxxxxxx\r\n" in warcs


def test_by_sftp(make_workspace, tmp_path):
    asyncssh = driver("asyncssh")

    class Files(asyncssh.SFTPServer):
        def scandir(self, path):
            raise asyncssh.SFTPFailure(f"no folder for {PASSWORD}")

    with asyncssh_server(tmp_path, tmp_path, Files) as served:
        (tmp_path / "word").unlink()
        url = f"sftp://windrow@127.0.0.1:{served.site.port}/"
        tasks = run_with(make_workspace(), url, host_keys=list(served.site.host_keys))
    assert "no folder for xxxxxxxxxxx" in tasks
