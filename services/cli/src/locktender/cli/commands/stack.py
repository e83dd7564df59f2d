"""`locktender stack`: OpenTofu and Terraform in lanes, from a plan to its apply."""

import typer

from locktender.cli.commands.stack_admin import create, delete, list_, show, update
from locktender.cli.commands.stack_deciding import confirm, replan, skip
from locktender.cli.commands.stack_ending import cancel, deprioritize, prioritize, retry, skip_all
from locktender.cli.commands.stack_group import app as group
from locktender.cli.commands.stack_holdings import activity, outputs, resources
from locktender.cli.commands.stack_local import local_plan, run_command
from locktender.cli.commands.stack_logs import logs, watch
from locktender.cli.commands.stack_planning import apply, destroy, plan, refresh
from locktender.cli.commands.stack_queue import queue, queue_clear
from locktender.cli.commands.stack_state import app as state
from locktender.cli.commands.stack_variable import app as variable
from locktender.cli.exits import EXIT_CODES

app = typer.Typer(
    no_args_is_help=True,
    help="Plan, confirm and apply infrastructure, one deployment of a stack at a time.",
    epilog=EXIT_CODES,
)

for name, work in {
    "create": create,
    "update": update,
    "delete": delete,
    "list": list_,
    "show": show,
    "plan": plan,
    "apply": apply,
    "destroy": destroy,
    "refresh": refresh,
    "confirm": confirm,
    "replan": replan,
    "skip": skip,
    "skip-all": skip_all,
    "cancel": cancel,
    "retry": retry,
    "prioritize": prioritize,
    "deprioritize": deprioritize,
    "watch": watch,
    "logs": logs,
    "local-plan": local_plan,
    "run-command": run_command,
    "queue": queue,
    "queue-clear": queue_clear,
    "resources": resources,
    "outputs": outputs,
    "activity": activity,
}.items():
    app.command(name=name)(work)
app.add_typer(group, name="group")
app.add_typer(state, name="state")
app.add_typer(variable, name="variable")
