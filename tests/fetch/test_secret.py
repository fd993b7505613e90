"""Secrets are read from their place, and appear in no message."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.errors import TerminalFailure
from windrow.fetch.secret import SentSecrets, read_secret
from windrow.model import Secret, Site
from windrow.reasons import Reason


@pytest.mark.parametrize(
    ("content", "word"), [("open", "open"), ("open\n", "open"), ("open\r\n", "open"), ("a b \n", "a b ")]
)
def test_a_file(tmp_path: Path, content: str, word: str) -> None:
    path = tmp_path / "word"
    path.write_bytes(content.encode())
    assert read_secret(Secret(f"file:{path}")) == word
    path.chmod(0o644)
    assert read_secret(Secret(f"file:{path}")) == word


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_TEST_WORD", "open sesame")
    assert read_secret(Secret("env:WINDROW_TEST_WORD")) == "open sesame"


@pytest.mark.parametrize("place", ["env:WINDROW_NO_SUCH", "file:/nowhere/word", "file:/", "env:", "file:", "env:A=B"])
def test_nothing_there(place: str) -> None:
    with pytest.raises(TerminalFailure) as failure:
        read_secret(Secret(place))
    assert failure.value.reason is Reason.NO_SECRET
    assert place in str(failure.value)


def test_a_secret_in_place_of_its_place_is_not_shown() -> None:
    with pytest.raises(TerminalFailure) as failure:
        read_secret(Secret("open sesame"))
    assert "sesame" not in str(failure.value)


def test_too_large_or_no_text(tmp_path: Path) -> None:
    for content in (b"x" * 100_000, b"\xff\xfe"):
        (tmp_path / "word").write_bytes(content)
        with pytest.raises(TerminalFailure):
            read_secret(Secret(f"file:{tmp_path}/word"))


def test_a_text_without_escapes_and_secrets_is_not_searched_for_their_spellings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiling the pattern of all spellings takes 0.2 seconds, more than fetching a hundred files."""
    (tmp_path / "word").write_text("open sesame")
    secrets = SentSecrets(Site("ftp", "ftp.example.org", secret=Secret(f"file:{tmp_path}/word")))
    with monkeypatch.context() as context:
        context.setattr("windrow.fetch.secret.re.compile", None)
        assert secrets.hide(b"add/open.zip") == b"add/open.zip"
        assert not secrets.contains_secret(b"add/open.zip")
    for spelling in (b"open sesame", b"open%20sesame", b"b3BlbiBzZXNhbWU=", b"open\\u0020sesame", b"&#111;pen sesame"):
        assert secrets.hide(b"a " + spelling) == b"a " + b"x" * len(spelling)
        assert secrets.contains_secret(spelling)
