"""A Core statement compiled once, at import, into the text and argument order that asyncpg wants."""

from collections.abc import Mapping, Sequence
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
    """SQL text with named arguments. Compiling costs milliseconds, so it happens once and never per call."""

    def __init__(self, name: str, clause: ClauseElement) -> None:
        compiled = clause.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
        if not isinstance(compiled, SQLCompiler):
            raise TypeError(f"{name} is not a statement that returns rows or changes them")
        self.name = name
        self.sql = str(compiled)
        self._order: Sequence[str] = compiled.positiontup or []
        self._fixed: Mapping[str, object] = {key: value for key, value in compiled.params.items() if value is not None}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, in the order of the text: `$1` is the first."""
        return tuple(self._order)

    def arguments(self, values: Mapping[str, object]) -> list[object]:
        """The values in the order of the text.

        Raises:
            KeyError: when a named argument is missing.
        """
        return [values[name] if name in values else self._fixed[name] for name in self._order]
