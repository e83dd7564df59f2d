"""The use case of `POST …/retry`."""

from locktender.api.stacks.deciding.admission import Target
from locktender.api.stacks.deciding.conflicts import Snapshots, conflict
from locktender.api.stacks.deploying.repeats import Made, Repeats, StackOrder
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.stacks.refusals import NotRetryable
from locktender.storage.stacks.retry import retry


class RetryDeployment:
    """Makes the same deployment once more: a new one, of the same commit. The old one stays as it is."""

    def __init__(self, *, repeats: Repeats, snapshots: Snapshots) -> None:
        self._repeats = repeats
        self._snapshots = snapshots

    async def __call__(self, order: StackOrder, target: Target) -> Made:
        """The new deployment, or what the same request made before.

        A script is sealed for the deployment that it was sent to and opens for no other, so it has to be sent again.

        Raises:
            ProblemError: it cannot be retried; the snapshot of the old one comes along. Or as `Repeats`.
            NotFound: it is gone.
        """
        digest = self._repeats.digest(order, "retry", target.number)
        if made := await self._repeats.known(order, digest):
            return made

        async def work(tx: Transaction) -> Row:
            return await retry(
                tx, target.deployment_id, target.by, request_digest=digest, trace=target.trace,
                idempotency_key=order.key,
            )  # fmt: skip

        try:
            if target.mode == DeploymentMode.RAW:
                raise NotRetryable(target.deployment_id, "A command cannot be retried. Send the script again.")  # noqa: TRY301 - told like every other refusal
            return await self._repeats.make(order, digest, work)
        except NotRetryable as refused:
            current = await self._snapshots(target.workspace, target.stack, target.number)
            raise conflict(refused, current) from refused
