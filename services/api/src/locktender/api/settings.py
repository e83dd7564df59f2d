"""What the API is told from outside, besides what every process is told."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from locktender.api.stacks.identity.settings import IdentitySettings
from locktender.api.stacks.runs.bodies import RunLimits
from locktender.api.templates.platforms import PlatformSettings
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.sources.address import SCHEMES
from locktender.integrations.sources.reach import EVERY_HOST, HostPattern
from locktender.integrations.templates.catalogue_settings import CatalogueSettings
from locktender.runtime.settings import ProcessSettings


class RequestLimits(BaseModel):
    """How much one request may bring.

    `max_body_bytes` leaves room for manifests of the largest size (`manifests.total_bytes`) as the text of a JSON body.
    `max_secret_bytes` is what custody can carry in one NATS message.
    """

    model_config = ConfigDict(frozen=True)

    max_body_bytes: int = Field(default=8 * 1024 * 1024, gt=0)
    max_secret_bytes: int = Field(default=512 * 1024, gt=0, le=900 * 1024)
    body_seconds: float = Field(default=30.0, gt=0)
    page_default: int = Field(default=100, gt=0)
    page_max: int = Field(default=200, gt=0)
    max_streams: int = Field(default=1000, gt=0)
    heartbeat_seconds: float = Field(default=10.0, gt=0)
    grace_seconds: float = Field(
        default=60.0, ge=0, le=3600, description="how long a canvas goes on to show a completed task"
    )


class PreviewLimits(BaseModel):
    """How long one preview may ask a cluster, how many do so at once, and how long another one waits for its turn."""

    model_config = ConfigDict(frozen=True)

    seconds: float = Field(default=30.0, gt=0)
    at_once: int = Field(default=8, gt=0)
    waiting_seconds: float = Field(default=10.0, gt=0)


class ObjectSettings(BaseModel):
    """Where states, plans, analyses and logs of stacks are kept, encrypted. Without it, stacks are off.

    `url`: file:///folder, s3://bucket/prefix, gs://… or az://…; `keys`: base64 of 32 bytes each, separated by commas;
    the first encrypts, all of them decrypt. All replicas have to share both.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    url: str | None = None
    keys: SecretStr | None = None

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.url is None) != (self.keys is None):
            raise ValueError("give both the url and the keys of the object store, or neither")
        return self


class ApiSettings(ProcessSettings):
    """The settings of the API.

    Attributes:
        http_host: address to listen on.
        http_port: port to listen on; 0 picks a free one.
        ready_file: where `{"url": …}` is written once requests are answered.
        admin_token_sha256: SHA-256, in hex, of the token that may do everything. Without it nobody gets in.
        cursor_key: signs list cursors and keys the digests of idempotent requests. All replicas have to share it.
            Without one, each start makes its own: cursors end with the process, and a repeated request is then
            recognised by its parts that are not secret alone.
        noop_runner: whether sources of the kind `noop` are taken.
        manifests: how much manifest text a task may have, as in `LOCKTENDER_MANIFESTS__DOCUMENTS=2000`.
        catalogue: where templates come from, as in `LOCKTENDER_CATALOGUE__FOLDER=/srv/templates`.
        platforms: what templates are told of a cluster, as JSON in `LOCKTENDER_PLATFORMS__VARIABLES` and
            `LOCKTENDER_PLATFORMS__SERVERS`.
        objects: where what belongs to stacks is kept, as in `LOCKTENDER_OBJECTS__URL` and `LOCKTENDER_OBJECTS__KEYS`.
        stacks: how long each wait of a stack's work may take, as in `LOCKTENDER_STACKS__STARTUP=3600`.
        stack_runs: how much runners may send, as in `LOCKTENDER_STACK_RUNS__STATE_BYTES`.
        public_url: where runners reach this interface, without `/v1`; they are told it as the address of their state.
            Without it they are told the address by which they reached us, which a gateway may have rewritten. It is
            the issuer of identity tokens, too.
        identity: how identity tokens of runs are signed, as in `LOCKTENDER_IDENTITY__KEYS`. Needs `public_url`.
        stack_git_schemes: kinds of addresses of repositories that stacks may name.
        stack_git_hosts: hosts that they may be on, as in `["git.example.com", "*.example.org"]`. One that is listed by
            its own name, and by no pattern, may be this machine.
        custody_bytes: memory for credentials that wait for a runner.
    """

    http_host: str = "127.0.0.1"
    http_port: int = Field(default=8080, ge=0, le=65_535)
    ready_file: Path | None = None
    admin_token_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$", repr=False)
    cursor_key: SecretStr | None = Field(default=None, min_length=16)
    noop_runner: bool = False
    deadlines: Deadlines = Deadlines()
    limits: RequestLimits = RequestLimits()
    manifests: ManifestLimits = ManifestLimits()
    preview: PreviewLimits = PreviewLimits()
    catalogue: CatalogueSettings = CatalogueSettings()
    platforms: PlatformSettings = PlatformSettings()
    objects: ObjectSettings = ObjectSettings()
    stacks: StackDeadlines = StackDeadlines()
    stack_runs: RunLimits = RunLimits()
    public_url: str | None = Field(default=None, pattern=r"^https?://[^\s/]+(/[^\s]*)?$")
    identity: IdentitySettings = IdentitySettings()
    stack_git_schemes: frozenset[str] = SCHEMES
    stack_git_hosts: frozenset[HostPattern] = EVERY_HOST
    custody_bytes: int = Field(default=128 * 1024 * 1024, gt=0)
    database_pool: int = Field(default=8, gt=0)

    @model_validator(mode="after")
    def _issuer_has_an_address(self) -> Self:
        if self.identity.keys is not None and self.public_url is None:
            raise ValueError(
                "give LOCKTENDER_PUBLIC_URL with LOCKTENDER_IDENTITY__KEYS: it is the issuer of the tokens"
            )
        return self
