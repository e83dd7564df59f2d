"""The use case of `POST …/retry`."""

from uuid import UUID

from locktender.api.stacks.deciding.admission import Target
from locktender.api.stacks.deciding.audit import audit
from locktender.api.stacks.deciding.conflicts import Snapshots, conflict
from locktender.api.stacks.deploying.archives import SourceArchives
from locktender.api.stacks.deploying.repeats import Made, Repeats, StackOrder
from locktender.api.stacks.runs.variables import script_place
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.errors import ObjectUnreadable
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.stacks.refusals import NotRetryable
from locktender.storage.stacks.retry import archive_of, retry


class RetryDeployment:
    """Makes the same deployment once more: a new one, of the same commit. The old one stays as it is."""

    def __init__(
        self, *, database: Database, archives: SourceArchives, repeats: Repeats, snapshots: Snapshots, cipher: Cipher
    ) -> None:
        self._database = database
        self._archives = archives
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
        await self._check_source(target)

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

    async def _check_source(self, target: Target) -> None:
        archive = await archive_of(self._database, target.deployment_id)
        if archive is not None and not await self._archives.uploaded(archive, archive["sha256"]):
            gone = (
                "The source that was uploaded for it is not kept any more. Upload it again, and make a new deployment."
            )
            current = await self._snapshots(target.workspace, target.stack, target.number)
            raise conflict(NotRetryable(target.deployment_id, gone), current)

    def _reseal(self, old: UUID, new: UUID, script: bytes) -> bytes:
        try:
            plain = self._cipher.open(script_place(old), script)
        except ObjectUnreadable:
            raise NotRetryable(old, "The script cannot be decrypted any more. Send it again.") from None
        return self._cipher.seal(script_place(new), plain)
