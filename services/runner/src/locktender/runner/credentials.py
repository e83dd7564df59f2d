"""From custody to credentials: what the API held in memory becomes what an executor works with."""

import json
from collections.abc import Mapping
from typing import Protocol, cast
from uuid import UUID

from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import Manifest
from locktender.integrations.kube.secrets import split_secrets
from locktender.runner.executors.run import Credentials
from locktender.runtime.custody_client import CredentialsLost
from locktender.storage.deployments.writes import Claimed


class NoCredentials(LocktenderError):
    """The run cannot have its credentials any more. Its text is for the owner of the task."""


class Custody(Protocol):
    """Asks the instance that holds the credentials of a task."""

    async def fetch(self, custodian: str, task_id: UUID, epoch: int, workspace: str, deadline: float) -> bytes:
        """See `CustodyClient.fetch`."""
        ...


async def fetch_credentials(custody: Custody, claimed: Claimed, seconds: float) -> Credentials:
    """What the custodian of a claimed task holds for it, asking for at most `seconds`.

    Raises:
        NoCredentials: nobody holds them, or nobody answered in time.
        Rejected: the kubeconfig cannot be used.
    """
    if claimed.custodian is None:
        raise NoCredentials("nobody holds credentials for this task; submit the deployment again")
    lease = claimed.lease
    try:
        payload = await custody.fetch(claimed.custodian, lease.row_id, lease.epoch, claimed.workspace, seconds)
    except CredentialsLost as error:
        raise NoCredentials(
            "the credentials were lost before the run could start; nothing was applied, submit the deployment again"
        ) from error
    except Unavailable as error:
        raise NoCredentials(
            "the instance that holds the credentials did not answer; nothing was applied, submit the deployment again"
        ) from error
    return _read(payload)


def secret_values(credentials: Credentials) -> list[str]:
    """The values that no text of this run may contain, as far as they are known without its source.

    Which of the inputs are secret is for the executor to say, before it does anything else with them.
    """
    manifests = [_manifest(index, body) for index, body in credentials.secrets.items()]
    _, submitted = split_secrets(manifests)
    return [*credentials.access.secrets(), *submitted]


def _read(payload: bytes) -> Credentials:
    try:
        document = as_object(json.loads(payload))
        secrets = {int(index): as_object(body) for index, body in as_object(document.get("secrets")).items()}
        inputs = {key: as_text(value) for key, value in as_object(document.get("inputs")).items()}
    except ValueError:
        # Not chained: a decoder keeps what it read.
        raise NoCredentials("the credentials of this run cannot be read; submit the deployment again") from None
    return Credentials(read_kubeconfig(as_text(document.get("kubeconfig"))), secrets, inputs)


def _manifest(index: int, body: JsonObject) -> Manifest:
    metadata = cast("Mapping[str, object]", as_object(body.get("metadata")))
    return Manifest(index, "v1", "Secret", str(metadata.get("name", "")), None, body, 0)
