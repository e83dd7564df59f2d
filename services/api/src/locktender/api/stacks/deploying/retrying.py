"""The use case of `POST …/retry`."""

from uuid import UUID

from locktender.api.stacks.deciding.admission import Target
from locktender.api.stacks.deciding.audit import audit
from locktender.api.stacks.deciding.conflicts import Snapshots, conflict
from locktender.api.stacks.deploying.repeats import Made, Repeats, StackOrder
from locktender.api.stacks.runs.variables import script_place
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.errors import ObjectUnreadable
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.stacks.refusals import NotRetryable
from locktender.storage.stacks.retry import retry


class RetryDeployment:
    """Makes the same deployment once more: a new one, of the same commit. The old one stays as it is."""

    def __init__(self, *, repeats: Repeats, snapshots: Snapshots, cipher: Cipher) -> None:
        self._repeats = repeats
        self._snapshots = snapshots
        self._cipher = cipher

    async def __call__(self, order: StackOrder, target: Target) -> Made:
        """The new deployment, or what the same request made before.

        A script is sealed for the deployment that it was sent to and opens for no other, so it is sealed anew.

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
                idempotency_key=order.key, reseal=self._reseal,
            )  # fmt: skip

        try:
            made = await self._repeats.make(order, digest, work)
        except NotRetryable as refused:
            current = await self._snapshots(target.workspace, target.stack, target.number)
            raise conflict(refused, current) from refused
        if made.fresh and target.mode == DeploymentMode.RAW:
            audit(
                "run_command", actor=target.by, workspace=target.workspace, stack=target.stack,
                deployment=made.view.number,
            )  # fmt: skip
        return made

    def _reseal(self, old: UUID, new: UUID, script: bytes) -> bytes:
        try:
            plain = self._cipher.open(script_place(old), script)
        except ObjectUnreadable:
            raise NotRetryable(old, "The script cannot be decrypted any more. Send it again.") from None
        return self._cipher.seal(script_place(new), plain)
