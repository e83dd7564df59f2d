"""What the paths and headers of requests about tasks say."""

from uuid import UUID

from locktender.api.http.gated import HttpRequest
from locktender.api.http.query import is_name, row_id
from locktender.contracts.kernel.errors import NotFound

TASKS = "/workspaces/{workspace:str}/deployment-tasks"
TASK = TASKS + "/{task_id:str}"
PROJECT_TASKS = "/workspaces/{workspace:str}/projects/{project:str}/deployment-tasks"

_CLIENTS = frozenset({"api", "cli", "ui", "chat"})


def workspace_of(request: HttpRequest) -> str:
    """The workspace in the path; the gate has looked at it."""
    return str(request.path_params["workspace"])


def task_of(request: HttpRequest) -> UUID:
    """The task in the path.

    Raises:
        NotFound: it is not an identifier, so nothing can be there.
    """
    return row_id(request.path_params, "task_id")


def project_of(request: HttpRequest) -> tuple[str, str]:
    """The workspace and the project in the path.

    Raises:
        NotFound: it is no name of a project, so nothing can be there.
    """
    project = str(request.path_params["project"])
    if not is_name(project):
        raise NotFound("project", "with this name")
    return workspace_of(request), project


def client_of(request: HttpRequest) -> str:
    """Where the request comes from, as it says; what nobody knows counts as `api`."""
    client = request.headers.get("locktender-client", "api").lower()
    return client if client in _CLIENTS else "api"
