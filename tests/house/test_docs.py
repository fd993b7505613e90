"""The manual is correct: generated parts are current, links have targets."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from tests.house.page import anchors, links, name, pages
from tests.house.tree import ROOT, python
from windrow import errors
from windrow.config import declared_settings, settings_of_sources
from windrow.contract import registry
from windrow.reasons import Reason


def page(path: str) -> str:
    return (ROOT / "docs" / path).read_text()


def test_generated_parts_are_current() -> None:
    files = [str(each) for each in pages() if "[[[cog" in each.read_text()]
    assert files
    done = subprocess.run(
        [sys.executable, "-m", "cogapp", "--check", "--diff", "-I", "tools", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run: make docs\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("each", pages(), ids=name)
def test_links_lead_somewhere(each) -> None:
    lost = []
    for link in links(each):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (each.parent / path).resolve() if path else each
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_every_reason_is_in_the_manual() -> None:
    text = page("reference/reasons.md")
    assert [reason for reason in Reason if f"| `{reason}` | {reason.meaning} |" not in text] == []


def test_every_setting_is_in_the_manual() -> None:
    text = page("reference/config.md")
    known = registry.installed()
    names = {*declared_settings(), *(name for each in settings_of_sources(known).values() for name in each)}
    names |= {
        row.name for collection in known.values() for rows in collection.configuration.tables.values() for row in rows
    }
    assert [setting for setting in names if f"| `{setting}` |" not in text] == []


def test_the_error_tree_is_drawn_whole() -> None:
    drawn = errors.__doc__ or ""
    tree = [
        error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, errors.WindrowError)
    ]
    assert [error.__name__ for error in tree if not re.search(rf"\b{error.__name__}\b", drawn)] == []
    for error in tree:
        (line,) = (line for line in drawn.splitlines() if re.search(rf"[─ ]{error.__name__}\b", line))
        if number := re.search(r"exit (\d+)", line):
            assert error.exit_code == int(number[1])


def test_every_exit_code_is_in_the_manual() -> None:
    text = page("reference/exit-codes.md")
    codes = {
        error.exit_code for error in vars(errors).values() if isinstance(error, type) and hasattr(error, "exit_code")
    }
    assert [code for code in {*codes, 0, 3} if f"| {code} |" not in text] == []


def test_the_glossary_is_in_order() -> None:
    words = re.findall(r"(?m)^\| ([a-z ]+) \|", page("glossary.md"))[1:]
    assert words
    assert words == sorted(words)


def rows_between(text: str, name: str) -> list[list[str]]:
    """Return the cells of a table's rows that stands between two marks."""
    table = text.partition(f"<!-- {name}: begin -->")[2].partition(f"<!-- {name}: end -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_every_library_is_told_with_the_extras_that_bring_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared: dict[str, set[str]] = {}
    for extra, requirements in {"base": project["dependencies"], **project["optional-dependencies"]}.items():
        for requirement in requirements:
            library = re.split(r"[\[>=<]", requirement)[0]
            declared.setdefault(library, set()).add(extra)
    digests = {}
    for names, extras, licence, *_ in rows_between(page("explanation/dependencies.md"), "libraries"):
        assert not re.search(r"\bA?GPL", licence) or licence.startswith("EPL-2.0 or ")
        digests.update({library.lower(): set(re.findall(r"\w+", extras)) for library in names.split(", ")})
    assert digests == declared


def test_modules_beside_which_libraries_were_weighed_are_there() -> None:
    rows = rows_between(page("explanation/dependencies.md"), "readers")
    assert len(rows) > 30
    paths = [path for modules, *_ in rows for path in re.findall(r"`([^`]+)`", modules)]
    assert [path for path in paths if not list((ROOT / "src/windrow").glob(path))] == []


def test_layers_in_the_architecture_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    checked = [line.replace("windrow.", "") for line in contracts[0]["layers"]]
    drawn = page("explanation/architecture.md").partition("A layer imports only layers below it:")[2]
    assert drawn.split("```")[1].split("\n")[1:-1] == checked
    names = {path.relative_to(ROOT / "src/windrow").parts[0].removesuffix(".py") for path in python("src")}
    assert names - {"py.typed"} == {"__init__", "__main__", *(name for line in checked for name in line.split(" | "))}
