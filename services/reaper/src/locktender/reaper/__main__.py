"""`python -m locktender.reaper` sweeps until it is stopped."""

from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.runtime.loading import loading


def main(faults: FaultPoints = NO_FAULTS) -> int:
    """Run the service and give its exit code (see `run_service`)."""
    with loading():
        from locktender.reaper.app import serve
        from locktender.reaper.settings import ReaperSettings
        from locktender.runtime.service import run_service
        from locktender.runtime.settings import load
    return run_service("reaper", serve, load(ReaperSettings), faults=faults)


if __name__ == "__main__":
    raise SystemExit(main())
