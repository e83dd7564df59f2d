"""A Core statement compiled once, at its first use, into the text and argument order that asyncpg wants."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import BindParameter, ClauseElement, ColumnElement, bindparam, literal
from sqlalchemy.dialects.postgresql import asyncpg as dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

_DIALECT = dialect.dialect()


def constant(value: str | int) -> ColumnElement[object]:
    """A value written into the SQL text. State lists must be: a generic plan matches a partial index on constants."""
    return literal(value, literal_execute=True)


def parameter(name: str, kind: TypeEngine[Any]) -> BindParameter[Any]:
    """A named argument, to be given at every call."""
    return bindparam(name, type_=kind, required=False)


class Statement:
    """SQL text with named arguments.

    Compiling costs milliseconds, so it happens once, at the first use, and never per call: a process pays for the
    statements that it runs, and not for all that are declared.
    """

    def __init__(self, name: str, clause: ClauseElement) -> None:
        self.name = name
        self._clause = clause

    @cached_property
    def _compiled(self) -> "_Compiled":
        compiled = self._clause.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
        if not isinstance(compiled, SQLCompiler):
            raise TypeError(f"{self.name} is not a statement that returns rows or changes them")
        fixed = {key: value for key, value in compiled.params.items() if value is not None}
        return _Compiled(str(compiled), tuple(compiled.positiontup or ()), fixed)

    @property
    def sql(self) -> str:
        """The text, with `$1` and on for the arguments."""
        return self._compiled.sql

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, in the order of the text: `$1` is the first."""
        return self._compiled.order

    def arguments(self, values: Mapping[str, object]) -> list[object]:
        """The values in the order of the text.

        Raises:
            KeyError: when a named argument is missing.
        """
        compiled = self._compiled
        return [values[name] if name in values else compiled.fixed[name] for name in compiled.order]


@dataclass(frozen=True, slots=True)
class _Compiled:
    sql: str
    order: tuple[str, ...]
    fixed: Mapping[str, object]
