"""Least privilege as data: what each service may do in the database. It becomes SQL here and nowhere else."""

import hashlib
import hmac
import os
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import asyncpg

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.permissions import IDENTITIES, Identity
from locktender.storage.kernel.clock import SCHEMA
from locktender.storage.stacks.lane import LATEST_FIELDS
from locktender.storage.stacks.tables import stack

_DEADLINE = 30.0
_LOCK = 0x10C8
_ROUNDS = 4096

_READ, _ADD, _CHANGE, _REMOVE = "select", "insert", "update", "delete"
_TASK, _EVENT, _JOB, _OUTBOX, _SHARD = "deployment_task", "deployment_event", "cleanup_job", "outbox", "service_shard"
_PLAN = "deployment_plan"
_STACK, _STACK_TASK, _STAGE, _RUN = "stack", "stack_deployment", "stack_stage", "stack_run"
_ACTIVITY, _STACK_EVENT, _VARIABLE = "stack_activity", "stack_event", "stack_variable"
_STATE, _GROUP, _REMOTE = "stack_state", "stack_runner_group", "stack_runner"
_MARK = "update (published_at, attempts, next_attempt_at, last_error)"

_TELL: Mapping[str, tuple[str, ...]] = {_EVENT: (_READ, _ADD), _OUTBOX: (_ADD,)}
"""Every guarded write records its event and fills the outbox. Neither can be changed afterwards."""

_LANE: Mapping[str, tuple[str, ...]] = {
    _STACK: (_READ, _CHANGE),
    _STACK_TASK: (_READ, _CHANGE),
    _STAGE: (_READ, _ADD, _CHANGE),
    _RUN: (_READ, _ADD, _CHANGE),
    _STACK_EVENT: (_READ, _ADD),
    _ACTIVITY: (_READ, _ADD),
}
"""Whoever ends a run moves its deployment, makes what comes next, and gives the lane on."""

_TAKEN = (
    "status", "assigned_runner_id", "assigned_expires_at", "remote", "lease_owner", "lease_epoch", "lease_claimed_at",
    "lease_expires_at", "lease_seconds", "token_hash", "started_at", "completed_at", "updated_at",
)  # fmt: skip
_TAKING: Mapping[str, tuple[str, ...]] = {
    # The lock of a stack needs the right to change it: the summary of its newest deployment is what may be changed.
    _STACK: (_READ, f"update ({', '.join(LATEST_FIELDS)})"),
    _STACK_TASK: (_READ, "update (status, started_at, completed_at, revision, updated_at, waiting_since)"),
    _RUN: (_READ, f"update ({', '.join(_TAKEN)})"),
    _STACK_EVENT: (_READ, _ADD),
}
"""Taking runs over and keeping them. How a run ends is said over HTTP, with the token that the take-over made."""

_LEFT = ("plan_removed_at", "artifacts_removed_at")
_LEFT_BY = ("id", "workspace", "stack_id", "deployment_id", "mode", "status", "analysed", "created_at", "completed_at")
_RETAINING: Mapping[str, tuple[str, ...]] = {
    _STACK: ("select (id, source, state_version_id, deleted_at)",),
    _STACK_TASK: ("select (id, stack_id, mode, origin, status, commit_sha, completed_at)",),
    _RUN: (f"select ({', '.join((*_LEFT_BY, *_LEFT))})", f"update ({', '.join(_LEFT)})"),
    _STATE: ("select (id, stack_id, object_key, created_at)", _REMOVE),
    _SHARD: (_READ, _ADD, _CHANGE),
}
"""Seeing what of the object store is needed, noting what was removed there, and forgetting old versions of states."""

_SHOWN: Mapping[str, tuple[str, ...]] = {
    _STACK: (f"select ({', '.join(column.name for column in stack.c if column.name != 'git_token')})",),
    **dict.fromkeys((_STACK_TASK, _STAGE, _RUN, _STACK_EVENT, _ACTIVITY, _STATE, _GROUP, _REMOTE), (_READ,)),
}
"""What operators may look at. Not the tokens of repositories, and no variables."""


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """What one service may do. What is not named is refused.

    Attributes:
        tables: privileges by table.
        functions: functions it may call, with their argument types, besides the clock and the ids.
        statement_seconds: how long a statement may take where the session asks for nothing else.
        connections: how many it may hold, all replicas together.
    """

    tables: Mapping[str, tuple[str, ...]]
    functions: tuple[str, ...] = ()
    statement_seconds: int = 30
    connections: int = 100


