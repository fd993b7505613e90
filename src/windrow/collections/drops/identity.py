"""What each record of a document is known by across submissions.

The rules are those of the standard's own later stage (its report identifiers), joined by `_`:

- specimen: `centre_specimenID`;
- experiment: `centre_experimentID[_sequenceID]_specimenIDs`, several specimens in sorted order;
- line: `centre_colonyID[_sequenceID]_procedureID`;
- housing: `centre_fromLIMS[_lastUpdated]_procedureID`.

Two of them go one step further than the standard's `centre_colonyID` and `centre_fromLIMS_date`: a
line has one record per procedure (fertility, viability, ...), and so has a housing, so that without
the procedure, and for a line without the sequence, the newest record would end its own siblings.
Identifiers are case-sensitive. One longer than a name may be is cut, and ended with the digest of the
whole. Known weakness of the standard's form: an underscore within an id can make two ids one
(`a_1` without sequence, and `a` with sequence `1`), as it did there.
"""

from __future__ import annotations

from collections.abc import Iterable

from windrow.digest import digest
from windrow.table_schema import NAME_LIMIT


def join(*parts: str | None) -> str:
    """Join the parts that are there, and keep the whole within the length of a name.

    >>> join("H", "e1", None, "s1")
    'H_e1_s1'
    >>> len(join("H", "x" * 1000))
    255
    """
    whole = "_".join(part for part in parts if part is not None)
    if len(whole) <= NAME_LIMIT:
        return whole
    mark = digest(whole.encode()).partition(":")[2]
    return f"{whole[: NAME_LIMIT - 1 - len(mark)]}~{mark}"


def specimen(centre: str, specimen_id: str) -> str:
    """Return what a mouse or embryo is known by."""
    return join(centre, specimen_id)


def experiment(centre: str, experiment_id: str, sequence: str | None, specimens: Iterable[str]) -> str:
    """Return what an experiment is known by; its specimens may come in any order."""
    return join(centre, experiment_id, sequence, *sorted(specimens))


def line(centre: str, colony: str, sequence: str | None, procedure: str | None) -> str:
    """Return what one procedure of a line is known by."""
    return join(centre, colony, sequence, procedure)


def housing(centre: str, from_lims: str, updated: str | None, procedure: str | None) -> str:
    """Return what one housing record is known by; `from_lims` is `true` or `false`."""
    return join(centre, from_lims, updated, procedure)
