"""A stack from its plan to its apply: who waits for whom, and what a confirmation stands for."""

import time
from typing import Any

from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.render.stacks.deployment import wait_lines
from locktender.cli.render.stacks.holdings import knowledge_lines, output_lines, resources_listing
from locktender.cli.render.stacks.queue import queue_parts
from locktender.cli.scenarios.stack_record import record_listing, recorded
from locktender.cli.scenarios.stack_shop import Shop, should
from locktender.cli.scenarios.stage import Stage
from locktender.cli.stacks.planning import Planned, tell_plan
from locktender.runtime.clock import SystemClock

Json = dict[str, Any]

_SERVERS = 2
_RESOURCES = _SERVERS + 2
_RANGE, _OTHER_RANGE = "10.10.0.0/16", "10.20.0.0/16"


async def stack(stage: Stage) -> dict[str, Any]:
    """Plan, wait, confirm and apply a small configuration; then plan a change that nobody confirms."""
    stage.tell("A small configuration is committed to a repository of its own, and a stack is made of it.")
    shop = await Shop.made(stage)
    stage.output.say(Text.assemble("  ", (shop.name, "bold"), f" from {shop.url}"))
    await shop.set("servers", str(_SERVERS))
    await shop.set("address_range", _RANGE)
    await shop.set("database_password", shop.password, sensitive=True)
    first = await _planned(shop)
    waited_for = await _waits(shop, first)
    await _applied(shop, first)
    outputs = await _held(shop)
    await _nothing_left(shop)
    refused = await _other_plan(shop, first)
    return await _ended(shop, {"blockedBy": waited_for, "stalePlan": refused, "outputs": outputs})


async def _planned(shop: Shop) -> Planned:
    shop.stage.tell("It is planned. The runner's log comes as it is written.")
    first = await shop.followed(await shop.deploy("the first one"), "waiting")
    shop.stage.tell("What the plan would do, as it was analysed:")
    tell_plan(shop.stage.output, first)
    counts = _counts(first)
    should(counts["create"] == _RESOURCES, f"the plan creates {counts['create']} resources, and should {_RESOURCES}")
    return first


async def _waits(shop: Shop, first: Planned) -> str:
    """Show that it waits for a person, and that another one waits behind it; the reason that this one is given."""
    stage = shop.stage
    stage.tell("It waits for a person, and nothing holds a runner meanwhile. A second deployment queues up behind it.")
    second = await shop.deploy("the second one")
    for line in wait_lines(first.deployment, SystemClock().now()):
        stage.output.say(line)
    should(second["status"] == "queued", f"the second deployment is {second['status']}, and should be queued")
    blocker = second["blockedBy"]
    should(blocker["deploymentNumber"] == first.deployment["number"], "the second deployment names another blocker")
    queue = await stage.stacks.queue()
    waiting: list[Json] = queue["entries"]
    ours = queue | {"entries": [each for each in waiting if each["stack"] == shop.name]}
    for part in queue_parts(ours, SystemClock().now()):
        stage.output.say(part)
    return str(blocker["message"])


async def _applied(shop: Shop, first: Planned) -> None:
    digest = first.digest or ""
    should(digest, "the plan has no digest")
    shop.stage.tell(f"Somebody confirms exactly this plan, {digest[:12]}. It is applied as it was planned.")
    number = first.deployment["number"]
    confirmed = await shop.stage.stacks.act(shop.name, number, "confirm", {"planDigest": digest})
    await shop.followed(confirmed, "finished")


