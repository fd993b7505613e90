"""Configurations that are refused before they are used: for their owner, passwords or unreadable parts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windrow.app.begin import prepare
from windrow.config import load
from windrow.errors import ConfigError

BLOG = 'collection = "pages"\nurl = "https://example.org/"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    prepare(tmp_path / "workspace")
    (tmp_path / "workspace" / "sources" / "blog.toml").write_text(BLOG)
    return tmp_path / "workspace"


def test_a_new_workspace_is_its_owners_alone(root: Path) -> None:
    assert root.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["windrow.toml", "sources/blog.toml", "host_keys.toml"])
def test_a_file_of_another_owner_is_refused(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "host_keys.toml").touch()
    load(root, {})
    fstat, real = os.fstat, (root / name).stat()

    def owned_by_another(fd: int) -> os.stat_result:
        status = fstat(fd)
        owner = 12345 if status.st_ino == real.st_ino else status.st_uid
        return os.stat_result((*status[:4], owner, *status[5:]))

    monkeypatch.setattr(os, "fstat", owned_by_another)
    with pytest.raises(ConfigError, match=rf"{name} belongs to another user \(user id 12345\)") as caught:
        load(root, {})
    assert caught.value.exit_code == 4
    assert "chown" in caught.value.hint


def test_a_file_of_root_or_of_oneself_is_trusted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(root, {})
    if os.geteuid() == 0:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert load(root, {}).sources


@pytest.mark.parametrize("name", ["windrow.toml", "sources/blog.toml", "host_keys.toml", "sources"])
def test_what_every_user_may_write_is_refused(root: Path, name: str) -> None:
    (root / "host_keys.toml").touch()
    mode = (root / name).stat().st_mode
    (root / name).chmod(mode | 0o020)
    load(root, {})
    (root / name).chmod(mode | 0o002)
    with pytest.raises(ConfigError, match=rf"every user of this machine may write {name}") as caught:
        load(root, {})
    assert caught.value.exit_code == 4
    assert f"chmod o-w {root / name}" in caught.value.hint
    (root / name).chmod(mode)
    load(root, {})


def test_a_folder_of_sources_of_another_owner_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(root / "sources", 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConfigError, match=r"belongs to another user"):
        load(root, {})


PASSWORDS = [
    'url = "https://me:Hunter2@example.org/"',
    'url = "https://Hunter2@example.org/"',
    'url = "https://me:Hunter2@ex ample/"',
    'url = "https://me:Hun/Hunter2@example.org/"',
    'url = "HTTPS://me:Hun#Hunter2@example.org/"',
    'url = "//me:Hunter2@example.org/"',
    'url = "me:Hunter2@example.org"',
    'url = "https://example.org/?user=me&password=Hunter2"',
    'seeds = ["https://example.org/", "https://me:Hunter2@example.org/"]',
    'url = "https://example.org/"\nfeeds = ["https://me:Hunter2@example.org/feed"]',
    'url = "https://example.org/"\nsitemaps = ["https://me:Hunter2@example.org/sitemap.xml"]',
    'url = "https://example.org/"\nhosts = ["me:Hunter2@example.org"]',
]


@pytest.mark.parametrize("text", PASSWORDS)
def test_a_password_in_an_address_of_pages_is_refused_and_not_printed(root: Path, text: str) -> None:
    (root / "sources" / "blog.toml").write_text(f'collection = "pages"\n{text}\n')
    with pytest.raises(ConfigError, match="must not contain a user or password") as caught:
        load(root, {})
    assert "Hunter2" not in f"{caught.value} {caught.value.hint}"
    assert caught.value.exit_code == 4
    assert "blog.toml" in str(caught.value)


@pytest.mark.parametrize(
    "url", ["https://example.org/@me", "http://[::1]:80/@a", "https://example.org:8080/a?to=b@c.example"]
)
def test_an_at_sign_in_a_path_is_no_password(root: Path, url: str) -> None:
    (root / "sources" / "blog.toml").write_text(f'collection = "pages"\nurl = "{url}"\n')
    assert load(root, {}).sources


def test_sources_that_cannot_be_read_are_an_error_and_not_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "sources"

    def refused() -> None:
        with pytest.raises(ConfigError, match="sources") as caught:
            load(root, {})
        assert caught.value.exit_code == 4

    with monkeypatch.context() as patch:
        patch.setattr(
            Path, "iterdir", lambda path: os.scandir("/nonexistent" if path != folder else folder / "blog.toml")
        )
        refused()
    (folder / "gone.toml").symlink_to("nowhere.toml")
    refused()
    (folder / "gone.toml").unlink()
    (folder / "folder.toml").mkdir()
    refused()
    (folder / "folder.toml").rmdir()
    (folder / ".#blog.toml").symlink_to("me@host.1234")  # the lock of an editor
    assert [source.name for source in load(root, {}).sources] == ["blog"]
    folder.rename(root / "elsewhere")
    assert load(root, {}).sources == ()
    folder.symlink_to("sources")
    refused()
    folder.unlink()
    folder.symlink_to("nothing")
    refused()
    folder.unlink()
    folder.write_text("")
    refused()
