"""What runs of stacks are given in secret is nowhere at rest in clear, and nobody is told it, however the runs end."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from locktender.testkit.canaries import Cage, Canary, awkward, token
from locktender.testkit.git_repository import Repository
from locktender.testkit.nats_rig import eventually
from locktender.testkit.scratch import scratch_dir
from locktender.testkit.searching import Heard, assert_search_works, everywhere, store_without_compression
from locktender.testkit.system import PATIENCE, SystemRig, running_system

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.takes(seconds=60),
]

_DECLARED, _PLAIN, _ENVIRONMENT, _GIT = awkward("declared"), token("undeclared"), token("environment"), token("git")
_KUBE, _SCRIPT, _REFUSED, _BEARER = token("kube"), token("script"), token("refused"), token("bearer")
_MARK = token("not-secret")
"""A value that is no secret: where the search finds it, the search works."""
_KUBECONFIG = f"""apiVersion: v1
kind: Config
users:
- name: ada
  user:
    token: {_KUBE}
"""
CANARIES = [
    Canary("sensitive variable", _DECLARED),
    Canary("sensitive variable that the configuration does not call sensitive", _PLAIN),
    Canary("sensitive environment value", _ENVIRONMENT),
    Canary("token in a kubeconfig", _KUBE),
    Canary("git token", _GIT),
    Canary("text of a script", _SCRIPT),
    Canary("value in a refused request", _REFUSED),
    Canary("wrong bearer token", _BEARER),
]
_CONFIGURATION = """
variable "declared" { sensitive = true }
variable "undeclared" {}
variable "mark" {}
resource "terraform_data" "keeps" { input = [var.declared, var.undeclared, var.mark] }
resource "terraform_data" "tells" {
  triggers_replace = timestamp()
  provisioner "local-exec" {
    command = <<-EOT
      echo "env: $CLOUD_KEY"; printf %s "$CLOUD_KEY" | base64 -w0; echo
      echo "$KUBE"; echo "$TF_VAR_declared"; echo "$TF_VAR_undeclared" >&2
      ENDING
    EOT
  }
}
output "told" {
  value     = terraform_data.keeps.output
  sensitive = true
}
"""


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    with scratch_dir() as folder:
        (folder / "tmp").mkdir()
        talkative = {"TMPDIR": str(folder / "tmp"), "LOCKTENDER_LOG_LEVEL": "debug"}
        async with running_system(folder=folder, environment=talkative) as rig:
            yield rig


async def test_no_secret_of_a_stack_is_anywhere_after_runs_of_every_ending(rig: SystemRig, tmp_path: Path) -> None:
    heard = Heard()
    heard.listen(rig)
    await store_without_compression(rig)
    stack = await _Stack.made(rig, heard, Repository.made(tmp_path / "vault"))
    ends = [await stack.applied("true", "finished"), await stack.applied("exit 3", "failed"), await stack.scripted()]
    ends += [await stack.planned_in_vain(), await stack.lost(), await stack.cancelled()]
    await _unreachable(rig)
    await _refused(rig)
    await stack.read()
    assert await rig.violations() == []
    assert [each for each in (rig.folder / "objects").rglob("*") if each.is_file()], "states and logs are searched, too"
    found = await everywhere(rig, heard, Cage(CANARIES))
    assert not found, "\n".join(sorted({f"{hit.canary}: {hit.form} in {hit.place}" for hit in found}))
    await assert_search_works(rig, heard, _MARK, ends)


class _Stack:
    """A stack whose runs are given every kind of secret."""

    def __init__(self, rig: SystemRig, heard: Heard, repository: Repository) -> None:
        self.rig, self.heard, self.repository = rig, heard, repository

    @classmethod
    async def made(cls, rig: SystemRig, heard: Heard, repository: Repository) -> "_Stack":
        stack = cls(rig, heard, repository)
        source = {"kind": "git", "url": repository.url, "ref": "main"}
        await _sent(rig, "POST", "/v1/workspaces/main/stacks", {"name": "vault", "source": source})
        for kind, name, value in (
            ("variable", "declared", _DECLARED), ("variable", "undeclared", _PLAIN),
            ("environment", "CLOUD_KEY", _ENVIRONMENT), ("environment", "KUBE", _KUBECONFIG),
        ):  # fmt: skip
            await _sent(rig, "PUT", _at(f"/variables/{kind}/{name}"), {"value": value, "sensitive": True})
        await _sent(rig, "PUT", _at("/variables/variable/mark"), {"value": _MARK})
        return stack

    async def applied(self, ending: str, status: str) -> str:
        made = await self._confirmed(ending)
        return (await self._ended(made, status))["id"]

    async def scripted(self) -> str:
        script = f'# {_SCRIPT}\necho "$CLOUD_KEY $TF_VAR_undeclared"\ncat <<< "$KUBE"\nexit 0'
        made = await _sent(self.rig, "POST", _at("/deployments:run-command"), {"script": script})
        return (await self._ended(made, "finished"))["id"]

    async def planned_in_vain(self) -> str:
        """The engine complains of a value, which it knows nothing secret of."""
        made = await self._deployed(
            _CONFIGURATION + "locals { n = tonumber(var.undeclared) }\noutput n { value = local.n }"
        )
        return (await self._ended(made, "failed"))["id"]

    async def lost(self) -> str:
        made = await self._confirmed("echo now; sleep 120")
        await self._logged(made, "now")
        await self.rig.kill("runner")
        return (await self._ended(made, "failed"))["id"]

    async def cancelled(self) -> str:
        # Only a refresh clears the doubt that a lost apply leaves.
        await self._ended(await self._deployed(_CONFIGURATION, mode="refresh"), "finished")
        made = await self._confirmed("echo now; sleep 120")
        await self._logged(made, "now")
        await _sent(self.rig, "POST", _at(f"/deployments/{made['number']}/cancel"), {})
        return (await self._ended(made, "cancelled"))["id"]

    async def read(self) -> None:
        """Everything that anybody who may not read states can read."""
        for place in ("", "/variables", "/resources", "/outputs", "/graph", "/deployments"):
            answer = await self.rig.ask("GET", _at(place))
            assert answer.is_success, answer.text
        for address in ("terraform_data.keeps", "terraform_data.tells"):
            await self.rig.ask("GET", _at("/resources"), params={"address": address})
        await self.rig.ask("GET", "/v1/workspaces/main/stack-queue")

    async def _deployed(self, configuration: str, **stated: Any) -> dict[str, Any]:
        text = configuration.replace("ENDING", "true")
        await asyncio.to_thread(self.repository.commit, text)
        return await _sent(self.rig, "POST", _at("/deployments"), stated)

    async def _confirmed(self, ending: str) -> dict[str, Any]:
        made = await self._deployed(_CONFIGURATION.replace("ENDING", ending))
        made = await self._until(made, "waiting")
        digest = made["stages"][0]["run"]["binding"]["planDigest"]
        return await _sent(self.rig, "POST", _at(f"/deployments/{made['number']}/confirm"), {"planDigest": digest})

    async def _until(self, made: dict[str, Any], *statuses: str) -> dict[str, Any]:
        latest = made

        async def there() -> bool:
            nonlocal latest
            latest = (await self.rig.ask("GET", _at(f"/deployments/{made['number']}"))).json()
            await asyncio.sleep(0.2)
            return latest["status"] in statuses

        try:
            await eventually(there, PATIENCE)
        except TimeoutError:
            raise AssertionError(f"not {statuses} but {latest['status']}: {latest['failure']}") from None
        return latest

    async def _ended(self, made: dict[str, Any], status: str) -> dict[str, Any]:
        """The deployment at its end, when all that can be read of it and of its runs has been."""
        latest = await self._until(made, "finished", "failed", "cancelled", "skipped")
        place = _at(f"/deployments/{made['number']}")
        await self._streamed(made, f"{place}/stream")
        await self.rig.ask("GET", f"{place}/activity")
        logs = ""
        for run in [stage["run"] for stage in latest["stages"] if stage["run"]]:
            logs += (await self.rig.ask("GET", f"{place}/runs/{run['id']}/log")).text
            await self._streamed(made, f"{place}/runs/{run['id']}/log/stream")
            for each in ("plan-summary", "plan-changes", "state-resources", "resource-graph"):
                await self.rig.ask("GET", f"{place}/runs/{run['id']}/{each}")
        assert latest["status"] == status, (latest["failure"], logs[-2000:])
        return latest

    async def _streamed(self, made: dict[str, Any], place: str) -> None:
        async with asyncio.timeout(PATIENCE), self.rig.http.stream("GET", place) as response:
            async for line in response.aiter_lines():
                self.heard.texts.append((f"stream of {made['id']}", line))
                if line == "event: end":
                    return

    async def _logged(self, made: dict[str, Any], words: str) -> None:
        async def there() -> bool:
            latest = (await self.rig.ask("GET", _at(f"/deployments/{made['number']}"))).json()
            run = latest["stages"][-1]["run"]["id"]
            log = (await self.rig.ask("GET", _at(f"/deployments/{made['number']}/runs/{run}/log"))).text
            await asyncio.sleep(0.2)
            return f"{words}\n" in log.replace("\x1b[0m", "")

        await eventually(there, PATIENCE)


async def _unreachable(rig: SystemRig) -> None:
    """A token is stored, and both the API and the runner use it in vain."""
    source = {"kind": "git", "url": "https://127.0.0.1:9/vault.git", "ref": "main"}
    stacks = "/v1/workspaces/main/stacks"
    await _sent(rig, "POST", stacks, {"name": "private", "source": source, "gitToken": _GIT})
    for asked in ({}, {"commit": "c0ffee" * 6 + "c0ff"}):
        answer = await rig.http.post(f"{stacks}/private/deployments", json=asked)
        assert answer.status_code in {201, 422, 502, 503}, answer.text
    answer = await rig.ask("GET", f"{stacks}/private/deployments")
    if pending := answer.json()["deployments"]:
        place = f"{stacks}/private/deployments/{pending[0]['number']}"

        async def over() -> bool:
            return (await rig.ask("GET", place)).json()["completedAt"] is not None

        await eventually(over, PATIENCE)


async def _refused(rig: SystemRig) -> None:
    """Requests that the API turns away, each with a secret in it."""
    source = {"kind": "git", "url": "https://git.example/x.git", "ref": "main"}
    for method, place, body in (
        ("POST", "/v1/workspaces/main/stacks", {"name": "x", "source": source, "gitToken": f"{_REFUSED} x"}),
        ("POST", "/v1/workspaces/main/stacks", {"name": "x", "source": source, "token": _REFUSED}),
        ("POST", "/v1/workspaces/main/stacks",
         {"name": "x", "source": source | {"url": f"https://ada:{_REFUSED}@git.example/x.git"}}),
        ("PUT", _at("/variables/variable/x"), {"value": [_REFUSED], "sensitive": True}),
        ("PUT", _at("/variables/variable/x"), {"value": _REFUSED, "sensitive": "yes"}),
        ("POST", _at("/deployments:run-command"), {"script": [_REFUSED]}),
        ("POST", _at("/deployments:run-command"), {"script": _REFUSED, "commit": "nothing"}),
    ):  # fmt: skip
        answer = await rig.ask(method, place, json=body)
        assert answer.is_client_error, answer.text
    for headers in ({"Authorization": f"Bearer {_BEARER}"}, {"Authorization": f"Basic {_BEARER}"}):
        for place in ("/v1/runs/01a22a25-d6ea-74c5-b15b-024f16abd826/status", _at("")):
            assert (await rig.ask("GET", place, headers=headers)).status_code == 401


def _at(rest: str) -> str:
    return f"/v1/workspaces/main/stacks/vault{rest}"


async def _sent(rig: SystemRig, method: str, place: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await rig.ask(method, place, json=body)
    assert answer.is_success, (place, answer.text)
    return answer.json()
