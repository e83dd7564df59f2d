"""What the processes of a local system are told about templates."""

import json
from pathlib import Path

from locktender.cli.local.folder import LocalFolder
from locktender.cli.local.services import SERVICES, LocalOptions, service_spec
from locktender.embedded.nats import NatsAddress
from locktender.embedded.postgres import PostgresAddress
from locktender.integrations.templates.catalogue import FolderCatalogue

KEY, CATALOGUE = "LOCKTENDER_INSTANCE_KEY", "LOCKTENDER_CATALOGUE__FOLDER"


def told(folder: LocalFolder) -> dict[str, dict[str, str]]:
    postgres = PostgresAddress(host="127.0.0.1", port=1, user="postgres", password="x", database="locktender")
    nats = NatsAddress("nats://127.0.0.1:1", "http://127.0.0.1:2", {name: Path("seed") for name in SERVICES})
    ports = dict.fromkeys((*SERVICES, "http"), 1)
    return {
        name: dict(service_spec(name, folder, postgres, nats, ports, LocalOptions()).environment) for name in SERVICES
    }


async def test_templates_work_out_of_the_box_and_keep_their_random_values_over_a_restart(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    folder.acquire()
    first, second = told(folder), told(LocalFolder(tmp_path))
    folder.release()
    assert len(first["runner"][KEY]) >= 16
    assert first["runner"][KEY] == second["runner"][KEY]
    assert [name for name in SERVICES if first["runner"][KEY] in first[name].values()] == ["runner"]
    assert json.loads(first["api"]["LOCKTENDER_PLATFORMS__VARIABLES"])["SEALOS_CLOUD_DOMAIN"] == "127.0.0.1.nip.io"
    shelf = await FolderCatalogue(Path(first["api"][CATALOGUE])).shelf()
    entries = shelf.entries()
    assert {entry.name for entry in entries} >= {"guestbook", "whoami"}
    assert all(entry.fault is None for entry in entries)
