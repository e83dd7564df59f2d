"""What API servers really answer when they refuse, word for word, and what people are to be told."""

import json
from dataclasses import dataclass
from typing import Any

from locktender.integrations.kube.errors import (
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeImmutable,
    KubeInvalid,
    KubeNotFound,
    KubeQuotaExceeded,
    KubeTerminating,
    KubeUnauthorized,
    KubeUnavailable,
    WatchExpired,
)
from locktender.integrations.kube.status import Answer

HEAD = 'Deployment.apps "web" is invalid: '
PAGE = b"<html><head><title>Sign in</title></head><body>proxy</body></html>"
DUMP = (
    'Invalid value: core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:"", Labels:map[string]string{"app":"web"}}, '
    'Spec:core.PodSpec{Containers:[]core.Container{core.Container{Name:"a: b", Image:"x:1"}}}}: field is immutable'
)


def answer(code: int, message: str = "", *, retry_after: str | None = None, reason: str = "", **details: Any) -> Answer:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        "details": details,
    }
    return Answer(code, json.dumps(body).encode(), retry_after)


def invalid(field: str, message: str, reason: str = "FieldValueInvalid") -> Answer:
    causes = [{"reason": reason, "message": message, "field": field}]
    return answer(422, f"{HEAD}{field}: {message}", reason="Invalid", causes=causes)


def untyped(said: str) -> Answer:
    return answer(500, f"failed to create typed patch object (shop/web; apps/v1): {said}")


def owned(manager: str, field: str) -> dict[str, str]:
    return {"reason": "FieldManagerConflict", "message": f'conflict with "{manager}" using apps/v1', "field": field}


def silent_webhook(why: str) -> Answer:
    return answer(
        500,
        'Internal error occurred: failed calling webhook "mutate.example.com": failed to call webhook: Post '
        f'"https://hook.system.svc:443/mutate?timeout=10s": {why}',
        reason="InternalError",
    )


@dataclass(frozen=True)
class Row:
    """One real answer, the class and the code it becomes, words of its message, and words of its hint."""

    id: str
    got: Answer
    kind: type[KubeError]
    reason: str
    words: str
    hint: str = ""
    not_words: str = "\0"


