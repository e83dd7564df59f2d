"""`idle`: what a whole system, cluster included, asks of PostgreSQL while nothing happens."""

import asyncio
import time

from tests.bench import cpu
from tests.bench.databases import connected
from tests.bench.report import Figure, note, rounded, scaled
from tests.bench.rig import rig

_SETTLE_SECONDS = 8.0
_SECONDS = 20.0
_COUNTED = """
select sum(calls)::bigint from pg_stat_statements as s join pg_database as d on d.oid = s.dbid
where d.datname = 'locktender'
"""
_TRANSACTIONS = "select xact_commit + xact_rollback from pg_stat_database where datname = 'locktender'"
_TOP = """
select r.rolname || ': ' || left(regexp_replace(s.query, '\\s+', ' ', 'g'), 90) as what, sum(s.calls)::bigint as calls
from pg_stat_statements as s join pg_database as d on d.oid = s.dbid join pg_roles as r on r.oid = s.userid
where d.datname = 'locktender' group by 1 order by 2 desc limit 8
"""


async def measure() -> Figure:
    """Statements are counted by the server itself; the questions about that go to another database."""
    async with (
        rig(statements=True) as servers,
        servers.system(cluster=True) as system,
        connected(servers.postgres.dsn(database="postgres")) as counter,
    ):
        await counter.execute("create extension pg_stat_statements")
        note("waiting for quiet")
        await asyncio.sleep(scaled(_SETTLE_SECONDS))
        before, began = cpu.usage(system.pids()), time.monotonic()
        transactions = await counter.fetchval(_TRANSACTIONS)
        await counter.execute("select pg_stat_statements_reset()")
        await asyncio.sleep(scaled(_SECONDS))
        calls = await counter.fetchval(_COUNTED)
        taken = time.monotonic() - began
        transactions = await counter.fetchval(_TRANSACTIONS) - transactions
        busy = cpu.shares(before, cpu.usage(system.pids()), taken)
        top = {row["what"]: rounded(row["calls"] / taken) for row in await counter.fetch(_TOP)}
    return Figure(
        "idle", float(calls or 0) / taken, "queries/s",
        rest={
            "transactions_per_second": rounded(transactions / taken),
            "details": {"cores_busy": busy, "per_second": top},
        },
    )  # fmt: skip
