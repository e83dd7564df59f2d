"""Differences of objects, as people read them."""

from typing import Any

import pytest

from locktender.integrations.kube.change_words import LONGEST_TEXT
from locktender.integrations.kube.diff import MOST_CHANGES, field_diff
from locktender.integrations.kube.stamps import EPOCH_ANNOTATION, TASK_ANNOTATION

Told = list[tuple[str, str | None, str | None]]


def told(before: dict[str, Any], after: dict[str, Any], **options: Any) -> Told:
    return [(change.path, change.before, change.after) for change in field_diff(before, after, **options).changes]


def spec(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": fields}


def data(**values: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": values}


def env(*entries: tuple[str, str]) -> dict[str, Any]:
    return spec(env=[{"name": name, "value": value} for name, value in entries])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (spec(a=1), spec(a=2), [("spec.a", "1", "2")]),
        (spec(a="x"), spec(a=None), [("spec.a", '"x"', "null")]),
        (spec(a=1), spec(), [("spec.a", "1", None)]),
        (spec(), spec(a={"b": [1]}), [("spec.a", None, '{"b":[1]}')]),
        (spec(a=True), spec(a=1), [("spec.a", "true", "1")]),
        (spec(a=[1, 2]), spec(a=[1, 3, 4]), [("spec.a[1]", "2", "3"), ("spec.a[2]", None, "4")]),
        (
            {"metadata": {"annotations": {"a.example/b": "1"}}},
            {"metadata": {"annotations": {"a.example/b": "2"}}},
            [('metadata.annotations["a.example/b"]', '"1"', '"2"')],
        ),
        (
            spec(containers=[{"name": "web", "image": "a"}, {"name": "side", "image": "b"}]),
            spec(containers=[{"name": "side", "image": "b"}, {"name": "web", "image": "c"}]),
            [
                ("spec.containers", '["name=web","name=side"]', '["name=side","name=web"]'),
                ("spec.containers[name=web].image", '"a"', '"c"'),
            ],
        ),
        (
            spec(containers=[{"name": "web"}]),
            spec(containers=[{"name": "web"}, {"name": "new"}]),
            [("spec.containers[name=new]", None, '{"name":"new"}')],
        ),
        (
            spec(ports=[{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}]),
            spec(ports=[{"containerPort": 80, "protocol": "TCP", "hostPort": 1}]),
            [
                ("spec.ports[containerPort=80,protocol=TCP].hostPort", None, "1"),
                ("spec.ports[containerPort=80,protocol=UDP]", '{"containerPort":80,"protocol":"UDP"}', None),
            ],
        ),
        (
            spec(ports=[{"port": 80, "targetPort": 1}]),
            spec(ports=[{"port": 80, "targetPort": 2}]),
            [("spec.ports[port=80].targetPort", "1", "2")],
        ),
        (
            spec(volumeMounts=[{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]),
            spec(volumeMounts=[{"name": "w", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]),
            [("spec.volumeMounts[mountPath=/a].name", '"v"', '"w"')],
        ),
        (env(("MODE", "a")), env(("MODE", "b")), [("spec.env[name=MODE].value", '"a"', '"b"')]),
        (
            env(("A", "1"), ("A", "2")),
            env(("A", "1"), ("A", "3")),
            [("spec.env[1].value", '"2"', '"3"')],
        ),
    ],
)
def test_each_field_is_told_with_its_path_and_both_values(
    before: dict[str, Any], after: dict[str, Any], expected: Told
) -> None:
    assert told(before, after) == expected


def test_of_a_long_text_the_lines_that_differ_are_told() -> None:
    before = "one\ntwo\nthree\nfour\n"
    after = "one\n2\nthree\nfour\nfive\n"
    assert told(data(text=before), data(text=after)) == [("data.text", '["two"]', '["2","five"]')]


def test_of_a_very_long_text_only_the_length_is_told() -> None:
    before, after = "a\n" * 3_000, "a\n" * 2_999 + "b\n"
    assert told(data(text=before), data(text=after)) == [("data.text", '"3001 lines"', '"3001 lines"')]


def test_what_the_server_keeps_for_itself_is_no_change() -> None:
    before = {
        "metadata": {"name": "x", "resourceVersion": "1", "generation": 1, "uid": "a", "managedFields": []},
        "status": {"ready": 1},
    }
    stamps = {TASK_ANNOTATION: "t", EPOCH_ANNOTATION: "2"}
    after = {"metadata": {"name": "x", "annotations": stamps, "creationTimestamp": "now"}, "status": {"ready": 2}}
    assert told(before, after) == []


def test_values_are_cut_and_changes_are_bounded() -> None:
    (change,) = field_diff(spec(a="x"), spec(a="y" * 5_000)).changes
    assert change.after is not None
    assert len(change.after) == LONGEST_TEXT
    many = field_diff(spec(), spec(**{f"f{number}": number for number in range(100)}))
    assert (len(many.changes), many.omitted) == (MOST_CHANGES, 100 - MOST_CHANGES)


def test_a_manifest_is_compared_by_what_it_says() -> None:
    live = spec(a=1, b={"c": 1, "d": 2}, containers=[{"name": "web", "image": "a", "tty": True}, {"name": "injected"}])
    manifest = spec(b={"c": 5}, containers=[{"name": "web", "image": "b"}])
    assert told(live, manifest, partial=True) == [
        ("spec.b.c", "1", "5"),
        ("spec.containers[name=web].image", '"a"', '"b"'),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (spec(dbPassword="canary-1"), spec(dbPassword="canary-2")),
        (spec(), spec(apiKey="canary-2")),
        (spec(token={"deep": ["canary-1"]}), spec(token={"deep": ["canary-2"]})),
        (env(("DB_PASSWORD", "canary-1")), env(("DB_PASSWORD", "canary-2"))),
        (env(), env(("DB_PASSWORD", "canary-2"))),
        (spec(args=["--token=canary-1"]), spec(args=["--token=canary-2"])),
        (spec(args=["--token", "canary-1"]), spec(args=["--token", "canary-2"])),
        (data(url="postgres://shop:canary-1@db/shop"), data(url="postgres://shop:canary-2@db/shop")),
        (data(conf="a = 1\npassword = canary-1\n"), data(conf="a = 1\npassword = canary-2\n")),
        (data(conf='{"password": "canary-1"}'), data(conf='{"password": "canary-2"}')),
        (data(header="Bearer canary-1-and-more"), data(header="Bearer canary-2-and-more")),
        (
            data(pem="-----BEGIN RSA PRIVATE KEY-----\ncanary-1\n-----END RSA PRIVATE KEY-----\n"),
            data(pem="-----BEGIN RSA PRIVATE KEY-----\ncanary-2\n-----END RSA PRIVATE KEY-----\n"),
        ),
        (
            {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"a":"canary-1"}'}}},
            {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"a":"canary-2"}'}}},
        ),
        (
            {"apiVersion": "v1", "kind": "Secret", "data": {"a": "canary-1"}, "stringData": {"b": "canary-1"}},
            {"apiVersion": "v1", "kind": "Secret", "data": {"a": "canary-2"}, "stringData": {"b": "canary-2"}},
        ),
    ],
)
def test_a_value_that_sounds_secret_is_never_told(before: dict[str, Any], after: dict[str, Any]) -> None:
    difference = field_diff(before, after)
    assert difference.changes, "that they differ is told"
    assert "canary" not in str(difference)


def test_a_known_secret_is_withheld_wherever_it_stands_also_where_texts_are_cut() -> None:
    secret = 'canary "quoted" value'
    (change,) = field_diff(data(innocent="a"), data(innocent="x" * 190 + secret), secrets=[secret]).changes
    assert (change.masked, change.before, change.after) == (True, None, None)


def test_references_to_secrets_are_shown() -> None:
    before = spec(
        volumes=[{"name": "v", "secret": {"secretName": "old"}}],
        env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "old", "key": "k"}}}],
        imagePullSecrets=[{"name": "pull"}],
        image="registry.example.com/secret-shop:1",
    )
    after = spec(
        volumes=[{"name": "v", "secret": {"secretName": "new"}}],
        env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "new", "key": "k"}}}],
        imagePullSecrets=[{"name": "pull"}, {"name": "more"}],
        image="registry.example.com/secret-shop:2",
    )
    assert [path for path, *_ in told(before, after)] == [
        "spec.volumes[name=v].secret.secretName",
        "spec.env[name=A].valueFrom.secretKeyRef.name",
        "spec.imagePullSecrets[name=more]",
        "spec.image",
    ]
    assert not any(change.masked for change in field_diff(before, after).changes)
