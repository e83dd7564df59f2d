"""Who an object is: apiVersion, kind and metadata of every wrong type."""

from locktender.testkit.dialect.case import Cases

IDENTITIES: Cases = {
    "empty": ("", "no-objects"),
    "kind list named": ("apiVersion: v1\nkind: List\nmetadata: {name: case-a}\n", None),
    "no kind": ("apiVersion: v1\nmetadata: {name: case-a}\n", "missing-kind"),
    "empty kind": ("apiVersion: v1\nkind: ''\nmetadata: {name: case-a}\n", "missing-kind"),
    "no api version": ("kind: ConfigMap\nmetadata: {name: case-a}\n", "missing-api-version"),
    "empty api version": ("apiVersion: ''\nkind: ConfigMap\nmetadata: {name: case-a}\n", "missing-api-version"),
    "kind number": ("apiVersion: v1\nkind: 5\nmetadata: {name: case-a}\n", "missing-kind"),
    "kind null": ("apiVersion: v1\nkind:\nmetadata: {name: case-a}\n", "missing-kind"),
    "api version number": ("apiVersion: 1\nkind: ConfigMap\nmetadata: {name: case-a}\n", "missing-api-version"),
    "api version slashes": ("apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: case-a}\n", "missing-api-version"),
    "metadata null": ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n", "missing-name"),
    "metadata text": ("apiVersion: v1\nkind: ConfigMap\nmetadata: x\n", "missing-name"),
    "name number": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 5}\n", "invalid-name"),
    "name null": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: }\n", "missing-name"),
    "label number": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, labels: {a: 1}}\n", "not-text"),
    "label bool": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, labels: {a: true}}\n", "not-text"),
    "label list": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, labels: [a]}\n", "not-text"),
    "labels text": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, labels: x}\n", "not-text"),
    "label nested": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, labels: {a: {b: c}}}\n", "not-text"),
    "annotation number": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, annotations: {a: 1}}\n",
        "not-text",
    ),
    "annotation bool": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, annotations: {a: true}}\n",
        "not-text",
    ),
    "annotation list": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, annotations: {a: [b]}}\n",
        "not-text",
    ),
    "annotations null": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, annotations: }\n", None),
    "finalizer number": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, finalizers: [1]}\n", "not-text"),
    "finalizers text": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, finalizers: a}\n", "not-text"),
    "namespace number": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, namespace: 5}\n",
        "invalid-namespace",
    ),
    "namespace empty": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, namespace: ''}\n",
        "invalid-namespace",
    ),
    "creation timestamp null": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, creationTimestamp: null}\n",
        None,
    ),
    "creation timestamp text": (
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, creationTimestamp: '2020-01-01T00:00:00Z'}\n"),
        "server-field",
    ),
    "creation timestamp bad": (
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, creationTimestamp: 'yesterday'}\n"),
        "server-field",
    ),
    "generation text": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, generation: 'x'}\n", "server-field"),
    "generation": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, generation: 2}\n", "server-field"),
    "owner reference text": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, ownerReferences: x}\n",
        "invalid-owner",
    ),
    "owner reference": (
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, ownerReference"
            "s: [{apiVersion: v1, kind: A, name: b, uid: c}]}\n"
        ),
        None,
    ),
    "owner reference bad": (
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, ownerReferences: [{apiVersion: 1}]}\n"),
        "invalid-owner",
    ),
    "metadata unknown field": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, foo: 1}\n", None),
    "metadata case": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, Name: case-b}\n", None),
    "metadata labels case": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, Labels: {a: 1}}\n", None),
    "metadata self link number": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, selfLink: 1}\n",
        "server-field",
    ),
    "generate name number": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, generateName: 5}\n",
        "invalid-name",
    ),
    "generate name and name": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, generateName: b-}\n", None),
    "deletion timestamp": (
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, deletionTimest"
            "amp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 1}\n"
        ),
        "server-field",
    ),
    "deletion grace text": (
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a, deletionGracePeriodSeconds: x}\n"),
        "server-field",
    ),
}
"""Whole texts."""
