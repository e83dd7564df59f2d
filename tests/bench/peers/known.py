"""The peers by a short name. Each is imported only when it is measured: one that is broken must not hurt the rest."""

import importlib
import os

from tests.bench.peers.peer import Peer

PEERS = {
    "pgqueuer": ("tests.bench.peers.with_pgqueuer", "PgQueuerPeer"),
    "procrastinate": ("tests.bench.peers.with_procrastinate", "ProcrastinatePeer"),
    "dbos": ("tests.bench.peers.with_dbos", "DbosPeer"),
}


def chosen() -> list[str]:
    """All peers, or those that `LOCKTENDER_BENCH_PEERS` names."""
    wanted = os.environ.get("LOCKTENDER_BENCH_PEERS")
    return [short for short in PEERS if wanted is None or short in wanted.split(",")]


def peer(short: str) -> Peer:
    """The peer of this name.

    Raises:
        ImportError: it is not installed.
    """
    module, name = PEERS[short]
    return getattr(importlib.import_module(module), name)()
