"""Faults that tests arm while the services run: the next process that reaches the named place gets a signal there.

Beside `faults`, whose plan is fixed before a process starts: here one system serves many cases.
"""

import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from locktender.testkit.nats_rig import eventually

_FOLDER = "LOCKTENDER_FAULT_SWITCH"
_MODULE = "locktender.testkit.chaos"


class FaultSwitch:
    """Arms places of services that run as `module(name)` with `environment`.

    A place fires once: the first process that gets there takes the order and sends itself the signal, SIGKILL unless
    said, so nothing is finished, flushed or given back.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.environment: Mapping[str, str] = {_FOLDER: str(folder)}

    def module(self, service: str) -> tuple[str, ...]:
        """What to run in place of a service."""
        return (_MODULE, service)

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
            await eventually((self._folder / f"{place}.done").exists, seconds)
        except TimeoutError:
            raise AssertionError(f"nobody reached {place} within {seconds:g} s") from None


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


def main() -> int:
    """Run the service that is the first argument."""
    # The service reads its own arguments, which are the ones after its name.
    sys.argv[:2] = [f"locktender.{sys.argv[1]}"]
    service = import_module(f"{sys.argv[0]}.__main__")
    return service.main(SignallingFaults(Path(os.environ[_FOLDER])))


if __name__ == "__main__":
    raise SystemExit(main())
