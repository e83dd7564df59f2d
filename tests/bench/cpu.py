"""How much processor time each process took, from `/proc` (Linux). Elsewhere nothing is known."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

Usage = dict[str, float]
"""Seconds of processor time by name."""

_PROC = Path("/proc")
_PARENT, _USER, _SYSTEM, _USER_OF_DEAD, _SYSTEM_OF_DEAD = 1, 11, 12, 13, 14


def usage(processes: Mapping[str, int | None]) -> Usage:
    """Seconds used so far by each process together with its children, living or reaped."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.glob("[0-9]*"):
        fields = _stat(int(folder.name))
        if fields:
            children.setdefault(int(fields[_PARENT]), []).append(int(folder.name))
    return {
        name: _seconds(pid) + sum(_seconds(child) for child in children.get(pid, ()))
        for name, pid in processes.items()
        if pid is not None
    }


def own() -> float:
    """Seconds used so far by this process alone."""
    times = os.times()
    return times.user + times.system


def shares(before: Usage, after: Usage, seconds: float) -> dict[str, float]:
    """Cores that each process kept busy: 1.0 is one whole core."""
    return {
        name: round((after[name] - before[name]) / seconds, 3)
        for name in sorted(after, key=lambda name: before.get(name, 0.0) - after[name])
        if name in before
    }


def _seconds(pid: int) -> float:
    fields = _stat(pid)
    if not fields:
        return 0.0
    ticks = sum(int(fields[index]) for index in (_USER, _SYSTEM, _USER_OF_DEAD, _SYSTEM_OF_DEAD))
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/<pid>/stat` after the name of the program, which may hold anything."""
    with suppress(OSError):
        return (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return []
