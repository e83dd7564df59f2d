"""The use cases that make deployments: of the stack's source, of a script, of a working tree."""

from locktender.api.stacks.deciding.audit import audit
from locktender.api.stacks.deploying.pins import Pin, Pins
from locktender.api.stacks.deploying.repeats import Made, Repeats, StackOrder
from locktender.api.stacks.runs.variables import script_place
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.requests import DeploymentCreate, LocalPlan, NarrowedRequest, RunCommand
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin
from locktender.contracts.stacks.wire import Narrowing
from locktender.integrations.objects.cipher import Cipher
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.stacks.create import NewDeployment, create
from locktender.storage.stacks.lane import locked


class SourceMoved(Unavailable):
    """Somebody gave the stack another source between the look and the write. Nothing was made."""


class DeployStack:
    """Makes deployments. What each is of is pinned first; then one transaction makes it and takes its place in line.

    All three raise `ProblemError` where the source cannot be used or had, or the key belongs to another request;
    `NotFound` where the stack is gone; `Unavailable` where the outcome is not known.
    """

    def __init__(self, *, pins: Pins, repeats: Repeats, cipher: Cipher) -> None:
        self._pins = pins
        self._repeats = repeats
        self._cipher = cipher

    async def deploy(self, order: StackOrder, request: DeploymentCreate) -> Made:
        """Plan, destroy, refresh, or only look."""
        digest = self._repeats.digest(order, "deploy", request.model_dump(mode="json"))
        if made := await self._repeats.known(order, digest):
            return made
        pin = await self._pins.of_stack(order.on.row, request.commit)
        new = self._new(
            order, digest, pin, DeploymentMode(request.mode), note=request.note, narrowing=_narrowing(request)
        )
        return await self._make(order, new)

    async def plan_tree(self, order: StackOrder, request: LocalPlan) -> Made:
        """Plan a working tree that was uploaded. It only looks."""
        digest = self._repeats.digest(order, "local", request.model_dump(mode="json"))
        if made := await self._repeats.known(order, digest):
            return made
        pin = await self._pins.of_tree(order.on.row, request)
        new = self._new(
            order, digest, pin, DeploymentMode.PLAN_UNLOCKED, origin=Origin.LOCAL, note=request.note,
            narrowing=_narrowing(request),
        )  # fmt: skip
        return await self._make(order, new, pinned_apart=True)

    async def run_command(self, order: StackOrder, request: RunCommand) -> Made:
        """Run a script with the credentials of the stack. It is kept sealed, and neither logged nor shown."""
        script = request.script.get_secret_value().encode()
        public = request.model_dump(mode="json", exclude={"script"})
        digest = self._repeats.digest(order, "run-command", public, script)
        if made := await self._repeats.known(order, digest):
            return made
        pin = await self._pins.of_stack(order.on.row, request.commit)
        new = self._new(order, digest, pin, DeploymentMode.RAW, note=request.note, script=script)
        made = await self._make(order, new)
        if made.fresh:
            audit(
                "run_command", actor=order.on.by.name, workspace=order.on.workspace, stack=order.on.stack,
                deployment=made.view.number,
            )  # fmt: skip
        return made

    def _new(
        self,
        order: StackOrder,
        digest: bytes,
        pin: Pin,
        mode: DeploymentMode,
        *,
        origin: Origin = Origin.MANUAL,
        narrowing: Narrowing | None = None,
        note: str = "",
        script: bytes | None = None,
    ) -> NewDeployment:
        key = new_id()
        return NewDeployment(
            id=key,
            mode=mode,
            origin=origin,
            source=pin.source,
            commit_sha=pin.sha,
            commit=pin.shown,
            created_by=order.on.by.name,
            request_digest=digest,
            narrowing=narrowing or Narrowing(),
            raw_script=None if script is None else self._cipher.seal(script_place(key), script),
            note=note,
            idempotency_key=order.key,
        )

    async def _make(self, order: StackOrder, new: NewDeployment, *, pinned_apart: bool = False) -> Made:
        """Make it. Unless it was pinned apart from the stack's source, that has to be what was pinned."""
        seen = order.on.row["source"]

        async def work(tx: Transaction) -> Row:
            owner = await locked(tx, order.on.stack_id)
            if not pinned_apart and owner["source"] != seen:
                raise SourceMoved("somebody changed the source of the stack meanwhile")
            return await create(tx, owner, new, order.trace)

        return await self._repeats.make(order, new.request_digest, work)


def _narrowing(request: NarrowedRequest) -> Narrowing:
    return Narrowing(targets=request.targets, excludes=request.excludes, replaces=request.replaces)
