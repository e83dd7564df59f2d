"""The executor of benchmarks: nothing to do, told truthfully."""

from locktender.runner.executors.run import RunHandle, Work


class NoopExecutor:
    """Takes a task through every transition of a deployment without a deployment."""

    async def run(self, handle: RunHandle, work: Work) -> None:  # noqa: ARG002 - there is nothing in it
        """Begin and complete."""
        await handle.begin_applying("nothing to apply")
        await handle.complete("nothing was to be done")
