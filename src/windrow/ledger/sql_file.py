"""What the ledger's .sql files say. It imports nothing of windrow: the tool that writes `typed` runs it by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_HEAD = re.compile(r"^-- (?=(?:name|part|row): |def )", re.MULTILINE)
_SIGNATURE = re.compile(r"def (\w+)\(.*?\)(?:\n--)? +-> [^\n]+", re.DOTALL)
_VALUE = re.compile(r":([a-z_]\w*(?:\[\d\]|\.\w+)?)")


class SqlBlock(NamedTuple):
    """A part of a .sql file: the file's stem, its kind (`def`, `name` or `row`), its name, signature, comment and SQL.

    The name of a `def` is FILE.NAME. `values` are what the SQL is run with, in the order of its numbers, as expressions
    of the signature's parameters: `host`, `state[0]`, `listing.ended`.
    """

    file: str
    kind: str
    name: str
    signature: str
    comment: list[str]
    text: str
    values: list[str]


def read_blocks(files: Mapping[str, str]) -> list[SqlBlock]:
    r"""Return the blocks of some files by their stems.

    SQL that several statements share begins with `-- part: NAME`, and stands as `{NAME}` in them. Values are names in
    the file and numbers when SQLite is asked, since tuples bind faster than dictionaries.

    >>> text = "-- def url(host: int) -> str\n-- Return its address.\nSELECT url FROM host WHERE seq = :host;"
    >>> (block,) = read_blocks({"hosts": text})
    >>> block.name, block.text, block.values
    ('hosts.url', 'SELECT url FROM host WHERE seq = ?1', ['host'])
    """
    blocks, parts = [], {}
    for stem, content in files.items():
        for block in _HEAD.split(content)[1:]:
            if signature := _SIGNATURE.match(block):
                kind, name, body = "def", f"{stem}.{signature[1]}", block[signature.end() :]
            else:
                head, _, body = block.partition("\n")
                kind, _, name = head.partition(": ")
            lines = body.splitlines()
            comment = [line[3:] for line in lines if line.startswith("--")]
            text = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
            if kind == "part":
                parts[name] = text
            else:
                spelled = re.sub(r"\n-- +", " ", signature[0]) if signature else ""
                blocks.append(SqlBlock(stem, kind, name, spelled, comment, text, []))
    return [_number_values(block, parts) for block in blocks]


def _number_values(block: SqlBlock, parts: Mapping[str, str]) -> SqlBlock:
    """Put shared SQL in its places, and numbers in those of the values."""
    values: dict[str, int] = {}
    text = re.sub(r"\{(\w+)\}", lambda part: parts.get(part[1], part[0]), block.text)
    text = _VALUE.sub(lambda placeholder: f"?{values.setdefault(placeholder[1], len(values) + 1)}", text)
    return block._replace(text=text, values=[*values])
