"""Small applications to deploy, each under names of its own."""

import json
import secrets
from typing import Any

BEHAVIOUR = "sandbox.locktender.dev/behaviour"


def unique(stem: str = "app") -> str:
    """A name that no other deployment uses."""
    return f"{stem}-{secrets.token_hex(4)}"


def manifests(
    name: str, *, secret: bool = False, behaviour: str | None = None, values: dict[str, str] | None = None
) -> str:
    """A config map, a service and a deployment; with `secret`, a Secret too.

    Args:
        name: of all of them.
        secret: adds a Secret with `values` as its `stringData`.
        behaviour: how the pods behave: `slow:SECONDS`, `crash-loop` and so on.
        values: implies `secret`.
    """
    documents: list[dict[str, Any]] = [_of("v1", "ConfigMap", name, data={"GREETING": "hello"})]
    if secret or values is not None:
        documents.append(_of("v1", "Secret", name, stringData=values or {"password": secrets.token_hex(8)}))
    labels = {"app": name}
    annotations = {BEHAVIOUR: behaviour} if behaviour else {}
    template = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"containers": [{"name": "web", "image": "registry.example.com/web:1"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    documents += [
        _of("v1", "Service", name, spec={"selector": labels, "ports": [{"port": 80}]}),
        _of("apps/v1", "Deployment", name, spec=spec),
    ]
    return "\n---\n".join(json.dumps(document) for document in documents)


def _of(api_version: str, kind: str, name: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **parts}


def template(stem: str, *more: dict[str, Any], inputs: dict[str, Any] | None = None) -> str:
    """A template of a secret, a config map, a service and a deployment, each named `{stem}-` and eight random letters.

    Its inputs: `admin_password`, secret and required; `title`; and `behaviour` of the pods, as for `manifests`.
    `more` are further documents, `inputs` declares further inputs.
    """
    name = "${{ defaults.app_name }}"
    labels = {"app": name}
    pod = {
        "metadata": {"labels": labels, "annotations": {BEHAVIOUR: "${{ inputs.behaviour }}"}},
        "spec": {"containers": [{"name": "web", "image": "registry.example.com/web:1"}]},
    }
    head: dict[str, Any] = {
        "defaults": {
            "app_name": {"type": "string", "value": f"{stem}-${{{{ random(8) }}}}"},
            "db_password": {"type": "string", "value": "${{ random(20) }}"},
        },
        "inputs": {
            "admin_password": {"type": "password", "required": True},
            "title": {"type": "string", "default": "hello"},
            "behaviour": {"type": "string", "default": "slow:0"},
        }
        | (inputs or {}),
    }
    passwords = {"admin": "${{ inputs.admin_password }}", "database": "${{ defaults.db_password }}"}
    documents: list[dict[str, Any]] = [
        {"apiVersion": "app.sealos.io/v1", "kind": "Template", "metadata": {"name": stem}, "spec": head},
        _of("v1", "Secret", name, stringData=passwords),
        _of("v1", "ConfigMap", name, data={"title": "${{ inputs.title }}"}),
        _of("v1", "Service", name, spec={"selector": labels, "ports": [{"port": 80}]}),
        _of("apps/v1", "Deployment", name, spec={"selector": {"matchLabels": labels}, "template": pod}),
        *more,
    ]
    return "\n---\n".join(json.dumps(document, indent=1) for document in documents)
