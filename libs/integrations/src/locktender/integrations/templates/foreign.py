"""YAML that belongs to other programs: read for what it says, never passed on as it was written."""

from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.templates.expression import Value
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.marks import Expression, Marks
from locktender.integrations.templates.scalars import Filler


def read_mapping(text: str, path: str) -> JsonObject:
    """The one mapping of a file; an empty file is an empty one. Duplicate keys and excesses are refused.

    Raises:
        TemplateFault: it is something else.
    """
    documents = read_mappings(text, path)
    if len(documents) > 1:
        raise TemplateFault("malformed-yaml", f"{path} must be one YAML mapping")
    return documents[0] if documents else {}


def read_mappings(text: str, path: str) -> list[JsonObject]:
    """Every document of a file, each a mapping.

    Raises:
        TemplateFault: one is not.
    """
    try:
        found = Filler(Marks(), _nothing).documents(text, lambda line: line + 1)
    except TemplateFault as fault:
        raise TemplateFault(fault.code, f"{path}: {fault.problem}", fault.line) from None
    values = [read.value for read in found]
    documents = [value for value in values if isinstance(value, dict)]
    if len(documents) != len(values):
        raise TemplateFault("malformed-yaml", f"{path} must hold mappings alone")
    return documents


def _nothing(expression: Expression) -> Value:
    # Never asked: no expression is taken out of the text.
    del expression
    return None
