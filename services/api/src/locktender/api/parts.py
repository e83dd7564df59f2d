"""The whole HTTP interface: what each context offers, put together."""

from locktender.api.deployments.described import PARTS as DEPLOYMENTS
from locktender.api.http.described import PART as PROCESS
from locktender.api.http.operations import Part
from locktender.api.stacks.described import PARTS as STACKS
from locktender.api.templates.described import PART as TEMPLATES

PARTS: tuple[Part, ...] = (*DEPLOYMENTS, TEMPLATES, PROCESS, *STACKS)
"""What the contexts offer, and what the process says of itself."""

OPERATIONS = tuple(operation for part in PARTS for operation in part.operations)
"""Every operation that is served."""
