"""The formats of texts that schemas of custom kinds may ask for. One that is not known fits everything."""

import re
from collections.abc import Callable
from datetime import date, datetime
from ipaddress import IPv4Address, IPv6Address, ip_network
from uuid import UUID

_DURATION = re.compile(
    r"^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*$|^0$"
)


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def fits_it(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return fits_it


_FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": _parses(datetime.fromisoformat),
    "date": _parses(date.fromisoformat),
    "uuid": _parses(UUID),
    "ipv4": _parses(IPv4Address),
    "ipv6": _parses(IPv6Address),
    "cidr": _parses(lambda value: ip_network(value, strict=False)),
    "duration": lambda value: _DURATION.match(value) is not None,
}


def fits(form: str, value: str) -> bool:
    """Whether a text has a format."""
    return _FORMATS[form](value) if form in _FORMATS else True
