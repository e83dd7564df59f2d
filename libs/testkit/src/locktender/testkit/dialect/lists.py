"""Lists of objects, and objects that look like lists."""

from locktender.testkit.dialect.case import Cases

LISTS: Cases = {
    "list": ("apiVersion: v1\nkind: List\nitems:\n- @I- @L", None),
    "list empty": ("apiVersion: v1\nkind: List\nitems: []\n", "no-objects"),
    "list null items": ("apiVersion: v1\nkind: List\nitems:\n", "misplaced-items"),
    "list without items": ("apiVersion: v1\nkind: List\n", "missing-name"),
    "list without items and another": ("apiVersion: v1\nkind: List\n---\n@A", "missing-name"),
    "list empty and another": ("apiVersion: v1\nkind: List\nitems: []\n---\n@A", None),
    "typed list": ("apiVersion: v1\nkind: ConfigMapList\nitems:\n- @I", None),
    "typed list without item kinds": (
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: case-a}\n",
        "missing-api-version",
    ),
    "typed list group": (
        "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: case-a}\n",
        "missing-api-version",
    ),
    "list item without kind": (
        "apiVersion: v1\nkind: List\nitems:\n- metadata: {name: case-a}\n",
        "missing-api-version",
    ),
    "list nested": (
        (
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items"
            ":\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: case-a}\n"
        ),
        "nested-list",
    ),
    "list in stream": ("apiVersion: v1\nkind: List\nitems:\n- @I---\n@B", None),
    "list of null": ("apiVersion: v1\nkind: List\nitems:\n- \n- @I", "not-a-mapping"),
    "list of text": ("apiVersion: v1\nkind: List\nitems: [a]\n", "not-a-mapping"),
    "list items map": ("apiVersion: v1\nkind: List\nitems: {a: b}\n", "misplaced-items"),
    "list items text": ("apiVersion: v1\nkind: List\nitems: x\n", "misplaced-items"),
    "list with metadata": ("apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems:\n- @I", None),
    "list with labels": ("apiVersion: v1\nkind: List\nmetadata: {labels: {a: b}}\nitems:\n- @I", None),
    "list without api version": ("kind: List\nitems:\n- @I", None),
    "list other group": ("apiVersion: x.y/v1\nkind: WidgetList\nitems:\n- @I", None),
    "list of other kind items": ("apiVersion: v1\nkind: SecretList\nitems:\n- @I", None),
    "custom kind that ends in list": (
        "apiVersion: x.y/v1\nkind: AllowList\nmetadata: {name: case-a}\nspec: {}\n",
        None,
    ),
    "custom kind list with items": (
        "apiVersion: x.y/v1\nkind: AllowList\nmetadata: {name: case-a}\nitems: [{cidr: x}]\n",
        "missing-api-version",
    ),
    "custom kind list with text items": (
        "apiVersion: x.y/v1\nkind: AllowList\nmetadata: {name: case-a}\nitems: [x]\n",
        "not-a-mapping",
    ),
    "custom kind list with empty items": (
        "apiVersion: x.y/v1\nkind: AllowList\nmetadata: {name: case-a}\nitems: []\n",
        "no-objects",
    ),
    "object with items": ("@Aitems: [{a: b}]\n", "misplaced-items"),
    "object with object items": ("@Aitems:\n- @L", "misplaced-items"),
    "object with items map": ("@Aitems: {a: b}\n", "misplaced-items"),
    "object with empty items": ("@Aitems: []\n", "misplaced-items"),
    "object with null items": ("@Aitems:\n", "misplaced-items"),
    "list duplicate": ("apiVersion: v1\nkind: List\nitems:\n- @I- @I", "duplicate-object"),
}
"""Whole texts."""
