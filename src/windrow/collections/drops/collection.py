"""The collection `drops`, put together."""

from __future__ import annotations

from windrow.collections.drops.judge import judge
from windrow.collections.drops.member import announced
from windrow.collections.drops.phase import PHASES, parent, phase
from windrow.collections.drops.plan import FOLDERS, plan
from windrow.collections.drops.prefer import prefer
from windrow.collections.drops.rows import rows
from windrow.collections.drops.steps import check_xsd, open_member, unzip
from windrow.model import Fetched, Member, Status
from windrow.reasons import Reason
from windrow.spec import Act, Collection, State, Step

SCHEMAS = ("specimen", "experiment")
LISTS = ("status_codes", "projects", "pipelines", "strains", "colonies", "parent_colonies")

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
    Step("unzip", "1", Act.READ, unzip, ZIP, _due("unzip", "zip_name", "zip_md5")),
    Step("xsd", "1", Act.CHECK, check_xsd, XML, _due("xsd", "xml_name"), SCHEMAS, by=announced),
    Step("upload", "1", Act.LOAD, rows, XML, _due("upload", "xsd"), barrier=True),
    Step("data", "1", Act.JUDGE, judge, XML, _due("data", "upload"), LISTS, barrier=True),
    Step("context", "1", Act.SUM, None, XML, _due("context", "data")),
    Step("overview", "1", Act.SUM, None, XML, _due("overview", "context")),
)

COLLECTION = Collection(
    name="drops",
    phases=PHASES,
    folders=FOLDERS,
    kind=ZIP,
    member_kind=XML,
    first=(phase("download"), Status.PENDING),
    refused=(phase("zip_name"), Status.FAILED),
    plan=plan,
    prefer=prefer,
    arrived=arrived,
    failed=failed,
    steps=STEPS,
    member_state=member_state,
    parent=parent,
    member=open_member,
)
