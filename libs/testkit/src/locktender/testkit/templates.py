"""A small catalogue: a template that asks for everything that can be asked for, a kustomization, and a broken one."""

from pathlib import Path

WIKI = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: wiki}
spec:
  title: Wiki
  description: A place to write things down
  author: Ada
  categories: [tool]
  defaults:
    app_name: {type: string, value: "wiki-${{ random(8) }}"}
  inputs:
    title: {description: Its title, type: string, default: '', required: true}
    admin_password: {description: For the first visit, type: string, default: '', required: true}
    replicas: {description: How many, type: number, default: '1', required: false}
    size: {type: choice, options: [small, large], default: small}
    public: {type: boolean, default: 'false'}
    host: {type: string, default: '', required: true, if: "inputs.public === 'true'"}
    motto: {type: string, default: a motto of our own}
    api_token: {type: string, default: ''}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${{ defaults.app_name }}
  namespace: ${{ SEALOS_NAMESPACE }}
data:
  title: ${{ inputs.title }}
  domain: ${{ SEALOS_CLOUD_DOMAIN }}
  replicas: "${{ inputs.replicas }}"
---
apiVersion: v1
kind: Secret
metadata:
  name: ${{ defaults.app_name }}
  namespace: ${{ SEALOS_NAMESPACE }}
stringData:
  password: ${{ inputs.admin_password }}
"""
"""A template with inputs of every type, two secret ones among them."""

_BROKEN = "apiVersion: app.sealos.io/v1\nkind: Template\nmetadata: {name: broken}\nspec: {title: Broken}\n"
_KUSTOMIZATION = "configMapGenerator: [{name: settings, literals: [a=b]}]\n"


def catalogue(folder: Path) -> Path:
    """The folder, with the templates `wiki`, `settings` (a kustomization) and `broken` in it."""
    for path, text in (
        ("wiki/index.yaml", WIKI),
        ("settings/kustomization.yaml", _KUSTOMIZATION),
        ("broken/index.yaml", _BROKEN),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder
