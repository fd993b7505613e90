"""Replace NUL characters (U+0000) in records: SQLite's JSON functions end a text there, and PostgreSQL refuses them.

Two keys that differ only after a NUL would be one record. Readers of documents need not know this: the results of every
step, and the offers of every answer, are changed here, before any store or ledger gets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windrow.contract import Observation, Skip, results_of
from windrow.reasons import Reason

REPLACEMENT = "\ufffd"


def replace_nul(value: Any) -> Any:
    r"""Return a value with U+FFFD in place of each NUL in its texts, however deep.

    >>> replace_nul({"a\0": ["b\0", 1]}) == {"a\ufffd": ["b\ufffd", 1]}
    True
    """
    match value:
        case str():
            return value.replace("\0", REPLACEMENT) if "\0" in value else value
        case Mapping():
            return {replace_nul(name): replace_nul(member) for name, member in value.items()}
        case list():
            return [replace_nul(member) for member in value]
        case tuple():
            return tuple(replace_nul(member) for member in value)
    return value


def replace_in_results(result: Any) -> Any:
    """Return the result of a Settle step without NUL in its records; a Skip reports each record that was changed."""
    results: list[Any] = []
    for output in results_of(result):
        if isinstance(output, Observation):
            storable = Observation(*replace_nul(tuple(output)))
            if storable != output:
                message = "it has the character NUL, which databases refuse; it is stored as U+FFFD"
                results.append(Skip(Reason.WRONG_ENCODING, storable.key, message))
            results.append(storable)
        elif isinstance(output, Skip):
            results.append(output._replace(key=replace_nul(output.key), message=replace_nul(output.message)))
        else:
            results.append(output)
    return tuple(results) if results else result
