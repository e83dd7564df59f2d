"""`python -m locktender.runner`."""

from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.runtime.loading import loading


def main(faults: FaultPoints = NO_FAULTS) -> int:
    """Run the service until it is told to stop; its exit code, see `run_service`."""
    with loading():
        from locktender.runner.app import serve
        from locktender.runner.settings import RunnerSettings
        from locktender.runtime.service import run_service
        from locktender.runtime.settings import load
    return run_service("runner", serve, load(RunnerSettings), faults=faults)


if __name__ == "__main__":
    raise SystemExit(main())
