"""What an engine is told besides its arguments: our state backend, the variables, and an environment of its own.

Credentials are in the environment alone. The backend override holds no address and no password, so that what the
engine writes down of its backend holds none either.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import SecretStr

from locktender.contracts.stacks.wire import RunContext, RunSecrets
from locktender.integrations.tofu.engine import EngineSettings
from locktender.integrations.tofu.failures import BackendBypassed, UnsafeVariable
from locktender.integrations.tofu.workplace import Workplace

OVERRIDE = "locktender_backend_override.tf.json"
_SHADOWS = ("locktender_backend_override.tofu.json", "locktender_backend_override.tofu", OVERRIDE)
"""OpenTofu prefers the first two to ours, so a configuration could hide ours behind them."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST_VALUE = 100_000
"""Characters: the kernel refuses to start a process with a variable of 128 KiB."""
_OURS = re.compile(r"TF_(HTTP_.*|CLI_.*|DATA_DIR|WORKSPACE|INPUT|IN_AUTOMATION|PLUGIN_CACHE_DIR)|LOCKTENDER_.*")
_STRICT_ENVIRONMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class StateAccess:
    """Who a run is to the state backend."""

    user: str
    password: SecretStr


def override_backend(directory: Path) -> None:
    """Make the configuration in `directory` keep its state in our backend, wherever it meant to.

    Call `check_backend` after `init`: another override file of the configuration may have had the last word.
    """
    for name in _SHADOWS:
        # What is there may be a link to somewhere else, which must not be written through.
        with suppress(FileNotFoundError):
            (directory / name).unlink()
    with (directory / OVERRIDE).open("x") as file:
        json.dump({"terraform": {"backend": {"http": {}}}}, file)


def check_backend(data: Path) -> None:
    """See what the engine made of it, as `init` wrote it down in its data directory.

    Raises:
        BackendBypassed: the state is kept elsewhere, or the configuration sets something of the backend itself.
    """
    try:
        written = cast("object", json.loads((data / "terraform.tfstate").read_bytes()))
    except (OSError, ValueError) as fault:
        raise BackendBypassed from fault
    match written:
        case {"backend": {"type": "http", "config": dict()}}:
            settings = cast("dict[str, dict[str, dict[str, object]]]", written)["backend"]["config"]
            if any(value is not None for value in settings.values()):
                raise BackendBypassed
        case _:
            raise BackendBypassed


def environment_of(
    context: RunContext, secrets: RunSecrets, access: StateAccess, settings: EngineSettings, place: Workplace
) -> dict[str, str]:
    """All of the environment of a run's commands. Nothing of this process is inherited.

    The stack's own values win over the base, and lose to what keeps a run in its place: backend, data directory,
    automation. The values of input variables are HCL or JSON for every type but string, as the engine reads them.
    Identity tokens that belong into files are named by their paths; `write_tokens` puts the files there.

    Raises:
        UnsafeVariable: a name or a value that no process can be given, or a name that is ours.
    """
    files = {name: str(place.tokens / name) for name in secrets.token_files}
    own = _checked({**context.environment, **_revealed(secrets.environment), **_revealed(secrets.tokens), **files})
    inputs = {**context.variables, **_revealed(secrets.variables)}
    return {
        **_base(settings, place),
        **own,
        **_inputs(inputs),
        **_contained(settings, place),
        **_backend(context, access),
    }


def base_environment(settings: EngineSettings, place: Workplace) -> dict[str, str]:
    """The environment of a command that needs nothing of a stack."""
    return {**_base(settings, place), **_contained(settings, place)}


def write_tokens(secrets: RunSecrets, place: Workplace) -> None:
    """Put the identity tokens that belong into files there, readable by the user of the runner alone.

    Only for names that `environment_of` has accepted: they are names of files here.
    """
    for name, token in secrets.token_files.items():
        handle = os.open(place.tokens / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(token.get_secret_value())


def _base(settings: EngineSettings, place: Workplace) -> dict[str, str]:
    return {
        "PATH": settings.search_path,
        "HOME": str(place.home),
        "TMPDIR": str(place.temporary),
        "LANG": "C.UTF-8",
        **settings.passed_on,
    }


def _contained(settings: EngineSettings, place: Workplace) -> dict[str, str]:
    cache = {"TF_PLUGIN_CACHE_DIR": str(settings.plugin_cache)} if settings.plugin_cache else {}
    return {
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        # Not in the checkout: what was checked out may bring a data directory of somebody else along.
        "TF_DATA_DIR": str(place.data),
        # Without it the engine would look for one in the home, and complain about what it finds missing.
        "TF_CLI_CONFIG_FILE": str(settings.cli_config or place.empty_config),
        **cache,
    }


def _backend(context: RunContext, access: StateAccess) -> dict[str, str]:
    return {
        "TF_HTTP_ADDRESS": context.backend.address,
        "TF_HTTP_LOCK_ADDRESS": context.backend.lock_address,
        "TF_HTTP_LOCK_METHOD": "POST",
        "TF_HTTP_UNLOCK_ADDRESS": context.backend.unlock_address,
        "TF_HTTP_UNLOCK_METHOD": "POST",
        "TF_HTTP_UPDATE_METHOD": "POST",
        "TF_HTTP_USERNAME": access.user,
        "TF_HTTP_PASSWORD": access.password.get_secret_value(),
        "TF_HTTP_RETRY_MAX": "4",
        "TF_HTTP_RETRY_WAIT_MIN": "1",
        "TF_HTTP_RETRY_WAIT_MAX": "5",
    }


def _revealed(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in secrets.items()}


def _inputs(variables: Mapping[str, str]) -> dict[str, str]:
    for name, value in variables.items():
        if not _NAME.fullmatch(name):
            raise UnsafeVariable(name, "has a name that no input variable can have; rename it")
        _check_value(name, value)
    return {f"TF_VAR_{name}": value for name, value in variables.items()}


def _checked(environment: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in environment.items():
        if not _STRICT_ENVIRONMENT.fullmatch(name):
            raise UnsafeVariable(name, "has a name that no environment variable can have; rename it")
        if _OURS.fullmatch(name):
            raise UnsafeVariable(name, "is set by Locktender for every run; remove it from the stack")
        _check_value(name, value)
    return environment


def _check_value(name: str, value: str) -> None:
    if "\0" in value:
        raise UnsafeVariable(name, "holds a null character, which no process can be given")
    if len(value.encode(errors="replace")) > _LONGEST_VALUE:
        raise UnsafeVariable(name, f"is longer than {_LONGEST_VALUE} bytes; put it into a file of the repository")
