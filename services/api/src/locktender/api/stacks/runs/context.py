"""The use case of `GET …/context`: everything that a runner needs besides its token."""

import asyncio
import base64
import binascii
import json
from typing import Any, cast
from uuid import UUID

from locktender.api.stacks.identity.issuer import IdentityIssuer, RunIdentity
from locktender.api.stacks.runs.gate import HeldRun
from locktender.api.stacks.runs.variables import OpenVariable, open_variables, script_place, variables_digest
from locktender.contracts.kernel.errors import Finding, NotFound, Pointer, Rejected
from locktender.contracts.kernel.ids import Workspace
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import EngineChoice, RunMode
from locktender.contracts.stacks.wire import (
    ArchiveCheckout,
    Binding,
    Checkout,
    GitCheckout,
    Narrowing,
    RunContext,
    StateBackend,
)
from locktender.integrations.objects.cipher import Cipher
from locktender.runtime.runs.keys import seal_secrets
from locktender.storage.kernel.database import Database, Row
from locktender.storage.stacks.run_context import context_of, variables_of

_KEY_BYTES = 32
_LONGEST_KEY = 64
_SIGNED = {"token": "tokens", "token-file": "tokenFiles"}
"""Where RunSecrets has the tokens of each kind of variable."""


class RunContexts:
    """Builds contexts. What is secret is sealed to the runner's key, bound to workspace, run and epoch."""

    def __init__(
        self,
        *,
        database: Database,
        cipher: Cipher,
        digest_key: bytes,
        public_url: str | None,
        deadlines: StackDeadlines,
        identity: IdentityIssuer | None,
    ) -> None:
        self._database = database
        self._cipher = cipher
        self._digest_key = digest_key
        self._public_url = None if public_url is None else public_url.rstrip("/")
        self._deadlines = deadlines
        self._identity = identity

    async def __call__(self, run: HeldRun, key: str | None, reached_at: str) -> RunContext:
        """The context of a run, for the holder of the private half of `key` (X25519, base64url).

        Its state is found where the runner reached us (`reached_at`), unless the settings name an address.

        Raises:
            Rejected: the key is none, or the stack wants identity tokens and nothing signs them here.
            NotFound: the run is gone.
            ObjectUnreadable: a secret was sealed with a key that is not here.
        """
        public = _public_key(key)
        row = await context_of(self._database, run.id)
        if row is None:
            raise NotFound("run", run.id)
        stack_id, workspace = run.claim.stack_id, Workspace(run.row["workspace"])
        values = open_variables(self._cipher, stack_id, await variables_of(self._database, stack_id))
        # Signing takes milliseconds of a processor for each.
        tokens = await asyncio.to_thread(self._tokens, run, row, [each for each in values if each.kind in _SIGNED])
        secrets = self._secrets(run, row, values, tokens)
        return RunContext(
            run_id=run.id,
            epoch=run.claim.epoch,
            workspace=workspace,
            stack_id=stack_id,
            stack_name=row["stack_name"],
            deployment_id=run.row["deployment_id"],
            deployment_number=row["number"],
            mode=run.mode,
            engine=EngineChoice(row["engine"]),
            checkout=checkout_of(row),
            backend=self._backend(stack_id, reached_at),
            narrowing=_narrowing(run.row),
            binding=Binding.model_validate_json(row["planned"]) if run.mode is RunMode.APPLY else None,
            variables=_plain(values, "variable"),
            environment=_plain(values, "environment"),
            variables_digest=variables_digest(self._digest_key, values),
            deadline_seconds=self._deadlines.run_deadline,
            grace_seconds=self._deadlines.run_grace,
            sealed=_sealed(secrets, public, run),
        )

    def _tokens(self, run: HeldRun, row: Row, wanted: list[OpenVariable]) -> dict[str, dict[str, str]]:
        """The identity tokens of a run, by the members of RunSecrets."""
        if not wanted:
            return {}
        if self._identity is None:
            names = ", ".join(each.name for each in wanted)
            message = f"nothing signs the identity tokens that the stack wants ({names}): give the API "
            message += "LOCKTENDER_IDENTITY__KEYS and LOCKTENDER_PUBLIC_URL, or unset these variables"
            raise Rejected([Finding(Pointer(""), message, "no-identity-keys")])
        signed = self._identity.tokens(
            _identity_of(run, row), [each.value for each in wanted], seconds=self._deadlines.run_ttl
        )
        held: dict[str, dict[str, str]] = {member: {} for member in _SIGNED.values()}
        for variable, token in zip(wanted, signed, strict=True):
            held[_SIGNED[variable.kind]][variable.name] = token
        return held

    def _secrets(self, run: HeldRun, row: Row, values: list[OpenVariable], tokens: dict[str, dict[str, str]]) -> bytes:
        """RunSecrets as JSON. The model itself would mask them."""
        held: dict[str, Any] = {
            **tokens,
            "variables": {each.name: each.value for each in values if each.sensitive and each.kind == "variable"},
            "environment": {each.name: each.value for each in values if each.sensitive and each.kind == "environment"},
        }
        if row["git_token"] is not None:
            held["gitToken"] = self._cipher.open(f"git-token/{run.claim.stack_id}", row["git_token"]).decode()
        if row["raw_script"] is not None:
            held["script"] = self._cipher.open(script_place(run.row["deployment_id"]), row["raw_script"]).decode()
        return json.dumps(held).encode()

    def _backend(self, stack_id: UUID, reached_at: str) -> StateBackend:
        address = f"{self._public_url or reached_at.rstrip('/')}/v1/stacks/{stack_id}/state"
        return StateBackend(address=address, lock_address=f"{address}/lock", unlock_address=f"{address}/unlock")


