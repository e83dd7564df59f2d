"""The kubeconfig that reaches this cluster: everything inline, no files, no plugins."""

import base64

import yaml

NAME = "locktender-sandbox"


def kubeconfig(server: str, authority: bytes, token: str) -> str:
    """YAML text of a kubeconfig with one context. It holds the token, so it is a secret."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
        "current-context": NAME,
    }
    return yaml.safe_dump(config, sort_keys=False)  # pyright: ignore[reportUnknownMemberType]  # the stubs leave one parameter open
