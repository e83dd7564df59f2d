"""Write everything that is derived from code: `python tools/generate.py`; with `--check`, only say what is stale."""

import argparse
import importlib
import json
import sys
from importlib.util import find_spec
from pathlib import Path

from docgen.presentation import presentation_page
from docgen.readiness import readiness_page
from docgen.sql import statement_pages
from docgen.states import state_page
from docgen.wire import problems_page, subjects_page

from locktender.contracts.cleanup.flow import CLEANUP_JOB
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, STACK_RUN, STACK_STAGE
from locktender.storage.roles import roles_sql

_ROOT = Path(__file__).resolve().parent.parent
_OWNED = ("docs/generated",)
"""Folders in which a file that nothing renders any more is stale."""

_DOCUMENTS = {
    "docs/generated/openapi.json": ("locktender.api.http.openapi", "openapi_document"),
    "docs/generated/asyncapi.json": ("locktender.api.events.asyncapi", "asyncapi_document"),
    "infra/nats/locktender.conf.template": ("locktender.embedded.nats_template", "template"),
}
"""Rendered by the module that knows, where it is installed."""


def main() -> int:
    """0: everything is fresh (or was written). 1: `--check` found stale files, which it names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    check = parser.parse_args().check
    rendered = _rendered()
    stale = [path for path, text in rendered.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    orphaned = [path for folder in _OWNED for path in (_ROOT / folder).rglob("*.*") if path not in rendered]
    for path in sorted(stale + orphaned):
        sys.stdout.write(
            f"{'stale' if check else 'written' if path in rendered else 'removed'}: {path.relative_to(_ROOT)}\n"
        )
    if check:
        return 1 if stale or orphaned else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rendered[path], encoding="utf-8")
    for path in orphaned:
        path.unlink()
    return 0


def _rendered() -> dict[Path, str]:
    files = {
        f"docs/generated/states/{DEPLOYMENT_TASK.name}.md": state_page(DEPLOYMENT_TASK),
        f"docs/generated/states/{CLEANUP_JOB.name}.md": state_page(CLEANUP_JOB),
        f"docs/generated/states/{STACK_DEPLOYMENT.name}.md": state_page(STACK_DEPLOYMENT),
        f"docs/generated/states/{STACK_STAGE.name}.md": state_page(STACK_STAGE),
        f"docs/generated/states/{STACK_RUN.name}.md": state_page(STACK_RUN),
    }
    files |= {f"docs/generated/sql/{name}": text for name, text in statement_pages().items()}
    files |= {
        "docs/generated/presentation.md": presentation_page(),
        "docs/generated/problems.md": problems_page(),
        "docs/generated/readiness.md": readiness_page(),
        "docs/generated/subjects.md": subjects_page(),
        "infra/postgres/roles.sql": roles_sql(),
    }
    for path, (module, function) in _DOCUMENTS.items():
        if _installed(module):
            files[path] = _text(getattr(importlib.import_module(module), function)())
    return {_ROOT / path: text for path, text in files.items()}


def _installed(module: str) -> bool:
    """Whether the module is there at all; one that is there and broken must fail loudly."""
    package = module.rpartition(".")[0]
    return (package == "locktender" or _installed(package)) and find_spec(module) is not None


def _text(document: object) -> str:
    """A text as it is; anything else as JSON, with a stable order of keys."""
    if isinstance(document, bytes):
        document = document.decode()
    if isinstance(document, str):
        return document if document.endswith("\n") else f"{document}\n"
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, default=str) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
