"""Stacks and their variables over HTTP: made, changed, listed, forgotten, and never telling a secret."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer
from locktender.testkit.stack_reading import SOURCE, WRITER_TOKEN, StackApi, stack_api
from locktender.testkit.stacks import StackRig, planned

CANARY = "canary-7f3a-value"
GUEST = {"Authorization": f"Bearer {WRITER_TOKEN}"}


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[StackApi]:
    async with stack_api(module_db, nats_server) as running:
        yield running


def kind_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].rpartition(":")[2]


async def told(db: TestDatabase, stack_id: str) -> list[tuple[str, int, bool]]:
    rows = await db.admin.fetch(
        "select subject, revision, tombstone from locktender.outbox where aggregate = $1 order by seq", stack_id
    )
    return [(row["subject"].rpartition(".")[2], row["revision"], row["tombstone"]) for row in rows]


async def test_a_new_stack_is_shown_as_it_was_asked_for(api: StackApi) -> None:
    policy = {"confirmationTimeoutSeconds": 3600, "queuedTimeoutSeconds": None, "supersedeAfterSeconds": 0}
    asked = {"project": "shop", "description": "The network.", "engine": "tofu", "labels": ["gpu"], "policy": policy}
    answer = await api.http.post(api.path(), json={"name": "network", "source": SOURCE} | asked)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == "/v1/workspaces/acme/stacks/network"
    assert answer.headers["etag"] == '"1"'
    made = answer.json()
    assert {name: made[name] for name in asked} == asked
    assert (made["source"], made["runnerGroup"], made["autoApprove"]) == (SOURCE, "default", "manual")
    assert (made["lane"], made["state"], made["uncertain"], made["latestDeployment"]) == (None, None, None, None)
    assert await api.get("/network") == made


async def test_a_taken_name_is_a_conflict_that_shows_who_has_it(api: StackApi) -> None:
    first = await api.create("taken")
    answer = await api.http.post(api.path(), json={"name": "taken", "source": SOURCE})
    assert kind_of(answer) == (409, "name-taken")
    assert answer.json()["snapshot"]["id"] == first["id"]
    assert (await api.create("taken", workspace="elsewhere"))["id"] != first["id"]


async def test_of_many_who_want_one_name_one_gets_it(api: StackApi) -> None:
    statuses: list[int] = []

    async def ask() -> None:
        statuses.append((await api.http.post(api.path(), json={"name": "wanted", "source": SOURCE})).status_code)

    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(ask())
    assert sorted(statuses) == [201, *[409] * 5]


async def test_a_change_raises_the_revision_and_is_told_once(api: StackApi, module_db: TestDatabase) -> None:
    made = await api.create("changed")
    for _ in range(2):
        answer = await api.http.patch(api.path("/changed"), json={"labels": ["arm"], "source": SOURCE})
        assert answer.status_code == 200, answer.text
    assert (answer.json()["labels"], answer.headers["etag"]) == (["arm"], '"2"')
    assert answer.json()["description"] == made["description"]
    assert await told(module_db, made["id"]) == [("stack-created", 1, False), ("stack-updated", 2, False)]


async def test_a_git_token_is_kept_sealed_and_never_shown(api: StackApi, module_db: TestDatabase) -> None:
    made = await api.create("private", gitToken=CANARY)
    assert made["hasGitToken"]
    assert CANARY not in json.dumps(made)
    stored = await module_db.admin.fetchval("select git_token from locktender.stack where name = 'private'")
    assert CANARY.encode() not in stored
    assert api.cipher.open(f"git-token/{made['id']}", stored).decode() == CANARY
    kept = (await api.http.patch(api.path("/private"), json={"description": "x"})).json()
    assert kept["hasGitToken"]
    assert not (await api.http.patch(api.path("/private"), json={"gitToken": None})).json()["hasGitToken"]


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ({"url": "https://me:secret@git.example/x.git"}, "/source/url"),
        ({"url": "file:///etc"}, "/source/url"),
        ({"url": "ext::sh -c id"}, "/source/url"),
        ({"ref": "--upload-pack=x"}, "/source/ref"),
    ],
)
async def test_a_source_that_could_be_misread_is_refused(api: StackApi, source: dict[str, str], place: str) -> None:
    answer = await api.http.post(api.path(), json={"name": "refused", "source": SOURCE | source})
    assert kind_of(answer) == (422, "source-refused")
    assert answer.json()["errors"][0]["pointer"] == place
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"name": "A b"}, "/name"),
        ({"source": {"kind": "svn"}}, "/source"),
        ({"source": SOURCE | {"path": "../up"}}, "/source/path"),
        ({"labels": ["no space"]}, "/labels/0"),
        ({"policy": {"queuedTimeoutSeconds": 0}}, "/policy/queuedTimeoutSeconds"),
        ({"policy": {"queuedTimeoutSeconds": "5"}}, "/policy/queuedTimeoutSeconds"),
        ({"gitToken": "a b"}, "/gitToken"),
        ({"more": 1}, "/more"),
    ],
)
async def test_what_cannot_be_is_refused_with_its_place(api: StackApi, body: dict[str, Any], place: str) -> None:
    answer = await api.http.post(api.path(), json={"name": "bad", "source": SOURCE} | body)
    assert kind_of(answer) == (400, "invalid-request")
    assert [each["pointer"] for each in answer.json()["errors"]] == [place]


async def test_to_let_a_stack_approve_itself_takes_the_right_to_confirm(api: StackApi) -> None:
    asked = {"name": "hasty", "source": SOURCE, "autoApprove": "auto"}
    assert kind_of(await api.http.post(api.path(), json=asked, headers=GUEST)) == (403, "forbidden")
    assert (await api.http.post(api.path(), json=asked | {"autoApprove": "manual"}, headers=GUEST)).status_code == 201
    raised = {"autoApprove": "non_destructive"}
    assert kind_of(await api.http.patch(api.path("/hasty"), json=raised, headers=GUEST)) == (403, "forbidden")
    assert (await api.http.patch(api.path("/hasty"), json=raised)).status_code == 200
    lowered = await api.http.patch(api.path("/hasty"), json={"autoApprove": "manual"}, headers=GUEST)
    assert lowered.json()["autoApprove"] == "manual"


async def test_a_foreign_workspace_and_a_strange_name_are_nowhere(api: StackApi) -> None:
    await api.create("mine", workspace="other")
    assert (await api.http.get(api.path("/mine"))).status_code == 404
    assert (await api.http.get(api.path("/mine", "other"), headers=GUEST)).status_code == 404
    for name in ("A", "%00", "a%20b", "x" * 64):
        assert (await api.http.get(api.path(f"/{name}"))).status_code == 404


async def test_a_stack_at_work_stays_and_a_name_that_is_free_begins_anew(
    api: StackApi, module_db: TestDatabase
) -> None:
    made = await api.create("gone", gitToken=CANARY)
    rig = StackRig(module_db, made["id"])
    await api.http.put(api.path("/gone/variables/variable/region"), json={"value": "north"})
    working = await rig.deploy(source=SOURCE)
    busy = await api.http.delete(api.path("/gone"))
    assert kind_of(busy) == (409, "stack-busy")
    assert busy.json()["snapshot"]["lane"]["number"] == 1
    await rig.plan(working, planned(changes=False))
    gone = await api.http.delete(api.path("/gone"))
    assert (gone.status_code, gone.json()["name"]) == (200, "gone")
    assert (await api.http.get(api.path("/gone"))).status_code == 404
    assert (await api.http.delete(api.path("/gone"))).status_code == 404
    left = await module_db.admin.fetchrow(
        "select git_token, (select count(*) from locktender.stack_variable where stack_id = s.id) as variables "
        "from locktender.stack s where id = $1", made["id"],
    )  # fmt: skip
    assert (left["git_token"], left["variables"]) == (None, 0)
    assert (await told(module_db, made["id"]))[-1] == ("stack-deleted", 3, True)
    again = await api.create("gone")
    assert again["id"] != made["id"]
    assert (again["revision"], again["latestDeployment"], again["hasGitToken"]) == (1, None, False)


async def test_a_sensitive_value_is_sealed_and_shown_to_nobody(api: StackApi, module_db: TestDatabase) -> None:
    made = await api.create("valued")
    for address, body in (
        ("variable/region", {"value": "north"}),
        ("variable/pin", {"value": CANARY, "sensitive": True}),
        ("environment/AWS_SECRET_ACCESS_KEY", {"value": CANARY}),
    ):
        answer = await api.http.put(api.path(f"/valued/variables/{address}"), json=body)
        assert answer.status_code == 200, answer.text
        assert CANARY not in answer.text
    shown = (await api.get("/valued/variables"))["variables"]
    assert [(each["kind"], each["name"], each["sensitive"], each["value"]) for each in shown] == [
        ("environment", "AWS_SECRET_ACCESS_KEY", True, None),
        ("variable", "pin", True, None),
        ("variable", "region", False, "north"),
    ]
    sealed = await module_db.admin.fetchval(
        "select sealed from locktender.stack_variable where stack_id = $1 and name = 'pin'", made["id"]
    )
    assert CANARY.encode() not in sealed
    assert api.cipher.open(f"variable/{made['id']}/variable/pin", sealed).decode() == CANARY
    assert (await api.get("/valued"))["revision"] == 4


async def test_a_variable_is_replaced_and_removed(api: StackApi) -> None:
    await api.create("varied")
    region = api.path("/varied/variables/variable/region")
    await api.http.put(region, json={"value": "north", "sensitive": True})
    assert (await api.http.put(region, json={"value": "south"})).json()["value"] == "south"
    assert (await api.http.delete(region)).json() == {"variables": []}
    assert (await api.http.delete(region)).status_code == 404


@pytest.mark.parametrize(
    ("address", "body", "status"),
    [
        ("environment/TF_HTTP_PASSWORD", {"value": "x"}, 400),
        ("environment/TF_VAR_region", {"value": "x"}, 400),
        ("environment/WITH-DASH", {"value": "x"}, 400),
        ("variable/1st", {"value": "x"}, 404),
        ("secret/name", {"value": "x"}, 404),
        ("variable/long", {"value": "ä" * 60_000}, 400),
        ("variable/none", {}, 400),
        ("variable/odd", {"value": "x", "sensitive": "yes"}, 400),
    ],
)
async def test_a_variable_that_cannot_be_is_refused(
    api: StackApi, address: str, body: dict[str, Any], status: int
) -> None:
    await api.http.post(api.path(), json={"name": "strict", "source": SOURCE})
    answer = await api.http.put(api.path(f"/strict/variables/{address}"), json=body)
    assert answer.status_code == status, answer.text


async def names(api: StackApi, **parameters: Any) -> list[str]:
    """All names of a list in their order, two a page."""
    found: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(10):
        page = await api.get(workspace="listed", limit=2, **parameters, **cursor)
        found += [each["name"] for each in page["stacks"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    return found


async def test_stacks_are_listed_in_every_order_without_gaps(api: StackApi, module_db: TestDatabase) -> None:
    made = {name: await api.create(name, workspace="listed") for name in ("c-web", "a-net", "e-db", "b-web", "d-app")}
    for name in ("e-db", "a-net"):
        await StackRig(module_db, made[name]["id"]).deploy(source=SOURCE)
    assert await names(api) == ["d-app", "b-web", "e-db", "a-net", "c-web"]
    assert await names(api, sort="name") == ["a-net", "b-web", "c-web", "d-app", "e-db"]
    assert await names(api, sort="activity") == ["a-net", "e-db", "d-app", "b-web", "c-web"]
    assert await names(api, search="WEB") == ["b-web", "c-web"]
    assert await names(api, search="%") == []
    assert await names(api, status="pending", sort="name") == ["a-net", "e-db"]
    assert await names(api, status=["pending", "waiting"], sort="activity") == ["a-net", "e-db"]
    assert await names(api, project="other") == []


@pytest.mark.parametrize(
    "query", ["sort=size", "sort=name&sort=name", "search=", "status=running", "limit=0", "stats=failed"]
)
async def test_a_list_of_stacks_takes_no_nonsense(api: StackApi, query: str) -> None:
    assert kind_of(await api.http.get(f"{api.path()}?{query}")) == (400, "invalid-request")


async def test_a_cursor_is_good_for_its_own_list_of_stacks(api: StackApi) -> None:
    for name in ("one", "two"):
        await api.create(name, workspace="cursors")
    cursor = (await api.get(workspace="cursors", limit=1))["nextCursor"]
    answer = await api.http.get(api.path(workspace="cursors"), params={"cursor": cursor, "sort": "name"})
    assert kind_of(answer) == (400, "invalid-cursor")
