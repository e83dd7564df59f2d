"""Helm charts, through the user's own `helm`. It renders and nothing else: no cluster, no network, no release."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.machine.folder import private_folder
from locktender.integrations.machine.programs import Ran, TooMuchOutput, run
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.templates.chart import as_values
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.output import MOST_BYTES, read_output

_WORD = 4
_HOOK = "helm.sh/hook"
# Nobody runs tests, uninstalls or rolls back through Helm here, so that these never have their turn.
_IDLE = frozenset(
    {"test", "test-success", "test-failure", "pre-delete", "post-delete", "pre-rollback", "post-rollback"}
)
_NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Release:
    """What a chart is rendered for.

    Attributes:
        name: a DNS label of up to 53 characters.
        namespace: what `.Release.Namespace` is; None leaves it to helm, which takes `default`.
        secrets: values that no message may hold.
    """

    name: str
    namespace: str | None
    secrets: tuple[str, ...] = field(default=(), repr=False)


async def templated(
    files: Mapping[str, str], inputs: Mapping[str, str], release: Release, *, program: str | None, seconds: float
) -> list[JsonObject]:
    """The documents of a chart, definitions of kinds included.

    The values go to the program through a pipe: never into a file, an argument or a message.

    Raises:
        TemplateFault: a value does not fit, the chart cannot be rendered, it relies on hooks, or there is no helm.
    """
    values = await in_thread(lambda: as_values(files, inputs))
    if program is None:
        told = "helm is needed to render a chart, and it is not here"
        raise TemplateFault("no-helm", f"{told}; install helm where the runner is, and have it on the PATH")
    async with private_folder({f"chart/{path}": text for path, text in files.items()}) as folder:
        ran = await _run(_argv(program, release), folder, json.dumps(values).encode(), seconds)
    if ran.code:
        said = _without(ran, release.secrets).replace(f"{folder}/", "")
        raise TemplateFault("helm-failed", f"the chart cannot be rendered: {said}")
    documents = await in_thread(lambda: read_output(ran.out, "helm", release.secrets))
    return list(_without_hooks(documents))


def _argv(program: str, release: Release) -> tuple[str, ...]:
    where = () if release.namespace is None else ("--namespace", release.namespace)
    return (program, "template", release.name, "./chart", *where, "--include-crds", "--skip-tests", "--values", "-")


async def _run(argv: tuple[str, ...], folder: Path, values: bytes, seconds: float) -> Ran:
    own = str(folder / "helm")
    env = {
        "PATH": str(folder / "empty"),
        "HOME": own,
        "TMPDIR": str(folder),
        "KUBECONFIG": f"{own}/kubeconfig",
        "HELM_CACHE_HOME": f"{own}/cache",
        "HELM_CONFIG_HOME": f"{own}/config",
        "HELM_DATA_HOME": f"{own}/data",
        "HELM_PLUGINS": f"{own}/plugins",
        "HELM_REGISTRY_CONFIG": f"{own}/registry.json",
        "HELM_REPOSITORY_CACHE": f"{own}/repository",
        "HELM_REPOSITORY_CONFIG": f"{own}/repositories.yaml",
        "HTTP_PROXY": _NOWHERE,
        "HTTPS_PROXY": _NOWHERE,
    }
    try:
        return await run(argv, cwd=folder, env=env, seconds=seconds, most_bytes=MOST_BYTES, stdin=values)
    except TimeoutError:
        raise TemplateFault("helm-slow", f"the chart was not rendered within {seconds:g} seconds") from None
    except TooMuchOutput:
        raise TemplateFault("too-large", f"the chart comes to more than {MOST_BYTES} bytes") from None
    except OSError as error:
        raise TemplateFault("no-helm", f"helm cannot be started ({error.strerror})") from None


def _without(ran: Ran, secrets: Collection[str]) -> str:
    """What helm complained of, unless a secret is part of it: a template may fail with any text it likes."""
    said = " ".join(ran.err.decode(errors="replace").split())
    # A value may have been wrapped or shortened, so that any word of it counts.
    words = {word for secret in secrets for word in secret.split() if len(word) >= _WORD} | set(secrets)
    if any(word in said for word in words):
        return "its message holds a secret value and is not shown; try `helm template` by hand"
    return ran.said


def _without_hooks(documents: list[JsonObject]) -> Iterator[JsonObject]:
    for document in documents:
        metadata = as_object(document.get("metadata"))
        events = as_text(as_object(metadata.get("annotations")).get(_HOOK))
        wanted = {event.strip() for event in events.split(",") if event.strip()}
        if not wanted:
            yield document
        elif not wanted <= _IDLE:
            what = f"{shown(as_text(document.get('kind')))} {shown(as_text(metadata.get('name')))}"
            told = f"{what} is a Helm hook ({shown(', '.join(sorted(wanted)))}), and nothing here runs hooks"
            raise TemplateFault("helm-hook", f"{told}; turn it off by a value of the chart, or remove the annotation")
