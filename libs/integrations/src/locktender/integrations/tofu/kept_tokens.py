"""Identity tokens must not be kept: a plan that holds one hands it to the apply, and the engine's warnings print it."""

import asyncio
import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO

from locktender.integrations.tofu import arguments
from locktender.integrations.tofu.bench import Bench
from locktender.integrations.tofu.failures import TokenKept


async def check_plan(bench: Bench, planned: bytes) -> None:
    """See that a plan file holds none of the run's identity tokens.

    Raises:
        TokenKept: it holds one.
        CommandFailed: the engine encrypts its plans, and does not say what is in this one.
    """
    tokens = {
        name: token.get_secret_value().encode()
        for name, token in (*bench.secrets.tokens.items(), *bench.secrets.token_files.items())
    }
    if not tokens:
        return
    try:
        kept = await asyncio.to_thread(_found, _entries(planned), tokens)
    except zipfile.BadZipFile:
        document = await bench.document(arguments.show_plan(bench.engine, str(bench.place.plan_file)))
        kept = _found([document], tokens)
    if kept is not None:
        raise TokenKept(kept)


def _entries(planned: bytes) -> Iterable[bytes]:
    with zipfile.ZipFile(BytesIO(planned)) as archive:
        for name in archive.namelist():
            yield archive.read(name)


def _found(texts: Iterable[bytes], tokens: Mapping[str, bytes]) -> str | None:
    """The name of a token that is in one of the texts. All of them have it as it is: a token has no odd characters."""
    return next((name for text in texts for name, token in tokens.items() if token in text), None)
