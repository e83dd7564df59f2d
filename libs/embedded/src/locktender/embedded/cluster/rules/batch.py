"""Jobs and cron jobs."""

import re
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.rules.faults import required, unsupported, wrong
from locktender.embedded.cluster.rules.pods import template_rules
from locktender.embedded.cluster.shapes import Obj, at, obj_at, text_at

_POLICIES = ("Allow", "Forbid", "Replace")
_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_WORDS = re.compile(r"^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)$")
_PART = re.compile(r"^(\*|\?|[\w]+)(-[\w]+)?(/\d+)?$")


def job_rules(obj: Obj, where: str = "spec") -> Iterator[Cause]:
    spec = obj_at(obj, "spec")
    for name in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        value = spec.get(name)
        if isinstance(value, int) and value < 0:
            yield wrong(f"{where}.{name}", value, "must be greater than or equal to 0")
    yield from template_rules(obj_at(spec, "template"), f"{where}.template")
    policy = text_at(spec, "template", "spec", "restartPolicy")
    if policy not in ("OnFailure", "Never"):
        yield unsupported(f"{where}.template.spec.restartPolicy", policy, ("OnFailure", "Never"))


def cron_job_rules(obj: Obj) -> Iterator[Cause]:
    schedule, zone = text_at(obj, "spec", "schedule"), at(obj, "spec", "timeZone")
    if not schedule:
        yield required("spec.schedule")
    else:
        why = _schedule_fault(schedule)
        if why:
            yield wrong("spec.schedule", schedule, why)
    if isinstance(zone, str) and not _is_zone(zone):
        yield wrong("spec.timeZone", zone, f"unknown time zone {zone}")
    policy = text_at(obj, "spec", "concurrencyPolicy")
    if policy not in _POLICIES:
        yield unsupported("spec.concurrencyPolicy", policy, _POLICIES)
    yield from job_rules(obj_at(obj, "spec", "jobTemplate"), "spec.jobTemplate.spec")


def _schedule_fault(schedule: str) -> str:
    if schedule in _MACROS or re.fullmatch(r"@every \S+", schedule):
        return ""
    if schedule.startswith("@"):
        return f"unrecognized descriptor: {schedule}"
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for field, (least, most) in zip(fields, _FIELDS, strict=True):
        for part in field.split(","):
            if not _PART.match(part):
                return f'failed to parse int from {part}: strconv.Atoi: parsing "{part}": invalid syntax'
            why = _number_fault(part, least, most)
            if why:
                return why
    return ""


def _number_fault(part: str, least: int, most: int) -> str:
    for word in part.partition("/")[0].split("-"):
        if word in ("*", "?") or _WORDS.match(word.lower()):
            continue
        if not word.isdigit():
            return f'failed to parse int from {word}: strconv.Atoi: parsing "{word}": invalid syntax'
        if int(word) < least:
            return f"beginning of range ({word}) below minimum ({least}): {part}"
        if int(word) > most:
            return f"end of range ({word}) above maximum ({most}): {part}"
    return ""


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True
