"""Faults that tests arm while the services run: the next process that reaches the named place is killed there."""

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

    A place fires once: the first process that gets there takes the order and dies by SIGKILL, so nothing is
    finished, flushed or given back.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.environment: Mapping[str, str] = {_FOLDER: str(folder)}

    def module(self, service: str) -> tuple[str, ...]:
        """What to run in place of a service."""
        return (_MODULE, service)

    def arm(self, place: str) -> None:
        """From now on, whoever reaches `place` next dies there."""
        (self._folder / f"{place}.done").unlink(missing_ok=True)
        (self._folder / place).touch()

    def disarm(self) -> None:
        """Forget every order that nobody has taken."""
        for order in self._folder.iterdir():
            order.unlink(missing_ok=True)

    async def fired(self, place: str, seconds: float = 60.0) -> None:
        """Return once somebody died at `place`.

        Raises:
            AssertionError: nobody came by.
        """
        try:
            await eventually((self._folder / f"{place}.done").exists, seconds)
        except TimeoutError:
            raise AssertionError(f"nobody reached {place} within {seconds:g} s") from None


class KillingFaults:
    """Fault points in the process of a service: dies where an order lies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def reach(self, name: str) -> None:
        """Does not return when an order lies there for `name`."""
        try:
            # Renaming decides between several processes which of them takes the order.
            (self._folder / name).rename(self._folder / f"{name}.done")
        except OSError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    """Run the service that is the first argument."""
    # The service reads its own arguments, which are the ones after its name.
    sys.argv[:2] = [f"locktender.{sys.argv[1]}"]
    service = import_module(f"{sys.argv[0]}.__main__")
    return service.main(KillingFaults(Path(os.environ[_FOLDER])))


if __name__ == "__main__":
    raise SystemExit(main())
