"""What a runner says before it holds a run: it asks for one, takes it over, or says that it cannot."""

import json
from dataclasses import dataclass, replace
from uuid import UUID

import httpx
from pydantic import BaseModel, SecretStr, ValidationError

from locktender.cli.exits import CommandError, Exit
from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.remote import AcceptRun, DispatchFailed, PollRuns
from locktender.contracts.stacks.wire import Accepted, LeaseGone, Offer
from locktender.runtime.runs.calls import Call, Calls
from locktender.runtime.runs.errors import RunRefused

_POLL_SECONDS = 20.0
_TELL_SECONDS = 60.0
_ATTEMPT_SECONDS = 10.0
_RETRY = Backoff(first=0.2, ceiling=5.0)
_NO_CONTENT = 204


@dataclass(frozen=True, slots=True)
class GroupClient:
    """The API as the runners of one group know it."""

    http: httpx.AsyncClient
    token: SecretStr
    clock: Clock

    async def poll(self, asked: PollRuns) -> Offer | None:
        """A run that is promised to this runner; None: nothing waits for it.

        Raises:
            CommandError: the token is not valid, or the API does not take the question.
            Unavailable: the API does not answer.
        """
        call = Call("the next run", "POST", "/v1/runner-groups/poll", _POLL_SECONDS, _ATTEMPT_SECONDS, _body(asked))
        try:
            answer = await self._calls(self.token).send(call)
            return None if answer.status_code == _NO_CONTENT else Offer.model_validate_json(answer.content)
        except LeaseGone:
            hint = "Was it rotated? It is the one that `stack group` told, and not that of a person."
            raise CommandError(Exit.DENIED, "the API does not know the token of the runner group", hint) from None
        except RunRefused as error:
            raise CommandError(Exit.USAGE, str(error)) from error
        except ValidationError:
            raise CommandError(Exit.USAGE, "the API's offer cannot be read", "Are both of the same version?") from None

    async def accept(self, offer: Offer) -> Accepted | None:
        """Take the run over; None: it is not promised to this runner any more.

        Raises:
            Unavailable: the API does not answer while the promise lives.
        """
        call = Call(
            "the offer", "POST", f"/v1/runs/{offer.run_id}/accept",
            within=min(offer.expires_in_seconds, _TELL_SECONDS), attempt=_ATTEMPT_SECONDS,
            content=_body(AcceptRun(runner_id=offer.runner_id)),
        )  # fmt: skip
        try:
            answer = await self._calls(offer.assignment).send(call)
            return Accepted.model_validate_json(answer.content)
        except (LeaseGone, RunRefused, ValidationError):
            return None

    async def cannot_start(self, runner_id: UUID, reason: str) -> bool:
        """Say that the offer of this runner cannot be taken up; its run fails. False: that is not known by the API.

        Raises:
            Unavailable: the API does not answer.
        """
        call = Call("the refusal", "POST", "/v1/runner-groups/dispatch-failed", _TELL_SECONDS, _ATTEMPT_SECONDS)
        try:
            await self._calls(self.token).send(
                replace(call, content=_body(DispatchFailed(runner_id=runner_id, reason=reason[:1500])))
            )
        except LeaseGone:
            return False
        except RunRefused as error:
            # An earlier try may have been taken and only its answer lost.
            return error.problem == Problem.NOT_ASSIGNED.value.slug
        return True

    def _calls(self, token: SecretStr) -> Calls:
        return Calls(self.http, token.get_secret_value(), clock=self.clock, retry=_RETRY)


def _body(model: BaseModel) -> bytes:
    return json.dumps(model.model_dump(mode="json", by_alias=True, exclude_none=True)).encode()
