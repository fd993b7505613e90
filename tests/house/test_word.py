"""Words and constructs that are not allowed in the code, or in any file."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from fnmatch import fnmatch
from pathlib import Path

import windrow.collections
import windrow.formats
from tests.house.tree import ROOT, at, nodes, python, tracked

BANNED = tuple(
    "".join(parts)
    for parts in (
        ("py", "pi.org"),
        ("files.python", "hosted"),
        ("registry.", "npmjs"),
        ("/wo", "rk/"),
        ("api.anth", "ropic"),
    )
)
LOOPS = (
    "src/windrow/engine/steps/worker.py",
    "src/windrow/engine/listed/transfer.py",
    "src/windrow/engine/crawl/walk.py",
    "src/windrow/engine/fetchers/fetcher.py",
    "src/windrow/engine/captures/rules.py",
    "src/windrow/contract/registry.py",
    "src/windrow/query/columns.py",
    "src/windrow/engine/run.py",
    "src/windrow/engine/fetchers/fetcher.py",
)
"""Where the failure of one document, package or part that is given back, whatever it is, must not end the rest."""

BARE = {"ValueError", "RuntimeError", "Exception", "KeyError", "TypeError", "OSError", "IndexError"}
IMPURE_CALLS = {"open", "print", "input", "create_engine", "urlopen", "getenv"}
IMPURE_METHODS = {
    "now", "utcnow", "today", "read_text", "read_bytes", "write_text", "write_bytes", "unlink", "mkdir", "urlopen",
    "getenv", "environ", "perf_counter", "monotonic",
}  # fmt: skip
PURE = ("src/windrow/collections/*", "src/windrow/formats/*", "src/windrow/query/*")
IMPURE_ROOMS = ("src/windrow/collections/*/adapter/*", "src/windrow/collections/*/database/*")


def test_no_machine_or_registry_is_named() -> None:
    faults = []
    for path in tracked():
        content = path.read_bytes().lower()
        faults += [f"{at(path)}: {word}" for word in BANNED if word.encode() in content]
    assert faults == []


def test_errors_are_our_own() -> None:
    """A foreign class may be raised by nobody but the protocols of Python themselves."""
    faults = []
    for path in python("src"):
        for node in nodes(path):
            if not isinstance(node, ast.Raise) or node.exc is None:
                continue
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(raised, ast.Name) and raised.id in BARE:
                faults.append(f"{at(path, node)}: {raised.id}")
    assert faults == []


def test_only_the_loop_catches_everything() -> None:
    faults = []
    for path in python("src"):
        if any(fnmatch(at(path), loop) for loop in LOOPS):
            continue
        handlers = (node for node in nodes(path) if isinstance(node, ast.ExceptHandler))
        faults += [at(path, handler) for handler in handlers if _everything(handler) and not _raises_again(handler)]
    assert faults == []


def _everything(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {each.id for each in caught if isinstance(each, ast.Name)}
    return handler.type is None or bool(names & {"Exception", "BaseException"})


def _raises_again(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise)


def test_pure_parts_read_no_disk_clock_or_environment() -> None:
    faults = []
    for path in python("src"):
        if not any(fnmatch(at(path), pure) for pure in PURE):
            continue
        if any(fnmatch(at(path), room) for room in IMPURE_ROOMS):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
                faults.append(f"{at(path, node)}: {node.func.id}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in IMPURE_METHODS:
                faults.append(f"{at(path, node)}: .{node.func.attr}")
    assert faults == []


def test_every_pure_module_can_be_imported_alone() -> None:
    for package in (windrow.collections, windrow.formats):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def test_todo_notes_do_not_stay() -> None:
    mark = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
    faults = [
        at(path) for path in tracked() if path.suffix in {".py", ".md", ".toml"} and mark.search(path.read_text())
    ]
    assert faults == []


def test_locks_have_hashes_and_no_address() -> None:
    locks = sorted((ROOT / "requirements").glob("*.txt"))
    assert {lock.name for lock in locks} == {"build.txt", "demo.txt", "dev.txt"}
    for lock in locks:
        assert _unlocked(lock) == [], lock.name


def _unlocked(lock: Path) -> list[str]:
    text = lock.read_text()
    wrong = [word for word in ("://", "--index", "--extra-index", "--find-links", "--trusted") if word in text]
    entries = re.split(r"\n(?=[a-zA-Z0-9])", re.sub(r"(?m)^#.*\n", "", text).strip())
    locked = re.compile(r"[a-z0-9-]+==\S+.*--hash=sha256:[0-9a-f]{64}", re.DOTALL)
    wrong += [entry.splitlines()[0] for entry in entries if not locked.match(entry)]
    return wrong


def test_one_module_words_the_message_that_a_text_is_not_a_web_address() -> None:
    words = ("not a web address", "address of the web", "not a valid address")
    places = {
        at(path)
        for path in python("src")
        for node in nodes(path)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if isinstance(part, ast.Constant) and any(wording in str(part.value) for wording in words)
    }
    assert places == {"src/windrow/formats/url.py"}
