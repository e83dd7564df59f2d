"""Identity tokens in runs of the real engine: there for the run, and nowhere afterwards."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import jwt
import pytest

from locktender.integrations.identity.keys import new_key_text
from locktender.runner.app import serve
from locktender.testkit.database import TestDatabase
from locktender.testkit.run_bench import RunBench, run_bench
from locktender.testkit.servers import NatsServer
from locktender.testkit.service_rig import running

pytestmark = pytest.mark.takes(seconds=12)

GIVEN = (("token", "CLOUD_TOKEN"), ("token-file", "CLOUD_FILE"), ("token", "TF_VAR_identity"))


def configuration(seen: Path, *, ephemeral: bool = True) -> str:
    """One that tells the log all it is given, and a folder of the test what it was."""
    return f"""
variable "identity" {{
  type      = string
  ephemeral = {str(ephemeral).lower()}
}}
resource "terraform_data" "tells" {{
  provisioner "local-exec" {{
    command = <<-EOT
      echo "held: $CLOUD_TOKEN $TF_VAR_identity"; echo "kept: $(cat "$CLOUD_FILE")"
      echo "mode: $(stat -c %a "$CLOUD_FILE") in $(stat -c %a "$(dirname "$CLOUD_FILE")")"
      case "$CLOUD_FILE" in "$PWD"*) place=within;; *) place=beside;; esac; echo "checkout: $place"
      printf '%s\\n' "$CLOUD_TOKEN" "$TF_VAR_identity" "$(cat "$CLOUD_FILE")" > {seen}
    EOT
  }}
}}
"""


@asynccontextmanager
async def bench_with(db: TestDatabase, nats: NatsServer, keys: str | None) -> AsyncGenerator[RunBench]:
    """A bench whose stack wants tokens, signed by these keys."""
    async with run_bench(db, nats, identity_keys=keys) as made:
        for kind, name in GIVEN:
            await db.admin.execute(
                "insert into locktender.stack_variable (stack_id, kind, name, value, updated_by)"
                " values ($1, $2, $3, 'https://cloud.example', 'ada')",
                made.rig.stack_id, kind, name,
            )  # fmt: skip
        yield made


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunBench]:
    async with bench_with(db, nats_server, new_key_text()) as made:
        yield made


async def everything_stored(bench: RunBench) -> str:
    """Every row of every table; bytes as hexadecimal digits."""
    admin = bench.rig.db.admin
    tables = await admin.fetch("select tablename as name from pg_tables where schemaname = 'locktender'")
    rows = [
        row["row"]
        for table in tables
        for row in await admin.fetch(f"select each::text as row from locktender.{table['name']} each")  # noqa: S608 - listed by the server
    ]
    return "\n".join(rows)


def plans(bench: RunBench) -> list[Path]:
    """The plan files that are kept."""
    return [each for each in (bench.folder / "objects").rglob("plan.tfplan*") if each.is_file()]


async def test_an_apply_has_its_tokens_and_leaves_none_of_them_anywhere(bench: RunBench, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    async with running("runner", serve, bench.settings()):
        deployment = await bench.deploy(configuration(seen))
        await bench.until(deployment, "waiting")
        await bench.confirm(deployment)
        await bench.until(deployment, "finished")
    tokens = (await asyncio.to_thread(seen.read_text)).split()
    claims = [jwt.decode(token, options={"verify_signature": False}) for token in tokens]
    assert [(each["mode"], each["aud"]) for each in claims] == [("apply", "https://cloud.example")] * 3
    assert len({each["jti"] for each in claims}) == 3
    log = await bench.log(deployment)
    assert "held: [withheld] [withheld]" in log
    assert "kept: [withheld]" in log
    assert "mode: 600 in 700" in log
    assert "checkout: beside" in log
    assert plans(bench)
    stored = await everything_stored(bench)
    assert str(deployment) in stored
    assert await asyncio.to_thread(lambda: list(bench.work_dir.iterdir())) == []
    for token in tokens:
        # The parts by themselves say as much as the whole.
        for part in token.split(".")[1:]:
            assert part not in log
            assert part not in stored
            assert part.encode().hex() not in stored


async def test_a_plan_that_would_keep_a_token_fails_and_is_not_stored(bench: RunBench, tmp_path: Path) -> None:
    async with running("runner", serve, bench.settings()):
        deployment = await bench.deploy(configuration(tmp_path / "seen", ephemeral=False))
        ended = await bench.until(deployment, "failed", "waiting")
    assert "the plan would keep the identity token TF_VAR_identity; declare its variable `ephemeral = true`" in str(
        ended["failure"]
    )
    assert not plans(bench)


async def test_a_run_whose_tokens_nothing_signs_says_so_and_starts_nothing(
    db: TestDatabase, nats_server: NatsServer, tmp_path: Path
) -> None:
    async with bench_with(db, nats_server, None) as without, running("runner", serve, without.settings()):
        deployment = await without.deploy(configuration(tmp_path / "seen"))
        ended = await without.until(deployment, "failed")
    assert "nothing signs the identity tokens that the stack wants (CLOUD_TOKEN, TF_VAR_identity, CLOUD_FILE)" in str(
        ended["failure"]
    )
