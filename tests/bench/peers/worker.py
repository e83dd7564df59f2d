"""`python -m tests.bench.peers.worker NAME`: the worker of one peer, until the process is ended."""

import asyncio
import os
import sys

import uvloop

from tests.bench.peers.known import peer
from tests.bench.stamps import Stamps

DSN = "LOCKTENDER_BENCH_DSN"

if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(peer(sys.argv[1]).work(os.environ[DSN], Stamps()))
