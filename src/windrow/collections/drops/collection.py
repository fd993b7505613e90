"""The collection `drops`, put together."""

from __future__ import annotations

from windrow.collections.drops.discover import FOLDERS, plan
from windrow.collections.drops.phase import PHASES, parent, phase
from windrow.collections.drops.prefer import prefer
from windrow.collections.drops.settings import CONFIGURATION
from windrow.contract import Check, Collection, Judge, Listing, Load, Members, Read, State, Summarise, later
from windrow.model import Fetched, Member, Status
from windrow.reasons import Reason

SCHEMAS = ("specimen", "experiment")
LISTS = ("status_codes", "projects", "pipelines", "strains", "colonies", "parent_colonies")

_ROOM = "windrow.collections.drops"

ZIP = "zip"
XML = "xml"


def arrived(got: Fetched) -> tuple[State, ...]:
    """Return the states that a good transfer takes a zip through: its name was good when it was listed."""
    states = [(phase("download"), Status.DONE), (phase("zip_name"), Status.DONE)]
    if got.checksum:
        states.append((phase("zip_md5"), Status.DONE))
    return tuple(states)


def failed(reason: Reason) -> State:
    """Return where a bad transfer leaves a zip."""
    if reason is Reason.DIGEST_MISMATCH:
        return phase("zip_md5"), Status.FAILED
    return phase("download"), Status.FAILED


def member_state(member: Member) -> State:
    """Return where an XML file begins: its name is judged when its zip is opened."""
    return phase("xml_name"), Status.FAILED if member.reason else Status.DONE


def _due(step: str, *before: str) -> tuple[tuple[str, Status], ...]:
    """Say what makes an item due: what a crash left running, or what is through with the phase before."""
    return (step, Status.RUNNING), *((name, Status.DONE) for name in before)


STEPS = (
    Read("unzip", "1", ZIP, _due("unzip", "zip_name", "zip_md5"), later(f"{_ROOM}.steps:unzip")),
    Check(
        "xsd",
        "1",
        XML,
        _due("xsd", "xml_name"),
        later(f"{_ROOM}.steps:check_xsd"),
        SCHEMAS,
        by=later(f"{_ROOM}.member:announced"),
    ),
    Load("upload", "1", XML, _due("upload", "xsd"), later(f"{_ROOM}.rows:rows")),
    Judge("data", "1", XML, _due("data", "upload"), later(f"{_ROOM}.judge:judge"), LISTS),
    Summarise("context", "1", XML, _due("context", "data")),
    Summarise("overview", "1", XML, _due("overview", "context")),
)

COLLECTION = Collection(
    name="drops",
    phases=PHASES,
    discovery=Listing(
        folders=FOLDERS,
        kind=ZIP,
        first=(phase("download"), Status.PENDING),
        refused=(phase("zip_name"), Status.FAILED),
        plan=plan,
        prefer=prefer,
        arrived=arrived,
        failed=failed,
        members=Members(XML, member_state, parent, later(f"{_ROOM}.steps:open_member")),
    ),
    steps=STEPS,
    adapter="windrow.collections.drops.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
