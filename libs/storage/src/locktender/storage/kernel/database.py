"""One pool of held asyncpg connections; every statement of the product runs through here."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from locktender.contracts.kernel.errors import Unavailable
from locktender.storage.kernel.statement import Statement

T = TypeVar("T")

_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # The server's last words came in between two statements, and the next one was asked for before the line closed.
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    ConnectionError,
    TimeoutError,
    OSError,
)
_AGAIN = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.LockNotAvailableError)
_REFUSED = (asyncpg.QueryCanceledError, asyncpg.InsufficientResourcesError, asyncpg.ReadOnlySQLTransactionError)
_TRIES = 3

Row = asyncpg.Record


class OutcomeUnknown(Unavailable):
    """The connection was lost while a statement ran: it may have been committed. Read the row; never repeat blindly."""


class Transaction:
    """Statements that are committed together. Gone when the function that was given it returns."""

    def __init__(self, connection: "PoolConnectionProxy[asyncpg.Record]", deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline

    async def fetch(self, statement: Statement, **values: object) -> list[Row]:
        """Run one statement and return its rows."""
        return await self._connection.fetch(statement.sql, *statement.arguments(values), timeout=self._deadline)

    async def fetch_one(self, statement: Statement, **values: object) -> Row | None:
        """The first row, if any."""
        rows = await self.fetch(statement, **values)
        return rows[0] if rows else None


class Database:
    """A pool whose statements are shielded from the caller's cancellation, each with a deadline.

    A statement that has begun is always waited for, so a cancelled caller can neither leak a connection nor
    leave a transaction open. Deadlocks, serialization failures and lock timeouts are tried again, three times in all.
    """

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", group: asyncio.TaskGroup, deadline: float) -> None:
        self._pool = pool
        self._group = group
        self._deadline = deadline

    async def fetch(self, statement: Statement, **values: object) -> list[Row]:
        """Run one statement in a transaction of its own and return its rows.

        Raises:
            Unavailable: the database did not answer before anything was sent, is too busy, or took too long; nothing
                changed.
            OutcomeUnknown: the connection was lost, or the deadline passed, while the statement ran.
            asyncpg.PostgresError: whatever else the server refused.
        """
        return await self.shielded(self._fetch(statement, statement.arguments(values)))

    async def fetch_one(self, statement: Statement, **values: object) -> Row | None:
        """The first row, if any."""
        rows = await self.fetch(statement, **values)
        return rows[0] if rows else None

    async def transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run `work` in one transaction: committed when it returns, undone when it raises.

        `work` does nothing but statements, as it is run again after a deadlock or a lost race for a lock.

        Raises:
            Unavailable: as `fetch`; nothing changed.
            OutcomeUnknown: the connection was lost while the transaction ended.
            Exception: whatever `work` raises.
        """
        return await self.shielded(self._transact(work))

    async def shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work` in a task that outlives the caller's cancellation."""
        return (await asyncio.shield(self._group.create_task(_outcome(work)))).get()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the background of this database; it ends before the database closes. It must not raise."""
        self._group.create_task(work)

    async def _acquire(self) -> "PoolConnectionProxy[asyncpg.Record]":
        try:
            return await self._pool.acquire(timeout=self._deadline)
        except _LOST as error:
            raise Unavailable(f"the database did not answer: {type(error).__name__}") from error

    async def _transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        for attempt in range(_TRIES):
            connection = await self._acquire()
            try:
                async with connection.transaction():
                    return await work(Transaction(connection, self._deadline))
            except _AGAIN as error:
                if attempt == _TRIES - 1:
                    raise Unavailable("the database is too busy for a transaction") from error
            except _REFUSED as error:
                raise Unavailable(f"the database refuses a transaction: {type(error).__name__}") from error
            except asyncpg.CheckViolationError as error:
                if error.table_name != "outbox_default" or attempt == _TRIES - 1:
                    raise
            except _LOST as error:
                raise OutcomeUnknown("the database went away during a transaction") from error
            finally:
                await self._release(connection)
        raise AssertionError("unreachable: the last try returns or raises")

    async def _fetch(self, statement: Statement, arguments: list[object]) -> list[Row]:
        for attempt in range(_TRIES):
            connection = await self._acquire()
            try:
                return await connection.fetch(statement.sql, *arguments, timeout=self._deadline)
            except _AGAIN as error:
                if attempt == _TRIES - 1:
                    raise Unavailable(f"the database is too busy for {statement.name}") from error
            except _REFUSED as error:
                raise Unavailable(f"the database refuses {statement.name}: {type(error).__name__}") from error
            except asyncpg.CheckViolationError as error:
                # Today's partition was attached while the row was on its way to the default one; it was not stored.
                if error.table_name != "outbox_default" or attempt == _TRIES - 1:
                    raise
            except _LOST as error:
                raise OutcomeUnknown(f"the database went away during {statement.name}") from error
            finally:
                await self._release(connection)
        raise AssertionError("unreachable: the last try returns or raises")

    async def _release(self, connection: "PoolConnectionProxy[asyncpg.Record]") -> None:
        # Over a dead line even this fails. The pool has dropped the connection by then, and why the statement failed
        # is what the caller has to know.
        with suppress(*_LOST):
            await self._pool.release(connection)


class _Outcome:
    """A result or an error that must not bring the task group down."""

    def __init__(self, value: object, error: BaseException | None) -> None:
        self._value = value
        self._error = error

    def get(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


async def _outcome(work: Coroutine[Any, Any, object]) -> _Outcome:
    try:
        return _Outcome(await work, None)
    except Exception as error:  # noqa: BLE001 - carried to the awaiting caller, who decides
        return _Outcome(None, error)


async def _keep_session(_: object) -> None:
    """Replaces asyncpg's reset: our sessions hold no state, and the reset costs a round trip a checkout."""


@asynccontextmanager
async def open_database(
    dsn: str,
    *,
    name: str,
    size: int = 4,
    deadline: float = 10.0,
    connect_deadline: float = 10.0,
    durable: bool = True,
) -> AsyncGenerator[Database]:
    """A database for the life of a process.

    Without `durable`, a statement is answered before it is on disk, so a crash of the server may undo the last
    moments of this process. That is right only for writes whose loss repeats work that may be repeated.

    Raises:
        Unavailable: the server cannot be reached or refuses the login.
    """
    settings = {
        "application_name": name,
        "statement_timeout": str(int(deadline * 1000)),
        "lock_timeout": str(int(deadline * 500)),
        "idle_in_transaction_session_timeout": "15000",
        "jit": "off",
        # Our statements are written for it, and planning one anew takes longer than running it.
        "plan_cache_mode": "force_generic_plan",
        "synchronous_commit": "on" if durable else "off",
    }
    try:
        async with asyncio.timeout(connect_deadline):
            pool = await asyncpg.create_pool(
                _plain(dsn), min_size=1, max_size=size, reset=_keep_session, server_settings=settings,
                max_inactive_connection_lifetime=0,
            )  # fmt: skip
    except (*_LOST, asyncpg.PostgresError) as error:
        raise Unavailable(f"cannot connect to the database: {type(error).__name__}") from error
    try:
        async with asyncio.TaskGroup() as group:
            yield Database(pool, group, deadline)
    finally:
        try:
            async with asyncio.timeout(deadline):
                await pool.close()
        except TimeoutError:
            pool.terminate()


def _plain(dsn: str) -> str:
    """Asyncpg does not know SQLAlchemy's `+asyncpg` suffix."""
    return dsn.replace("postgresql+asyncpg://", "postgresql://", 1)
