"""`python -m locktender.testkit.faulty <service>`: the service as it ships, with the faults of the environment."""

import importlib
import os
import sys

from locktender.testkit.faults import planned_faults

_SERVICES = ("api", "outbox", "runner", "reaper", "cleanup")


def main(arguments: list[str]) -> int:
    """Run the service; its exit code. 2: there is no such service."""
    match arguments:
        case [service] if service in _SERVICES:
            entry = importlib.import_module(f"locktender.{service}.__main__")
            return int(entry.main(faults=planned_faults(os.environ)))
        case _:
            sys.stderr.write(f"usage: python -m locktender.testkit.faulty {{{','.join(_SERVICES)}}}\n")
            return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
