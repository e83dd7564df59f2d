"""Runner groups by commands: what is sent, and that a token is shown once."""

import json
from pathlib import Path
from typing import Any

from locktender.testkit.invoked import invoked
from locktender.testkit.scripted_api import Say, scripted_api

GROUPS = "/v1/workspaces/main/runner-groups"


def group(**changes: Any) -> dict[str, Any]:
    usual = {
        "name": "gpu",
        "labels": [],
        "capacity": 2,
        "runners": [],
        "lastDispatchError": None,
        "oldTokenUntil": None,
    }
    return usual | changes


async def test_a_group_is_changed_and_its_token_rotated(tmp_path: Path) -> None:
    kept = group(oldTokenUntil="2026-11-30T05:00:00Z")
    refused = {"type": "urn:locktender:problem:token-kept", "title": "x", "detail": "The old one is valid."}
    answers = {
        f"PATCH {GROUPS}/gpu": [Say(group())],
        f"POST {GROUPS}/gpu/rotate-token": [Say({"group": kept, "token": "second"}), Say(refused, 409)],
        f"GET {GROUPS}": [Say({"groups": [kept]})],
    }
    async with scripted_api(answers) as server:

        async def cli(*arguments: str) -> Any:
            known = {"LOCKTENDER_URL": server.url, "LOCKTENDER_TOKEN": "t"}
            return await invoked(tmp_path, "stack", "group", *arguments, **known)

        for wrong in ((), ("--label", "a", "--no-labels")):
            assert (await cli("update", "gpu", *wrong)).code == 2
        assert (await cli("update", "gpu", "--no-labels", "--capacity", "2")).code == 0
        unread = await cli("rotate-token", "gpu", "--keep-old", "soon")
        assert (unread.code, "write 90s, 15m, 2h or 7d" in unread.err) == (2, True)
        rotated = await cli("rotate-token", "gpu", "--keep-old", "1h30m")
        again = await cli("rotate-token", "gpu", "--keep-old", "90", "--again", "--json")
        listed = await cli("list")
    assert server.requests("PATCH", f"{GROUPS}/gpu")[0].json == {"labels": [], "capacity": 2}
    assert [each.json for each in server.requests("POST", f"{GROUPS}/gpu/rotate-token")] == [
        {"keepOldSeconds": 5400, "again": False},
        {"keepOldSeconds": 90, "again": True},
    ]
    assert (rotated.code, rotated.out.count("second"), "works until 2026-11-30 05:00:00 UTC" in rotated.out) == (
        0,
        1,
        True,
    )
    assert (again.code, json.loads(again.out)["exitCode"], "--again" in again.err) == (4, 4, True)
    assert "its old token works until 2026-11-30 05:00:00 UTC" in listed.out
