"""A collection as one value, with functions that are imported when they are first called.

So a command that only looks something up imports every collection's value, but not its readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from windrow.contract.answers import Answer, FollowResult
from windrow.contract.columns import TypedColumn
from windrow.contract.discoveries import Captures, Crawl, Discovery, Inputs, Listing, Members, Requests
from windrow.contract.steps import ItemStep, Settle, Step
from windrow.model import Source
from windrow.settings.configuration import Configuration

Kind = TypeVar("Kind", Crawl, Requests, Captures)


@dataclass(frozen=True, slots=True)
class Collection:
    """The declaration of a collection, found by its entry point in the group `windrow.collections`.

    The `discovery` of a collection that sends requests and reads captures of others is `(Requests(...),
    Captures(...))`. The phases before the first step's phase (without steps, the first phase) are for finding and
    fetching. `adapter` names, as `module:name`, the object that connects the collection with a workspace's
    configuration and stores; it is imported when used. `columns` are the fields of its records by which searches can
    filter.
    """

    name: str
    phases: tuple[str, ...]
    discovery: Discovery | tuple[Requests, Captures]
    steps: tuple[Step, ...]
    adapter: str = ""
    configuration: Configuration = Configuration()  # noqa: RUF009 frozen: it may be shared
    columns: tuple[TypedColumn, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without configuration and columns: no step uses them, and their functions may not be picklable."""
        return Collection, (self.name, self.phases, self.discovery, self.steps, self.adapter)

    def phase(self, name: str) -> int:
        """Return the number of a phase, counted from 1."""
        return self.phases.index(name) + 1

    def step_after(self, kind: str, phase: str = "") -> str:
        """Return the phase of the next step on items of `kind`, or "" if there is none.

        `phase` is the phase of a step on such items, or empty to get the phase of the first of these steps.
        """
        phases = [step.phase for step in self.steps if isinstance(step, ItemStep) and step.kind == kind]
        later_phases = phases[phases.index(phase) + 1 :] if phase in phases else [] if phase else phases
        return later_phases[0] if later_phases else ""

    @property
    def listing(self) -> Listing:
        """The discovery of a collection that lists the folders of its sources."""
        assert isinstance(self.discovery, Listing)
        return self.discovery

    @property
    def fetch_phase(self) -> int:
        """The number of the phase in which listed files are transferred."""
        return self.phase(self.listing.fetch_phase)

    @property
    def members(self) -> Members:
        """The declaration of members, for a collection whose captures have members."""
        assert self.listing.members is not None
        return self.listing.members

    @property
    def crawl(self) -> Crawl | None:
        """The discovery by crawling, or None if there is none."""
        return self._first(Crawl)

    @property
    def requests(self) -> Requests | None:
        """The discovery by requests, or None if there is none."""
        return self._first(Requests)

    @property
    def captures(self) -> Captures | None:
        """The discovery in captures of others, or None if there is none."""
        return self._first(Captures)

    @property
    def takes_answers(self) -> bool:
        """Whether a step reads answers to requests (`Settle.takes_answers`).

        If so, the sources of the collection have a setting `private_hosts`.
        """
        return any(isinstance(step, Settle) and step.takes_answers for step in self.steps)

    @property
    def is_crawl_by_links(self) -> bool:
        """Whether the documents are found by links, on any host of a site. Machines may then share a source."""
        return isinstance(self.discovery, Crawl) and not self.discovery.by_request

    @property
    def discoveries(self) -> tuple[Discovery, ...]:
        """The discoveries in the order of a run: captures of others come before requests."""
        if isinstance(self.discovery, tuple):
            return tuple(reversed(self.discovery))
        return (self.discovery,)

    @property
    def follow(self) -> Callable[[Source, Mapping[str, Any], Answer], FollowResult] | None:
        """The function `follow` of the `Requests`, or of the `Captures` without `Requests`; None if there is none."""
        return next((discovery.follow for discovery in (self.requests, self.captures) if discovery is not None), None)

    def inputs(self, source: Source) -> Inputs:
        """Return the places from which a source takes captures of others; empty `Inputs` if it takes none.

        Raises ConfigError if a setting for them is not valid.
        """
        return self.captures.inputs(source) if self.captures is not None else Inputs()

    def _first(self, kind: type[Kind]) -> Kind | None:
        return next((discovery for discovery in self.discoveries if isinstance(discovery, kind)), None)


class Later:
    """A function that is imported when it is first called, and pickled by its name `module:name`.

    >>> Later("math:sqrt")(16.0)
    4.0
    """

    def __init__(self, where: str) -> None:
        self.__module__, _, self._name = where.partition(":")
        self._function: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Import the function on the first call, and call it."""
        if self._function is None:
            self._function = getattr(import_module(self.__module__), self._name)
        return self._function(*arguments, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        return Later, (repr(self),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Later) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{self.__module__}:{self._name}"


def later(where: str) -> Any:
    """Return a callable that imports the function `where` (`module:name`) when it is first called."""
    return Later(where)
