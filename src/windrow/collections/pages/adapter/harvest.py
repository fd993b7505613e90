"""What this workspace crawls, and as whom."""

from __future__ import annotations

from dataclasses import replace

from windrow.collections.pages.adapter.crawler_books import CrawlerBooks
from windrow.collections.pages.adapter.indexing import follower
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.settings import Pages, pages_of
from windrow.config import Value, Workspace
from windrow.engine.ledger import Ledger
from windrow.engine.run import Harvest
from windrow.errors import ConfigError, UsageError
from windrow.model import Source
from windrow.politeness.user_agent import user_agent
from windrow.stores.index.folder import refuse_strange
from windrow.stores.sqlite_file import close_on_failure


def harvest(workspace: Workspace) -> Harvest:
    """Make the harvest of the sites that this workspace's configuration names; ConfigError without an operator.

    Where it names none nobody is asked, and nobody need be named.
    """
    named = [source for source in workspace.sources if source.collection == COLLECTION.name]
    agent = agent_of(workspace) if named else agent_known(workspace)
    sources = tuple(replace(source, site=replace(source.site, agent=agent)) for source in named)
    told = pages_of(workspace.sections)
    refuse_strange(told.index)
    books = CrawlerBooks(
        told.crawler, agent, archive=workspace.archive.folder if told.file_text else None, summary=told.summary
    )
    with close_on_failure(books.close):
        store = SummaryStore(f"sqlite:///{told.summary}")
    return Harvest(
        COLLECTION,
        sources,
        options={"agent": agent},
        books=books,
        version_store=store,
        derivations={"index": follower(told.summary, told.index)},
        limits=told.limits,
    )


def agent_of(workspace: Workspace) -> str:
    """Return the user agent, which names the operator and a contact, or say which setting is missing or wrong."""
    told: Pages = pages_of(workspace.sections)
    try:
        return user_agent(told.operator, told.contact, told.user_agent)
    except ConfigError as error:
        name, _, wanted = str(error).partition(": ")
        value = _said(workspace, name)
        raise ConfigError(f"{_place(value)}: {wanted}", hint=_mend(workspace, value)) from None


def _said(workspace: Workspace, name: str) -> Value:
    """Return a setting of [pages]; where only the workspace's own contact is given, that one."""
    values = {one.name: one for one in workspace.values}
    value, whole = values[f"pages.{name}"], values.get(name)
    return whole if value.origin == "default" and whole is not None and whole.value else value


def agent_known(workspace: Workspace) -> str:
    """Return the user agent, empty where none is configured: pages may name it though nobody is asked."""
    try:
        return agent_of(workspace)
    except ConfigError:
        return ""


def _place(value: Value) -> str:
    """Say where a setting was said, or that it was not."""
    if value.origin == "default":
        return f"windrow.toml: {value.name} is missing"
    return f"{value.origin}: {value.name}"


def _mend(workspace: Workspace, value: Value) -> str:
    word = value.name.rpartition(".")[2]
    example = {"operator": "example", "contact": "https://example.org/our-crawler"}.get(word)
    where = workspace.root / "windrow.toml"
    if value.origin.startswith("env "):
        return f"unset {value.origin.removeprefix('env ')}"
    part = "below [pages] in" if "." in value.name else "at the top of"
    return f'{word} = "{example}" {part} {where}' if example else f"edit {where}"


def ready(workspace: Workspace) -> None:
    """Refuse to crawl without an operator who can be reached, or with an index in somebody else's folder."""
    agent_of(workspace)
    refuse_strange(pages_of(workspace.sections).index)


def vet(workspace: Workspace, source: Source) -> None:
    """Refuse a site whose seeds another source has already: an origin is walked for one of them."""
    for other in workspace.sources:
        if other.collection != source.collection or other.name == source.name:
            continue
        if twice := set(other.options["seeds"]) & set(source.options["seeds"]):
            raise UsageError(f"{min(twice)} is a seed of {other.name} already", hint="windrow config")


def project(workspace: Workspace, ledger: Ledger) -> None:
    """Do nothing: what an operator decides about addresses is no crawl, and stands in no book of the standard."""
    del workspace, ledger


def clue(workspace: Workspace, what: str) -> str:
    """Say why an address is not known."""
    if workspace.of(COLLECTION.name) and what.startswith(("http://", "https://")):
        return "; the address belongs to none of the sites of this workspace"
    return ""