async def _held(shop: Shop) -> Json:
    """Show what there is now; the outputs by name, sensitive ones masked."""
    stage = shop.stage
    stage.tell("What the stack holds now. A sensitive output is shown to nobody.")
    found = await stage.stacks.resources(shop.name, None)
    told = await stage.stacks.outputs(shop.name)
    resources: list[Json] = found["resources"] or []
    outputs: list[Json] = told["outputs"] or []
    for line in (*knowledge_lines(told), *output_lines(outputs)):
        stage.output.say(line)
    stage.output.say(resources_listing(resources))
    should(len(resources) == _RESOURCES, f"the stack holds {len(resources)} resources, and should hold {_RESOURCES}")
    values = {str(each["name"]): each["value"] for each in outputs}
    should(values.get("address_range") == _RANGE, f"the range is {values.get('address_range')}")
    withheld = [each["name"] for each in outputs if each["sensitive"]]
    should(withheld == ["database_url"], "the sensitive output is not known as such")
    await shop.keeps_its_secret(found, told)
    return values


async def _nothing_left(shop: Shop) -> None:
    shop.stage.tell("The lane was handed on as the first one ended. The second one plans, and finds nothing to do.")
    second = await shop.followed(await shop.stage.stacks.deployment(shop.name, 2), "finished")
    tell_plan(shop.stage.output, second)
    should(second.run is not None and second.run["hasChanges"] is False, "the second plan has changes")


async def _other_plan(shop: Shop, first: Planned) -> str:
    """Plan a change, show that the old confirmation does not stand for it, and skip it; the refusal."""
    stage = shop.stage
    stage.tell("A variable changes, and the stack is planned once more. A network with another range is another one.")
    await shop.set("address_range", _OTHER_RANGE)
    third = await shop.followed(await shop.deploy("another range"), "waiting")
    stage.tell("What this plan would do:")
    tell_plan(stage.output, third)
    counts = _counts(third)
    told = f"the plan replaces {counts['replace']} and updates {counts['update']} resources"
    should((counts["replace"], counts["update"]) == (1, _RESOURCES - 1), told)
    number = third.deployment["number"]
    stage.tell("Somebody still looks at the first plan, and confirms that one. It is refused, as it is not what waits.")
    try:
        await stage.stacks.act(shop.name, number, "confirm", {"planDigest": first.digest})
    except CommandError as refusal:
        should(refusal.code is Exit.CONFLICT, f"the refusal is another one: {refusal.message}")
        stage.output.say(Text(f"  {refusal.message}", style="yellow"))
        refused = refusal.message
    else:
        raise CommandError(Exit.FAILED, "a plan was confirmed with the digest of another one")
    stage.tell("So it is skipped. Nothing was changed, and the lane is free.")
    skipped = await stage.stacks.act(shop.name, number, "skip")
    should(skipped["status"] == "skipped", f"the deployment is {skipped['status']}, and should be skipped")
    return refused


async def _ended(shop: Shop, more: Json) -> Json:
    """What happened, from the records."""
    stage = shop.stage
    numbers = (1, 2, 3)
    deployments = [await stage.stacks.deployment(shop.name, number) for number in numbers]
    statuses = tuple(each["status"] for each in deployments)
    should(statuses == ("finished", "finished", "skipped"), f"in the end they are {', '.join(statuses)}")
    found = await stage.stacks.stack(shop.name)
    should(found["lane"] is None, "the lane is still held")
    await shop.keeps_its_secret()
    stage.tell("What happened, in seconds, from the records:")
    stage.output.say(record_listing(deployments))
    binding = deployments[0]["stages"][0]["run"]["binding"]
    engine = f"{binding['tool']} {binding['toolVersion']}"
    seconds = time.monotonic() - stage.started
    stage.output.say(Text(f"\nfinished: {_RESOURCES} resources applied by {engine} after {seconds:.1f} s", "green"))
    return {
        "scenario": "stack",
        "status": "finished",
        "stack": shop.name,
        "engine": engine,
        "resources": _RESOURCES,
        "seconds": round(seconds, 3),
        "stateSerial": found["state"]["serial"],
        "deployments": [recorded(each) for each in deployments],
        **more,
    }


def _counts(plan: Planned) -> Json:
    should(plan.run is not None and plan.run["plan"] is not None, "the plan was not analysed")
    found: Json = (plan.run or {})["plan"]
    should(found["countsComplete"], f"the numbers have gaps: {found['sentence']}")
    return found["counts"]
