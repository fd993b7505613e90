"""Write the ledger's typed queries: rows and methods in Python, from its .sql files, with types from its schema.

A query begins with `-- def NAME(VALUES) -> RETURN`, in Python; the comment below it is its docstring. How it is run
depends on the type that it returns: `list[Row]`, `Iterator[Row]`, `Row | None`, `Row`, `int`, `set[str]`, `dict[str,
Row]` (by the first column) or `dict[str, int]` (of two columns). In the SQL a value is `:name`, `:name[0]` of a tuple
or `:name.field` of a row; a sequence is passed as a JSON list. A statement that writes begins with `-- name: NAME`.

The fields of a row are the columns. A column that is an expression has no type in SQLite, so its
name contains the type: `count(*) AS "number: int"`. `-- row: NAME` begins the docstring of a row. Rows that `rows.py`
has or imports are not written: their fields are compared with the query. If a function of `rows.py` returns a row, that
function makes the row of the columns.
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
"""The types that the schema declares, without lengths, and the types in Python for them."""

CONVERTED = {"datetime": "parse", "Reason": "Reason", "Level": "Level", "Status": "Status", "bool": "bool"}
"""The types whose values are converted after SQLite has returned them, each with the function that converts them."""

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
"""The module of each name that a written module may use; empty if the name is itself a module."""

Fields = dict[str, str]
"""Names and types of a row's fields, in the order of the columns."""


class HandWritten:
    """The contents of `rows.py`: fields of rows, functions that make rows of columns, and the module of each name."""

    def __init__(self) -> None:
        """Read `rows.py`."""
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
    """Return an empty database with the ledger's tables, whose columns are declared with their types in Python.

    Each table has a twin, `NAME?`, in which every column may be None; it replaces tables of a LEFT JOIN or a subquery.
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
                    sys.exit(f"{table}.{name} is declared as {declared}: add its type in Python to DECLARED")
                # "python" before it: SQLite spells the names of its own types anew.
                optional = "" if (required or key) and not twin else " | None"
                spelled.append(f'"{name}" "python {kind}{optional}"')
            typed.execute(f'CREATE TABLE "{table}{twin}" ({", ".join(spelled)})')
    return typed


def write_widths(database: sqlite3.Connection) -> str:
    """Return the text of the package's own module: the number of columns of each table."""
    tables = database.execute(
        "SELECT t.name, count(*) FROM sqlite_schema t, pragma_table_info(t.name) WHERE t.name NOT LIKE '%?' GROUP BY 1"
    )
    return (
        '"""The queries of the ledger\'s .sql files in Python; `make queries` writes this package."""\n\n'
        f"WIDTHS = {dict(tables.fetchall())}\n"
        '"""The number of columns of each table."""\n'
    )


def column_types(database: sqlite3.Connection, query: Any) -> Fields:
    """Return the type of each column of a query, by name; a view of the query has these types."""
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
    """Return a docstring as lines: its first line, then the others wrapped as a paragraph for this `indent`."""
    more = textwrap.wrap(" ".join(lines[1:]), 120 - indent)
    return [f'"""{lines[0]}', "", *more, '"""'] if more else [f'"""{lines[0]}"""']


def write_row(name: str, fields: Fields, doc: list[str]) -> list[str]:
    """Return the lines of a row's class."""
    lines = [*write_docstring(doc, 4), "", *(f"{field}: {kind}" for field, kind in fields.items())]
    return ["", f"class {name}(NamedTuple):", *(f"    {line}" for line in lines)]


def write_maker(name: str, maker: str, fields: Fields) -> list[str]:
    """Return the lines of the function `maker`, which makes a row of the class `name` of the columns of a query."""
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
    """Return the lines of a query's method with signature `head`; `maker` makes its rows (empty: it returns values)."""
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
    """Return the lines that run a query and return rows, in the form of the type `returns`."""
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
    """Return the lines that run a query and return values of one column, or of two as a dictionary."""
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
    """Return the import lines for the names that a module's code uses."""
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
    """Return a query's signature; exit with a message unless it has exactly the values that the SQL uses."""
    (head,) = ast.parse(f"{query.signature}: ...").body
    if not isinstance(head, ast.FunctionDef) or not query.comment:
        sys.exit(f"{query.name}: it needs a comment, which becomes its docstring")
    parameters = {argument.arg for argument in (*head.args.args, *head.args.kwonlyargs)}
    if parameters != {re.split(r"\W", parameter)[0] for parameter in query.values}:
        sys.exit(f"{query.name}: its SQL uses {query.values}, its signature has {sorted(parameters)}")
    return head


class ModuleWriter:
    """Makes the module of one .sql file."""

    def __init__(self, blocks: list[Any], hand: HandWritten, database: sqlite3.Connection) -> None:
        """Make the classes, functions and methods for the blocks of a file."""
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
            sys.exit(f"{query.name}: {row} has the fields {known}, but the columns are {fields}")
        if row not in self._makers and any(kind.removesuffix(" | None") in CONVERTED for kind in fields.values()):
            self._makers[row] = "_make" + re.sub("([A-Z])", r"_\1", row).lower()
            self._functions += write_maker(row, self._makers[row], fields)
        self._rows[row] = fields

    def write(self, stem: str) -> str:
        """Return the text of the module for `stem`.sql."""
        head = f"class Typed{stem.title().replace('_', '')}(LedgerQueries):"
        doc = f'    """The queries of {stem}.sql."""'
        code = "\n".join([*self._classes, *self._functions, "", head, doc, *self._methods, ""])
        opening = f'"""Written by `make queries` from {stem}.sql: edit that file, and run `make queries` again."""'
        return "\n".join(
            [opening, "", "from __future__ import annotations", "", *write_imports(code, self._hand), code]
        )


def main() -> None:
    """Write all modules or, with `--check`, exit with a message if one differs from what would be written."""
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
            sys.exit(f"{target} differs from the .sql files: make queries")


if __name__ == "__main__":
    main()