PSS = (
    'pods "web" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container '
    '"web" must set securityContext.allowPrivilegeEscalation=false), runAsNonRoot != true (pod or container "web" must '
    "set securityContext.runAsNonRoot=true)"
)
RBAC = (
    'deployments.apps "web" is forbidden: User "system:serviceaccount:ci:deployer" cannot patch resource "deployments" '
)
ROWS = [
    # Who may do what.
    Row("expired", answer(401, "Unauthorized", reason="Unauthorized"), KubeUnauthorized, "unauthorized",
        "has expired", "fresh kubeconfig"),
    Row("plain 401", Answer(401, b"Unauthorized\n"), KubeUnauthorized, "unauthorized", "does not accept"),
    Row("rbac", answer(403, RBAC + 'in API group "apps" in the namespace "shop"'), KubeDenied, "denied",
        "the account system:serviceaccount:ci:deployer may not patch deployments.apps in namespace shop",
        "grant it patch on deployments.apps in namespace shop by a RoleBinding"),
    Row("rbac at the cluster scope", answer(403, 'clusterroles.rbac.authorization.k8s.io "x" is forbidden: User "ada" '
        'cannot create resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope'),
        KubeDenied, "denied", "ada may not create clusterroles.rbac.authorization.k8s.io", "ClusterRoleBinding"),
    Row("rbac of a list in the core group", answer(403, 'pods is forbidden: User "ada" cannot list resource "pods" in '
        'API group "" in the namespace "shop"'), KubeDenied, "denied", "ada may not list pods in namespace shop"),
    Row("rbac with a managed cluster's addition", answer(403, RBAC + 'in API group "apps" in the namespace "shop": '
        'requires one of ["container.deployments.update"] permission(s).'), KubeDenied, "denied", "may not patch"),
    Row("rbac without a word", answer(403), KubeDenied, "denied",
        "the account may not patch deployments in namespace shop", "grant it"),
    Row("granting more than one has", answer(403, 'roles.rbac.authorization.k8s.io "x" is forbidden: user "ada" '
        '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'), KubeDenied, "denied",
        "would grant rights that the account itself does not have", "escalate"),
    # Quotas, limits, policies.
    Row("quota", answer(403, 'pods "web" is forbidden: exceeded quota: small, requested: pods=1,requests.cpu=2, '
        "used: pods=2,requests.cpu=3, limited: pods=2,requests.cpu=4"), KubeQuotaExceeded, "quota-exceeded",
        "the quota small: it asks for pods=1,requests.cpu=2; used pods=2,requests.cpu=3 of pods=2,requests.cpu=4",
        "raise the ResourceQuota"),
    Row("quota that wants requests", answer(403, 'pods "web" is forbidden: failed quota: mem: must specify '
        "limits.memory for: web"), KubeQuotaExceeded, "quota-exceeded",
        "does not say what the quota mem counts: limits.memory for: web", "LimitRange with defaults"),
    Row("limit range", answer(403, 'pods "web" is forbidden: maximum memory usage per Container is 1Gi, but limit is '
        "2Gi"), KubeDenied, "denied", "outside of the limit range of the namespace: maximum memory usage per Container "
        "is 1Gi, but limit is 2Gi", "LimitRange"),
    Row("limit range, several", answer(403, 'pods "web" is forbidden: [minimum cpu usage per Container is 100m, but '
        "request is 10m, cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000]"),
        KubeDenied, "denied", "provided ratio is 4.000000", "LimitRange", "]"),
    Row("pod security", answer(403, PSS), KubeDenied, "denied",
        "enforces the pod security level restricted:latest, which Deployment web violates: allowPrivilegeEscalation",
        "securityContext"),
    Row("webhook", answer(403, 'admission webhook "validation.gatekeeper.sh" denied the request: [must-have-owner] you '
        'must provide labels: {"owner"}'), KubeDenied, "denied",
        "the admission webhook validation.gatekeeper.sh denies Deployment web: [must-have-owner] you must", "policy"),
    Row("webhook with a code of its own", answer(400, 'admission webhook "validate.kyverno.svc-fail" denied the '
        "request: \n\nresource Deployment/shop/web was blocked due to the following policies\n\nno-latest:\n  tags: "
        "'validation error: use a tag'"), KubeDenied, "denied", "no-latest: tags: 'validation error: use a tag'"),
    Row("webhook without a word", answer(403, 'admission webhook "x.example.com" denied the request without '
        "explanation"), KubeDenied, "denied", "the admission webhook x.example.com denies Deployment web"),
    Row("admission policy", answer(422, 'deployments.apps "web" is forbidden: ValidatingAdmissionPolicy '
        "'replicas.example.com' with binding 'replicas-binding.example.com' denied request: failed expression: "
        "object.spec.replicas <= 5", reason="Invalid"), KubeDenied, "denied",
        "the admission policy replicas.example.com denies Deployment web: failed expression"),
    Row("missing service account", answer(403, 'pods "web" is forbidden: error looking up service account '
        'shop/builder: serviceaccount "builder" not found'), KubeDenied, "denied",
        "service account builder, which does not exist in namespace shop", "serviceAccountName"),
    Row("priority class", answer(403, 'pods "web" is forbidden: no PriorityClass with name high was found'), KubeDenied,
        "denied", "no PriorityClass with name high was found"),
    # Namespaces.
    Row("terminating", answer(403, 'deployments.apps "web" is forbidden: unable to create new content in namespace '
        "shop because it is being terminated", causes=[{"reason": "NamespaceTerminating", "message": "namespace shop "
        "is being terminated", "field": "metadata.namespace"}]), KubeTerminating, "namespace-terminating",
        "namespace shop is being deleted", "wait"),
    Row("object on its way out", answer(409, 'object is being deleted: deployments.apps "web" already exists',
        reason="AlreadyExists"), KubeTerminating, "namespace-terminating", "Deployment web is being deleted", "wait"),
    Row("missing namespace", answer(404, 'namespaces "shop" not found', name="shop", kind="namespaces"), KubeNotFound,
        "apply-failed", "the namespace shop does not exist", "create it"),
    Row("missing object", answer(404, 'deployments.apps "web" not found', name="web", kind="deployments"),
        KubeNotFound, "apply-failed", "Deployment web does not exist"),
    # Conflicts.
    Row("owned fields", answer(409, "Apply failed with 2 conflicts", causes=[
        owned("kubectl-client-side-apply", ".spec.replicas"),
        owned("helm", '.spec.template.spec.containers[name="web"].image')]), KubeConflict, "apply-conflict",
        'spec.replicas is managed by kubectl-client-side-apply, spec.template.spec.containers[name="web"].image is '
        "managed by helm", "with force"),
    Row("owned through a subresource", answer(409, "Apply failed with 1 conflict", causes=[{
        "reason": "FieldManagerConflict", "field": ".spec.replicas",
        "message": 'conflict with "vpnkit" with subresource "scale" using apps/v1'}]), KubeConflict,
        "apply-conflict", "managed by vpnkit (through scale)"),
    Row("moved on", answer(409, 'Operation cannot be fulfilled on deployments.apps "web": the object has been '
        'modified; '
        "please apply your changes to the latest version and try again"), KubeConflict, "apply-conflict",
        "changed by somebody else in the meantime", "deploy again"),
    Row("created anew", answer(409, "Operation cannot be fulfilled: Precondition failed: UID in precondition: a, "
        "UID in "
        "object meta: b"), KubeConflict, "apply-conflict", "deleted and created anew by somebody else"),
    Row("exists", answer(409, 'deployments.apps "web" already exists', reason="AlreadyExists"), KubeConflict,
        "apply-conflict", "exists already"),
    Row("quota in motion", answer(409, 'Operation cannot be fulfilled on resourcequotas "small": the object has been '
        "modified"), KubeConflict, "apply-conflict", "the quota changed while"),
    # Fields.
    Row("required", invalid("spec.template.spec.containers[0].image", "Required value", "FieldValueRequired"),
        KubeInvalid, "invalid-manifest", "spec.template.spec.containers[0].image is required", "correct the manifest"),
    Row("value", invalid("metadata.name", 'Invalid value: "Web_1": a lowercase RFC 1123 label must '
        "consist of lower case"),
        KubeInvalid, "invalid-manifest", 'metadata.name cannot be "Web_1": a lowercase RFC 1123 label'),
    Row("value of a structure", invalid(
        "spec.template.metadata.labels", 'Invalid value: map[string]string{"app":"a: b"}'
        ": `selector` does not match template `labels`"), KubeInvalid, "invalid-manifest",
        "spec.template.metadata.labels is wrong: `selector` does not match", "", "map[string]"),
    Row("unsupported", invalid("spec.template.spec.restartPolicy", 'Unsupported value: "Sometimes": supported values: '
        '"Always", "OnFailure", "Never"', "FieldValueNotSupported"), KubeInvalid, "invalid-manifest",
        'restartPolicy cannot be "Sometimes"; it is one of Always, OnFailure, Never'),
    Row("duplicate", invalid("spec.ports[1].name", 'Duplicate value: "http"', "FieldValueDuplicate"), KubeInvalid,
        "invalid-manifest", 'spec.ports[1].name repeats "http"'),
    Row("duplicate structure", invalid("spec.ports[1]", 'Duplicate value: {"port":80,"protocol":"TCP"}',
        "FieldValueDuplicate"), KubeInvalid, "invalid-manifest", "spec.ports[1] repeats a value"),
    Row("forbidden field", invalid(
        "spec.strategy.rollingUpdate", "Forbidden: may not be specified when strategy `type` "
        "is 'Recreate'", "FieldValueForbidden"), KubeInvalid, "invalid-manifest",
        "spec.strategy.rollingUpdate is not allowed: may not be specified"),
    Row("too long", answer(422, 'ConfigMap "x" is invalid: []: Too long: must have at most 1048576 bytes', causes=[
        {"reason": "FieldValueTooLong", "message": "Too long: must have at most 1048576 bytes", "field": "[]"}]),
        KubeInvalid, "invalid-manifest", "it is too long: must have at most 1048576 bytes"),
    Row("schema", invalid("spec.size",
        'Invalid value: "integer": spec.size in body should be less than or equal to 10'),
        KubeInvalid, "invalid-manifest", 'spec.size cannot be "integer": should be less than or equal to 10'),
    Row("missing reference", invalid("spec.template.spec.containers[0].volumeMounts[0].name", 'Not found: "data"',
        "FieldValueNotFound"), KubeInvalid, "invalid-manifest", 'name refers to "data", which does not'),
    Row("several causes", answer(422, HEAD + "[...]", causes=[
        {"field": f"spec.f{n}", "message": "Required value"} for n in range(7)]), KubeInvalid, "invalid-manifest",
        "spec.f0 is required; spec.f1 is required; spec.f2 is required; spec.f3 is required; spec.f4 is "
        "required; and 2"),
    Row("node port taken", invalid("spec.ports[0].nodePort",
        "Invalid value: 30080: provided port is already allocated"),
        KubeInvalid, "invalid-manifest", "nodePort cannot be 30080: provided port is already allocated"),
    # Fields that cannot change.
    Row("selector", invalid("spec.selector", "Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"
        '"app":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable'), KubeImmutable,
        "immutable-field", "spec.selector is wrong: field is immutable", "replaced", "LabelSelector"),
    Row("job template", invalid("spec.template", DUMP), KubeImmutable, "immutable-field",
        "spec.template is wrong: field is immutable", "replaced", "PodTemplateSpec"),
    Row("statefulset", invalid("spec", "Forbidden: updates to statefulset spec for fields other than 'replicas', "
        "'ordinals', 'template' are forbidden", "FieldValueForbidden"), KubeImmutable, "immutable-field",
        "spec cannot change once the statefulset exists, except for 'replicas', 'ordinals', 'template'"),
    Row("claim", invalid("spec", "Forbidden: spec is immutable after creation except resources.requests and "
        "volumeAttributesClassName for bound claims", "FieldValueForbidden"), KubeImmutable, "immutable-field",
        "immutable after creation"),
    Row("smaller claim", invalid("spec.resources.requests.storage", "Forbidden: field can not be less than "
        "status.capacity", "FieldValueForbidden"), KubeImmutable, "immutable-field", "can not be less than"),
    Row("pod", invalid("spec", "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.activeDeadlineSeconds`", "FieldValueForbidden"), KubeImmutable, "immutable-field", "may not change"),
    Row("service address", invalid("spec.clusterIPs[0]", "Invalid value: []string(nil): may not change once set"),
        KubeImmutable, "immutable-field", "may not change once set"),
    Row("role reference", invalid("roleRef", 'Invalid value: rbac.RoleRef{Name:"b"}: cannot change roleRef'),
        KubeImmutable, "immutable-field", "cannot change roleRef"),
    Row("configmap", invalid("data", "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden"),
        KubeImmutable, "immutable-field", "data is not allowed: field is immutable"),
    Row("storage class", invalid("parameters",
        "Forbidden: updates to parameters are forbidden.", "FieldValueForbidden"),
        KubeImmutable, "immutable-field", "parameters"),
    # What cannot even be decoded.
    Row("strict decoding", answer(400, 'Deployment in version "v1" cannot be handled as a Deployment: strict decoding '
        'error: unknown field "spec.replica", duplicate field "spec.template"'), KubeInvalid, "invalid-manifest",
        "the field spec.replica is not known; the field spec.template is there twice", "correct the manifest"),
    Row("unknown field of an apply", untyped('.spec.template.spec.containers[name="web"].imagee: field not declared in '
        "schema"), KubeInvalid, "invalid-manifest",
        'the field spec.template.spec.containers[name="web"].imagee is not known'),
    Row("several of an apply", untyped("errors:\n  .spec.foo: field not declared in schema\n  .spec.bar: field not "
        "declared in schema"), KubeInvalid, "invalid-manifest",
        "spec.foo is not known; the field spec.bar is not known"),
    Row("wrong type of an apply", untyped('.spec.replicas: expected numeric (int or float), got &value.'
        'valueUnstructured{Value:"three"}'), KubeInvalid, "invalid-manifest", "spec.replicas must be a number", "",
        "three"),
    Row("entry without its key", untyped(".spec.template.spec.containers: element 0: associative list with keys has an "
        'element that omits key field "name" (and doesn\'t have default value)'), KubeInvalid, "invalid-manifest",
        "an entry of spec.template.spec.containers lacks its name"),
    Row("entry twice", untyped('.spec.template.spec.containers: duplicate entries for key [name="web"]'), KubeInvalid,
        "invalid-manifest", 'spec.template.spec.containers has two entries with name="web"'),
    Row("wrong type in Go", answer(400, 'Deployment in version "v1" cannot be handled as a Deployment: json: cannot '
        "unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"), KubeInvalid,
        "invalid-manifest", "spec.replicas must be a whole number, not a string"),
    Row("quantity", answer(400, 'Deployment in version "v1" cannot be handled as a Deployment: quantities must match '
        "the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"), KubeInvalid, "invalid-manifest",
        "an amount of cpu, memory or storage is not one"),
    Row("base64", answer(400, 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte '
        "4"), KubeInvalid, "invalid-manifest", "a value under data is not base64"),
    Row("too large", answer(413, "Request entity too large: limit is 3145728"), KubeInvalid, "invalid-manifest",
        "too large for the cluster: Request entity too large: limit is 3145728", "smaller"),
    Row("too large for the proxy", Answer(413, PAGE), KubeInvalid, "invalid-manifest", "too large for the cluster"),
    Row("too large for etcd", answer(500, "etcdserver: request is too large"), KubeInvalid, "invalid-manifest",
        "too large for the cluster"),
    Row("media type", answer(415, "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json"), KubeInvalid, "invalid-manifest", "does not understand the request", "1.22"),
    Row("not even JSON", Answer(418, b"\xff\xfe"), KubeInvalid, "invalid-manifest", "does not accept Deployment web"),
    # Servers in trouble.
    Row("compacted", answer(410, "too old resource version: 1 (100)", reason="Expired"), WatchExpired, "apply-failed",
        "no longer has the changes"),
    Row("busy", answer(429, "Too many requests, please try again later.", retry_after="7"), KubeUnavailable,
        "cluster-unreachable", "the cluster is busy; it asks to wait 7 s", "try again later"),
    Row("leader", answer(500, "etcdserver: leader changed"), KubeUnavailable, "cluster-unreachable",
        "with an internal error (500): its store has just changed its leader", "try again later"),
    Row("slow store", answer(500, "rpc error: code = Unavailable desc = etcdserver: request timed out"),
        KubeUnavailable, "cluster-unreachable", "its store is slow"),
    Row("full store", answer(500, "etcdserver: mvcc: database space exceeded"), KubeUnavailable, "cluster-unreachable",
        "its store is full"),
    Row("quota not checked", answer(500, "Internal error occurred: resource quota evaluation timed out"),
        KubeUnavailable, "cluster-unreachable", "could not check the quotas in time"),
    Row("aggregated API", answer(503, "the server is currently unable to handle the request"), KubeUnavailable,
        "cluster-unreachable", "the service behind this API does not answer"),
    Row("starting", answer(429, "storage is (re)initializing", retryAfterSeconds=1), KubeUnavailable,
        "cluster-unreachable", "asks to wait 1 s"),
    Row("shutting down", answer(503, "apiserver is shutting down"), KubeUnavailable, "cluster-unreachable",
        "shutting down"),
    Row("timeout", answer(504,
        "Timeout: request did not complete within requested timeout - context deadline exceeded"),
        KubeUnavailable, "cluster-unreachable", "it did not finish in time"),
    Row("webhook refused", silent_webhook("dial tcp 10.0.0.1:443: connect: connection refused"), KubeUnavailable,
        "apply-failed", "Deployment web waits for the admission webhook mutate.example.com of the cluster, which does "
        "not answer: connection refused", "start what serves the webhook", "10.0.0.1"),
    Row("webhook without pods", silent_webhook('no endpoints available for service "hook"'), KubeUnavailable,
        "apply-failed", "its service has no pods that are ready"),
    Row("webhook without service", silent_webhook('service "hook" not found'), KubeUnavailable, "apply-failed",
        "its service does not exist"),
    Row("webhook in its time", silent_webhook("context deadline exceeded"), KubeUnavailable, "apply-failed",
        "no answer in time"),
    Row("webhook with a foreign certificate", silent_webhook("tls: failed to verify certificate: x509: certificate "
        "signed by unknown authority"), KubeUnavailable, "apply-failed", "its certificate is not trusted"),
    Row("conversion", answer(500, "conversion webhook for example.com/v1, Kind=Widget failed: Post "
        '"https://hook.system.svc:443/convert": service "hook" not found'), KubeUnavailable, "apply-failed",
        "conversion webhook for example.com/v1, Kind=Widget"),
    # What stands between.
    Row("bad gateway", Answer(502, b"<html>bad gateway</html>"), KubeUnavailable, "cluster-unreachable",
        "a proxy or load balancer before the cluster answered the request to patch Deployment web with an "
        "internal error (502)"),
    Row("sign-in page", Answer(403, PAGE), KubeUnavailable, "cluster-unreachable",
        "a web page came back instead of the cluster's answer (403)", "server URL"),
    Row("another server", Answer(404, b"<!DOCTYPE html><p>Not Found"), KubeUnavailable, "cluster-unreachable",
        "a web page came back"),
    Row("redirect", Answer(302, b""), KubeUnavailable, "cluster-unreachable", "redirect (302)", "server URL"),
]  # fmt: skip
