"""403, and the refusals of policies that come under other codes: who may not do what, and who says so."""

import re

from locktender.integrations.kube.answers import Refused, one_line
from locktender.integrations.kube.errors import KubeDenied, KubeError, KubeQuotaExceeded, KubeTerminating
from locktender.integrations.kube.faults import shown

_RIGHT = re.compile(
    r'User "([^"]{0,200})" cannot ([a-z]{1,30}) (?:resource|path) "([^"]{1,200})"'
    r'(?: in API group "([^"]{0,200})")?(?: in the namespace "([^"]{1,70})"| (at the cluster scope))?'
)
_QUOTA = re.compile(r"exceeded quota: (\S{1,253}), requested: (.{1,400}), used: (.{1,400}), limited: ([^\n]{1,400})")
_MUST_SPECIFY = re.compile(r"failed quota: (\S{1,253}): must specify (.{1,300})")
_POD_SECURITY = re.compile(r'violates PodSecurity "([^"]{1,100})":\s*(.*)', re.DOTALL)
_WEBHOOK = re.compile(
    r'admission webhook "([^"]{1,253})" denied the request(?:: ?(.*)| without explanation)', re.DOTALL
)
_POLICY = re.compile(
    r"ValidatingAdmissionPolicy '([^']{1,253})' with binding '[^']{1,253}' denied request: (.*)", re.DOTALL
)
_RANGE = re.compile(
    r"((?:maximum|minimum) \S{1,100} usage per .*|\S{1,100} max limit to request ratio per .*)", re.DOTALL
)
_ACCOUNT = re.compile(r"error looking up service account ([^/\s]{1,63})/([^:\s]{1,253}): ")
_FORBIDDEN = re.compile(r'^\S{1,300}(?: "[^"]{1,253}")? is forbidden: ')
_TERMINATING = "NamespaceTerminating"


def policy_denial(refused: Refused) -> KubeDenied | None:
    """The denial of an admission webhook or policy, which choose their HTTP code themselves; else None."""
    webhook = _WEBHOOK.search(refused.said)
    if webhook is not None:
        who = f"the admission webhook {shown(webhook.group(1), 253)}"
        return _denied(refused, f"{who} denies {refused.attempt.what}{refused.quoted(webhook.group(2) or '')}")
    policy = _POLICY.search(refused.said)
    if policy is not None:
        who = f"the admission policy {shown(policy.group(1), 253)}"
        return _denied(refused, f"{who} denies {refused.attempt.what}{refused.quoted(policy.group(2))}")
    return None


def denial(refused: Refused) -> KubeError:  # noqa: PLR0911 - one return a kind of denial
    """What a 403 amounts to."""
    said, what = refused.said, refused.attempt.what
    if any(cause.get("reason") == _TERMINATING for cause in refused.causes) or "being terminated" in said:
        return terminating_namespace(refused)
    if "exceeded quota" in said or "failed quota" in said:
        return _quota(refused)
    right = _RIGHT.search(said)
    if right is not None:
        return _no_right(refused, right)
    if "attempting to grant RBAC permissions not currently held" in said:
        return _denied(
            refused,
            f"{what} would grant rights that the account itself does not have",
            "grant the account these rights or the verb escalate, or use credentials that have them",
        )
    security = _POD_SECURITY.search(said)
    if security is not None:
        return _denied(
            refused,
            f"the namespace enforces the pod security level {shown(security.group(1))}, which {what} violates"
            f"{refused.quoted(security.group(2))}",
            "set these fields in the pod's securityContext, or deploy to a namespace with another level",
        )
    limits = _RANGE.search(said)
    if limits is not None:
        return _denied(
            refused,
            f"{what} is outside of the limit range of the namespace{refused.quoted(limits.group(1).rstrip(']'))}",
            "change requests and limits in the manifest, or the LimitRange",
        )
    account = _ACCOUNT.search(said)
    if account is not None:
        return _denied(
            refused,
            f"{what} uses the service account {shown(account.group(2))}, which does not exist in namespace "
            f"{shown(account.group(1))}",
            "add the ServiceAccount to the manifests, or correct serviceAccountName",
        )
    if not said or " cannot " in said:
        return _no_right(refused, None)
    return _denied(refused, f"a policy of the cluster refuses {what}{refused.quoted(_FORBIDDEN.sub('', said))}")


def terminating_namespace(refused: Refused) -> KubeTerminating:
    """Nothing can be created in a namespace that is being deleted."""
    place = f"namespace {refused.attempt.namespace}" if refused.attempt.namespace else "its namespace"
    return KubeTerminating(
        f"{refused.attempt.what} cannot be applied: {place} is being deleted",
        hint="wait until the namespace is gone, or deploy to another",
    )


def _denied(refused: Refused, message: str, hint: str = "") -> KubeDenied:
    return KubeDenied(
        message,
        verb=refused.attempt.verb,
        resource=refused.attempt.resource,
        hint=hint or "change the manifest so that the policy allows it, or ask who runs the cluster for an exception",
    )


def _quota(refused: Refused) -> KubeQuotaExceeded:
    attempt, hint = refused.attempt, "ask for less, remove what is not needed, or raise the ResourceQuota"
    found, unset = _QUOTA.search(refused.said), _MUST_SPECIFY.search(refused.said)
    if found is not None:
        name, requested, used, limited = (one_line(part, 150) for part in found.groups())
        told = f"does not fit into the quota {name}: it asks for {requested}; used {used} of {limited}"
    elif unset is not None:
        name, missing = (one_line(part, 200) for part in unset.groups())
        told = f"does not say what the quota {name} counts: {missing}"
        hint = "write these requests and limits into the manifest, or give the namespace a LimitRange with defaults"
    else:
        told = f"does not fit into the quota of the namespace{refused.quoted()}"
    if attempt.secret:
        told = "does not fit into the quota of the namespace"
    return KubeQuotaExceeded(f"{attempt.what} {told}", verb=attempt.verb, resource=attempt.resource, hint=hint)


def _no_right(refused: Refused, right: re.Match[str] | None) -> KubeDenied:
    attempt = refused.attempt
    user, verb, resource, group, namespace = "", attempt.verb, attempt.resource, "", attempt.namespace
    if right is not None:
        user, verb, resource, group = right.group(1), right.group(2), right.group(3), right.group(4) or ""
        namespace = right.group(5) or (None if right.group(6) else namespace)
    who = f"the account {shown(user, 120)}" if user else "the account"
    whose = f"{shown(resource, 120)}.{shown(group, 120)}" if group else shown(resource, 120)
    place = f" in namespace {namespace}" if namespace else ""
    return KubeDenied(
        f"{who} may not {verb} {whose}{place}",
        verb=verb,
        resource=resource,
        hint=f"grant it {verb} on {whose}{place} by a {'RoleBinding' if namespace else 'ClusterRoleBinding'}, "
        "or use credentials that have it",
    )
