"""The runner with an executor that notes when it begins, and in the mode `hold` when it is told to stop.

Run in place of `locktender.runner` by the figures `latency`, `cancel` and `kill`. All else is the runner that ships.
"""

import asyncio
import sys

from locktender.contracts.deployments.models import RunnerKind
from locktender.runner import app
from locktender.runner.__main__ import main
from locktender.runner.executors.registry import Executors, Registered
from locktender.runner.executors.run import Executor, RunHandle, Work
from tests.bench.stamps import Stamps


class Stopwatch:
    """The no-op executor, which notes the first moment at which it could have done something."""

    def __init__(self) -> None:
        self._stamps = Stamps()

    async def run(self, handle: RunHandle, work: Work) -> None:
        self._stamps.now(f"began:{work.task_id}")
        await handle.begin_applying("nothing to apply")
        await handle.complete("nothing was to be done")


class Hold:
    """Works until it is aborted, and notes when."""

    def __init__(self) -> None:
        self._stamps = Stamps()

    async def run(self, handle: RunHandle, work: Work) -> None:
        await handle.begin_applying("holding")
        self._stamps.now(f"holding:{work.task_id}")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self._stamps.now(f"aborted:{work.task_id}")
            raise


def _executors(mode: str) -> Executors:
    executor: Executor = Hold() if mode == "hold" else Stopwatch()
    # A run that holds keeps its lease, as a real deployment does.
    return {RunnerKind.NOOP: Registered(executor, credentials=False, kept=mode == "hold")}


if __name__ == "__main__":
    chosen = _executors(sys.argv[1])

    def executors(*_: Executor | None) -> Executors:
        return chosen

    app.executors = executors  # the one place where the runner learns what it can carry out
    raise SystemExit(main())
