"""`python -m locktender.outbox` relays; `python -m locktender.outbox ensure` declares the streams and ends."""

import sys

from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.runtime.loading import loading


def main(faults: FaultPoints = NO_FAULTS) -> int:
    """Run the service and give its exit code (see `run_service`); 2 for arguments that it does not know."""
    with loading():
        from locktender.outbox.app import declare, serve
        from locktender.outbox.settings import OutboxSettings
        from locktender.runtime.service import run_service
        from locktender.runtime.settings import EXIT_USAGE, load
    match sys.argv[1:]:
        case []:
            return run_service("outbox", serve, load(OutboxSettings), faults=faults)
        case ["ensure"]:
            return run_service("outbox", declare, load(OutboxSettings), faults=faults)
        case _:
            sys.stderr.write("usage: python -m locktender.outbox [ensure]\n")
            return EXIT_USAGE


if __name__ == "__main__":
    raise SystemExit(main())
