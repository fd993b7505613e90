"""The project's own files, for the tests of the house."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_LEFT_OUT = {".venv", "build", "dist", "__pycache__", ".git"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tracked() -> tuple[Path, ...]:
    """Return the files that git knows; without git, all but what is built.

    What lies there besides is not looked at: another test or a person may write or remove it meanwhile.
    """
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if asked.returncode:
        paths = [path for path in ROOT.rglob("*") if not _LEFT_OUT & set(path.relative_to(ROOT).parts)]
        paths = [path for path in paths if not any(part.endswith("_cache") for part in path.parts)]
    else:
        paths = [ROOT / name for name in asked.stdout.decode().split("\0") if name]
    return tuple(sorted(path for path in paths if path.is_file()))


def python(*folders: str) -> list[Path]:
    """Return the Python files below these folders of the project."""
    return [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders]


@cache
def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text(), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's syntax tree."""
    return tuple(ast.walk(parsed(path)))


def functions(path: Path) -> Iterator[Function]:
    """Return all functions and methods of a file."""
    return (node for node in nodes(path) if isinstance(node, Function))


def classes(path: Path) -> Iterator[ast.ClassDef]:
    """Return all classes of a file."""
    return (node for node in nodes(path) if isinstance(node, ast.ClassDef))


def at(path: Path, node: ast.AST | None = None) -> str:
    """Name a place as editors understand it."""
    name = str(path.relative_to(ROOT))
    return f"{name}:{node.lineno}" if isinstance(node, ast.stmt | ast.expr | ast.excepthandler) else name
