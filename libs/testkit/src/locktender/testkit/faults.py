"""Fault points that do something: the process dies, stalls or fails at a named place, as planned or as ordered.

A plan is fixed before a process starts, by its environment:

    LOCKTENDER_FAULTS       <place>=<action>;…   for example
                            runner.after-effect=kill@2;outbox.after-publish=kill@1;api.x=stall:5;cleanup.y=fail
    LOCKTENDER_FAULTS_DIR   a folder for markers: what killed a process does not kill the one that replaces it

An action is `kill`, `stall:<seconds>` or `fail`, each with `@n`: only at the n-th time that the process reaches the
place (1 unless said). It happens once, over all processes that share the folder.

An order is given while the services run, so that one system serves many cases: see `FaultSwitch`.
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

from locktender.contracts.kernel.faults import FaultPoints

_SWITCH = "LOCKTENDER_FAULT_SWITCH"
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


class SignallingFaults:
    """Fault points in the process of a service: it signals itself where an order lies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def reach(self, name: str) -> None:
        """Does not return when an order to die lies there for `name`."""
        done = self._folder / f"{name}.done"
        try:
            # Renaming decides between several processes which of them takes the order.
            (self._folder / name).rename(done)
        except OSError:
            return
        os.kill(os.getpid(), int(done.read_text(encoding="ascii")))


class FaultSwitch:
    """Arms places of services that run as `module(name)` with `environment`.

    A place fires once: the first process that gets there takes the order and sends itself the signal, SIGKILL unless
    said, so nothing is finished, flushed or given back.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.environment: Mapping[str, str] = {_SWITCH: str(folder)}

    def module(self, service: str) -> tuple[str, ...]:
        """What to run in place of a service."""
        return ("locktender.testkit.faulty", service)

    def arm(self, place: str, number: signal.Signals = signal.SIGKILL) -> None:
        """From now on, whoever reaches `place` next dies there, or freezes by SIGSTOP."""
        (self._folder / f"{place}.done").unlink(missing_ok=True)
        fresh = self._folder / f".{place}"
        fresh.write_text(str(int(number)), encoding="ascii")
        fresh.rename(self._folder / place)

    def disarm(self) -> None:
        """Forget every order that nobody has taken."""
        for order in self._folder.iterdir():
            order.unlink(missing_ok=True)

    async def fired(self, place: str, seconds: float = 60.0) -> None:
        """Return once somebody took the order for `place`.

        Raises:
            AssertionError: nobody came by.
        """
        try:
            async with asyncio.timeout(seconds):
                while not (self._folder / f"{place}.done").exists():  # noqa: ASYNC110 - another process does not tell
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"nobody reached {place} within {seconds:g} s") from None


def faults_of(environment: Mapping[str, str]) -> FaultPoints:
    """What the environment asks for: orders, where it names the folder of a `FaultSwitch`, otherwise its plan.

    Raises:
        ValueError: a part of LOCKTENDER_FAULTS cannot be read.
    """
    folder = environment.get(_SWITCH)
    return planned_faults(environment) if folder is None else SignallingFaults(Path(folder))


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
