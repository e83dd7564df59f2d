"""The last resort when a lease is lost: the processes of its run are killed even if the main loop hangs."""

import asyncio
import threading

import structlog

from locktender.contracts.kernel.lease import Lease
from locktender.integrations.tofu.failures import ProcessesLeft
from locktender.integrations.tofu.leftovers import Mark, kill_all

_log = structlog.stdlib.get_logger(__name__)


def kill_fenced(lease: Lease) -> None:
    """Kill what belongs to a lost lease, on a thread of its own; returns at once. The run itself does so as well."""
    threading.Thread(target=_kill, args=(lease,), name="fence", daemon=True).start()


def _kill(lease: Lease) -> None:
    try:
        killed = asyncio.run(kill_all(Mark(str(lease.row_id), lease.epoch)))
    except ProcessesLeft as error:
        _log.error("processes of a lost run are left", run=str(lease.row_id), reason=str(error))
    else:
        _log.info("a lost run was fenced", run=str(lease.row_id), epoch=lease.epoch, processes=killed)
