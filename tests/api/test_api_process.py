import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

from locktender.testkit.api import ADMIN_TOKEN, NOOP, kubeconfig
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.servers import NatsServer

TASKS = "/v1/workspaces/acme/deployment-tasks"


@contextmanager
def api_process(db: TestDatabase, nats: NatsServer, folder: Path) -> Generator["subprocess.Popen[str]"]:
    environment = {
        "PATH": os.defpath,
        "LOCKTENDER_DATABASE_URL": db.dsn,
        "LOCKTENDER_NATS_URL": nats.url,
        "LOCKTENDER_HTTP_PORT": "0",
        "LOCKTENDER_READY_FILE": str(folder / "ready.json"),
        "LOCKTENDER_NOOP_RUNNER": "true",
        "LOCKTENDER_ADMIN_TOKEN_SHA256": hashlib.sha256(ADMIN_TOKEN.encode()).hexdigest(),
        "LOCKTENDER_DEADLINES__START": "7",
    }
    if seed := nats.seeds.get("api"):
        environment["LOCKTENDER_NATS_SEED_FILE"] = str(seed)
    arguments = [sys.executable, "-m", "locktender.api"]
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_a_process_serves_and_ends_at_once_with_a_stream_open(
    db: TestDatabase, nats_server: NatsServer, tmp_path: Path
) -> None:
    with api_process(db, nats_server, tmp_path) as process:
        await eventually((tmp_path / "ready.json").exists, 60)
        url = json.loads((tmp_path / "ready.json").read_text())["url"]
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=20) as http:
            made = (await http.post(TASKS, json=NOOP)).json()["task"]
            assert made["deadlineAt"] > made["createdAt"]
            bad = {"source": {"kind": "manifests", "manifests": "x"}, "kubeconfig": kubeconfig(exec="canary-exec-1")}
            assert (await http.post(TASKS, json=bad)).status_code == 400
            async with http.stream("GET", f"{TASKS}/{made['id']}/timeline/stream") as response:
                async for line in response.aiter_lines():
                    if line.startswith("event: snapshot"):
                        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        logs = process.stdout.read() if process.stdout else ""
        assert "canary" not in logs
        assert '"level": "error"' not in logs
