"""The usual scenario: a shop of twelve services becomes ready."""

import asyncio
import time
from pathlib import Path
from typing import Any

from rich.text import Text

from locktender.cli.scenarios.stage import Stage

_APPLICATION = Path(__file__).parent.parent / "examples" / "online-boutique.yaml"


async def deploy(stage: Stage) -> dict[str, Any]:
    """Deploy it, and follow it to the end."""
    manifests = await asyncio.to_thread(_APPLICATION.read_text, encoding="utf-8")
    task_id = await stage.ask({"kind": "manifests", "manifests": manifests}, displayName="Online Boutique")
    snapshot = await stage.followed(task_id, "completed")
    cards = snapshot["timeline"]["cards"]
    seconds = time.monotonic() - stage.started
    stage.output.say(Text(f"\ncompleted: {len(cards)} resources ready after {seconds:.1f} s", style="green"))
    return stage.result("deploy", snapshot)
