"""Every statement of the product as a file, one part of it a line, so that a change of SQL can be reviewed."""

import importlib
import pkgutil
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import cast

from locktender import storage
from locktender.storage.cleanup.tables import cleanup_job
from locktender.storage.deployments.tables import deployment_task
from locktender.storage.kernel.coalescer import state_statement
from locktender.storage.kernel.guarded import Guarded
from locktender.storage.kernel.statement import Statement
from locktender.storage.stacks.moves import Move
from locktender.storage.verify.check import Check

_WIDTH = 118
_GLUE = "\x00"
_LITERAL = re.compile(r"'(?:[^']|'')*'")


def statement_pages() -> dict[str, str]:
    """Text by file name."""
    named: dict[str, list[Statement]] = {}
    for statement in _statements():
        known = named.setdefault(statement.name, [])
        if all(statement.sql != other.sql for other in known):
            known.append(statement)
    pages: dict[str, str] = {}
    for name, statements in sorted(named.items()):
        for number, statement in enumerate(statements, start=1):
            suffix = "" if len(statements) == 1 else f".{number}"
            pages[f"{name}{suffix}.sql"] = _page(statement)
    return pages


def _statements() -> Iterator[Statement]:
    for info in pkgutil.walk_packages(storage.__path__, f"{storage.__name__}."):
        # Migrations are files already, and run when they are imported.
        if ".migrations" not in info.name:
            for value in vars(importlib.import_module(info.name)).values():
                yield from _inside(value)
    for table in (deployment_task, cleanup_job):
        yield state_statement(table)


def _inside(value: object) -> Iterator[Statement]:
    if isinstance(value, Statement):
        yield value
    elif isinstance(value, Guarded | Move | Check):
        yield value.statement
    elif isinstance(value, Mapping):
        yield from _inside(tuple(cast("Mapping[object, object]", value).values()))
    elif isinstance(value, tuple):
        for part in cast("tuple[object, ...]", value):
            yield from _inside(part)


def _page(statement: Statement) -> str:
    names = ", ".join(f"${place} {name}" for place, name in enumerate(statement.parameters, start=1))
    header = [f"-- {statement.name}", *textwrap.wrap(names, _WIDTH, initial_indent="-- ", subsequent_indent="-- ")]
    return "\n".join([*header, *_lines(statement.sql)]) + ";\n"


def _lines(sql: str) -> Iterator[str]:
    """The text with the body of each common table expression indented, and long lines folded outside of literals."""
    depth = 0
    for raw in sql.splitlines():
        line = _LITERAL.sub(lambda found: found.group().replace(" ", _GLUE), raw.strip())
        bare = _LITERAL.sub("''", raw)
        inside = depth > 0 or line.startswith("(")
        depth += bare.count("(") - bare.count(")")
        margin = "  " if inside else ""
        for folded in textwrap.wrap(
            line, _WIDTH, initial_indent=margin, subsequent_indent=f"{margin}    ",
            break_long_words=False, break_on_hyphens=False,
        ):  # fmt: skip
            yield folded.replace(_GLUE, " ")
