"""The real engine against the state backend, end to end: apply, apply again, two holders, and a zombie."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.run_api import HeldToken, RunApi, lose_run, running_runs
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import new_stack

ENGINE = shutil.which("tofu") or shutil.which("terraform")
assert ENGINE is not None, "neither tofu nor terraform is on the PATH; nothing would be proved"

CONFIGURATION = """
terraform {
  backend "http" {}
}
variable "word" {}
variable "waits" { default = "" }
resource "terraform_data" "word" {
  input = var.word
}
resource "terraform_data" "wait" {
  count = var.waits == "" ? 0 : 1
  provisioner "local-exec" {
    command = "touch $WAITS.begun; until [ -e $WAITS ]; do sleep 0.02; done"
    environment = { WAITS = var.waits }
  }
}
output "word" {
  value = terraform_data.word.output
}
"""


@dataclass(frozen=True)
class Bench:
    """A configuration, and the engine's environment for a run."""

    api: RunApi
    folder: Path

    def environment(self, run: HeldToken, **variables: str) -> dict[str, str]:
        address = self.api.url + run.state()
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1",
            "TF_HTTP_ADDRESS": address, "TF_HTTP_LOCK_ADDRESS": address + "/lock", "TF_HTTP_LOCK_METHOD": "POST",
            "TF_HTTP_UNLOCK_ADDRESS": address + "/unlock", "TF_HTTP_UNLOCK_METHOD": "POST",
            "TF_HTTP_USERNAME": str(run.id), "TF_HTTP_PASSWORD": run.token, "TF_HTTP_RETRY_MAX": "1",
            **{f"TF_VAR_{name}": value for name, value in variables.items()},
        }  # fmt: skip

    async def engine(self, environment: Mapping[str, str], *arguments: str) -> tuple[int | None, str]:
        assert ENGINE is not None
        process = await asyncio.create_subprocess_exec(
            ENGINE, *arguments, "-no-color", cwd=self.folder, env=dict(environment),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        async with asyncio.timeout(60):
            said, _ = await process.communicate()
        return process.returncode, said.decode()

    async def apply(self, run: HeldToken, *more: str, **variables: str) -> tuple[int | None, str]:
        return await self.engine(self.environment(run, **variables), "apply", "-auto-approve", "-input=false", *more)


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer, tmp_path: Path) -> AsyncGenerator[Bench]:
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    async with running_runs(db, nats_server) as api:
        yield Bench(api, tmp_path)


async def test_the_engine_keeps_its_state_and_a_zombie_cannot_touch_it(bench: Bench, db: TestDatabase) -> None:
    api, rig = bench.api, await new_stack(db)
    name = (await rig.stack())["name"]
    run = await api.take(rig, await rig.deploy(DeploymentMode.RAW))

    async def stored() -> tuple[int, str]:
        state = (await api.http.get(f"/v1/workspaces/acme/stacks/{name}/state")).json()
        return state["serial"], state["outputs"]["word"]["value"]

    code, said = await bench.engine(bench.environment(run), "init", "-input=false")
    assert code == 0, said
    code, said = await bench.apply(run, word="first")
    assert code == 0, said
    first, word = await stored()
    assert word == "first"
    code, said = await bench.apply(run, word="second")
    assert code == 0, said
    second, word = await stored()
    assert (word, second > first) == ("second", True)
    assert (await rig.stack())["state_lock"] is None

    lock = {"ID": "held-elsewhere", "Who": "somebody@else"}
    assert (await api.http.post(run.state("/lock"), json=lock, auth=run.basic)).status_code == 200
    code, said = await bench.apply(run, word="third")
    assert (code, "held-elsewhere" in said) == (1, True), said
    assert (await api.http.post(run.state("/unlock"), json=lock, auth=run.basic)).status_code == 200

    # The engine is in the middle of its apply when its lease is broken, and writes afterwards.
    go = bench.folder / "go"
    async with asyncio.TaskGroup() as group:
        apply = group.create_task(bench.apply(run, word="zombie", waits=str(go)))
        await eventually((bench.folder / "go.begun").exists)
        await lose_run(db.database, run.id)
        go.touch()
    code, said = apply.result()
    assert (code, "Failed to" in said) == (1, True), said
    assert await stored() == (second, "second")
    row = await rig.stack()
    assert (row["state_lock"], row["uncertain_run_id"]) == (None, run.id)
    left = json.loads((bench.folder / "errored.tfstate").read_text())
    assert left["outputs"]["word"]["value"] == "zombie"

    heir = await api.take(rig, await rig.deploy(DeploymentMode.RAW))
    code, said = await bench.apply(heir, word="heir")
    assert code == 0, said
    assert (await stored())[1] == "heir"
