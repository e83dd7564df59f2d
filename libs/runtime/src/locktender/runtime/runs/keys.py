"""The key pair of a runner's boot, to which the secrets of its runs are sealed."""

import base64
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pydantic import ValidationError

from locktender.contracts.stacks.wire import RunContext, RunSecrets
from locktender.runtime.custody_wire import SUITE, CustodyRequest, binding, seal
from locktender.runtime.runs.errors import Unsealable

_URL_SAFE = str.maketrans("-_", "+/")


class RunKey:
    """Made when a runner starts, and never stored."""

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()
        self.public = base64.urlsafe_b64encode(self._private.public_key().public_bytes_raw()).decode()
        """What the API is given: the raw public key as URL-safe base64."""

    def unseal(self, context: RunContext) -> RunSecrets:
        """The secrets of a run.

        Raises:
            Unsealable: they were sealed to another key, or for another workspace, run or epoch.
        """
        bound = binding(context.workspace, context.run_id, context.epoch)
        try:
            sealed = base64.b64decode(context.sealed.translate(_URL_SAFE), validate=True)
            return RunSecrets.model_validate_json(SUITE.decrypt(sealed, self._private, info=bound))
        except (InvalidTag, ValidationError, ValueError):
            # The cause may quote what was decrypted.
            raise Unsealable from None


def seal_secrets(secrets: bytes, key: str, *, workspace: str, run_id: UUID, epoch: int) -> str:
    """What `RunKey.unseal` opens: `secrets` is the JSON of a `RunSecrets`, `key` a public key as a runner gives it.

    Raises:
        ValueError: it is no such key.
    """
    raw = base64.urlsafe_b64decode(key)
    return base64.b64encode(seal(secrets, CustodyRequest(run_id, epoch, raw), workspace)).decode()
