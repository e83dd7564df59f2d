"""What a card says once its document was sent. Pure."""

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyState, Card
from locktender.contracts.deployments.readiness import assess
from locktender.integrations.kube.client import Outcome
from locktender.integrations.kube.errors import KubeError, KubeUnavailable
from locktender.integrations.kube.explain import explain
from locktender.integrations.kube.json_value import as_object, as_text
from locktender.runner.executors.delivery import Delivered
from locktender.runner.executors.forecast import stopped_card
from locktender.runner.executors.terms import ApplyStopped

_ENDED = "completed"


def delivered_card(card: Card, delivered: Delivered) -> Card:
    """The card of a document that the cluster has."""
    if delivered.gone:
        return _cleared_card(card)
    verdict = assess(delivered.body)
    believed = verdict.status is CardStatus.RUNNING and verdict.doubt is None
    namespace = as_text(as_object(delivered.body.get("metadata")).get("namespace")) or None
    said = [*delivered.notes, *([verdict.message] if verdict.message else [])]
    return card.model_copy(
        update={
            "ref": card.ref.model_copy(update={"namespace": namespace}),
            "apply": ApplyState.UNCHANGED if delivered.outcome is Outcome.UNCHANGED else ApplyState.APPLIED,
            "status": CardStatus.RUNNING if believed else CardStatus.CREATING,
            "reason": verdict.reason,
            "message": "; ".join(said) or None,
            "hint": verdict.hint,
        }
    )


def failed_card(before: Card, card: Card, error: KubeError | ApplyStopped, *, sent: bool) -> Card:
    """The card of a document that did not get there.

    Args:
        before: the card before the document was announced.
        card: the card now.
        error: what stood in the way.
        sent: whether a write had begun.
    """
    if isinstance(error, ApplyStopped):
        return stopped_card(card, error)
    reason, message = explain(error)[:2]
    words = {"reason": str(reason), "message": message, "hint": error.hint}
    if not isinstance(error, KubeUnavailable):
        return card.model_copy(update={**words, "apply": ApplyState.REFUSED, "status": CardStatus.FAILED})
    if sent:
        # Whether it took effect is not known, so the document stays `applying`.
        return card.model_copy(update={**words, "status": CardStatus.UNKNOWN})
    return before.model_copy(update=words)


def _cleared_card(card: Card) -> Card:
    """A job that this task has applied, and that was cleared away: it is not run a second time."""
    said = "this task applied it before, it has ended, and the cluster has cleared it away; it was not run again"
    done = card.reason == _ENDED
    return card.model_copy(
        update={
            "apply": ApplyState.APPLIED,
            "status": CardStatus.RUNNING if done else CardStatus.UNKNOWN,
            "reason": _ENDED if done else "gone",
            "message": said,
            "hint": None if done else "see the job's own records for how it ended",
        }
    )
