"""Wrong passwords and wrong host keys: there is one attempt, and the message says what to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.workspace import make_drop_folders, put
from tests.servers.daemon import home
from windrow.config.workspace import trust
from windrow.demo.partner import drop

NAME, CONTENT = drop("H", "2026-01-12", 5)
KEY = f"add/{NAME}"


@pytest.fixture
def ssh_site(sshd):
    """Yield the site of a real OpenSSH server, over a folder with one good zip."""
    with home("root") as folder:
        put(make_drop_folders(folder / "drop"), NAME, CONTENT)
        yield replace(sshd.site, base=f"{folder}/drop/", timeout=60)


@pytest.mark.parametrize("pins", [(), ("SHA256:" + "A" * 43,)], ids=["unknown", "changed"])
def test_a_host_key_that_is_not_pinned(make_workspace, ssh_site, pins):
    workspace = make_workspace()
    good = workspace.add_healthy()
    workspace.add_source("lab", replace(ssh_site, host_keys=pins))
    outcome = workspace.run()
    assert outcome.code == 3
    failed, reason, comment = workspace.tasks("lab")[0]
    assert (failed, reason) == (1, "host_key_changed" if pins else "host_key_unknown")
    (key,) = ssh_site.host_keys
    assert key in comment
    assert f"windrow config trust lab {key}" in comment
    assert any(f"windrow config trust lab {key}" in trouble for trouble in outcome.troubles)
    if pins:
        assert pins[0] in comment
    assert key in workspace.query_tracker("SELECT comment FROM session_task WHERE status = 1")[0][0]
    workspace.assert_complete(good)
    assert len(workspace.tasks("lab")) == 1  # it is not fetched from, and not tried again

    trust(workspace.root, "lab", key)
    assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)


@pytest.mark.parametrize("server", ["vsftpd_plain", "asyncssh_password", "nginx_shut"])
def test_a_wrong_password(make_workspace, request, server):
    login_server = request.getfixturevalue(server)
    workspace = make_workspace()
    good = workspace.add_healthy()
    workspace.add_source("lab", login_server.wrong)
    outcome = workspace.run()
    assert outcome.code == 3
    failed, reason, _ = workspace.tasks("lab")[0]
    assert (failed, reason) == (1, "login_failed")
    assert workspace.query_tracker("SELECT count(*) FROM session_task WHERE status = 1 AND comment LIKE 'lab:%'") == [
        (1,)
    ]
    workspace.assert_complete(good)
    for path in (workspace.root / name for name in ("ledger.sqlite", "tracker.sqlite", "ledger.sqlite-wal")):
        assert not path.exists() or b"open barley" not in path.read_bytes()

    workspace.add_source("lab", login_server.site)
    assert workspace.run().code == 0
    assert workspace.tasks("lab")[-1][0] == 0
    assert any("offered" in comment for _, _, comment in workspace.tasks("lab"))


def test_no_secret_where_it_is_said_to_be(make_workspace, vsftpd_plain):
    workspace = make_workspace()
    good = workspace.add_healthy()
    workspace.add_source("lab", replace(vsftpd_plain.site, secret=None), secret="file:nowhere")
    outcome = workspace.run()
    assert outcome.code == 3
    assert workspace.tasks("lab")[0][:2] == (1, "no_secret")
    assert str(Path("nowhere")) in workspace.tasks("lab")[0][2]
    workspace.assert_complete(good)
