"""`analysis`: a plan of 5,000 resources analysed by one thread, from the bytes that the engine writes to those kept.

It is done in a process of its own, whose memory at its highest is told beside the time: all of it, the interpreter and
the document included.
"""

import asyncio
import json
import resource
import sys
import time
from typing import Any

from locktender.integrations.tofu.analysis import analyse_plan
from tests.bench.report import Figure, note, rounded, scaled

_RESOURCES = 5_000
_ROUNDS = 3
_DEADLINE = 120.0
_MODULES = 100
_SECRET = "hunter2-hunter2-{}"


async def measure() -> Figure:
    """The best of several rounds in processor seconds, which other processes lengthen less."""
    count = max(30, int(scaled(_RESOURCES)))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_DEADLINE):
            said, _ = await child.communicate(json.dumps(_plan(count)).encode())
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise RuntimeError(f"the analysis ended with code {child.returncode}")
    found: dict[str, Any] = json.loads(said)
    note(f"{count} resources in {found['seconds']:.2f} s, {found['mebibytes']:.0f} MiB")
    return Figure(
        "analysis", rounded(found["seconds"]), "s",
        rest={
            "n": count, "rounds": _ROUNDS, "highest_mib": rounded(found["mebibytes"]),
            "document_mb": rounded(found["read"] / 1e6), "kept_mb": rounded(found["kept"] / 1e6),
        },
    )  # fmt: skip


def _main(document: bytes) -> None:
    seconds, kept = float("inf"), 0
    for _ in range(_ROUNDS):
        began = time.process_time()
        summary, analysis = analyse_plan(document, has_changes=True, narrowed=False)
        text = analysis.model_dump_json(by_alias=True)
        seconds, kept = min(seconds, time.process_time() - began), len(text)
        if summary.gaps or "hunter2" in text or not summary.counts.update or not summary.counts.create:
            raise RuntimeError("the analysis is wrong")
        # What was kept is not there twice.
        del summary, analysis, text
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "mebibytes": highest, "read": len(document), "kept": kept}))  # noqa: T201


def _plan(count: int) -> dict[str, Any]:
    """A plan in which a third of the resources is new, a third changes and a third stays, one in ten with a secret."""
    entries = [_entry(number) for number in range(count)]
    states = [
        {
            **{key: entry[key] for key in ("address", "mode", "type", "name", "index", "provider_name")},
            "values": entry["change"]["before"],
            "sensitive_values": entry["change"]["before_sensitive"],
            "depends_on": ["aws_vpc.main", "aws_subnet.main"],
        }
        for entry in entries
        if entry["change"]["before"] is not None
    ]
    planned = [{**each, "values": entry["change"]["after"]} for each, entry in zip(states, entries, strict=False)]
    vpc = {"references": ["aws_vpc.main.id", "aws_vpc.main"]}
    calls = {f"m{number}": {"expressions": {"vpc": vpc}, "module": _module()} for number in range(_MODULES)}
    main = {"address": "aws_vpc.main", "mode": "managed", "type": "aws_vpc", "name": "main"}
    return {
        "format_version": "1.2", "terraform_version": "1.11.4", "complete": True, "errored": False,
        "resource_changes": entries, "planned_values": {"root_module": _in_modules(planned)},
        "prior_state": {"format_version": "1.0", "values": {"root_module": _in_modules(states)}},
        "configuration": {"root_module": {"resources": [main], "module_calls": calls}},
    }  # fmt: skip


def _in_modules(states: list[dict[str, Any]]) -> dict[str, Any]:
    modules = [{"address": f"module.m{number}", "resources": states[number::_MODULES]} for number in range(_MODULES)]
    return {"child_modules": modules}


def _module() -> dict[str, Any]:
    expressions = {
        "vpc_id": {"references": ["var.vpc"]},
        "subnet": {"references": ["aws_instance.r0.id", "aws_instance.r0"]},
    }
    about = {"mode": "managed", "type": "aws_instance", "expressions": expressions}
    return {"resources": [{**about, "address": f"aws_instance.r{each}", "name": f"r{each}"} for each in range(50)]}


def _entry(number: int) -> dict[str, Any]:
    before, after = _attributes(number), _attributes(number)
    after |= {"attribute_3": "other", "tags": {**before["tags"], "tag2": "new"}}
    after["user_data"] = before["user_data"].replace("line 7", "line seven")
    after.pop("attribute_5")
    marks = {"password": True, "rules": [{"cidr": [False]} for _ in range(3)], "tags": {}}
    action, sides = [("create", (None, after)), ("update", (before, after)), ("no-op", (before, before))][number % 3]
    return {
        "address": f'module.m{number % _MODULES}.aws_instance.r{number // _MODULES}["k{number}"]', "mode": "managed",
        "module_address": f"module.m{number % _MODULES}", "type": "aws_instance", "name": f"r{number // _MODULES}",
        "index": f"k{number}", "provider_name": "registry.example/hashicorp/aws",
        "change": {
            "actions": [action], "before": sides[0], "after": sides[1],
            "after_unknown": {} if action == "no-op" else {"attribute_5": True},
            "before_sensitive": False if action == "create" else marks, "after_sensitive": marks,
        },
    }  # fmt: skip


def _attributes(number: int) -> dict[str, Any]:
    return {
        **{f"attribute_{place}": f"value {place} of resource {number}" for place in range(14)},
        "id": f"i-{number:08x}", "tags": {f"tag{place}": f"{number}-{place}" for place in range(6)},
        "rules": [{"from": 80 + place, "to": 90 + place, "cidr": ["10.0.0.0/8"]} for place in range(3)],
        "user_data": "\n".join(f"line {place} of {number}" for place in range(20 if number % 5 == 0 else 1)),
        "count": number, "on": True,
        "password": _SECRET.format(number) if number % 10 == 0 else None,
    }  # fmt: skip


if __name__ == "__main__":
    _main(sys.stdin.buffer.read())
