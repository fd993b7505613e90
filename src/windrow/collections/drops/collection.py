"""The declaration of the collection `drops`: offers of a listing, order of hosts, steps.

Left out by rule, and not counted as refused: other folders, and names that do not end in `.zip`
(specification, section 3). A `NAME.zip.sha256` or `NAME.zip.md5` beside a zip is its side-car.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windrow.collections.drops import name as names
from windrow.collections.drops.phase import PHASES
from windrow.collections.drops.settings import CONFIGURATION
from windrow.contract import Check, Collection, Judge, Listing, Load, Members, Read, Summarise, later
from windrow.model import MAX_INTEGER, ListingEntry, Offer, OfferingHost, Source, join_path
from windrow.reasons import Reason

FOLDERS = ("add", "edit", "delete")
SUFFIX = ".zip"
SIDECARS = (".sha256", ".md5")  # the stronger one is used if there are both


def plan(source: Source, entries: Sequence[ListingEntry], options: Mapping[str, Any]) -> list[Offer]:
    """Return an offer for every zip listed, in the order of the listing.

    `options`: `centres`, the declared short names (a sequence, or a text with commas), and
    `zip_name`, a pattern in place of the convention's. The source is not used: a centre may host
    zips of another.
    """
    del source
    centres = declared_centres(options)
    pattern = str(options.get("zip_name") or names.ZIP)
    files = {(_folder(entry), entry.name) for entry in entries if entry.is_file and entry.reason is None}
    offers = [
        _make_offer(entry, centres, pattern, files)
        for entry in entries
        if entry.reason or (_folder(entry) in FOLDERS and entry.name.endswith(SUFFIX))
    ]
    return _keep_one_spelling(offers)


def _keep_one_spelling(offers: list[Offer]) -> list[Offer]:
    """Keep one offer of each zip, preferring the centre's own spelling of the name; refuse the others."""
    chosen_offers: dict[str, Offer] = {}
    for offer in offers:
        if not offer.unkeyed and (offer.key not in chosen_offers or offer.path == offer.key):
            chosen_offers[offer.key] = offer
    return [
        offer
        if offer.unkeyed or chosen_offers[offer.key] is offer
        else offer._replace(key=offer.path, reason=Reason.OTHER_SPELLING, unkeyed=True)
        for offer in offers
    ]


def declared_centres(options: Mapping[str, Any]) -> list[str]:
    """Return the centres that the options declare.

    >>> declared_centres({"centres": "H, Ics"})
    ['H', 'Ics']
    """
    centres = options.get("centres") or ()
    parts = centres.split(",") if isinstance(centres, str) else centres
    return [short for part in parts if (short := str(part).strip())]


def _make_offer(entry: ListingEntry, centres: list[str], pattern: str, files: set[tuple[str, str]]) -> Offer:
    """Return the offer of one listed entry; if its name or size is not allowed, with the reason."""
    folder = _folder(entry)
    key = path = join_path(folder, entry.name) if folder else entry.name
    if entry.reason:
        return Offer(key, path, reason=entry.reason, unkeyed=True)
    if entry.size is not None and entry.size > MAX_INTEGER:
        return Offer(key, path, modified=entry.modified, reason=Reason.TOO_LARGE, unkeyed=True)
    if not entry.is_file:
        return Offer(key, path, entry.size, entry.modified, reason=Reason.NOT_A_FILE, unkeyed=True)
    parsed = names.read_zip_name(entry.name, centres, pattern)
    if isinstance(parsed, Reason):
        # The tracker's names match without regard to case: a bad one must not share a good one's row.
        case_only = parsed is Reason.BAD_NAME and names.differs_by_case(entry.name, pattern)
        unkeyed = parsed is Reason.NAME_TOO_LONG or case_only or _is_unsafe(entry.name)
        return Offer(key, path, entry.size, entry.modified, reason=parsed, unkeyed=unkeyed)
    sidecars = (entry.name + ending for ending in SIDECARS if (folder, entry.name + ending) in files)
    sidecar = next(sidecars, "")
    name = names.own_spelling(entry.name, parsed.centre, pattern)
    return Offer(
        join_path(folder, name),
        path,
        entry.size,
        entry.modified,
        rank=f"{parsed.date}.{parsed.inc:020d}.{name}",
        owner=parsed.centre,
        sidecar=join_path(folder, sidecar) if sidecar else "",
    )


def _folder(entry: ListingEntry) -> str:
    """Return the folder of an entry, without leading and trailing slashes."""
    return entry.folder.strip("/")


def _is_unsafe(name: str) -> bool:
    """Tell whether a name has a slash or a character that is not printable, and so must not be stored."""
    return "/" in name or not name.isprintable()


def estimate_success(host: OfferingHost) -> float:
    """Estimate the probability (0 to 1) that a host's next attempt succeeds.

    Laplace's rule: one success and one failure are added to the counts, so that a source that
    was never tried ranks between a good one and a bad one.

    >>> estimate_success(OfferingHost("good", attempts=9)), estimate_success(OfferingHost("new"))
    (0.9090909090909091, 0.5)
    """
    return (host.attempts - host.failures + 1) / (host.attempts + 2)


def prefer(producer: str, hosts: Sequence[OfferingHost]) -> list[OfferingHost]:
    """Sort the hosts of a zip: the producer's own first, then by reliability, speed and name.

    >>> [host.source for host in prefer("H", [OfferingHost("far", "J", 9), OfferingHost("near", "h", 9, 9)])]
    ['near', 'far']
    """
    own_name = producer.casefold()

    def order(host: OfferingHost) -> tuple[bool, float, float, str]:
        is_own = bool(own_name) and host.owner.casefold() == own_name
        return (not is_own, -estimate_success(host), -(host.speed or 0.0), host.source)

    return sorted(hosts, key=order)


SCHEMAS = ("specimen", "experiment")
LISTS = ("status_codes", "projects", "pipelines", "strains", "colonies", "parent_colonies")

_ROOM = "windrow.collections.drops"

ZIP = "zip"
XML = "xml"


STEPS = (
    Read("unzip", "1", ZIP, later(f"{_ROOM}.steps:unzip")),
    Check(
        "xsd",
        "1",
        XML,
        later(f"{_ROOM}.steps:check_xsd"),
        SCHEMAS,
        by=later(f"{_ROOM}.steps:announced_kind"),
    ),
    Load("upload", "1", XML, later(f"{_ROOM}.rows:rows")),
    Judge("data", "1", XML, later(f"{_ROOM}.judge:judge"), LISTS),
    Summarise("context", "1", XML),
    Summarise("overview", "1", XML),
)

COLLECTION = Collection(
    name="drops",
    phases=PHASES,
    discovery=Listing(
        folders=FOLDERS,
        kind=ZIP,
        list_phase="zip_name",
        fetch_phase="download",
        plan=plan,
        prefer=prefer,
        members=Members(XML, later(f"{_ROOM}.steps:open_member")),
    ),
    steps=STEPS,
    adapter="windrow.collections.drops.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
