"""Which processes a local system has, and what each is told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from locktender.cli.local.folder import LocalFolder
from locktender.contracts.kernel.permissions import Identity
from locktender.embedded.nats import NatsAddress
from locktender.embedded.postgres import PostgresAddress
from locktender.embedded.services import ServiceSpec
from locktender.embedded.shipped import CATALOGUE
from locktender.integrations.sources.reach import THIS_MACHINE
from locktender.storage.roles import role_name

PLATFORM = {
    "SEALOS_CLOUD_DOMAIN": "127.0.0.1.nip.io",
    "SEALOS_CLOUD_PORT": "443",
    "SEALOS_CERT_SECRET_NAME": "wildcard-cert",
}
"""What templates are told of the sandbox cluster."""

GIT_SCHEMES = ("https", "ssh", "file")
"""Repositories of this machine may be named as well: whoever runs the system owns them."""

GIT_HOSTS = ("*", *sorted(THIS_MACHINE))
"""The same goes for servers on this machine."""

SERVICES: tuple[Identity, ...] = ("api", "outbox", "runner", "reaper", "cleanup")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What a caller may change about a local system.

    Attributes:
        environment: settings for every service, by their `LOCKTENDER_…` names.
        modules: another module to run for a service; crash tests put one with fault points here.
        cluster: further arguments of the sandbox cluster.
        healthy_seconds: a run of a process that lasted this long is no reason to wait longer before the next one.
    """

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    cluster: tuple[str, ...] = ()
    healthy_seconds: float = 30.0


def service_spec(
    name: Identity,
    folder: LocalFolder,
    postgres: PostgresAddress,
    nats: NatsAddress,
    ports: Mapping[str, int],
    options: LocalOptions,
) -> ServiceSpec:
    """One service, under its own database role and its own NATS identity."""
    environment = {
        "LOCKTENDER_DATABASE_URL": postgres.dsn(user=role_name(name), password=folder.role_password(name)),
        "LOCKTENDER_NATS_URL": nats.url,
        "LOCKTENDER_NATS_SEED_FILE": str(nats.seeds[name]),
        "LOCKTENDER_INSTANCE": f"{name}-local",
        "LOCKTENDER_HEALTH_PORT": str(ports[name]),
    }
    secrets = folder.secrets()
    if name == "runner":
        environment |= {
            "LOCKTENDER_INSTANCE_KEY": secrets.instance_key,
            "LOCKTENDER_API_URL": f"http://127.0.0.1:{ports['http']}",
            "LOCKTENDER_STACK_GIT_SCHEMES": json.dumps(GIT_SCHEMES),
            "LOCKTENDER_STACK_GIT_HOSTS": json.dumps(GIT_HOSTS),
        }
    if name == "api":
        environment |= {
            "LOCKTENDER_HTTP_PORT": str(ports["http"]),
            "LOCKTENDER_ADMIN_TOKEN_SHA256": secrets.admin_token_sha256,
            "LOCKTENDER_CURSOR_KEY": secrets.cursor_key,
            "LOCKTENDER_CATALOGUE__FOLDER": str(CATALOGUE),
            "LOCKTENDER_PLATFORMS__VARIABLES": json.dumps(PLATFORM),
            "LOCKTENDER_OBJECTS__URL": folder.objects.as_uri(),
            "LOCKTENDER_OBJECTS__KEYS": secrets.objects_key,
            "LOCKTENDER_IDENTITY__KEYS": secrets.identity_key,
            "LOCKTENDER_PUBLIC_URL": f"http://127.0.0.1:{ports['http']}",
            "LOCKTENDER_STACK_GIT_SCHEMES": json.dumps(GIT_SCHEMES),
            "LOCKTENDER_STACK_GIT_HOSTS": json.dumps(GIT_HOSTS),
        }
    if name == "cleanup":
        environment |= {"LOCKTENDER_OBJECTS__URL": folder.objects.as_uri()}
    module, *arguments = options.modules.get(name, (f"locktender.{name}",))
    return ServiceSpec(
        name=name,
        module=module,
        arguments=tuple(arguments),
        environment=environment | dict(options.environment),
        log_dir=folder.logs,
        healthy_seconds=options.healthy_seconds,
    )


def cluster_spec(folder: LocalFolder, ready: Path, options: LocalOptions) -> ServiceSpec:
    """The sandbox cluster."""
    return ServiceSpec(
        name="cluster",
        module="locktender.embedded.cluster",
        arguments=("--state", str(folder.cluster), "--ready-file", str(ready), "--persist", *options.cluster),
        environment={},
        log_dir=folder.logs,
    )
