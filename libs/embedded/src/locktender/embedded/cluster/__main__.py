"""Run the sandbox cluster as a process: `python -m locktender.embedded.cluster --state DIR [--port P]`."""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from locktender.contracts.kernel.errors import LocktenderError
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.controllers.pace import Pace
from locktender.embedded.cluster.policies.gate import POD_LIMIT
from locktender.embedded.cluster.server import running_cluster

_log = logging.getLogger("locktender.sandbox")


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns the exit code: 0, or 1 when it could not start."""
    parser = argparse.ArgumentParser(prog="locktender-sandbox", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="private directory for keys, token and kubeconfig")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 keeps the port of last time")
    parser.add_argument("--ready-file", type=Path, help="written with the server's address once it answers")
    parser.add_argument("--pace", type=float, default=1.0, help="factor on every delay: 0.1 is ten times as fast")
    parser.add_argument("--persist", action="store_true", help="keep objects over restarts, even after a kill")
    parser.add_argument("--pods", type=int, default=POD_LIMIT, help="pods that the cluster takes at most")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(name)s: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    try:
        asyncio.run(_serve(chosen))
    except (LocktenderError, OSError) as fault:
        _log.error("cannot start: %s", fault)
        return 1
    return 0


async def _serve(chosen: argparse.Namespace) -> None:
    ready_file: Path | None = chosen.ready_file
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    serving = running_cluster(
        chosen.state,
        port=chosen.port,
        cluster=Cluster(pods=chosen.pods),
        pace=Pace(factor=chosen.pace),
        persist=chosen.persist,
    )
    async with serving as running:
        _log.info("listening on %s, kubeconfig in %s", running.server, running.kubeconfig)
        if ready_file is not None:
            await asyncio.to_thread(_announce, ready_file, running.server)
        await stop.wait()
    if ready_file is not None:
        await asyncio.to_thread(ready_file.unlink, missing_ok=True)


def _announce(ready_file: Path, server: str) -> None:
    # Whoever waits for the file must never read half of it.
    fresh = ready_file.with_name(f"{ready_file.name}.new")
    fresh.write_text(server)
    fresh.replace(ready_file)


if __name__ == "__main__":
    sys.exit(main())
