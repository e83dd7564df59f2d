"""Runs that go on after a person was asked: what they know of the time before."""

from locktender.contracts.deployments.inputs import Asked, AskedCode
from locktender.contracts.deployments.models import Identity
from locktender.runner.executors.run import Credentials, Work
from locktender.storage.deployments.writes import Claimed


def work_of(claimed: Claimed, credentials: Credentials | None) -> Work:
    """What a claimed task asks of its executor."""
    return Work(
        task_id=claimed.lease.row_id,
        namespace=claimed.namespace,
        source=claimed.source,
        credentials=credentials,
        identity=None if claimed.identity is None else Identity.model_validate_json(claimed.identity),
        asked=_form(claimed),
    )


def asked_before(claimed: Claimed) -> Asked | None:
    """The same form again, for values that got lost on their way; None when nobody had been asked."""
    form = _form(claimed)
    if form is None:
        return None
    words = "the submitted values were lost before the run could read them; nothing was applied, enter them again"
    return form.model_copy(update={"code": AskedCode.VALUES_LOST, "message": words, "key": None})


def _form(claimed: Claimed) -> Asked | None:
    return None if claimed.asked is None else Asked.model_validate_json(claimed.asked)
