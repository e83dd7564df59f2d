"""The database as each service sees it: with its own role, and no other rights.

Roles belong to a server and tests run beside each other, so everybody uses these passwords. They are given with
`apply_roles(db.dsn, PASSWORDS)`.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from locktender.contracts.kernel.permissions import IDENTITIES, Identity
from locktender.storage.kernel.database import open_database
from locktender.storage.roles import role_name
from locktender.testkit.database import TestDatabase

PASSWORDS: Mapping[str, str] = {identity: f"canary's-{identity}$1" for identity in IDENTITIES}


def dsn_as(db: TestDatabase, identity: Identity) -> str:
    """The address of a database for a service."""
    parts = urlsplit(db.dsn)
    word = PASSWORDS[identity].replace("'", "%27").replace("$", "%24")
    return parts._replace(netloc=f"{role_name(identity)}:{word}@{parts.netloc.rpartition('@')[2]}").geturl()


@asynccontextmanager
async def acting_as(db: TestDatabase, identity: Identity) -> AsyncGenerator[TestDatabase]:
    """The same database, opened by a service. `admin` stays the superuser's."""
    dsn = dsn_as(db, identity)
    async with open_database(dsn, name=identity, size=1) as database:
        yield replace(db, dsn=dsn, database=database)
