"""What a process is told from outside: environment variables that begin with `LOCKTENDER_`."""

import socket
import sys
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from locktender.contracts.kernel.ids import instance_name

PREFIX = "LOCKTENDER_"
EXIT_USAGE = 2
"""Exit code of a process that cannot start with its settings."""


def _host() -> str:
    return instance_name(socket.gethostname())


class ProcessSettings(BaseSettings):
    """The settings that every service shares. A service adds its own fields in a subclass.

    Attributes:
        database_url: PostgreSQL address with credentials.
        nats_url: NATS address; may carry credentials, so it is left out of every representation.
        nats_seed_file: file with the NKey seed of this service.
        instance: name of this replica, one subject token; the host name by default.
        health_host: address of the health answers; empty for every interface.
        health_port: port of `/healthz` and `/readyz`; 0 for none.
        otlp_endpoint: OTLP over HTTP, for example `http://collector:4318`; traces are off without it.
        lease_ttl_seconds: how long a lease lives without a renewal.
        renew_seconds: how often leases are renewed; less than half of the lease.
        drain_seconds: how long a stopping process may finish what it holds.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    database_url: SecretStr
    nats_url: str = Field(repr=False)
    nats_seed_file: Path | None = None
    instance: str = Field(default_factory=_host)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    health_host: str = ""
    health_port: int = Field(default=0, ge=0, le=65_535)
    otlp_endpoint: str | None = None
    lease_ttl_seconds: float = Field(default=60.0, gt=0)
    renew_seconds: float = Field(default=20.0, gt=0)
    drain_seconds: float = Field(default=25.0, ge=0)

    @field_validator("instance", mode="after")
    @classmethod
    def _safe_instance(cls, raw: str) -> str:
        return instance_name(raw)

    @model_validator(mode="after")
    def _renew_in_time(self) -> Self:
        if self.renew_seconds >= self.lease_ttl_seconds / 2:
            raise ValueError("renew_seconds must be less than half of lease_ttl_seconds")
        return self


S = TypeVar("S", bound=BaseSettings)


def load(kind: type[S]) -> S:
    """The settings of this process, from its environment.

    Raises:
        SystemExit: with code 2, after one line per wrong setting on standard error. Values are never shown.
    """
    try:
        return kind()
    except ValidationError as error:
        lines = [_line(fault["loc"], fault["msg"]) for fault in error.errors(include_input=False, include_url=False)]
    except SettingsError as error:
        lines = [str(error)]
    for line in lines:
        sys.stderr.write(line + "\n")
    raise SystemExit(EXIT_USAGE)


def _line(place: tuple[int | str, ...], message: str) -> str:
    text = message.removeprefix("Value error, ")
    if not place:
        return f"settings: {text}"
    return f"{PREFIX}{'.'.join(str(step) for step in place).upper()}: {text}"
