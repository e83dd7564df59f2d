"""A folder of templates: what is listed, found and taken, and how broken ones and links are met."""

import asyncio
import os
from pathlib import Path

import pytest

import locktender.embedded
from locktender.contracts.deployments.ordering import apply_order
from locktender.contracts.deployments.readiness import CardStatus, assess, is_required
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.kube.client import KubeClient, Outcome
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.templates.catalogue import CatalogueSettings, Entry, FolderCatalogue, catalogue_of
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import checked
from locktender.integrations.templates.package import PackageForm, read_package
from locktender.integrations.templates.rendering import allocate, rendered
from locktender.integrations.templates.written import written
from locktender.testkit.clock import FakeClock
from locktender.testkit.cluster import sandbox_cluster

EXAMPLES = Path(locktender.embedded.__file__).with_name("catalogue")
TEMPLATE = """\
kind: Template
metadata: {name: x}
spec:
  title: %s
  description: %s
  categories: [%s]
  defaults: {app_name: {value: 'x-${{ random(8) }}'}}
"""


def template(title: str = "X", description: str = "", category: str = "tool") -> str:
    return TEMPLATE % (title, description, category)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "catalogue"
    for name, text in {
        "shop/index.yaml": template("The Shop", "sells tulips", "web"),
        "shop/logo.svg": "<svg/>" * 300_000,
        "blog.yaml": template("Blog", "tells of a shop"),
        "site/kustomization.yaml": "resources: [web.yaml]",
        "site/web.yaml": "kind: Service",
        "chart/Chart.yaml": "name: chart\nversion: 1.0.0\nkeywords: [database]",
        "broken/index.yaml": "kind: Template\nspec: {}\n",
        "docs/notes.md": "not a template",
        "half/values.yaml": "a: 1",
        "half/notes.md": "",
        "README.md": "hello",
        ".git/config": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "shop/logo.png").write_bytes(b"\x89PNG\0\xff")
    return root


def names(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.name for entry in entries]


async def test_every_template_is_listed_by_name_with_its_form(folder: Path) -> None:
    entries = await FolderCatalogue(folder).list()
    assert [(entry.name, entry.form) for entry in entries] == [
        ("blog", PackageForm.TEMPLATE),
        ("broken", None),
        ("chart", PackageForm.HELM),
        ("half", None),
        ("shop", PackageForm.TEMPLATE),
        ("site", PackageForm.KUSTOMIZE),
    ]
    shop = entries[4]
    assert (shop.title, shop.description, shop.categories) == ("The Shop", "sells tulips", ("web",))
    assert shop.digest == (await FolderCatalogue(folder).get("shop")).digest


async def test_a_broken_template_is_listed_with_its_fault_and_cannot_be_taken(folder: Path) -> None:
    catalogue = FolderCatalogue(folder)
    [broken] = [entry for entry in await catalogue.list() if entry.name == "broken"]
    assert "app_name" in (broken.fault or "")
    with pytest.raises(TemplateFault, match="app_name"):
        await catalogue.get("broken")
    with pytest.raises(TemplateFault) as caught:
        await catalogue.get("half")
    assert caught.value.code == "nothing-to-render"


async def test_the_search_looks_at_names_titles_descriptions_and_categories(folder: Path) -> None:
    catalogue = FolderCatalogue(folder)
    assert names(await catalogue.search("SHOP")) == ["shop", "blog"]
    assert names(await catalogue.search("shop tulips")) == ["shop"]
    assert names(await catalogue.search("database")) == ["chart"]
    assert names(await catalogue.search("nowhere")) == []
    assert names(await catalogue.search(" ")) == names(await catalogue.list())


@pytest.mark.parametrize("name", ["nowhere", "", "../catalogue/shop", "shop/index.yaml", ".git", "docs"])
async def test_an_unknown_name_is_no_path(name: str, folder: Path) -> None:
    with pytest.raises(TemplateFault) as caught:
        await FolderCatalogue(folder).get(name)
    assert caught.value.code == "unknown-template"


async def test_links_are_never_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/index.yaml").write_text(template("Outside"))
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "file.yaml").symlink_to(tmp_path / "outside/index.yaml")
    (folder / "inner").mkdir()
    (folder / "inner/index.yaml").symlink_to(tmp_path / "outside/index.yaml")
    (folder / "site/secret").symlink_to("/etc/passwd")
    catalogue = FolderCatalogue(folder)
    assert "Outside" not in {entry.title for entry in await catalogue.list()}
    for name in ("linked", "file", "inner", "site"):
        with pytest.raises(TemplateFault) as caught:
            await catalogue.get(name)
        assert caught.value.code == "link"


