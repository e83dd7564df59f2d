"""What the two sides of custody agree on: the request, the refusals, and the seal."""

import base64
import json
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

HEADER = "lt-custody"
SEALED = "sealed"
REFUSED = "refused"

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)

_PURPOSE = b"locktender/custody/1"


class Refusal(StrEnum):
    """Why a custodian does not hand anything over."""

    UNKNOWN = "unknown"
    """It holds nothing for this task: it was restarted, or the time is over."""
    NOT_HELD = "not-held"
    """It is not the custodian of the task, or the epoch is not the current one."""
    ALREADY_ANSWERED = "already-answered"
    """This epoch had its answer."""
    MALFORMED = "malformed"
    """The request cannot be read."""
    UNAVAILABLE = "unavailable"
    """It cannot check the epoch at this moment. Asking again is reasonable."""


@dataclass(frozen=True, slots=True)
class CustodyRequest:
    """A runner's question: what is held for this task, sealed for this key?"""

    task_id: UUID
    epoch: int
    key: bytes
    """Raw X25519 public key of the runner's boot."""

    def encode(self) -> bytes:
        """As one line of JSON."""
        key = base64.urlsafe_b64encode(self.key).decode()
        return json.dumps({"id": str(self.task_id), "epoch": self.epoch, "key": key}).encode()

    @staticmethod
    def decode(body: bytes) -> "CustodyRequest | None":
        """The request in `body`; None when it cannot be read."""
        try:
            document = json.loads(body)
            epoch = document["epoch"]
            request = CustodyRequest(UUID(document["id"]), epoch, base64.urlsafe_b64decode(document["key"]))
            X25519PublicKey.from_public_bytes(request.key)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return request if type(epoch) is int and epoch > 0 else None


def seal(secrets: bytes | bytearray, request: CustodyRequest, workspace: str) -> bytes:
    """Encrypt for the key in the request, bound to workspace, task and epoch."""
    key = X25519PublicKey.from_public_bytes(request.key)
    return SUITE.encrypt(secrets, key, info=binding(workspace, request.task_id, request.epoch))


def binding(workspace: str, task_id: UUID, epoch: int) -> bytes:
    """What a sealed answer is bound to; each part is preceded by its length, so that no two are confused."""
    parts = (_PURPOSE, workspace.encode(), task_id.bytes, str(epoch).encode())
    return b"".join(len(part).to_bytes(4) + part for part in parts)


def refusal_body(refusal: Refusal) -> bytes:
    """The body of a refusal."""
    return json.dumps({"error": refusal.value}).encode()


def refusal_in(body: bytes) -> Refusal:
    """The refusal in a reply; `malformed` when it cannot be read."""
    try:
        return Refusal(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Refusal.MALFORMED
