"""Which machines git may talk to: by the name of the host, and by every address that the name stands for.

Whoever may name a repository makes a process of ours connect to its host. What answers on a machine's own addresses
and on those of its provider (instance metadata, which hands out credentials) is never meant to be asked that way.
"""

import asyncio
import os
import re
import socket
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import StringConstraints

from locktender.integrations.sources.address import host_of
from locktender.integrations.sources.errors import SourceRefused, SourceUnavailable

EVERY_HOST: Final = frozenset({"*"})
THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names for a machine of one's own, to be listed besides `*`."""

HostPattern = Annotated[
    str, StringConstraints(pattern=r"^(\*|(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9-])?|[0-9a-f:.]*:[0-9a-f:.]*)$")
]
"""`*`, `git.example.com`, `*.example.com` for every host below it, or an address. In small letters."""

_PORTS: Final = {"https": 443, "http": 80, "ssh": 22}
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_PROVIDERS: Final = frozenset(
    map(ip_address, ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"))
)
"""Metadata of providers of machines where it is not on a link-local address: AWS, Google, Alibaba, Azure, Oracle."""

Address = IPv4Address | IPv6Address
LookUp = Callable[[str, int], Coroutine[Any, Any, Iterable[str]]]
"""The addresses of a host. Raises `OSError` when it has none, or nobody can be asked."""


async def look_up(host: str, port: int) -> list[str]:
    """What the resolver of this machine says; see `LookUp`."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(frozen=True, slots=True)
class Reach:
    """Which hosts git may talk to.

    Attributes:
        hosts: patterns; a host has to fit one of them. A host that is listed by its own name may be
            this machine (loopback) as well; one that merely fits a pattern may not.
        look_up: how addresses are found.
    """

    hosts: Collection[str] = EVERY_HOST
    look_up: LookUp = look_up

    async def settings_for(self, url: str, scheme: str) -> dict[str, str]:
        """See that the host of a checked address may be talked to; what git has to be told, so that it asks no other.

        Guaranteed: every address of the host was looked at, and over http and https git connects to these alone (as of
        Git 2.37). Link-local addresses, those of providers' metadata, and what is no address of one machine are never
        talked to; private networks are.

        Not guaranteed: over ssh, and behind a proxy, the host is looked up once more by somebody else, and a name that
        means another machine by then gets through.

        Raises:
            SourceRefused: the host is none that may be talked to.
            SourceUnavailable: its addresses cannot be found out.
        """
        host = host_of(url)
        if not host:
            return {}
        if not any(_fits(host, pattern) for pattern in self.hosts):
            raise SourceRefused("repositories of this host are not taken here; an administrator lists the hosts")
        port = urlsplit(url).port if "://" in url else None
        port = port or _PORTS[scheme]
        try:
            found = [*await self.look_up(host, port)]
        except (OSError, UnicodeError):
            found = []
        if not found:
            if scheme == "https" and _proxied():
                return {}
            raise SourceUnavailable("the host of the repository has no address; check its name")
        if not all(_may_be_talked_to(_bare(each), at_home=host in self.hosts) for each in found):
            raise SourceRefused("the host of the repository stands for an address that is never talked to from here")
        if scheme == "ssh" or host in found:
            return {}
        addresses = ",".join(f"[{each}]" if ":" in each else each for each in found)
        return {"http.curloptResolve": f"{host}:{port}:{addresses}"}


def _fits(host: str, pattern: str) -> bool:
    return pattern in ("*", host) or (pattern.startswith("*.") and host.endswith(pattern[1:]))


def _proxied() -> bool:
    """Whether names are looked up by a proxy, so that there may be nobody to ask here."""
    return bool(os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"))


def _bare(text: str) -> Address:
    """The address that packets really go to; IPv4 may be wrapped in several ways. Without the name of an interface."""
    address = ip_address(re.sub("%.*$", "", text))
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _may_be_talked_to(address: Address, *, at_home: bool) -> bool:
    if address.is_loopback:
        return at_home
    nobody = address.is_unspecified or address.is_multicast or address.is_link_local
    if isinstance(address, IPv4Address):
        # All of 0/8 is this machine, and 240/4 with the broadcast address is nobody.
        nobody = nobody or address.is_reserved or address.packed[0] == 0
    return not nobody and address not in _PROVIDERS
