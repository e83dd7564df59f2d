"""What is known of the objects that a run removes again, and the words and cards for it. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyState, Card
from locktender.contracts.deployments.wire import ObjectRef

_NAMED = 5
_SENT = {ApplyState.APPLIED, ApplyState.UNCHANGED, ApplyState.APPLYING}


class Removals:
    """Objects by their uid: those that the run has made, and volume claims that came of them."""

    def __init__(self, made: Mapping[str, Card], kept: Sequence[str]) -> None:
        """`made` has the card of each as it was; `kept` names what is left alone in any case."""
        self._open = dict(made)
        self._claims: dict[str, ObjectRef] = {}
        self._kept = list(kept)
        self._asked: set[str] = set()
        self._accepted: set[str] = set()
        self._given_up: dict[str, str] = {}
        self._removed = self._claims_removed = 0

    def __contains__(self, uid: str) -> bool:
        """Whether it is an object that the run has made and that is not known to be gone."""
        return uid in self._open

    def made(self) -> Iterator[tuple[str, ObjectRef]]:
        """What the run has made and what is not known to be gone, and where it is."""
        return iter([(uid, card.ref) for uid, card in self._open.items()])

    def claim(self, uid: str, ref: ObjectRef) -> None:
        """A volume claim is to go as well."""
        self._claims[uid] = ref

    def claims(self) -> Iterator[tuple[str, ObjectRef]]:
        """Volume claims that are to go and are not known to be gone."""
        return iter([*self._claims.items()])

    def ask(self, uid: str) -> None:
        """The deletion is about to be sent."""
        self._asked.add(uid)

    def accept(self, uid: str) -> None:
        """The cluster has taken the deletion."""
        self._accepted.add(uid)

    def refuse(self, uid: str) -> None:
        """The cluster has refused the deletion, this time."""
        self._asked.discard(uid)

    def give_up(self, uid: str, why: str) -> None:
        """It cannot be removed; the cluster says why, and nothing of it has happened."""
        self.refuse(uid)
        self._given_up[uid] = why

    def is_due(self, uid: str) -> bool:
        """Whether anything can still be done about it."""
        return uid not in self._given_up

    def absent(self, uid: str) -> Card | None:
        """It is not listed any more: its card as it is now, if it has one."""
        if self._claims.pop(uid, None) is not None:
            self._claims_removed += 1
            return None
        if uid not in self._asked:
            self.give_up(uid, "it is not listed under the name of the instance any more")
            return None
        self._removed += 1
        return removed_card(self._open.pop(uid))

    def beginning(self) -> Iterator[Card]:
        """The cards before the first deletion: an interruption from then on must leave none that claims anything."""
        words = {"apply": ApplyState.APPLYING, "reason": "removing", "message": None, "hint": None}
        for card in self._open.values():
            yield card.model_copy(update=words) if card.apply in _SENT else card

    def ending(self) -> Iterator[Card]:
        """The cards of what is not known to be gone, when no more is done about it."""
        for uid, card in self._open.items():
            if uid in self._accepted:
                words = {"reason": "removing", "message": "it is being deleted, and was still there when last seen"}
                yield card.model_copy(update=words)
            elif uid in self._given_up:
                yield card.model_copy(update={"message": f"not removed: {self._given_up[uid]}"})
            elif uid not in self._asked:
                yield card

    def told(self) -> str:
        """What was removed, and by name what was not."""
        said = f"removed {_counted(self._removed, 'object')}"
        if self._claims_removed:
            said += f" and {_counted(self._claims_removed, 'volume claim')}"
        left = [*(str(card.ref) for card in self._open.values()), *map(str, self._claims.values()), *self._kept]
        return f"{said}; these stay, or are not known to be gone: {_named(left)}" if left else said


def removed_card(card: Card) -> Card:
    """The card of an object that the run has made and removed again."""
    if card.apply not in _SENT:
        # What went wrong with it matters more than that it is gone.
        return card.model_copy(update={"apply": ApplyState.REMOVED})
    words = {"reason": "removed", "message": "this run had made it, and removed it again", "hint": None}
    return card.model_copy(update={"apply": ApplyState.REMOVED, "status": CardStatus.PENDING, **words})


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _named(names: Iterable[str]) -> str:
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more
