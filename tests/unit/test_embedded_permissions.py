import os
import subprocess
import sys
from pathlib import Path

import pytest

from locktender.contracts.kernel.permissions import IDENTITIES, RIGHTS
from locktender.embedded.nats_template import template
from locktender.embedded.nkey import new_user_seed, user_public_key

TEMPLATE = Path(__file__).parents[2] / "infra" / "nats" / "locktender.conf.template"


def test_the_template_in_infra_is_what_the_table_of_rights_says() -> None:
    assert TEMPLATE.read_text(encoding="utf-8") == template(), (
        "run: python -m locktender.embedded.nats_template > infra/nats/locktender.conf.template"
    )


def test_the_server_accepts_the_template(tmp_path: Path) -> None:
    keys = {f"LOCKTENDER_NKEY_{name.upper()}": user_public_key(new_user_seed()) for name in IDENTITIES}
    config = tmp_path / "locktender.conf"
    config.write_text(template().replace('"/data"', f'"{tmp_path}"'), encoding="utf-8")
    server = Path(sys.executable).with_name("nats-server")
    checked = subprocess.run(
        [server, "-c", config, "-t"], env={**os.environ, **keys}, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_only_the_outbox_publishes_events_and_commands_and_declares_streams() -> None:
    guarded = ("lt.evt.", "lt.cmd.", "$JS.API.STREAM.CREATE", "$JS.API.CONSUMER.CREATE")
    assert [
        name for name, rights in RIGHTS.items() if any(subject.startswith(guarded) for subject in rights.publish)
    ] == ["outbox"]


@pytest.mark.parametrize("verb", ["PURGE", "DELETE", "MSG.DELETE", "RESTORE"])
def test_nobody_may_destroy_a_stream(verb: str) -> None:
    everything = [subject for rights in RIGHTS.values() for subject in rights.publish]
    assert ">" not in everything
    assert "$JS.API.>" not in everything
    assert "$JS.API.STREAM.>" not in everything
    assert not [subject for subject in everything if f"STREAM.{verb}" in subject]


def test_no_service_can_read_answers_meant_for_another() -> None:
    inboxes = {name: [s for s in rights.subscribe if s.startswith("_INBOX")] for name, rights in RIGHTS.items()}
    assert inboxes == {name: [f"_INBOX_{name}.>"] for name in IDENTITIES}


def test_a_runner_and_the_cleanup_cannot_take_the_work_of_each_other() -> None:
    pulled = {
        name: {subject for subject in RIGHTS[name].publish if subject.startswith("$JS.API.CONSUMER.MSG.NEXT")}
        for name in ("runner", "cleanup")
    }
    assert pulled["runner"]
    assert pulled["cleanup"]
    assert not pulled["runner"] & pulled["cleanup"]