async def test_what_is_no_plain_file_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "site/pipe")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe/index.yaml")
    catalogue = FolderCatalogue(folder)
    assert (await catalogue.get("site")).form is PackageForm.KUSTOMIZE
    [pipe] = [entry for entry in await catalogue.list() if entry.name == "pipe"]
    assert pipe.fault


async def test_two_things_of_one_name_are_told_apart_by_nobody(folder: Path) -> None:
    (folder / "shop.yaml").write_text(template())
    with pytest.raises(TemplateFault) as caught:
        await FolderCatalogue(folder).get("shop")
    assert caught.value.code == "ambiguous"


async def test_a_change_is_seen_by_the_next_call(folder: Path) -> None:
    catalogue = FolderCatalogue(folder)
    before = await catalogue.get("shop")
    (folder / "shop/index.yaml").write_text(template("A shop of another kind"))
    (folder / "blog.yaml").unlink()
    (folder / "new.yaml").write_text(template("New"))
    assert (await catalogue.get("shop")).digest != before.digest
    assert {"new", "shop"} <= set(names(await catalogue.list()))
    assert "blog" not in names(await catalogue.list())


async def test_a_folder_that_is_gone_or_too_large_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await FolderCatalogue(tmp_path / "gone").list()
    with pytest.raises(Unavailable, match="max_bytes"):
        await FolderCatalogue(folder, max_bytes=100).list()


async def test_without_settings_there_are_no_templates(folder: Path) -> None:
    assert await catalogue_of(CatalogueSettings(), FakeClock()).list() == ()
    assert "shop" in names(await catalogue_of(CatalogueSettings(folder=folder), FakeClock()).list())


async def test_the_examples_that_come_along_can_all_be_deployed() -> None:
    catalogue = FolderCatalogue(EXAMPLES)
    entries = await catalogue.list()
    assert names(entries) == ["guestbook", "status-page", "whoami"]
    for entry in entries:
        assert (entry.fault, bool(entry.title), bool(entry.description)) == (None, True, True)
        package = await catalogue.get(entry.name)
        assert checked(package, {}, {}, pointer="/inputs").missing == ()
        instance = allocate(package, {}, b"seed", None)
        found = await rendered(package, instance, {}, {}, namespace=None, clock=FakeClock())
        assert found.missing == ()
        assert parse_manifests(written(found.documents))


async def test_the_examples_become_ready_in_the_sandbox_and_a_second_time_changes_nothing() -> None:
    guestbook = {"expose": "true", "size": "medium", "replicas": "3", "admin_password": "tulip-fields"}
    async with sandbox_cluster() as cluster, KubeClient(read_kubeconfig(cluster.kubeconfig)) as client:
        for name, inputs in {"guestbook": guestbook, "status-page": {}, "whoami": {}}.items():
            package = await FolderCatalogue(EXAMPLES).get(name)
            instance = allocate(package, {}, b"seed", None)
            for expected in (Outcome.CREATED, Outcome.UNCHANGED):
                found = await rendered(package, instance, {}, inputs, namespace=None, clock=FakeClock())
                manifests = parse_manifests(written(found.documents))
                for index in apply_order(manifests):
                    assert (await client.apply(manifests[index].body)).outcome is expected, manifests[index].ref
                waiting = [manifest.ref for manifest in manifests if is_required(manifest.body)]
                async with asyncio.timeout(60):
                    while not all([await is_running(client, ref) for ref in waiting]):  # noqa: ASYNC110 - the cluster cannot call us
                        await asyncio.sleep(0.05)


async def is_running(client: KubeClient, ref: ObjectRef) -> bool:
    found = await client.get(ref)
    assert found is not None
    return assess(found).status is CardStatus.RUNNING


async def test_the_guestbook_is_reachable_from_outside_only_when_asked() -> None:
    package = await FolderCatalogue(EXAMPLES).get("guestbook")
    instance = allocate(package, {}, b"seed", None)

    async def kinds(inputs: dict[str, str]) -> dict[str, int]:
        found = await rendered(package, instance, {}, inputs, namespace=None, clock=FakeClock())
        texts = [str(each["kind"]) for each in found.documents]
        return {kind: texts.count(kind) for kind in texts}

    inside = {"Secret": 1, "ConfigMap": 1, "Deployment": 2, "Service": 2}
    assert await kinds({}) == inside
    assert await kinds({"expose": "true", "size": "large", "hostname": "shop.example.com"}) == inside | {"Ingress": 1}


async def test_a_package_comes_out_of_what_was_stored_of_it_as_it_went_in() -> None:
    for entry in await FolderCatalogue(EXAMPLES).list():
        package = await FolderCatalogue(EXAMPLES).get(entry.name)
        again = read_package(dict(package.files), name=package.name)
        assert (again, again.digest) == (package, package.digest)
