"""The sandbox cluster as a process of its own, with kubectl as its client."""

import asyncio
import os
import signal
import ssl
import stat
import sys
from pathlib import Path

import pytest
import yaml

from locktender.embedded.cluster.state import StateInUse
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

pytestmark = pytest.mark.takes(seconds=15)

BOUTIQUE = Path(__file__).parents[2] / "examples" / "online-boutique.yaml"
KUBECTL = Path(sys.executable).parent / "kubectl"


async def kubectl(cluster: SandboxCluster, home: Path, *arguments: str) -> str:
    file = cluster.state / "kubeconfig.yaml"
    child = await asyncio.create_subprocess_exec(
        *(str(KUBECTL), "--kubeconfig", str(file), *arguments),
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await child.communicate()
    assert child.returncode == 0, err.decode()
    return out.decode()


async def test_kubectl_applies_the_example_and_sees_it_ready_and_the_second_time_nothing_changes(
    tmp_path: Path,
) -> None:
    async with sandbox_cluster(process=True) as cluster:
        apply = ("apply", "--server-side", "--validate=false", "-f", str(BOUTIQUE))
        first = await kubectl(cluster, tmp_path, *apply)
        documents = [doc for doc in yaml.safe_load_all(await asyncio.to_thread(BOUTIQUE.read_text)) if doc]
        assert first.count("serverside-applied") == len(documents)

        ready = await kubectl(
            cluster, tmp_path, "wait", "--for=condition=Available", "deploy", "--all", "--timeout=30s"
        )
        assert ready.count("condition met") == 12
        rolled = await kubectl(cluster, tmp_path, "rollout", "status", "deploy/frontend", "--timeout=30s")
        assert "successfully rolled out" in rolled

        versions = ("get", "svc,sa,cm", "-o", "jsonpath={.items[*].metadata.resourceVersion}")
        before = await kubectl(cluster, tmp_path, *versions)
        await kubectl(cluster, tmp_path, *apply)
        assert await kubectl(cluster, tmp_path, *versions) == before

        scaled = await kubectl(cluster, tmp_path, "scale", "deploy/frontend", "--replicas=2")
        assert "scaled" in scaled
        gone = await kubectl(cluster, tmp_path, "delete", "deploy/frontend", "--timeout=30s")
        assert "deleted" in gone


async def test_keys_token_and_port_survive_a_killed_process_and_stay_private(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with sandbox_cluster(process=True, state=state) as first:
        extra = await first.add_token("robot")
        assert first.process is not None
        first.process.kill()
        await first.process.wait()
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in state.iterdir() if file.name != "ready"}
    async with sandbox_cluster(process=True, state=state) as second:
        code, _ = await second.request("GET", "/api/v1/namespaces", token=extra)

    assert (second.server, second.token, second.ca_pem, code) == (first.server, first.token, first.ca_pem, 200)
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert extra not in (state / "tokens.json").read_text()


async def test_a_terminated_process_ends_cleanly_while_a_watch_is_open() -> None:
    async with sandbox_cluster(process=True) as cluster:
        assert cluster.process is not None
        host, port = cluster.server.removeprefix("https://").split(":")
        context = ssl.create_default_context(cadata=cluster.ca_pem)
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
        head = f"GET /api/v1/pods?watch=true HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {cluster.token}\r\n\r\n"
        writer.write(head.encode())
        assert b"200" in await reader.readline()
        cluster.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(5):
            code = await cluster.process.wait()
            rest = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert rest.endswith(b"0\r\n\r\n")
    assert code == 0


async def test_a_second_server_on_the_same_state_is_refused(tmp_path: Path) -> None:
    async with sandbox_cluster(state=tmp_path):
        with pytest.raises(StateInUse, match="stop it, or choose another"):
            async with sandbox_cluster(state=tmp_path):
                pass


async def test_an_error_inside_the_context_comes_out_as_it_is() -> None:
    with pytest.raises(LookupError):
        async with sandbox_cluster():
            raise LookupError


async def test_the_kubeconfig_holds_everything_inline(tmp_path: Path) -> None:
    async with sandbox_cluster(state=tmp_path) as cluster:
        config = yaml.safe_load(cluster.kubeconfig)
        written = await asyncio.to_thread((tmp_path / "kubeconfig.yaml").read_text)

    assert yaml.safe_load(written) == config
    assert set(config["clusters"][0]["cluster"]) == {"server", "certificate-authority-data"}
    assert set(config["users"][0]["user"]) == {"token"}
    assert cluster.token not in repr(cluster)
