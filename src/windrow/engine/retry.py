"""When to try again: waits that double, with jitter, so that many clients do not come at once."""

from __future__ import annotations

import random

FIRST = 0.5
LONGEST = 300.0


def worth_waiting(asked: float | None) -> bool:
    """Tell whether this run waits as long as a server asked; what would take longer is for the next run.

    >>> worth_waiting(None), worth_waiting(7.0), worth_waiting(86400.0)
    (True, True, False)
    """
    return asked is None or asked <= LONGEST


def wait_before(attempt: int, asked: float | None = None) -> float:
    """Return the seconds to wait before the attempt after `attempt` failed ones.

    A server's own wish (`asked`, from Retry-After) is a floor.

    >>> 0.25 <= wait_before(1) <= 0.5, wait_before(1, asked=7.0) >= 7.0
    (True, True)
    """
    backoff: float = min(LONGEST, FIRST * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 no secret
    return max(backoff, asked or 0.0)
