"""Amounts as Kubernetes writes them: `500m`, `1Gi`, `2e3`. Pure."""

import re
from decimal import Decimal

_FORM = re.compile(r"^(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?P<unit>[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+|)$")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SCALE = (
    {"": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")}
    | {unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)}
    | {unit: Decimal(1024) ** power for power, unit in enumerate(_BINARY, 1)}
)


def amount(text: object) -> Decimal:
    """The value of a quantity; 0 for what is none."""
    found = _FORM.match(str(text)) if text is not None else None
    if found is None:
        return Decimal(0)
    number, unit = Decimal(found["number"]), found["unit"]
    return number * _SCALE[unit] if unit in _SCALE else number.scaleb(int(unit[1:]))


def written(value: Decimal, *, binary: bool = False) -> str:
    """A value as the server writes it: thousandths as `m`; with `binary`, the largest unit that needs no fraction."""
    if value != value.to_integral_value():
        return f"{int((value * 1000).to_integral_value(rounding='ROUND_CEILING'))}m"
    whole = int(value)
    unit = ""
    for larger in _BINARY if binary and whole else ():
        if whole % 1024:
            break
        whole, unit = whole // 1024, larger
    return f"{whole}{unit}"


def is_binary(resource: str) -> bool:
    """Whether amounts of a resource are counted in bytes."""
    return resource.endswith(("memory", "storage"))
