"""Fault points that do something: the process dies, stalls or fails at a named place, as the environment says.

    LOCKTENDER_FAULTS       <place>=<action>;…   for example
                            runner.after-effect=kill@2;outbox.after-publish=kill@1;api.x=stall:5;cleanup.y=fail
    LOCKTENDER_FAULTS_DIR   a folder for markers: what killed a process does not kill the one that replaces it

An action is `kill`, `stall:<seconds>` or `fail`, each with `@n`: only at the n-th time that the process reaches the
place (1 unless said). It happens once, over all processes that share the folder.
"""

import asyncio
import os
import re
import signal
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_ACTION = re.compile(r"(?P<kind>kill|fail|stall:(?P<seconds>\d+(?:\.\d+)?))(?:@(?P<nth>[1-9]\d*))?")
_PLACE = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+")


class InjectedFault(Exception):
    """Raised at a place that was told to fail."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at one place."""

    place: str
    kind: Literal["kill", "stall", "fail"]
    nth: int = 1
    seconds: float = 0.0


class PlannedFaults:
    """Implements `locktender.contracts.kernel.faults.FaultPoints` over a plan.

    Args:
        folder: where markers lie; None: a fault happens once in each process.
    """

    def __init__(self, plan: Iterable[Fault], folder: Path | None = None) -> None:
        self._plan = {fault.place: fault for fault in plan}
        self._folder = folder
        self._reached: Counter[str] = Counter()

    async def reach(self, name: str) -> None:
        """Do what the plan has for this place, if its time has come.

        Raises:
            InjectedFault: the plan says `fail`.
        """
        fault = self._plan.get(name)
        if fault is None:
            return
        self._reached[name] += 1
        if self._reached[name] != fault.nth or not self._first(fault):
            return
        match fault.kind:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stall":
                await asyncio.sleep(fault.seconds)
            case "fail":
                raise InjectedFault(name)

    def _first(self, fault: Fault) -> bool:
        if self._folder is None:
            return True
        try:
            # Before the deed: a process that is killed writes nothing afterwards.
            (self._folder / f"{fault.place}.{fault.kind}.{fault.nth}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def planned_faults(environment: Mapping[str, str]) -> PlannedFaults:
    """The faults that the environment names.

    Raises:
        ValueError: a part of LOCKTENDER_FAULTS cannot be read.
    """
    plan = [_fault(part.strip()) for part in environment.get("LOCKTENDER_FAULTS", "").split(";") if part.strip()]
    if len({fault.place for fault in plan}) != len(plan):
        raise ValueError("a place can have one fault")
    folder = environment.get("LOCKTENDER_FAULTS_DIR")
    return PlannedFaults(plan, Path(folder) if folder else None)


def _fault(part: str) -> Fault:
    place, _, action = part.partition("=")
    read = _ACTION.fullmatch(action)
    if read is None or _PLACE.fullmatch(place) is None:
        raise ValueError(f"not a fault: {part!r}; say <service>.<place>=kill|fail|stall:<seconds>[@n]")
    nth = int(read["nth"] or 1)
    match read["kind"]:
        case "kill":
            return Fault(place, "kill", nth)
        case "fail":
            return Fault(place, "fail", nth)
        case _:
            return Fault(place, "stall", nth, float(read["seconds"]))
