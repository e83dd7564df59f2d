"""What a runner's machine offers to its runs, from a few settings."""

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.wire import RunContext, RunSecrets
from locktender.integrations.tofu.bench import ExecutionMeans
from locktender.integrations.tofu.engine import EngineSettings
from locktender.integrations.tofu.run_log import Scrub


class WorkRootUnusable(LocktenderError):
    """Runs cannot work there."""

    def __init__(self, work_root: Path, why: str) -> None:
        super().__init__(f"runs cannot work in {work_root}: {why}; name another directory")


_PASSED_ON = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
_PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"


def default_work_root() -> Path:
    """A directory for temporary files that belongs to this user alone."""
    return Path(tempfile.gettempdir()) / f"locktender-runs-{os.getuid()}"


def means_of(
    work_root: Path,
    *,
    scrub: Scrub,
    clock: Clock,
    environment: Mapping[str, str] = os.environ,
    search_path: str | None = None,
    plugin_cache: Path | None = None,
    cli_config: Path | None = None,
) -> ExecutionMeans:
    """The means of a runner. Of its own environment, runs get the PATH, proxies and where certificates are, no more.

    Args:
        work_root: a directory of the runner's own; it is made. Keep its path short.
        scrub: makes a stream that withholds values.
        clock: of this process.
        environment: of this process.
        search_path: where engines and their programs are looked for, instead of the PATH of this process.
        plugin_cache: a directory in which runs share downloaded providers; it is made.
        cli_config: a CLI configuration for every run.

    Raises:
        WorkRootUnusable: the work root cannot be made, or others may write to it.
    """
    _own(work_root)
    if plugin_cache is not None:
        plugin_cache.mkdir(parents=True, exist_ok=True)
    engines = EngineSettings(
        search_path=search_path or environment.get("PATH", _PLAIN_PATH),
        cli_config=cli_config,
        plugin_cache=plugin_cache,
        passed_on={name: environment[name] for name in _PASSED_ON if name in environment},
    )
    return ExecutionMeans(work_root=work_root, engines=engines, check_out=_nowhere, scrub=scrub, clock=clock)


def _own(work_root: Path) -> None:
    """Plan files hold secrets in clear, so nobody else may have made the directory or may look into it."""
    try:
        work_root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = work_root.stat()
    except OSError as error:
        raise WorkRootUnusable(work_root, error.strerror or "unknown") from error
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise WorkRootUnusable(work_root, "it belongs to somebody else, or others may write to it")


async def _nowhere(_context: RunContext, _secrets: RunSecrets, _directory: Path) -> None:
    raise AssertionError("a run brings its own way to its source")
