"""Deployments that people make, over HTTP: each is of something exact, and is made once."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from locktender.api.http.auth import Token
from locktender.api.http.authorize import Grant, Principal
from locktender.api.stacks.runs.bodies import RunLimits
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.keys import KeyRing
from locktender.testkit.api import ADMIN_TOKEN, GUEST_TOKEN, OBJECT_KEY, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.git_repository import Repository
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import APPLIED, StackRig, new_stack, planned

MOST = 64 * 1024
CANARY = "canary-4b7d-script"
LOCAL_TOKEN, DEPLOYER_TOKEN = "local-token", "deployer-token"
PINNED = "5eed" * 10
PACKED = gzip.compress(b"what a runner looks into", mtime=0)
DIGEST = hashlib.sha256(PACKED).hexdigest()
GZIP = {"Content-Type": "application/gzip"}


class OnlyLocal:
    """Somebody who may plan a working tree of their own, and nothing else."""

    async def principal(self, token: Token) -> Principal | None:
        grants = (Grant("acme", "stack", "*", frozenset({"local-deploy"})),)
        return Principal("lou", grants) if token == LOCAL_TOKEN else None


class OnlyDeploys:
    """Somebody who may deploy stacks, and run no commands."""

    async def principal(self, token: Token) -> Principal | None:
        grants = (Grant("acme", "stack", "*", frozenset({"deploy"})),)
        return Principal("dee", grants) if token == DEPLOYER_TOKEN else None


@dataclass(frozen=True, slots=True)
class Deploying:
    """The routes of one stack."""

    rig: StackRig
    http: httpx.AsyncClient
    path: str

    async def post(self, rest: str, status: int = 201, *, key: str | None = None, **body: Any) -> Any:
        return (await self.answer(rest, status, key=key, **body)).json()

    async def answer(
        self, rest: str, status: int, *, key: str | None = None, token: str = ADMIN_TOKEN, **body: Any
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} | ({} if key is None else {"Idempotency-Key": key})
        answer = await self.http.post(f"{self.path}/deployments{rest}", headers=headers, json=body)
        assert answer.status_code == status, answer.text
        return answer

    async def upload(
        self, status: int = 201, *, data: bytes = PACKED, digest: str = DIGEST, token: str = ADMIN_TOKEN, **more: str
    ) -> Any:
        headers = {"Authorization": f"Bearer {token}"} | GZIP | more
        address = f"{self.path}/source-archives/{digest}"
        answer = await self.http.put(address, headers=headers, content=data)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def deployments(self) -> int:
        return await self.rig.db.admin.fetchval(
            "select count(*) from locktender.stack_deployment where stack_id = $1", self.rig.stack_id
        )


@pytest.fixture(scope="module")
async def http(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[httpx.AsyncClient]:
    running = running_api(
        module_db, nats_server, issuers=(OnlyLocal(), OnlyDeploys()), stack_git_schemes={"file"},
        stack_runs=RunLimits(archive_bytes=MOST),
    )  # fmt: skip
    async with running as api:
        yield api.http


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository.made(tmp_path_factory.mktemp("git") / "infra")
    made.commit("# one", subject="Widen the network")
    return made


async def of_source(db: TestDatabase, http: httpx.AsyncClient, **source: Any) -> Deploying:
    rig = await new_stack(db, source=json.dumps({"path": "."} | source))
    return Deploying(rig, http, f"/v1/workspaces/acme/stacks/{(await rig.stack())['name']}")


@pytest.fixture
async def git(module_db: TestDatabase, http: httpx.AsyncClient, repository: Repository) -> Deploying:
    return await of_source(module_db, http, kind="git", url=repository.url, ref="main")


def refused(answer: dict[str, Any], problem: str) -> str:
    assert answer["type"] == f"urn:locktender:problem:{problem}"
    return answer["detail"]


async def test_a_deployment_is_pinned_to_what_the_ref_stands_for_now(git: Deploying, repository: Repository) -> None:
    answer = await git.answer("", 201, mode="destroy", targets=["aws_vpc.main"], note="spring cleaning")
    view = answer.json()
    commit = view["commit"]
    assert (commit["id"], commit["ref"], commit["author"]) == (repository.head, "main", "Ada")
    assert commit["subject"] == "Widen the network"
    assert (view["mode"], view["status"], view["origin"], view["note"]) == (
        "destroy", "pending", "manual", "spring cleaning",
    )  # fmt: skip
    assert view["stages"][0]["run"]["narrowing"]["targets"] == ["aws_vpc.main"]
    assert answer.headers["location"] == f"{git.path}/deployments/1"
    assert answer.headers["etag"] == f'"{view["revision"]}"'


async def test_the_same_request_makes_one_deployment_even_when_the_ref_has_moved(
    git: Deploying, repository: Repository
) -> None:
    first = await git.post("", key="once", note="a")
    repository.commit("# two")
    assert await git.post("", 200, key="once", note="a") == first
    other = await git.post("", 409, key="once", note="b")
    refused(other, "idempotency-mismatch")
    assert other["snapshot"] == first
    assert await git.deployments() == 1


async def test_the_same_request_at_the_same_time_makes_one_deployment(git: Deploying) -> None:
    async def send() -> None:
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "Idempotency-Key": "together"}
        answer = await git.http.post(f"{git.path}/deployments", headers=headers, json={"commit": PINNED})
        statuses.append(answer.status_code)

    statuses: list[int] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(send())
    assert sorted(statuses) == [200, 200, 200, 201]
    assert await git.deployments() == 1


async def test_a_key_of_another_stack_is_another_request(
    git: Deploying, module_db: TestDatabase, http: httpx.AsyncClient, repository: Repository
) -> None:
    first = await git.post("", key="shared", commit=PINNED)
    other = await of_source(module_db, http, kind="git", url=repository.url, ref="main")
    assert (await other.post("", 409, key="shared", commit=PINNED))["snapshot"] == first


async def test_a_commit_that_is_given_is_taken_as_it_is(git: Deploying) -> None:
    view = await git.post("", commit=PINNED)
    assert {name for name, told in view["commit"].items() if told is not None} == {"id"}
    assert view["commit"]["id"] == PINNED
    assert (await git.post("", 400, commit="abc"))["errors"][0]["code"] == "invalid-commit"


async def test_a_repository_that_has_no_such_ref_or_is_away_makes_nothing(
    module_db: TestDatabase, http: httpx.AsyncClient, repository: Repository
) -> None:
    no_ref = await of_source(module_db, http, kind="git", url=repository.url, ref="gone")
    assert "gone" in refused(await no_ref.post("", 422), "source-refused")
    away = await of_source(module_db, http, kind="git", url=f"{repository.url}-away", ref="main")
    assert repository.url not in refused(await away.post("", 502), "source-unavailable")
    forbidden = await of_source(module_db, http, kind="git", url="https://git.example/infra.git", ref="main")
    refused(await forbidden.post("", 422), "source-refused")
    assert await no_ref.deployments() + await away.deployments() + await forbidden.deployments() == 0


async def test_a_stack_of_an_archive_is_deployed_once_that_is_uploaded(
    module_db: TestDatabase, http: httpx.AsyncClient
) -> None:
    unnamed = await of_source(module_db, http, kind="archive", sha256=None)
    assert "no archive yet" in refused(await unnamed.post("", 422), "source-refused")
    named = await of_source(module_db, http, kind="archive", sha256=DIGEST)
    assert "upload it first" in refused(await named.post("", 422), "source-refused")
    await named.upload()
    view = await named.post("")
    assert (view["commit"]["id"], view["source"]["sha256"]) == (DIGEST, DIGEST)
    assert (await named.post("", 400, commit=PINNED))["errors"][0]["pointer"] == "/commit"


async def test_an_archive_is_kept_only_as_what_it_is(git: Deploying) -> None:
    assert await git.upload() == {"sha256": DIGEST, "size": len(PACKED)}
    assert await git.upload(200) == {"sha256": DIGEST, "size": len(PACKED)}
    refused(await git.upload(422, digest="0" * 64), "source-refused")
    refused(await git.upload(422, data=b"plain"), "source-refused")
    refused(await git.upload(415, **{"Content-Type": "application/json"}), "unsupported-media-type")
    refused(await git.upload(413, data=b"\x1f\x8b" + bytes(MOST)), "too-large")
    refused(await git.upload(404, digest="main"), "not-found")


async def test_a_working_tree_is_only_looked_at(git: Deploying) -> None:
    refused(await git.post(":local", 422, sha256=DIGEST), "source-refused")
    await git.upload(token=LOCAL_TOKEN)
    answer = await git.answer(
        ":local", 201, token=LOCAL_TOKEN, sha256=DIGEST, path="live", commit=PINNED, dirty=True, key="tree"
    )
    view = answer.json()
    assert (view["mode"], view["origin"], view["createdBy"]) == ("plan_unlocked", "local", "lou")
    assert view["source"] == {"kind": "archive", "sha256": DIGEST, "path": "live"}
    assert (view["commit"]["id"], view["commit"]["head"], view["commit"]["dirty"]) == (DIGEST, PINNED, True)
    assert (await git.rig.stack())["lane_holder"] is None
    await git.answer("", 403, token=LOCAL_TOKEN)


async def test_a_script_is_sealed_and_neither_shown_nor_logged(git: Deploying) -> None:
    script = f"echo {CANARY}"
    with capture_logs() as logs:
        answer = await git.answer(":run-command", 201, key="run", script=script, commit=PINNED, note="repair")
    view = answer.json()
    assert (view["mode"], view["commit"]["id"]) == ("raw", PINNED)
    audited = [line for line in logs if line.get("logger") == "locktender.audit"]
    assert [(line["kind"], line["actor"], line["deployment"]) for line in audited] == [("run_command", "admin", 1)]
    row = await git.rig.deployment(view["id"])
    assert CANARY not in f"{answer.text}{logs}{dict(row)}"
    assert Cipher(KeyRing([OBJECT_KEY])).open(f"script/{view['id']}", row["raw_script"]).decode() == script
    assert await git.post(":run-command", 200, key="run", script=script, commit=PINNED, note="repair") == view
    other = await git.post(":run-command", 409, key="run", script="true", commit=PINNED, note="repair")
    refused(other, "idempotency-mismatch")


async def test_a_script_is_run_again_by_whoever_may_run_commands(git: Deploying) -> None:
    first = await git.post(":run-command", script=f"echo {CANARY}", commit=PINNED)
    await git.rig.plan(first["id"], APPLIED)
    await git.answer("/1/retry", 403, token=DEPLOYER_TOKEN)
    with capture_logs() as logs:
        view = await git.post("/1/retry")
    assert (view["number"], view["mode"]) == (2, "raw")
    row = await git.rig.deployment(view["id"])
    assert Cipher(KeyRing([OBJECT_KEY])).open(f"script/{view['id']}", row["raw_script"]).decode() == f"echo {CANARY}"
    audited = [line for line in logs if line.get("logger") == "locktender.audit"]
    assert [(line["kind"], line["deployment"]) for line in audited] == [("run_command", 2)]
    assert CANARY not in f"{view}{logs}"


async def test_a_bad_command_is_refused_without_repeating_it(git: Deploying) -> None:
    answer = await git.answer(":run-command", 400, script=[CANARY])
    assert CANARY not in answer.text


async def test_a_retry_is_a_new_deployment_of_the_same_commit(git: Deploying) -> None:
    first = await git.post("", commit=PINNED)
    busy = await git.post(f"/{first['number']}/retry", 409)
    refused(busy, "not-retryable")
    assert busy["snapshot"]["status"] == "pending"
    await git.rig.plan(first["id"], planned(changes=False))
    again = await git.answer(f"/{first['number']}/retry", 201, key="again")
    view = again.json()
    assert (view["number"], view["origin"], view["commit"]) == (2, "retry", first["commit"])
    assert again.headers["location"] == f"{git.path}/deployments/2"
    assert await git.post(f"/{first['number']}/retry", 200, key="again") == view
    refused(await git.post(f"/{first['number']}/retry", 409), "not-retryable")
    refused(await git.post("", 409, key="again"), "idempotency-mismatch")


@pytest.mark.parametrize("rest", ["", ":run-command", ":local", "/1/retry"])
async def test_who_may_only_look_makes_nothing_and_strangers_find_nothing(git: Deploying, rest: str) -> None:
    body = {"script": "true", "sha256": DIGEST} if rest else {}
    await git.answer(rest, 403, token=GUEST_TOKEN, **body)
    await git.answer(rest, 401, token="nobody", **body)
    elsewhere = Deploying(git.rig, git.http, git.path.replace("acme", "globex"))
    await elsewhere.answer(rest, 404, token=GUEST_TOKEN, **body)
    assert await git.deployments() == 0