ROLES: Mapping[Identity, RoleSpec] = MappingProxyType(
    {
        # Creates tasks, cancels them, answers questions. Deletes nothing.
        "api": RoleSpec(
            {
                _TASK: (_READ, _ADD, _CHANGE),
                _PLAN: (_READ,),
                **_TELL,
                **_LANE,
                _STACK: (_READ, _ADD, _CHANGE),
                _STACK_TASK: (_READ, _ADD, _CHANGE),
                _VARIABLE: (_READ, _ADD, _CHANGE, _REMOVE),
                _STATE: (_READ, _ADD),
                _GROUP: (_READ, _ADD, _CHANGE, _REMOVE),
                _REMOTE: (_READ, _ADD, _CHANGE, _REMOVE),
            }
        ),
        # Reads what has to be told and marks it, under its shards. Knows nothing of tasks.
        "outbox": RoleSpec(
            {_OUTBOX: (_READ, _MARK), _SHARD: (_READ, _ADD, _CHANGE)},
            functions=("outbox_prepare(integer)", "outbox_retire(interval)"),
        ),
        # Moves tasks that are there; makes none, deletes none.
        "runner": RoleSpec({_TASK: (_READ, _CHANGE), _PLAN: (_READ, _ADD, _CHANGE), **_TELL, **_TAKING}),
        # Ends what nobody ends, frees what nobody holds, makes cleanup jobs and forgets them long after they are done.
        "reaper": RoleSpec(
            {
                _TASK: (_READ, _CHANGE),
                _JOB: (_READ, _ADD, _CHANGE, _REMOVE),
                **_TELL,
                **_LANE,
                _REMOTE: (_READ, _CHANGE, _REMOVE),
            }
        ),
        # The only one that deletes tasks, versions of states, and what is in the object store.
        "cleanup": RoleSpec(
            {_TASK: (_READ, _REMOVE), _JOB: (_READ, _CHANGE), _EVENT: (_READ,), _OUTBOX: (_ADD,), **_RETAINING}
        ),
        # Looks at everything, changes nothing.
        "ops": RoleSpec(
            dict.fromkeys((_TASK, _EVENT, _PLAN, _JOB, _OUTBOX, _SHARD), (_READ,)) | _SHOWN,
            statement_seconds=60,
            connections=10,
        ),
    }
)


def role_name(identity: Identity) -> str:
    """The name of the database role of a service."""
    return f"locktender_{identity}"


def roles_sql() -> str:
    """The statements that make the roles what `ROLES` says. They hold no password, and can be run again and again."""
    parts = [
        "-- Generated from locktender.storage.roles by tools/generate.py. Run by the owner of the schema, who may",
        "-- create roles. Set the passwords yourself: ALTER ROLE locktender_api PASSWORD '…'.",
        "begin;",
        f"select pg_advisory_xact_lock({_LOCK});",
        f"revoke all on schema {SCHEMA} from public;",
        f"revoke all on all functions in schema {SCHEMA} from public;",
        *(part for identity in IDENTITIES for part in _role(identity, ROLES[identity])),
        "commit;",
    ]
    return "\n".join(parts) + "\n"


async def apply_roles(dsn: str, passwords: Mapping[str, str]) -> None:
    """Make the roles what `ROLES` says, and set the password of each identity that `passwords` names.

    `dsn` is of a role that owns the schema and may create roles. Running it again changes nothing. No password
    reaches the server or its log: what is sent is the verifier that the server keeps.

    Raises:
        Unavailable: the database cannot be reached or refused the login.
        ValueError: `passwords` names somebody unknown, or one holds what is not printable ASCII.
    """
    if unknown := set(passwords) - set(IDENTITIES):
        raise ValueError(f"there are no services called {sorted(unknown)}")
    passwords_sql = [f"alter role locktender_{who} password '{_verifier(word)}'" for who, word in passwords.items()]
    try:
        connection = await asyncpg.connect(dsn, timeout=_DEADLINE, command_timeout=_DEADLINE)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        raise Unavailable(f"cannot connect to the database: {type(error).__name__}") from error
    try:
        await connection.execute(roles_sql())
        for statement in passwords_sql:
            await connection.execute(statement)
    finally:
        await connection.close(timeout=_DEADLINE)


def _role(identity: Identity, spec: RoleSpec) -> Iterable[str]:
    name = role_name(identity)
    yield f"\n-- {identity}"
    yield f"do $$ begin create role {name} login;"
    yield "exception when duplicate_object or unique_violation then null; end $$;"
    yield f"alter role {name} login noinherit connection limit {spec.connections};"
    yield f"alter role {name} set search_path = pg_catalog;"
    yield f"alter role {name} set statement_timeout = '{spec.statement_seconds}s';"
    yield f"alter role {name} set lock_timeout = '10s';"
    yield f"alter role {name} set idle_in_transaction_session_timeout = '15s';"
    yield f"revoke all on all tables in schema {SCHEMA} from {name};"
    yield f"revoke all on all sequences in schema {SCHEMA} from {name};"
    yield f"revoke all on all functions in schema {SCHEMA} from {name};"
    yield f"grant usage on schema {SCHEMA} to {name};"
    for function in ("now()", "new_event_id()", *spec.functions):
        yield f"grant execute on function {SCHEMA}.{function} to {name};"
    for table, privileges in spec.tables.items():
        yield f"grant {', '.join(privileges)} on {SCHEMA}.{table} to {name};"
    if _ADD in spec.tables.get(_OUTBOX, ()):
        yield f"grant usage on sequence {SCHEMA}.outbox_seq to {name};"


def _verifier(password: str) -> str:
    """What PostgreSQL keeps of a password (RFC 5802, 7677), so that the password itself never travels."""
    if not password or not password.isascii() or not password.isprintable():
        raise ValueError("a password consists of printable ASCII characters")
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    parts = (salt, hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256"))
    salt_text, stored, server = (b64encode(part).decode() for part in parts)
    return f"SCRAM-SHA-256${_ROUNDS}:{salt_text}${stored}:{server}"
