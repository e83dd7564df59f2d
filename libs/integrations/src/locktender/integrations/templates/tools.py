"""The programs that render templates, found once."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Tools:
    """The programs that render templates which we do not render ourselves. None for one that is not here."""

    kubectl: str | None = None
    helm: str | None = None


def found_tools(path: str | None = None) -> Tools:
    """What is on `path`, by default `PATH`. kubectl may also be beside this Python, where the package installs it."""
    beside = str(Path(sys.executable).parent)
    kubectl = shutil.which("kubectl", path=path) or shutil.which("kubectl", path=beside)
    return Tools(kubectl=kubectl, helm=shutil.which("helm", path=path))
