"""How long ago something was, as kubectl writes it."""

from datetime import datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def age(stamp: object, now: datetime) -> str:
    """The time since a stamp; `<unknown>` for what is none."""
    try:
        born = datetime.fromisoformat(str(stamp))
        return duration((now - born).total_seconds())
    except (TypeError, ValueError):
        return "<unknown>"


def duration(seconds: float) -> str:
    """Two units where the larger one is small, one otherwise."""
    left = max(0, int(seconds))
    for limit, unit, inner, inner_unit, both in (
        (2 * _MINUTE, 1, 0, "", False),
        (10 * _MINUTE, _MINUTE, 1, "s", True),
        (3 * _HOUR, _MINUTE, 0, "", False),
        (8 * _HOUR, _HOUR, _MINUTE, "m", True),
        (2 * _DAY, _HOUR, 0, "", False),
        (8 * _DAY, _DAY, _HOUR, "h", True),
        (2 * _YEAR, _DAY, 0, "", False),
        (8 * _YEAR, _YEAR, _DAY, "d", True),
    ):
        if left < limit:
            whole, rest = divmod(left, unit)
            more = rest // inner if both else 0
            return f"{whole}{_UNITS[unit]}" + (f"{more}{inner_unit}" if more else "")
    return f"{left // _YEAR}y"


_UNITS = {1: "s", _MINUTE: "m", _HOUR: "h", _DAY: "d", _YEAR: "y"}
