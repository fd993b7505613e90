"""Write the ledger's typed queries: rows and methods in Python, from its .sql files, with types from its schema.

A query begins with `-- def NAME(VALUES) -> RETURN`, in Python; the comment below it is its docstring. What it returns
says how it is run: `list[Row]`, `Iterator[Row]`, `Row | None`, `Row`, `int`, `set[str]`, `dict[str, Row]` (by the first
column) or `dict[str, int]` (of two columns). In the SQL a value is `:name`, `:name[0]` of a tuple or `:name.field` of a
row; a sequence arrives as a JSON list. What writes begins with `-- name: NAME`, and is run by that name.

The fields of a row are the columns. Where SQLite has no type for one, since it is an expression, its name says it:
`count(*) AS "number: int"`. `-- row: NAME` begins the docstring of a row. What `rows.py` has or imports is not written:
fields of its rows are compared with the query, and rows that one of its functions returns are made by that.
"""

from __future__ import annotations

import ast
import re
import runpy
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

LEDGER = Path(__file__).parent.parent / "src" / "windrow" / "ledger"

DECLARED = {
    "BIGINT": "int",
    "INTEGER": "int",
    "DOUBLE PRECISION": "float",
    "BLOB": "bytes",
    "TEXT": "str",
    "VARCHAR": "str",
    "TIME_TEXT": "datetime",
    "REASON_TEXT": "Reason",
    "LEVEL_TEXT": "Level",
    "STATUS_INT": "Status",
    "FLAG_INT": "bool",
}
"""The types that the schema declares, without lengths, and what they are in Python."""

CONVERTED = {"datetime": "parse", "Reason": "Reason", "Level": "Level", "Status": "Status", "bool": "bool"}
"""What is not as SQLite gives it, and what makes it so."""

PLAIN = {"int", "str", "float", "bool", "bytes"}

IMPORTED = {
    "json": "",
    "Collection": "collections.abc",
    "Iterable": "collections.abc",
    "Iterator": "collections.abc",
    "Sequence": "collections.abc",
    "datetime": "datetime",
    "Any": "typing",
    "NamedTuple": "typing",
    "parse": "windrow.clock",
    "spell": "windrow.clock",
    "LedgerQueries": "windrow.ledger.database",
    "Level": "windrow.model",
    "Status": "windrow.model",
    "Reason": "windrow.reasons",
}
"""Where names come from that a written module may use."""

Fields = dict[str, str]
"""Names and types of a row's fields, in the order of the columns."""


