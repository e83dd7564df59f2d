"""What a cluster's platform is called by templates: settings by server, and the target of one deployment."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_NAMESPACE, _ACCOUNT = "SEALOS_NAMESPACE", "SEALOS_SERVICE_ACCOUNT"

Variable = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,62}$")]
Text = Annotated[str, Field(max_length=1024)]


class PlatformSettings(BaseModel):
    """Platform variables of templates, such as `SEALOS_CLOUD_DOMAIN`. They are stored with each task: no secrets.

    Attributes:
        variables: for every cluster.
        servers: for one cluster, by the address of its API server; they go before the ones for every cluster.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    variables: dict[Variable, Text] = Field(default_factory=dict)
    servers: dict[str, dict[Variable, Text]] = Field(default_factory=dict)

    def of(self, server: str | None, namespace: str | None) -> Mapping[str, str]:
        """The variables of a deployment into `namespace` of the cluster at `server`.

        Its namespace always is the target's; its service account is `default` unless a setting names another.
        """
        own = {address.rstrip("/"): values for address, values in self.servers.items()}.get((server or "").rstrip("/"))
        found = {_ACCOUNT: "default"} | self.variables | (own or {})
        return MappingProxyType(found | {_NAMESPACE: namespace or "default"})
