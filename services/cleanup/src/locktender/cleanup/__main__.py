"""`python -m locktender.cleanup` does cleanup jobs until it is stopped."""

from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.runtime.loading import loading


def main(faults: FaultPoints = NO_FAULTS) -> int:
    """Run the service and give its exit code (see `run_service`)."""
    with loading():
        from locktender.cleanup.app import serve
        from locktender.cleanup.settings import CleanupSettings
        from locktender.runtime.service import run_service
        from locktender.runtime.settings import load
    return run_service("cleanup", serve, load(CleanupSettings), faults=faults)


if __name__ == "__main__":
    raise SystemExit(main())
