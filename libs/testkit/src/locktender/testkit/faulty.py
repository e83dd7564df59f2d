"""`python -m locktender.testkit.faulty <service> […]`: the service as it ships, with the faults of the environment."""

import importlib
import os
import sys

from locktender.testkit.faults import faults_of

_SERVICES = ("api", "outbox", "runner", "reaper", "cleanup")


def main(arguments: list[str]) -> int:
    """Run the service; its exit code. 2: there is no such service."""
    match arguments:
        case [service, *own] if service in _SERVICES:
            # The service reads its own arguments, which are the ones after its name.
            sys.argv = [f"locktender.{service}", *own]
            entry = importlib.import_module(f"locktender.{service}.__main__")
            return int(entry.main(faults=faults_of(os.environ)))
        case _:
            sys.stderr.write(f"usage: python -m locktender.testkit.faulty {{{','.join(_SERVICES)}}} […]\n")
            return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
