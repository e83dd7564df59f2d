"""Identifiers. Time-ordered UUIDs (version 7), so that indexes grow at one end."""

import os
import re
from typing import NewType
from uuid import UUID

from uuid_utils.compat import uuid7

from locktender.contracts.kernel.lease import Owner

Workspace = NewType("Workspace", str)
"""The tenant. Lower-case letters, digits and dashes; it is one token of every event subject."""

WORKSPACE_PATTERN = r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$"
NAME_PATTERN = WORKSPACE_PATTERN

_NOT_SUBJECT_SAFE = re.compile(r"[^a-zA-Z0-9_-]+")


def new_id() -> UUID:
    """A fresh version 7 UUID. Rising within a process."""
    return uuid7()


def instance_name(raw: str) -> str:
    """A host or pod name as one safe subject token."""
    return _NOT_SUBJECT_SAFE.sub("-", raw)[:48].strip("-") or "instance"


def new_owner(instance: str) -> Owner:
    """An owner name for this boot of `instance`; never the same twice."""
    return Owner(f"{instance}/{os.urandom(6).hex()}")
