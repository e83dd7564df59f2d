"""Reviews: questions about the asker itself, answered and never stored."""

from locktender.embedded.cluster.auth import Bearer, is_allowed
from locktender.embedded.cluster.calls import Answer
from locktender.embedded.cluster.refusal import method_not_allowed, no_such_path
from locktender.embedded.cluster.request import Target
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.shapes import Obj, obj_at, text_at


def _review(group: str, plural: str, kind: str) -> Resource:
    return Resource(group, "v1", plural, kind, namespaced=False, verbs=("create",))


REVIEWS: tuple[Resource, ...] = (
    _review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    _review("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    _review("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
)


def serve_review(registry: Registry, bearer: Bearer, method: str, steps: list[str], body: Obj) -> Answer:
    """Answer a review at `/apis/GROUP/VERSION/PLURAL`.

    Raises:
        Refusal: 404 and 405.
    """
    asked = next((r for r in REVIEWS if ["apis", r.group, r.version, r.plural] == steps), None)
    if asked is None:
        raise no_such_path()
    if method != "POST":
        raise method_not_allowed()
    head: Obj = {"kind": asked.kind, "apiVersion": asked.api_version, "metadata": {}, "spec": obj_at(body, "spec")}
    match asked.plural:
        case "selfsubjectreviews":
            user = {"username": bearer.user, "groups": ["system:authenticated"]}
            return Answer(201, head | {"status": {"userInfo": user}})
        case "selfsubjectrulesreviews":
            return Answer(201, head | {"status": _rules(bearer)})
        case _:
            return Answer(201, head | {"status": _access(registry, bearer, obj_at(body, "spec"))})


def _access(registry: Registry, bearer: Bearer, spec: Obj) -> Obj:
    asked = obj_at(spec, "resourceAttributes")
    if not asked:
        # Paths that are no objects are open to everybody who is known.
        return {"allowed": True}
    group, plural = text_at(asked, "group"), text_at(asked, "resource")
    known = next((r for r in registry if (r.group, r.plural) == (group, plural)), None)
    resource = known or Resource(group, text_at(asked, "version") or "v1", plural, plural, builtin=False)
    target = Target(
        text_at(asked, "verb"),
        resource,
        text_at(asked, "namespace"),
        text_at(asked, "name"),
        text_at(asked, "subresource"),
    )
    return {"allowed": True} if is_allowed(bearer, target) else {"allowed": False, "reason": "no rule allows it"}


def _rules(bearer: Bearer) -> Obj:
    """The allowing rules. What deny rules take away cannot be said in this form, so the answer is incomplete then."""
    open_rules = [rule for rule in bearer.rules if rule.effect == "allow"]
    told: list[Obj] = [
        {
            "verbs": list(rule.verbs) or ["*"],
            "apiGroups": list(rule.groups) or ["*"],
            "resources": list(rule.resources) or ["*"],
            "resourceNames": list(rule.names),
        }
        for rule in open_rules
    ]
    if bearer.admin or bearer.allowed:
        told.append({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
    return {"resourceRules": told, "nonResourceRules": [], "incomplete": len(open_rules) != len(bearer.rules)}
