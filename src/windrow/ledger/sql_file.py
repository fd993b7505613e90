"""Parse the ledger's .sql files. The tool that generates `typed` runs this module without the rest of windrow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_BLOCK_START = re.compile(r"^-- (?=(?:name|part|row): |def )", re.MULTILINE)
_SIGNATURE_PATTERN = re.compile(r"def (\w+)\(.*?\)(?:\n--)? +-> [^\n]+", re.DOTALL)
_PLACEHOLDER = re.compile(r":([a-z_]\w*(?:\[\d\]|\.\w+)?)")


class SqlBlock(NamedTuple):
    """A block of a .sql file, with the file's stem. `kind` is `def`, `name` or `row`, and `text` is the SQL.

    The name of a `def` is FILE.NAME. `values` has the expressions for the values of the SQL, in the order of their
    numbers: `host`, `state[0]` or `listing.ended`, from the parameters of the signature.
    """

    file: str
    kind: str
    name: str
    signature: str
    comment: list[str]
    text: str
    values: list[str]


def read_blocks(files: Mapping[str, str]) -> list[SqlBlock]:
    r"""Return the blocks of .sql files. `files` is a dict from the stem of each file to its content.

    SQL that several statements share begins with `-- part: NAME`, and replaces `{NAME}` in a statement. A value has a
    name in the file and a number in the returned SQL, because SQLite binds tuples faster than dictionaries.

    >>> text = "-- def url(host: int) -> str\n-- Return its address.\nSELECT url FROM host WHERE seq = :host;"
    >>> (block,) = read_blocks({"hosts": text})
    >>> block.name, block.text, block.values
    ('hosts.url', 'SELECT url FROM host WHERE seq = ?1', ['host'])
    """
    blocks, shared_sql = [], {}
    for stem, content in files.items():
        for block in _BLOCK_START.split(content)[1:]:
            if signature := _SIGNATURE_PATTERN.match(block):
                kind, name, body = "def", f"{stem}.{signature[1]}", block[signature.end() :]
            else:
                first_line, _, body = block.partition("\n")
                kind, _, name = first_line.partition(": ")
            lines = body.splitlines()
            comment = [line[3:] for line in lines if line.startswith("--")]
            text = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
            if kind == "part":
                shared_sql[name] = text
            else:
                one_line_signature = re.sub(r"\n-- +", " ", signature[0]) if signature else ""
                blocks.append(SqlBlock(stem, kind, name, one_line_signature, comment, text, []))
    return [_number_values(block, shared_sql) for block in blocks]


def _number_values(block: SqlBlock, shared_sql: Mapping[str, str]) -> SqlBlock:
    """Replace `{NAME}` in a block with the shared SQL of this name, and the names of values with numbers."""
    numbers: dict[str, int] = {}
    text = re.sub(r"\{(\w+)\}", lambda part: shared_sql.get(part[1], part[0]), block.text)
    text = _PLACEHOLDER.sub(lambda placeholder: f"?{numbers.setdefault(placeholder[1], len(numbers) + 1)}", text)
    return block._replace(text=text, values=[*numbers])
