"""What the API is told from outside, besides what every process is told."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from locktender.api.templates.platforms import PlatformSettings
from locktender.contracts.deployments.policy import Deadlines
from locktender.integrations.kube.limits import ManifestLimits
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
    custody_bytes: int = Field(default=128 * 1024 * 1024, gt=0)
    database_pool: int = Field(default=8, gt=0)
