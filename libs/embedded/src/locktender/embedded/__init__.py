"""The local mode behind `locktender up`: supervisors for PostgreSQL, NATS and the services."""

from locktender.embedded.errors import EmbeddedError
from locktender.embedded.nats import NatsAddress, NatsSettings, NatsSupervisor
from locktender.embedded.postgres import PostgresAddress, PostgresSettings, PostgresSupervisor
from locktender.embedded.services import Restart, ServiceProcess, ServiceSpec

__all__ = [
    "EmbeddedError",
    "NatsAddress",
    "NatsSettings",
    "NatsSupervisor",
    "PostgresAddress",
    "PostgresSettings",
    "PostgresSupervisor",
    "Restart",
    "ServiceProcess",
    "ServiceSpec",
]
