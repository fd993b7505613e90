"""Types of options, shell completion of arguments, and the options that collections declare."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from windrow.cli.command import Command, Console, Option
from windrow.errors import ConfigError, WindrowError
from windrow.settings.setting import Setting


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A duration such as `6h`. It is checked, but kept as a text."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, or report a usage error if it is not a duration."""
        from windrow.settings.kinds import read_duration  # noqa: PLC0415

        try:
            read_duration(value)
        except WindrowError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Day(click.ParamType):  # type: ignore[type-arg]
    """A day or a time, in UTC unless it has an offset."""

    name = "date"
    _other_forms = ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Parse a time in ISO 8601, or report a usage error."""
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value))
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):  # of a time outside the years 1 to 9999 in UTC
            self.fail(f"{value!r} is not a date like 2026-01-31 or 2026-01-31T09:00{self._other_forms}", param, ctx)


LAST_LOOK = "last"
"""The word for the time of the user's last look at the changes."""


class Since(Day):
    """A day or time as in `Day`, `yesterday` or `today`, a duration before now, or `last` for the user's last look."""

    _other_forms = ", a duration like 24h, or one of today, yesterday and last"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the time that a text names, or `LAST_LOOK`; report a usage error if it names neither."""
        from windrow.clock import now  # noqa: PLC0415
        from windrow.settings.kinds import read_duration  # noqa: PLC0415

        if value == LAST_LOOK:
            return value
        midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
        if value in {"today", "yesterday"}:
            return midnight - timedelta(days=value == "yesterday")
        if str(value).isdecimal():  # a day such as 20260131, never a number of seconds
            return super().convert(value, param, ctx)
        try:
            return now() - timedelta(seconds=read_duration(str(value)))
        except (WindrowError, OverflowError):
            return super().convert(value, param, ctx)


def complete_names(ctx: click.Context, _param: click.Parameter, prefix: str) -> list[CompletionItem]:
    """Return completions for the names of sources and collections; an empty list if no workspace can be opened."""
    console = ctx.find_object(Console) or Console()
    folders = [context.params.get("workspace") for context in (ctx, ctx.parent) if context]
    folder = next(filter(None, folders), None)
    try:
        config = Console(workspace=folder or console.workspace).open().config
    except WindrowError:
        return []
    completions = [CompletionItem(source.name, help=source.site.address()) for source in config.sources]
    completions += [CompletionItem(name, help="collection") for name in list_collections()]
    return [completion for completion in completions if str(completion.value).startswith(prefix)]


def complete_sources(ctx: click.Context, param: click.Parameter, prefix: str) -> list[CompletionItem]:
    """Return completions for the names of sources."""
    return [completion for completion in complete_names(ctx, param, prefix) if completion.help != "collection"]


def complete_phases(_ctx: click.Context, _param: click.Parameter, prefix: str) -> list[CompletionItem]:
    """Return completions for the names of phases."""
    from windrow.contract.registry import phases as collection_phases_by_name  # noqa: PLC0415

    phase_names = dict.fromkeys(
        name for collection_phases in collection_phases_by_name().values() for name in collection_phases
    )
    return [CompletionItem(name) for name in phase_names if name.startswith(prefix)]


def complete_collections(_ctx: click.Context, _param: click.Parameter, prefix: str) -> list[CompletionItem]:
    """Return completions for the names of collections."""
    return [CompletionItem(name) for name in list_collections() if name.startswith(prefix)]


def list_collections() -> tuple[str, ...]:
    """Return the names of the collections that are installed."""
    from windrow.contract.registry import names as collection_names  # noqa: PLC0415

    return collection_names()


def complete_presets(_ctx: click.Context, _param: click.Parameter, prefix: str) -> list[CompletionItem]:
    """Return completions for the names of presets."""
    return [CompletionItem(name) for name in list_presets() if name.startswith(prefix)]


def list_presets() -> tuple[str, ...]:
    """Return the names of the presets of all collections."""
    from windrow.contract.registry import installed  # noqa: PLC0415

    return tuple(name for collection in installed().values() for name in collection.configuration.presets())


def complete_reasons(_ctx: click.Context, _param: click.Parameter, prefix: str) -> list[CompletionItem]:
    """Return completions for reasons."""
    from windrow.reasons import Reason  # noqa: PLC0415

    return [CompletionItem(reason.value, help=reason.meaning) for reason in Reason if reason.startswith(prefix)]


def complete_exports(_ctx: click.Context, _param: click.Parameter, prefix: str) -> list[CompletionItem]:
    """Return completions for the names of exports."""
    from windrow.app.export import exports_by_name  # noqa: PLC0415

    return [
        CompletionItem(name, help=export.help) for name, export in exports_by_name().items() if name.startswith(prefix)
    ]


class SettingType(click.ParamType):  # type: ignore[type-arg]
    """A setting's value. It is checked, but kept as a text."""

    name = "value"

    def __init__(self, setting: Setting) -> None:
        self._kind = setting.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, or report a usage error if the configuration would refuse it."""
        try:
            self._kind.read(self._kind.spell(str(value)), Path())
        except ConfigError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class DeclaredOptions(Command):
    """A command with an option for each setting that `declared` returns and that has a flag."""

    section = ""

    def declared(self) -> Iterable[Setting]:
        """Return the settings that can be set by flags of this command."""
        raise NotImplementedError

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Add the declared options on the first call; return all parameters."""
        existing = {name for param in self.params for name in param.opts}
        for setting in self.declared():
            if setting.flag and setting.flag not in existing:
                is_integer = setting.kind.noun.startswith("a whole number")
                text = setting.help[:1].upper() + setting.help[1:] + "."
                flag = Option(
                    [setting.flag, flag_name(setting)], type=SettingType(setting), section=self.section, help=text,
                    metavar="N" if is_integer else "TEXT",
                )  # fmt: skip
                self.params.insert(-3, flag)  # before the options that every command has
                existing.add(setting.flag)
        return super().get_params(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add the declared options, then parse."""
        self.get_params(ctx)
        return super().parse_args(ctx, args)


def flag_name(setting: Setting) -> str:
    """Return the argument name for a setting's flag: the setting's name, with `__` in place of each dot."""
    return setting.name.replace(".", "__")
