"""A runner's side of custody."""

import random
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.runtime.bus import Bus, NoResponders
from locktender.runtime.clock import SystemClock
from locktender.runtime.custody_wire import HEADER, SEALED, SUITE, CustodyRequest, Refusal, binding, refusal_in

NO_CUSTODIAN = "no-custodian"
UNREADABLE = "unreadable"

_ASK_SECONDS = 3.0
_RETRY = Backoff(first=0.1, ceiling=1.0)


class CredentialsLost(LocktenderError):
    """Nobody will ever hand these credentials over. The run ends without having started.

    Attributes:
        code: the custodian's refusal, `no-custodian`, or `unreadable`.
    """

    def __init__(self, code: str) -> None:
        super().__init__(f"the credentials of this run are lost ({code}); submit the deployment again")
        self.code = code


class CustodyClient:
    """Asks custodians with a key pair that is made now and never stored.

    An absent custodian counts as gone only after `grace` seconds: after a restart of the bus its subscription may come
    back a moment later than ours.
    """

    def __init__(self, bus: Bus, *, clock: Clock | None = None, grace: float = 5.0) -> None:
        self._bus = bus
        self._clock: Clock = clock or SystemClock()
        self._grace = grace
        self._private = X25519PrivateKey.generate()
        self._public = self._private.public_key().public_bytes_raw()

    async def fetch(self, custodian: str, task_id: UUID, epoch: int, workspace: str, deadline: float) -> bytes:
        """What instance `custodian` holds for the task, asking for at most `deadline` seconds.

        Raises:
            CredentialsLost: the custodian is gone, or refuses.
            Unavailable: no answer in time; the credentials may still be there.
        """
        request = CustodyRequest(task_id, epoch, self._public).encode()
        started = self._clock.monotonic()
        attempt = 0
        while True:
            attempt += 1
            remaining = started + deadline - self._clock.monotonic()
            try:
                return await self._ask(custodian, request, (workspace, task_id, epoch), min(_ASK_SECONDS, remaining))
            except Unavailable as error:
                waited = self._clock.monotonic() - started
                if isinstance(error, NoResponders) and waited >= min(self._grace, deadline):
                    raise CredentialsLost(NO_CUSTODIAN) from error
                pause = _RETRY.delay(attempt, random.random())  # noqa: S311 - spreads load
                if waited + pause >= deadline:
                    raise
            await self._clock.sleep(pause)

    async def _ask(self, custodian: str, request: bytes, bound: tuple[str, UUID, int], seconds: float) -> bytes:
        reply = await self._bus.ask(subjects.custody(custodian), request, max(seconds, 0.05))
        if (reply.headers or {}).get(HEADER) != SEALED:
            refusal = refusal_in(reply.data)
            if refusal is Refusal.UNAVAILABLE:
                raise Unavailable("the custodian cannot check the lease at this moment")
            raise CredentialsLost(refusal.value)
        try:
            return SUITE.decrypt(reply.data, self._private, info=binding(*bound))
        except (InvalidTag, ValueError) as error:
            raise CredentialsLost(UNREADABLE) from error
