"""The declaration of the collection `drops`: which listed files it wants, which source it tries first, and its steps.

Names that do not end in `.zip` are not refused (specification, section 3): a run counts them as left out. A
`NAME.zip.sha256` or `NAME.zip.md5` beside a zip is its side-car, which contains its checksum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from windrow.collections.drops import name as names
from windrow.collections.drops.phase import PHASES
from windrow.collections.drops.settings import CONFIGURATION
from windrow.contract import Check, Collection, Judge, Listing, Load, Members, Read, Summarise, later
from windrow.model import MAX_INTEGER, ListingEntry, Offer, OfferingSource, Source, join_path
from windrow.reasons import Reason

FOLDERS = ("add", "edit", "delete")
ZIP_SUFFIX = ".zip"
SIDECAR_SUFFIXES = (".sha256", ".md5")  # if both exist, the stronger one with a checksum is used


def plan(source: Source, entries: Sequence[ListingEntry], options: Mapping[str, Any]) -> list[Offer]:
    """Return offers for the zips in `FOLDERS`, and for entries that the listing refused, in the order of the listing.

    An offer that is refused has a reason. In `options`, `centres` are the declared short names (a sequence, or a
    comma-separated text), and `zip_name` is a pattern that replaces that of the convention. The source is not used,
    because a source may list zips of any centre.
    """
    del source
    centres = declared_centres(options)
    pattern = str(options.get("zip_name") or names.ZIP_PATTERN)
    listed_files = {
        (_folder(entry), entry.name): entry.modified for entry in entries if entry.is_file and entry.reason is None
    }
    offers = [
        _make_offer(entry, centres, pattern, listed_files)
        for entry in entries
        if entry.reason or (_folder(entry) in FOLDERS and entry.name.endswith(ZIP_SUFFIX))
    ]
    return _keep_one_spelling(offers)


def _keep_one_spelling(offers: list[Offer]) -> list[Offer]:
    """Refuse all but one of a zip's offers; keep the one that spells the centre as declared, or else the first.

    Names that differ only by case are one zip, since the tracker's tables cannot tell them apart. Of several lines with
    the same path, the last one is kept: a server may list a file twice while its folder changes.
    """
    chosen_offers: dict[str, Offer] = {}  # by the key without regard to case
    for offer in offers:
        chosen = chosen_offers.get(name := offer.key.casefold())
        is_better = (
            chosen is None or offer.path == chosen.path or (offer.path == offer.key and chosen.path != chosen.key)
        )
        if not offer.unkeyed and is_better:
            chosen_offers[name] = offer
    kept_offers = []
    for offer in offers:
        chosen = chosen_offers.get(offer.key.casefold())
        if offer.unkeyed or chosen is offer:
            kept_offers.append(offer)
        elif chosen and chosen.path != offer.path:
            kept_offers.append(offer._replace(key=offer.path, reason=Reason.OTHER_SPELLING, unkeyed=True))
    return kept_offers


def declared_centres(options: Mapping[str, Any]) -> list[str]:
    """Return the short names of the centres in the option `centres`.

    >>> declared_centres({"centres": "H, Ics"})
    ['H', 'Ics']
    """
    centres = options.get("centres") or ()
    parts = centres.split(",") if isinstance(centres, str) else centres
    return [short_name for part in parts if (short_name := str(part).strip())]


def _make_offer(
    entry: ListingEntry, centres: list[str], pattern: str, listed_files: Mapping[tuple[str, str], datetime | None]
) -> Offer:
    """Return the offer for a listed entry; it has a reason if the entry, its name, its size or its type is refused.

    `listed_files` is a dict from (folder, name) to modification time, for all files (including side-cars) that were not
    refused.
    """
    folder = _folder(entry)
    key = path = join_path(folder, entry.name) if folder else entry.name
    if entry.reason:
        return Offer(key, path, reason=entry.reason, unkeyed=True)
    if entry.size is not None and entry.size > MAX_INTEGER:
        return Offer(key, path, modified=entry.modified, reason=Reason.TOO_LARGE, unkeyed=True)
    if not entry.is_file:
        return Offer(key, path, entry.size, entry.modified, reason=Reason.NOT_A_FILE, unkeyed=True)
    name_parts = names.read_zip_name(entry.name, centres, pattern)
    if isinstance(name_parts, Reason):
        # The tracker compares names without regard to case: a refused name must not share a valid one's row.
        differs_only_by_case = name_parts is Reason.BAD_NAME and names.matches_ignoring_case(entry.name, pattern)
        unkeyed = name_parts is Reason.NAME_TOO_LONG or differs_only_by_case or _is_unsafe(entry.name)
        return Offer(key, path, entry.size, entry.modified, reason=name_parts, unkeyed=unkeyed)
    sidecars = (entry.name + ending for ending in SIDECAR_SUFFIXES if (folder, entry.name + ending) in listed_files)
    sidecar = next(sidecars, "")
    declared_name = names.spell_centre_as_declared(entry.name, name_parts.centre, pattern)
    return Offer(
        join_path(folder, declared_name),
        path,
        entry.size,
        entry.modified,
        rank=f"{name_parts.date}.{name_parts.inc:020d}.{declared_name}",
        owner=name_parts.centre,
        sidecar=join_path(folder, sidecar) if sidecar else "",
        sidecar_modified=listed_files.get((folder, sidecar)),
    )


def _folder(entry: ListingEntry) -> str:
    return entry.folder.strip("/")


def _is_unsafe(name: str) -> bool:
    return "/" in name or not name.isprintable()


def estimate_success(source: OfferingSource) -> float:
    """Estimate the probability (0 to 1) that the next attempt at a source succeeds.

    By Laplace's rule, one success and one failure are added to the counts. So the estimate for a source that was never
    tried is between those for a good and a bad source.

    >>> estimate_success(OfferingSource("good", attempts=9)), estimate_success(OfferingSource("new"))
    (0.9090909090909091, 0.5)
    """
    return (source.attempts - source.failures + 1) / (source.attempts + 2)


def prefer(producer: str, sources: Sequence[OfferingSource]) -> list[OfferingSource]:
    """Sort the sources that offer a zip: sources of the centre that made it (`producer`) come first.

    In each of the two groups, sources are sorted by estimated success, then by speed, both highest first, and then by
    name.

    >>> [source.source for source in prefer("H", [OfferingSource("far", "J", 9), OfferingSource("near", "h", 9, 9)])]
    ['near', 'far']
    """
    folded_producer = producer.casefold()

    def sort_key_of(source: OfferingSource) -> tuple[bool, float, float, str]:
        is_of_producer = bool(folded_producer) and source.owner.casefold() == folded_producer
        return (not is_of_producer, -estimate_success(source), -(source.speed or 0.0), source.source)

    return sorted(sources, key=sort_key_of)


SCHEMA_NAMES = ("specimen", "experiment")
LIST_NAMES = ("status_codes", "projects", "pipelines", "strains", "colonies", "parent_colonies")

_PACKAGE = "windrow.collections.drops"

ZIP_KIND = "zip"
XML_KIND = "xml"


STEPS = (
    Read("unzip", "1", ZIP_KIND, later(f"{_PACKAGE}.steps:unzip")),
    Check(
        "xsd",
        "2",
        XML_KIND,
        later(f"{_PACKAGE}.steps:check_xsd"),
        SCHEMA_NAMES,
        by=later(f"{_PACKAGE}.steps:kind_in_rank"),
    ),
    Load("upload", "2", XML_KIND, later(f"{_PACKAGE}.rows:read_rows")),
    Judge("data", "2", XML_KIND, later(f"{_PACKAGE}.judge:judge"), LIST_NAMES),
    Summarise("context", "1", XML_KIND),
    Summarise("overview", "1", XML_KIND),
)

COLLECTION = Collection(
    name="drops",
    phases=PHASES,
    discovery=Listing(
        folders=FOLDERS,
        kind=ZIP_KIND,
        list_phase="zip_name",
        fetch_phase="download",
        plan=plan,
        prefer=prefer,
        members=Members(XML_KIND, later("windrow.formats.zip:open_member")),
    ),
    steps=STEPS,
    adapter="windrow.collections.drops.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
