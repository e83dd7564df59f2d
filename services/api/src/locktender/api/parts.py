"""The whole HTTP interface: what each context offers, put together."""

from locktender.api.http.operations import OPERATIONS as DEPLOYMENTS_AND_TEMPLATES
from locktender.api.http.operations import Part
from locktender.api.stacks.described import PARTS as STACKS

PARTS: tuple[Part, ...] = STACKS
"""What the contexts beside deployments and templates add."""

OPERATIONS = (*DEPLOYMENTS_AND_TEMPLATES, *(operation for part in PARTS for operation in part.operations))
"""Every operation that is served."""
