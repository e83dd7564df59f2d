"""Templates in files: told from manifests, and rendered on this machine without giving secrets away."""

from pathlib import Path

import pytest

from locktender.cli.exits import CommandError, Exit
from locktender.cli.forms.values import Values
from locktender.cli.packages import inline_template, package_at, render_here
from locktender.cli.request import source_of

TEMPLATE = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: tea}
spec:
  title: Tea house
  defaults:
    app_name: {type: string, value: "tea-${{ random(8) }}"}
  inputs:
    admin_password: {type: string, required: true}
    cups: {type: number, default: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: "${{ defaults.app_name }}"}
stringData: {password: "${{ inputs.admin_password }}", other: plain-canary}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "${{ defaults.app_name }}"}
data:
  URL: http://u:${{ inputs.admin_password }}@h
  CODED: ${{ base64(inputs.admin_password) }}
  CUPS: ${{ inputs.cups }}
"""
CANARY = "canary-8f31"


def test_manifests_are_no_template_even_when_they_talk_of_one() -> None:
    assert inline_template("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Template}\n") is None
    assert inline_template("kind: Template\n{{ not: yaml") is None
    assert inline_template("") is None


def test_a_file_whose_first_document_is_a_template_is_deployed_as_one(tmp_path: Path) -> None:
    file = tmp_path / "tea.yaml"
    file.write_text(TEMPLATE, encoding="utf-8")
    source = source_of([str(file)], None)
    assert source is not None
    assert (source.body["kind"], source.title, source.has_inputs) == ("template", "Tea house", True)
    plain = tmp_path / "plain.yaml"
    plain.write_text("kind: ConfigMap\n", encoding="utf-8")
    with pytest.raises(CommandError, match="deployed alone"):
        source_of([str(plain), str(file)], None)
    with pytest.raises(CommandError, match="either files or a template"):
        source_of([str(file)], "guestbook")


def test_a_template_that_cannot_be_used_is_told_as_such() -> None:
    with pytest.raises(CommandError, match="app_name") as refused:
        inline_template("kind: Template\nspec: {inputs: {}}\n")
    assert refused.value.code is Exit.USAGE


async def test_secret_values_are_withheld_in_every_spelling_unless_they_are_to_be_shown(tmp_path: Path) -> None:
    file = tmp_path / "tea.yaml"
    file.write_text(TEMPLATE, encoding="utf-8")
    package = package_at(str(file))
    values = Values({"admin_password": CANARY})
    hidden = await render_here(package, values, {}, namespace="default", reveal=False)
    assert CANARY not in hidden.yaml
    assert "Y2FuYXJ5" not in hidden.yaml
    assert "plain-canary" not in hidden.yaml
    assert 'CUPS: "2"' in hidden.yaml
    shown = await render_here(package, values, {}, namespace="default", reveal=True)
    assert shown.yaml.count(CANARY) == 2
    assert CANARY not in repr(hidden) + repr(shown)


async def test_each_rendering_is_an_instance_of_its_own_and_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "tea.yaml"
    file.write_text(TEMPLATE + "---\nkind: A\napiVersion: v1\nmetadata: {name: '${{ SEALOS_CLOUD_DOMAIN }}x'}\n")
    package = package_at(str(file))
    first, second = [await render_here(package, Values(), {}, namespace=None, reveal=False) for _ in range(2)]
    assert first.instance != second.instance
    assert first.missing == ("admin_password",)
    assert first.unset == ("SEALOS_CLOUD_DOMAIN",)
    with pytest.raises(CommandError, match="cups must be a number") as refused:
        await render_here(package, Values({"cups": "lots"}), {}, namespace=None, reveal=False)
    assert "lots" not in refused.value.message


async def test_a_folder_with_a_kustomization_is_rendered_too(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text("resources: [a.yaml]\n", encoding="utf-8")
    (folder / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", encoding="utf-8")
    (folder / "logo.png").write_bytes(b"\x89PNG\xff")
    found = await render_here(package_at(str(folder)), Values(), {}, namespace="default", reveal=False)
    assert "kind: ConfigMap" in found.yaml
    assert f"locktender.dev/instance: {found.instance}" in found.yaml
