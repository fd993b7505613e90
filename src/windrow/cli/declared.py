"""Options that collections declare: a setting with a flag is an option of a command."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from windrow.cli.verb import Option, Verb
from windrow.errors import ConfigError
from windrow.settings.setting import Setting


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
        known = {name for one in self.params for name in one.opts}
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
