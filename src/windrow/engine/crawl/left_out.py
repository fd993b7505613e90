"""What the rules of a crawl left out, as a line of the ledger's tasks and back."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

OTHER_RULES = "other rules"
"""What the rules are called that are counted together, since there are too many."""

_LINE = re.compile(r"(\d+) left out, such as (\S*): (.*)", re.DOTALL)


class RuleCount(NamedTuple):
    """How many addresses of a source one rule left out in a session; `example` is the first of them."""

    source: str
    reason: str
    rule: str
    addresses: int
    example: str

    def spelt(self) -> str:
        """Spell it as the comment of a task.

        >>> RuleCount("blog", "query_denied", "q", 3, "https://a.example/?q").spelt()
        '3 left out, such as https://a.example/?q: q'
        """
        return f"{self.addresses} left out, such as {self.example[:500]}: {self.rule}"

    @classmethod
    def read(cls, source: str, reason: str, comment: str) -> Self | None:
        """Read such a comment; None where it is another one.

        >>> RuleCount.read("blog", "query_denied", "3 left out, such as https://a.example/?q: q")
        RuleCount(source='blog', reason='query_denied', rule='q', addresses=3, example='https://a.example/?q')
        """
        found = _LINE.fullmatch(comment)
        return cls(source, reason, found[3], int(found[1]), found[2]) if found else None
