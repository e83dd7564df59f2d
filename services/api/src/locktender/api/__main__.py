"""`python -m locktender.api`."""

from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.runtime.loading import loading


def main(faults: FaultPoints = NO_FAULTS) -> int:
    """Run the API until it is told to stop. Returns the exit code, see `run_service`."""
    with loading():
        from locktender.api.app import serve
        from locktender.api.settings import ApiSettings
        from locktender.runtime.service import run_service
        from locktender.runtime.settings import load
    return run_service("api", serve, load(ApiSettings), faults=faults)


if __name__ == "__main__":
    raise SystemExit(main())
