"""Wrong passwords and wrong host keys: nothing is asked twice, and the message says what to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.place import folders, put
from tests.servers.daemon import home
from windrow.config.workspace import trust
from windrow.demo.partner import drop

NAME, CONTENT = drop("H", "2026-01-12", 5)
KEY = f"add/{NAME}"


@pytest.fixture
def offered(sshd):
    """The site of the real OpenSSH server, over a folder with one good zip."""
    with home("root") as folder:
        put(folders(folder / "drop"), NAME, CONTENT)
        yield replace(sshd.site, base=f"{folder}/drop/", timeout=60)


@pytest.mark.parametrize("pins", [(), ("SHA256:" + "A" * 43,)], ids=["unknown", "changed"])
def test_a_host_key_that_is_not_pinned(place, offered, pins):
    made = place()
    good = made.healthy()
    made.source("lab", replace(offered, host_keys=pins))
    went = made.run()
    assert went.code == 3
    failed, reason, comment = made.tasks("lab")[0]
    assert (failed, reason) == (1, "host_key_changed" if pins else "host_key_unknown")
    (key,) = offered.host_keys
    assert key in comment
    assert f"windrow config trust lab {key}" in comment
    assert any(f"windrow config trust lab {key}" in trouble for trouble in went.troubles)
    if pins:
        assert pins[0] in comment
    assert key in made.tracked("SELECT comment FROM session_task WHERE status = 1")[0][0]
    made.whole(good)
    assert len(made.tasks("lab")) == 1  # it is not fetched from, and not tried again

    trust(made.root, "lab", key)
    assert made.run().code == 0
    made.whole(good, KEY)


@pytest.mark.parametrize("server", ["vsftpd_plain", "asyncssh_password", "nginx_shut"])
def test_a_wrong_password(place, request, server):
    served = request.getfixturevalue(server)
    made = place()
    good = made.healthy()
    made.source("lab", served.wrong)
    went = made.run()
    assert went.code == 3
    failed, reason, _ = made.tasks("lab")[0]
    assert (failed, reason) == (1, "wrong_password")
    assert made.tracked("SELECT count(*) FROM session_task WHERE status = 1 AND comment LIKE 'lab:%'") == [(1,)]
    made.whole(good)
    for path in (made.root / name for name in ("ledger.sqlite", "tracker.sqlite", "ledger.sqlite-wal")):
        assert not path.exists() or b"open barley" not in path.read_bytes()

    made.source("lab", served.site)
    assert made.run().code == 0
    assert made.tasks("lab")[-1][0] == 0
    assert "offered" in made.tasks("lab")[-1][2]


def test_no_secret_where_it_is_said_to_be(place, vsftpd_plain):
    made = place()
    good = made.healthy()
    made.source("lab", replace(vsftpd_plain.site, secret=None), secret="file:nowhere")
    went = made.run()
    assert went.code == 3
    assert made.tasks("lab")[0][:2] == (1, "no_secret")
    assert str(Path("nowhere")) in made.tasks("lab")[0][2]
    made.whole(good)
