"""Write the generated parts of the manual: cog calls these functions from the pages, and `make docs` runs cog."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

from windrow import errors
from windrow.caps import CAPS
from windrow.config import Setting, settings_of_sources
from windrow.config import declared_settings as all_settings
from windrow.contract import registry
from windrow.reasons import Reason
from windrow.settings.setting import SOURCE_SETTINGS

CODES = {
    0: "all went well",
    1: "something failed that does not have its own code",
    2: "the command line is not valid",
    3: "some or all sources failed; the others were harvested, and the summary says what failed",
    4: "the configuration is wrong",
    5: "another run uses the workspace",
    130: "the user stopped it",
}


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table, after a blank line."""
    names = tuple(heads)
    lines = [names, tuple("---" for _ in names), *rows]
    return "\n" + "".join(f"| {' | '.join(_cell(each) for each in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def reasons() -> str:
    """Return a table of the reasons and their meanings."""
    return table(("reason", "meaning"), ((f"`{reason}`", reason.meaning) for reason in Reason))


def caps() -> str:
    """Return a table of the caps: number, reason, what happens beyond it, and the setting that changes it."""
    heads = ("cap", "at most", "why", "more than that", "setting")
    return table(
        heads,
        (
            (f"`{cap.name}`", f"{cap.number:,} {cap.counted}", cap.why, cap.excess, cap.setting and f"`{cap.setting}`")
            for cap in CAPS
        ),
    )


def presets(collection: str) -> str:
    """List the presets of a collection: product and address of each."""
    by_name = registry.collection(collection).configuration.presets()
    rows = ((f"`{name}`", *preset.url.split(": ", 1)) for name, preset in by_name.items())
    return table(("preset", "product", "address"), rows)


def settings(which: str) -> str:
    """Return a table of settings: `workspace`, `source` (every source), a collection (its sources), `drops.centre`."""
    shared = {setting.name: setting for setting in SOURCE_SETTINGS}
    chosen: dict[str, Setting] = {
        "workspace": all_settings(), "source": shared,
        **{name: {each.name: each for each in known} for collection in registry.installed().values()
           for name, known in collection.configuration.tables.items()},
        **{kind: {name: each for name, each in known.items() if name not in shared}
           for kind, known in settings_of_sources(registry.installed()).items()},
    }[which]  # fmt: skip
    heads = ("setting", "holds", "default", "meaning")
    if which != "workspace":
        return table(heads, (_setting(each) for each in chosen.values()))
    return table((*heads, "environment"), ((*_setting(each), f"`{each.env}`") for each in chosen.values()))


def _setting(setting: Setting) -> tuple[str, ...]:
    flag = f", flag `{setting.flag}`" if setting.flag else ""
    default = setting.default if setting.default != [] else ""
    if setting.kind.noun in {"size", "duration"} and not isinstance(default, str):
        default = setting.kind.show(setting.default)
    shown = str(default).lower() if isinstance(default, bool) else str(default or ("" if default != 0 else 0))
    return f"`{setting.name}`", setting.kind.noun, f"`{shown}`" if shown else "", setting.help + flag


def codes() -> str:
    """Return a table of the exit codes, with the errors that lead to each."""
    return table(
        ("code", "meaning", "errors"),
        ((str(code), meaning, ", ".join(_leading_to(code))) for code, meaning in CODES.items()),
    )


def tree() -> list[type[errors.WindrowError]]:
    """Return all classes of errors."""
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    return [kind for kind in classes if issubclass(kind, errors.WindrowError)]


def _leading_to(code: int) -> Iterator[str]:
    return (f"`{kind.__name__}`" for kind in tree() if kind.exit_code == code)
