"""The issuer of identity tokens in the OpenAPI document."""

from locktender.api.http.operations import Answer, Operation, Part
from locktender.api.stacks.identity.documents import IssuerConfiguration, KeySet
from locktender.api.stacks.identity.issuer import CONFIGURATION, KEYS
from locktender.contracts.kernel.problems import Problem

PART = Part(
    operations=(
        Operation(
            "get", CONFIGURATION, "getIssuerConfiguration", "Who signs the identity tokens of runs",
            (Answer(200, "OpenID Connect Discovery. May be cached for five minutes.", "IssuerConfiguration"),),
            problems=(Problem.NOT_FOUND,), guarded=False,
        ),
        Operation(
            "get", KEYS, "getIssuerKeys", "By which keys the identity tokens of runs are verified",
            (Answer(200, "A JSON Web Key Set. May be cached for five minutes.", "KeySet"),),
            problems=(Problem.NOT_FOUND,), guarded=False,
        ),
    ),
    models=((IssuerConfiguration, "serialization"), (KeySet, "serialization")),
)  # fmt: skip