def _identity_of(run: HeldRun, row: Row) -> RunIdentity:
    return RunIdentity(
        workspace=Workspace(run.row["workspace"]),
        project=row["project"],
        stack=row["stack_name"],
        stack_id=run.claim.stack_id,
        deployment_number=row["number"],
        deployment_id=run.row["deployment_id"],
        run_id=run.id,
        mode=run.mode,
        epoch=run.claim.epoch,
    )


def _public_key(text: str | None) -> str:
    """The X25519 key in a parameter, as base64url with its padding.

    Raises:
        Rejected: it is none.
    """
    raw = b""
    if text is not None and len(text) <= _LONGEST_KEY:
        try:
            raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
    if len(raw) != _KEY_BYTES:
        raise _bad_key()
    return base64.urlsafe_b64encode(raw).decode()


def checkout_of(row: Row) -> Checkout:
    """What a deployment is of: the commit that was pinned when it was made, or the archive that was uploaded."""
    source = cast("dict[str, Any]", json.loads(row["source"]))
    path = source.get("path") or "."
    if source["kind"] == "archive":
        return ArchiveCheckout(sha256=source["sha256"], path=path)
    return GitCheckout(url=source["url"], commit=row["commit_sha"], ref=source.get("ref"), path=path)


def _sealed(secrets: bytes, public: str, run: HeldRun) -> str:
    try:
        return seal_secrets(secrets, public, workspace=run.row["workspace"], run_id=run.id, epoch=run.claim.epoch)
    except ValueError:
        # A key of the right length that no secret can be agreed with.
        raise _bad_key() from None


def _bad_key() -> Rejected:
    message = "the parameter `key` has to be a raw X25519 public key as base64url"
    return Rejected([Finding(Pointer(""), message, "invalid-key")])


def _narrowing(row: Row) -> Narrowing:
    return Narrowing(
        targets=tuple(json.loads(row["targets"])),
        excludes=tuple(json.loads(row["excludes"])),
        replaces=tuple(json.loads(row["replaces"])),
    )


def _plain(values: list[OpenVariable], kind: str) -> dict[str, str]:
    return {each.name: each.value for each in values if not each.sensitive and each.kind == kind}
