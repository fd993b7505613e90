"""Kinds of options and arguments, how a shell completes them, and the options that collections declare."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from windrow.cli.verb import Option, Verb, Voice
from windrow.errors import ConfigError, WindrowError
from windrow.settings.setting import Setting


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as `6h`, kept as it is spelled."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what is not a duration."""
        from windrow.settings.kinds import duration  # noqa: PLC0415

        try:
            duration(value)
        except WindrowError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Day(click.ParamType):  # type: ignore[type-arg]
    """A day or moment, in UTC unless it says otherwise."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read ISO 8601."""
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a date like 2026-01-31 or 2026-01-31T09:00", param, ctx)
        return found if found.tzinfo else found.replace(tzinfo=UTC)


def names(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of sources and collections; silent where there is no workspace."""
    from windrow.contract.registry import names as known  # noqa: PLC0415

    voice = ctx.find_object(Voice) or Voice()
    folder = next(
        (one.params.get("workspace") for one in (ctx, ctx.parent) if one and one.params.get("workspace")), None
    )
    try:
        config = Voice(workspace=folder or voice.workspace).open().config
    except WindrowError:
        return []
    found = [CompletionItem(source.name, help=source.site.address()) for source in config.sources]
    found += [CompletionItem(name, help="collection") for name in known()]
    return [item for item in found if str(item.value).startswith(begun)]


def sources(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of sources alone."""
    return [item for item in names(ctx, param, begun) if item.help != "collection"]


def phases(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of phases."""
    from windrow.contract.registry import phases as known  # noqa: PLC0415

    found = dict.fromkeys(name for each in known().values() for name in each)
    return [CompletionItem(name) for name in found if name.startswith(begun)]


def kinds(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of collections."""
    from windrow.contract.registry import names as known  # noqa: PLC0415

    return [CompletionItem(name) for name in known() if name.startswith(begun)]


def kind_names() -> tuple[str, ...]:
    """Return the names of the collections that are installed."""
    from windrow.contract.registry import names as known  # noqa: PLC0415

    return known()


def reasons(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the words of the closed list of reasons."""
    from windrow.reasons import Reason  # noqa: PLC0415

    return [CompletionItem(one.value, help=one.meaning) for one in Reason if one.startswith(begun)]


def exports(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete what can be exported."""
    from windrow.app.export import forms  # noqa: PLC0415

    return [CompletionItem(name, help=one.help) for name, one in forms().items() if name.startswith(begun)]


class SettingType(click.ParamType):  # type: ignore[type-arg]
    """What a setting may hold, kept as it is spelled."""

    name = "value"

    def __init__(self, setting: Setting) -> None:
        """Check values as the configuration will."""
        self._kind = setting.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what the configuration would refuse."""
        try:
            self._kind.read(self._kind.spell(str(value)), Path())
        except ConfigError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class DeclaredOptions(Verb):
    """A command with an option for each setting of the installed collections that has a flag."""

    section = ""

    def declared(self) -> Iterable[Setting]:
        """Return the settings whose flags this command takes."""
        raise NotImplementedError

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Add the options, the first time that somebody asks."""
        known = {name for param in self.params for name in param.opts}
        for setting in self.declared():
            if setting.flag and setting.flag not in known:
                whole = setting.kind.noun.startswith("a whole number")
                text = setting.help[:1].upper() + setting.help[1:] + "."
                made = Option(
                    [setting.flag, flag_name(setting)], type=SettingType(setting), section=self.section, help=text,
                    metavar="N" if whole else "TEXT",
                )  # fmt: skip
                self.params.insert(-3, made)  # before the options that every command has
                known.add(setting.flag)
        return super().get_params(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Have the options before arguments are read."""
        self.get_params(ctx)
        return super().parse_args(ctx, args)


def flag_name(setting: Setting) -> str:
    """Name the argument in which a command gets a flag's value: the setting, with `__` for its dots."""
    return setting.name.replace(".", "__")
