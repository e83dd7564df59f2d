"""Rendering a template that is not deployed: under a name and with random values that nothing else will have."""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.templates.package import Package
from locktender.integrations.templates.rendering import allocate, rendered, secret_values
from locktender.integrations.templates.tools import found_tools

_WAITING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Provisional:
    """What a template came to. `documents` hold secret values, `secrets` are these; for memory alone.

    `unset` are names that the template asked for and nobody set.
    """

    instance: str
    documents: list[JsonObject] = field(repr=False)
    secrets: list[str] = field(repr=False)
    unset: tuple[str, ...]


class ProvisionalRenderer:
    """Renders packages, a few at once, each within a time."""

    def __init__(self, clock: Clock, *, seconds: float, at_once: int) -> None:
        self._clock = clock
        self._seconds = seconds
        self._turns = asyncio.Semaphore(at_once)
        self._tools = found_tools()

    async def __call__(
        self, package: Package, variables: Mapping[str, str], inputs: Mapping[str, str], namespace: str | None
    ) -> Provisional:
        """One rendering.

        Raises:
            TemplateFault: it cannot be rendered.
            Unavailable: too many renderings are under way.
        """
        try:
            async with asyncio.timeout(_WAITING_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            raise Unavailable("too many templates are being rendered") from None
        try:
            instance = allocate(package, variables, secrets.token_bytes(32), None)
            made = await rendered(
                package,
                instance,
                variables,
                inputs,
                namespace=namespace,
                clock=self._clock,
                tools=self._tools,
                deadline=self._seconds,
            )
            withheld = secret_values(package, instance, inputs)
            return Provisional(instance.name, made.documents, withheld, made.missing)
        finally:
            self._turns.release()
