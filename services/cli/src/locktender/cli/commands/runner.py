"""`locktender runner`: carry out runs of stacks on this machine, for an API somewhere else."""

from pathlib import Path
from typing import Annotated

import typer

from locktender.cli.exits import Exit
from locktender.cli.options import JsonOption
from locktender.cli.output import Output
from locktender.cli.running import finish


def runner(
    *,
    group: Annotated[str, typer.Option("--group", help="The runner group.")],
    token: Annotated[
        str, typer.Option("--token", envvar="LOCKTENDER_RUNNER_TOKEN", help="The token of the runner group.")
    ],
    url: Annotated[
        str | None, typer.Option("--url", help="The API. Default: LOCKTENDER_URL, else the local one.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End after one run; exit code 1 if it did not succeed.")] = False,
    labels: Annotated[str, typer.Option("--labels", help="What this machine can do, as in gpu,eu-west.")] = "",
    name: Annotated[str | None, typer.Option("--name", help="Of this runner, for people. Default: the host.")] = None,
    work_dir: Annotated[
        Path | None, typer.Option("--work-dir", help="Where runs work; keep its path short. Default: a temporary one.")
    ] = None,
    plugin_cache: Annotated[
        Path | None, typer.Option("--plugin-cache", help="Where runs share downloaded providers.")
    ] = None,
    local_sources: Annotated[
        bool, typer.Option("--local-sources", help="Also check out file:// and http:// repositories.")
    ] = False,
    git_hosts: Annotated[
        str, typer.Option("--git-hosts", help="Hosts of repositories, as in git.example.com,*.example.org.")
    ] = "*",
    as_json: JsonOption = False,
) -> None:
    """Carry out runs of stacks with tofu or terraform, one at a time, until Ctrl-C. A run under way ends in order."""

    async def work() -> Exit:
        from locktender.cli.remote.place import Place  # noqa: PLC0415 - brings in what other commands never need
        from locktender.cli.remote.starting import Wanted, run_agent  # noqa: PLC0415 - the same

        hosts = frozenset(host.strip().lower() for host in git_hosts.split(",") if host.strip())
        place = Place(work_dir, plugin_cache, local=local_sources, hosts=hosts)
        return await run_agent(Wanted(group, token, url, labels, name, place, once=once, as_json=as_json))

    finish(Output(as_json=as_json), work())
