"""A collection as one value, and its functions, loaded when they are called first.

A command that only looks something up has every collection's value, and none of its readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from windrow.contract.answers import Answer, FollowResult
from windrow.contract.discoveries import Captures, Crawl, Discovery, Inputs, Listing, Members, Requests
from windrow.contract.steps import ItemStep, Settle, Step
from windrow.model import Source
from windrow.settings.configuration import Configuration

Kind = TypeVar("Kind", Crawl, Requests, Captures)


@dataclass(frozen=True, slots=True)
class Collection:
    """A kind of harvest, as one value: found through its entry point in `windrow.collections`.

    One that asks for things and takes captures that others made has both, `(Requests(...), Captures(...))`, as its
    discovery. Finding and fetching is the first of its `phases`, or all that come before the first of its `steps`.
    `adapter` names what joins it with a workspace's configuration and stores, as `module:name`; it is loaded when it is
    used.
    """

    name: str
    phases: tuple[str, ...]
    discovery: Discovery | tuple[Requests, Captures]
    steps: tuple[Step, ...]
    adapter: str = ""
    configuration: Configuration = Configuration()  # noqa: RUF009 frozen: it may be shared

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to other processes without the configuration, whose functions are made where they are declared."""
        return Collection, (self.name, self.phases, self.discovery, self.steps, self.adapter)

    def phase(self, name: str) -> int:
        """Return the id of a phase."""
        return self.phases.index(name) + 1

    def step_after(self, kind: str, phase: str = "") -> str:
        """Return the phase of the step on a kind of item that follows the one of `phase`; empty where none does.

        Without a phase it is the first step.
        """
        phases = [step.phase for step in self.steps if isinstance(step, ItemStep) and step.kind == kind]
        rest = phases[phases.index(phase) + 1 :] if phase in phases else [] if phase else phases
        return rest[0] if rest else ""

    @property
    def listing(self) -> Listing:
        """Return how its sources are listed, of a collection that lists them."""
        assert isinstance(self.discovery, Listing)
        return self.discovery

    @property
    def fetch_phase(self) -> int:
        """Return the id of the phase in which files are transferred, of a collection whose sources list them."""
        return self.phase(self.listing.fetch_phase)

    @property
    def members(self) -> Members:
        """Return what lies in its captures, of a collection whose captures have members."""
        assert self.listing.members is not None
        return self.listing.members

    @property
    def crawl(self) -> Crawl | None:
        """Return how its sites are crawled; None where they are listed, or asked by requests."""
        return self._first(Crawl)

    @property
    def requests(self) -> Requests | None:
        """Return how its sources are asked; None where they are listed or crawled."""
        return self._first(Requests)

    @property
    def captures(self) -> Captures | None:
        """Return which captures of others it takes; None where it takes none."""
        return self._first(Captures)

    @property
    def takes_answers(self) -> bool:
        """Tell whether one of its steps takes answers."""
        return any(isinstance(step, Settle) and step.takes_answers for step in self.steps)

    @property
    def discoveries(self) -> tuple[Discovery, ...]:
        """Return how it finds things, in the order of a run: what others keep is taken before anybody is asked."""
        if isinstance(self.discovery, tuple):
            return tuple(reversed(self.discovery))
        return (self.discovery,)

    @property
    def follow(self) -> Callable[[Source, Mapping[str, Any], Answer], FollowResult] | None:
        """Return what says where an answer leads: one to a request, else one in a capture; None where nothing does."""
        return next((one.follow for one in (self.requests, self.captures) if one is not None), None)

    def inputs(self, source: Source) -> Inputs:
        """Return where the captures are that a source takes of others; it has nothing where it takes none."""
        return self.captures.inputs(source) if self.captures is not None else Inputs()

    def _first(self, kind: type[Kind]) -> Kind | None:
        return next((discovery for discovery in self.discoveries if isinstance(discovery, kind)), None)


class Later:
    """A function named as `module:name`; it goes to other processes by that name.

    >>> Later("math:sqrt")(16.0)
    4.0
    """

    def __init__(self, where: str) -> None:
        """Keep the name; nothing is loaded."""
        self.__module__, _, self._name = where.partition(":")
        self._function: Callable[..., Any] | None = None

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Load it, and call it."""
        if self._function is None:
            self._function = getattr(import_module(self.__module__), self._name)
        return self._function(*given, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to other processes by name."""
        return Later, (repr(self),)

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one names the same function."""
        return isinstance(other, Later) and repr(self) == repr(other)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(repr(self))

    def __repr__(self) -> str:
        """Return the name, as `module:name`."""
        return f"{self.__module__}:{self._name}"


def later(where: str) -> Any:
    """Return a function that is loaded when it is called first, as `module:name`; it may stand where any may."""
    return Later(where)
