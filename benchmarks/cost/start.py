"""The figures of starting: modules imported, functions and classes made, till a command has said what it says.

Functions and classes of Python itself are left out: they are others in its smallest versions.

`python -m benchmarks.cost.start COMMAND...` prints those of one command as JSON, of `import windrow` without one.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import types


def _made() -> int:
    """Count the functions and classes that are not Python's own."""
    functions = (held for held in gc.get_objects() if isinstance(held, types.FunctionType | type))
    return sum(_is_not_of_python(function.__module__) for function in functions)


def _is_not_of_python(module: object) -> bool:
    package = str(module).partition(".")[0]
    return package not in sys.stdlib_module_names and not package.startswith(("builtins", "namedtuple_"))


def measure(words: list[str]) -> dict[str, float]:
    """Run a command, or import the package, in a fresh process."""
    gc.disable()
    modules, before = set(sys.modules), _made()
    import windrow  # noqa: F401, PLC0415 this is measured

    if words:
        from windrow.cli import main  # noqa: PLC0415 this too

        with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
            main(words)
        assert shown.getvalue(), words
    name = f"windrow {words[0]}" if words else "import windrow"
    return {
        f"modules of {name}": len(set(sys.modules) - modules),
        f"functions and classes of {name}": _made() - before,
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1:])))
