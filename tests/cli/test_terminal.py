"""Names from outside cannot control a terminal, break a line of JSON, or fail on an encoding that is not UTF-8."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests import programs
from tests.cli.conftest import put
from tests.waiting import PATIENCE
from windrow.cli.command import Console, escape_lines
from windrow.formats.text import escape, escape_json, table

ACTING = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F),
          *range(0x2066, 0x206A), 0x2028, 0x2029, 0xE0001, 0xE0041, 0xE007F, 0xD800)]  # fmt: skip


@pytest.mark.parametrize("sign", ACTING, ids=lambda sign: f"U+{ord(sign):04X}")
def test_what_acts_on_a_terminal_is_spelled(sign: str) -> None:
    escaped = escape(f"a{sign}b")
    assert sign not in escaped
    assert escaped.startswith("a\\")
    assert escaped.isascii()
    whole = json.dumps([f"a{sign}b"], ensure_ascii=False)
    safe = escape_json(whole)
    assert sign not in safe
    assert json.loads(safe) == [f"a{sign}b"]


def test_letters_of_all_scripts_stay() -> None:
    text = "Ærø 東京 עברית नमस्ते 👩‍👧 e\u0301"
    assert escape(text) == escape_json(text) == escape_lines(text) == text


def test_a_line_end_in_a_name_makes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    name = "H.zip\n2026-01-01 00:00:00  load     all well"
    console.print(name)
    console.print(["first", name, table(["name"], [["x"]])])
    console.inform([name, ""])
    output = capsys.readouterr()
    assert output.out.splitlines() == [escape_lines(name), "first", escape_lines(name), "name", "x"]
    assert output.err.splitlines() == [escape_lines(name), ""]


def test_a_file_whose_name_holds_a_line_end_prints_no_false_line_in_its_story(
    workspace: Path, partner: Path, windrow
) -> None:
    name = "H.2026-01-12.9.impc.zip\n2026-01-12 00:00:00  loaded   all of it is well\u200f\x9b31m.zip"
    (partner / "add").mkdir(exist_ok=True)
    put(partner / "add", name, b"PK")
    windrow("run")
    assert "zip\\n2026-01-12" in windrow("why", name).out
    for words in (("why", name), ("why", "H"), ("status",), ("run", "--dry-run")):
        output = windrow(*words)
        for line in (output.out + output.err).splitlines():
            assert not line.startswith("2026-01-12 00:00:00")
            assert "\u200f" not in line
            assert "\x9b" not in line
        json_output = windrow(*words, "--json")
        assert all(32 <= ord(sign) < 127 or sign == "\n" for sign in json_output.out)
        for line in json_output.out.splitlines():
            json.loads(line)


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp437"])
def test_a_terminal_that_is_not_utf_8_gets_what_it_can_show(workspace: Path, encoding: str) -> None:
    (workspace / "windrow.toml").write_text('name = "Ærø → 東京"\n')
    for words in (["config"], ["status"], ["why", "東京"], ["--help"], ["config", "--json"], ["run"]):
        process = programs.start(
            "-m", "windrow", *words, cwd=workspace, env=os.environ | {"PYTHONIOENCODING": encoding}
        )
        text = b"".join(process.communicate(PATIENCE)).decode(encoding)
        assert "Traceback" not in text
        assert process.returncode in {0, 1}
        if words == ["config"]:
            assert "\\u2192" in text
