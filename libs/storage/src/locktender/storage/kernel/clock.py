"""The database's clock. It alone decides who owns a row and which deadline has passed."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, DateTime, Float, Interval, func, literal
from sqlalchemy.sql.functions import Function

from locktender.storage.kernel.statement import parameter

SCHEMA = "locktender"


def db_now() -> Function[datetime]:
    """`locktender.now()`: STABLE, so that it can stand in an index condition. Tests replace its body."""
    return func.locktender.now(type_=DateTime(timezone=True))


def seconds(name: str) -> ColumnElement[timedelta]:
    """A parameter in seconds as an interval."""
    return in_seconds(parameter(name, Float()))


def in_seconds(number: ColumnElement[Any]) -> ColumnElement[timedelta]:
    """A number of seconds as an interval."""
    one_second = literal(timedelta(seconds=1), Interval(), literal_execute=True)
    return number.op("*", return_type=Interval())(one_second)