class HandWritten:
    """What `rows.py` has: fields of its rows, functions that make a row of columns, and where its names are from."""

    def __init__(self) -> None:
        """Read it."""
        self.fields: dict[str, Fields] = {}
        self.makers: dict[str, str] = {}
        self.modules: dict[str, str] = {}
        for node in ast.parse((LEDGER / "rows.py").read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                self.modules |= {alias.name: str(node.module) for alias in node.names}
            elif isinstance(node, ast.ClassDef):
                parts = (part for part in node.body if isinstance(part, ast.AnnAssign))
                self.fields[node.name] = {ast.unparse(part.target): ast.unparse(part.annotation) for part in parts}
            elif isinstance(node, ast.FunctionDef) and node.returns is not None:
                self.makers[ast.unparse(node.returns)] = node.name
        self.modules |= dict.fromkeys([*self.fields, *self.makers.values()], "windrow.ledger.rows")


def typed_schema() -> sqlite3.Connection:
    """Return a database of the ledger's tables whose columns are declared as their types in Python.

    Each has a twin, `NAME?`, of which every column may be None: for what is joined from the left or selected alone.
    """
    schema, typed = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    for path in sorted((LEDGER / "migrations").glob("*.sql")):
        schema.executescript(path.read_text())
    for (table,) in schema.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        columns = schema.execute(f"PRAGMA table_info({table})").fetchall()
        for twin in ("", "?"):
            spelled = []
            for _, name, declared, required, _, key in columns:
                if (kind := DECLARED.get(declared.partition("(")[0])) is None:
                    sys.exit(f"{table}.{name} is declared {declared}, which has no type in Python")
                # "python" before it: SQLite spells the names of its own types anew.
                optional = "" if (required or key) and not twin else " | None"
                spelled.append(f'"{name}" "python {kind}{optional}"')
            typed.execute(f'CREATE TABLE "{table}{twin}" ({", ".join(spelled)})')
    return typed


def write_widths(database: sqlite3.Connection) -> str:
    """Write the package's own module: how many columns the tables have."""
    tables = database.execute(
        "SELECT t.name, count(*) FROM sqlite_schema t, pragma_table_info(t.name) WHERE t.name NOT LIKE '%?' GROUP BY 1"
    )
    return (
        '"""What the ledger\'s .sql files say, in Python: written by `make queries`, and never by hand."""\n\n'
        f"WIDTHS = {dict(tables.fetchall())}\n"
        '"""How many columns each table has."""\n'
    )


def column_types(database: sqlite3.Connection, query: Any) -> Fields:
    """Return the columns of a query and their types: those of a view of it."""
    text = re.sub(r"LEFT JOIN (\w+)", r'LEFT JOIN "\1?"', re.sub(r"\?\d+", "NULL", query.text))
    text = re.sub(r"(?<!FROM )(?<!JOIN )(\(SELECT [^()]*?) FROM (\w+)\b(?!\()", r'\1 FROM "\2?"', text)
    try:
        database.execute(f"CREATE TEMP VIEW query AS {text}")
        columns = database.execute("PRAGMA table_info(query)").fetchall()
    except sqlite3.Error as error:
        sys.exit(f"{query.name}: {error}")
    database.execute("DROP VIEW query")
    types = {}
    for _, column, declared, *_ in columns:
        name, _, kind = column.partition(": ")
        types[name] = kind or declared.removeprefix("python ")
        if not name.isidentifier() or not (kind or declared.startswith("python ")):
            sys.exit(f'{query.name}: say name and type of the column {column}: AS "name: int"')
    return types


def write_docstring(lines: list[str], indent: int) -> list[str]:
    """Write a docstring: its first line, and the others as a paragraph."""
    more = textwrap.wrap(" ".join(lines[1:]), 120 - indent)
    return [f'"""{lines[0]}', "", *more, '"""'] if more else [f'"""{lines[0]}"""']


def write_row(name: str, fields: Fields, doc: list[str]) -> list[str]:
    """Write a row's class."""
    lines = [*write_docstring(doc, 4), "", *(f"{field}: {kind}" for field, kind in fields.items())]
    return ["", f"class {name}(NamedTuple):", *(f"    {line}" for line in lines)]


def write_maker(name: str, maker: str, fields: Fields) -> list[str]:
    """Write the function that makes a row of the columns of a query."""
    expressions = []
    for field, kind in fields.items():
        convert = CONVERTED.get(kind.removesuffix(" | None"))
        expression = f"{convert}({field})" if convert else field
        expressions.append(
            f"None if {field} is None else {expression}" if convert and kind.endswith("| None") else expression
        )
    return [
        "",
        f"def {maker}(row: tuple[Any, ...]) -> {name}:",
        f"    {', '.join(fields)}{',' if len(fields) == 1 else ''} = row",
        f"    return {name}({', '.join(expressions)})",
    ]


def write_method(query: Any, head: ast.FunctionDef, maker: str) -> list[str]:
    """Write the method that runs a query; `maker` makes its rows, empty where it returns single values."""
    arguments = [*head.args.args, *head.args.kwonlyargs]
    kinds = {argument.arg: ast.unparse(argument.annotation or ast.Constant(None)) for argument in arguments}
    passed = [f'"{query.name}"']
    for parameter in query.values:
        kind = kinds.get(parameter, "")
        if re.match("Sequence|Iterable|Collection", kind):
            optional = f"None if {parameter} is None else " if kind.endswith("| None") else ""
            passed.append(f"{optional}json.dumps([*{parameter}])")
        else:
            passed.append(f"spell({parameter})" if kind == "datetime" else parameter)
    returns = ast.unparse(head.returns or ast.Constant(None))
    body = read_rows(returns, maker, ", ".join(passed)) if maker else read_values(returns, ", ".join(passed))
    parameters = ", ".join(["self", *([ast.unparse(head.args)] if arguments else [])])
    lines = [*write_docstring(query.comment, 8), *body]
    return [
        "",
        f"    def {head.name}({parameters}) -> {returns}:",
        *(f"        {line}" if line else "" for line in lines),
    ]


def read_rows(returns: str, maker: str, arguments: str) -> list[str]:
    """Write what runs a query and returns rows."""
    if returns.endswith("| None"):
        return [f"return self._database.first({maker}, {arguments})"]
    if returns.startswith("Iterator"):
        return [f"return self._database.stream({maker}, {arguments})"]
    rows = f"self._database.rows({maker}, {arguments})"
    if returns.startswith("list"):
        return [f"return {rows}"]
    if returns.startswith("dict"):
        return [f"rows = {rows}", "return {row[0]: row for row in rows}"]
    return [f"(row,) = {rows}", "return row"]


def read_values(returns: str, arguments: str) -> list[str]:
    """Write what runs a query and returns values of one column, or of two as a dictionary."""
    if returns.startswith("list"):
        return [f"return self._database.column({arguments})"]
    if returns.startswith("set"):
        return [f"return {{*self._database.column({arguments})}}"]
    if returns.startswith("dict"):
        return [f"return dict(self._database.rows(tuple, {arguments}))"]
    if returns == "bool":
        return [f"return bool(self._database.value({arguments}))"]
    return [f"value: {returns} = self._database.value({arguments})", "return value"]


def write_imports(code: str, hand: HandWritten) -> list[str]:
    """Write the imports of the names that a module's code has."""
    modules: dict[str, list[str]] = {}
    for name, module in (IMPORTED | hand.modules).items():
        if re.search(rf"(?<![\w.\"`]){name}\b(?! =)", code) and not re.search(rf"^class {name}\b", code, re.MULTILINE):
            modules.setdefault(module, []).append(name)
    lines = [f"import {name}" for name in modules.pop("", [])]
    ours = [module for module in sorted(modules) if module.startswith("windrow")]
    for group in ([module for module in sorted(modules) if module not in ours], ours):
        names = (f"from {module} import {', '.join(sorted(modules[module]))}" for module in group)
        lines += [*names, ""]
    return lines


def read_signature(query: Any) -> ast.FunctionDef:
    """Return a query's signature, which must have all values of its SQL."""
    (head,) = ast.parse(f"{query.signature}: ...").body
    if not isinstance(head, ast.FunctionDef) or not query.comment:
        sys.exit(f"{query.name}: it needs a comment, which becomes its docstring")
    parameters = {argument.arg for argument in (*head.args.args, *head.args.kwonlyargs)}
    if parameters != {re.split(r"\W", parameter)[0] for parameter in query.values}:
        sys.exit(f"{query.name}: its SQL uses {query.values}, its signature has {sorted(parameters)}")
    return head


class ModuleWriter:
    """Gathers the module of one .sql file."""

    def __init__(self, blocks: list[Any], hand: HandWritten, database: sqlite3.Connection) -> None:
        """Parse the file's blocks."""
        self._hand = hand
        self._database = database
        self._docs = {block.name: block.comment for block in blocks if block.kind == "row"}
        self._rows: dict[str, Fields] = {}
        self._makers: dict[str, str] = dict(hand.makers)
        self._classes: list[str] = []
        self._functions: list[str] = []
        self._methods: list[str] = []
        for query in (block for block in blocks if block.kind == "def"):
            self._add(query)
        if self._docs:
            sys.exit(f"{blocks[0].file}.sql: no query returns {', '.join(self._docs)}")

    def _add(self, query: Any) -> None:
        head = read_signature(query)
        names = [node.id for node in ast.walk(head.returns or ast.Constant(None)) if isinstance(node, ast.Name)]
        row = next((name for name in names if name[0].isupper() and name != "Iterator"), "")
        by_function, elsewhere = row in self._hand.makers, row in self._hand.modules and row not in self._hand.fields
        if row and not by_function and not elsewhere:
            self._add_row(row, query)
        self._methods += write_method(query, head, self._makers.get(row, f"{row}._make" if row else ""))

    def _add_row(self, row: str, query: Any) -> None:
        fields = column_types(self._database, query)
        known = self._rows.get(row) or self._hand.fields.get(row)
        if known is None:
            method = query.name.partition(".")[2]
            self._classes += write_row(row, fields, self._docs.pop(row, [f"A row of `{method}`."]))
        elif [*known.items()] != [*fields.items()]:
            sys.exit(f"{query.name}: {row} has {known}, and not {fields}")
        if row not in self._makers and any(kind.removesuffix(" | None") in CONVERTED for kind in fields.values()):
            self._makers[row] = "_make" + re.sub("([A-Z])", r"_\1", row).lower()
            self._functions += write_maker(row, self._makers[row], fields)
        self._rows[row] = fields

    def write(self, stem: str) -> str:
        """Return the module's text."""
        head = f"class Typed{stem.title().replace('_', '')}(LedgerQueries):"
        doc = f'    """The queries of {stem}.sql."""'
        code = "\n".join([*self._classes, *self._functions, "", head, doc, *self._methods, ""])
        opening = f'"""Written by `make queries` from {stem}.sql: change that, and run it again."""'
        return "\n".join(
            [opening, "", "from __future__ import annotations", "", *write_imports(code, self._hand), code]
        )


def main() -> None:
    """Write all modules anew, or with `--check` tell whether they are as they would be written."""
    database, hand, ruff = typed_schema(), HandWritten(), Path(sys.executable).with_name("ruff")
    read_blocks = runpy.run_path(str(LEDGER / "sql_file.py"))["read_blocks"]
    files = {path.stem: path.read_text() for path in sorted(LEDGER.glob("*.sql"))}
    blocks = read_blocks(files)
    texts = {"__init__": write_widths(database)}
    for stem in files:
        texts[stem] = ModuleWriter([block for block in blocks if block.file == stem], hand, database).write(stem)
    for name, text in texts.items():
        command = [str(ruff), "format", "--stdin-filename", "typed.py", "-"]
        formatted = subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout
        target = LEDGER / "typed" / f"{name}.py"
        if "--check" not in sys.argv:
            target.write_text(formatted)
        elif not target.is_file() or target.read_text() != formatted:
            sys.exit(f"{target} is not what the .sql files say: make queries")


if __name__ == "__main__":
    main()
