"""Cron schedules: when a job is due next. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

_SHORT = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_TERM = re.compile(r"^(?:(?P<all>[*?])|(?P<first>\d+)(?:-(?P<last>\d+))?)(?:/(?P<step>\d+))?$")
# The rarest day there is comes within eight years.
_HORIZON = 8 * 366


@dataclass(frozen=True, slots=True)
class Schedule:
    """The minutes, hours, days, months and weekdays (0 is Sunday) that match."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def after(self, moment: datetime) -> datetime | None:
        """The first match later than `moment`, in its zone; None for a schedule that never comes."""
        start = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        for offset in range(_HORIZON):
            day = start if offset == 0 else (start + timedelta(days=offset)).replace(hour=0, minute=0)
            if not self._on(day):
                continue
            for hour in sorted(h for h in self.hours if h >= day.hour):
                least = day.minute if hour == day.hour else 0
                minute = min((m for m in self.minutes if m >= least), default=None)
                if minute is not None:
                    return day.replace(hour=hour, minute=minute)
        return None

    def _on(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        # Where both are restricted, either will do.
        return by_day and by_weekday if self.any_day or self.any_weekday else by_day or by_weekday


def parse(text: str) -> Schedule | None:
    """Read a schedule; None when it makes no sense."""
    fields = _SHORT.get(text.strip(), text).split()
    if len(fields) != len(_RANGES):
        return None
    parts = [_field(field, *bounds, names) for field, bounds, names in zip(fields, _RANGES, _NAMES, strict=True)]
    minutes, hours, days, months, weekdays = parts
    if not (minutes and hours and days and months and weekdays):
        return None
    folded = frozenset(day % 7 for day in weekdays)
    free = [field.startswith(("*", "?")) for field in fields]
    return Schedule(minutes, hours, days, months, folded, any_day=free[2], any_weekday=free[4])


_NAMES: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {name: number for number, name in enumerate(_MONTHS, 1)},
    {name: number for number, name in enumerate(_DAYS)},
)


def _field(text: str, least: int, most: int, names: dict[str, int]) -> frozenset[int]:
    """The numbers of one field; none when it makes no sense."""
    found: set[int] = set()
    for raw in text.lower().split(","):
        term = raw
        for name, number in names.items():
            term = term.replace(name, str(number))
        match = _TERM.match(term)
        if match is None:
            return frozenset()
        step = int(match["step"] or 1)
        first = least if match["all"] else int(match["first"])
        alone = not match["all"] and not match["last"] and not match["step"]
        last = first if alone else int(match["last"] or most)
        if step == 0 or first < least or last > most or first > last:
            return frozenset()
        found.update(range(first, last + 1, step))
    return frozenset(found)
