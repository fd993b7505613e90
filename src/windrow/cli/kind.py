"""What options and arguments may hold, and how a shell completes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click
from click.shell_completion import CompletionItem

from windrow.cli.voice import Voice
from windrow.errors import WindrowError


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as `6h`, kept as it is spelled."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what is not a duration."""
        from windrow.settings.amount import duration  # noqa: PLC0415

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
    from windrow.registry import names as known  # noqa: PLC0415

    voice = ctx.find_object(Voice) or Voice()
    folder = next(
        (one.params.get("workspace") for one in (ctx, ctx.parent) if one and one.params.get("workspace")), None
    )
    try:
        config = Voice(workspace=folder or voice.workspace).open().config
    except WindrowError:
        return []
    found = [CompletionItem(one.name, help=one.site.address()) for one in config.sources]
    found += [CompletionItem(name, help="collection") for name in known()]
    return [item for item in found if str(item.value).startswith(begun)]


def sources(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of sources alone."""
    return [item for item in names(ctx, param, begun) if item.help != "collection"]


def phases(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of phases."""
    from windrow.registry import phases as known  # noqa: PLC0415

    found = dict.fromkeys(name for each in known().values() for name in each)
    return [CompletionItem(name) for name in found if name.startswith(begun)]


def kinds(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of collections."""
    from windrow.registry import names as known  # noqa: PLC0415

    return [CompletionItem(name) for name in known() if name.startswith(begun)]


def kind_names() -> tuple[str, ...]:
    """Return the names of the collections that are installed."""
    from windrow.registry import names as known  # noqa: PLC0415

    return known()


def reasons(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the words of the closed list of reasons."""
    from windrow.reasons import Reason  # noqa: PLC0415

    return [CompletionItem(one.value, help=one.meaning) for one in Reason if one.startswith(begun)]


def exports(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete what can be exported."""
    from windrow.app.export import forms  # noqa: PLC0415

    return [CompletionItem(name, help=one.help) for name, one in forms().items() if name.startswith(begun)]
