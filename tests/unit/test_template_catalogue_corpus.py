"""Forms that authors of public templates use, each in a template of our own, rendered and read back as manifests."""

import pytest

from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.render import Rendered, allocated, render
from locktender.integrations.templates.template import read_template

VARIABLES = {
    "SEALOS_NAMESPACE": "ns-shop",
    "SEALOS_CLOUD_DOMAIN": "cloud.example.org",
    "SEALOS_CLOUD_PORT": "443",
    "SEALOS_CERT_SECRET_NAME": "wildcard-cert",
    "SEALOS_SERVICE_ACCOUNT": "shopkeeper",
}
HEAD = """apiVersion: app.sealos.io/v1
kind: Template
metadata:
  name: ${{ defaults.app_name }}
spec:
  title: 'Shop'   # the name people see
  i18n: {zh: {description: '商店'}}
  defaults:
    app_name:
      # number or string..
      type: string
      value: shop-${{ random(8) }}
    app_host: {type: string, value: "${{ random(8) }}"}
    admin_token: {type: string, value: "sk-${{ random(24) }}"}
    port: {type: number, value: 8080}
  inputs:
    database: {type: choice, default: bundled, options: [bundled, external]}
    queue: {type: boolean, default: 'false'}
    workers: {type: number, default: '2'}
    size: {type: string, default: '10'}
    password: {type: string, default: '', required: true}
    url: {type: string, default: '', if: inputs.database === 'external'}
"""


def rendered(resources: str, **inputs: str) -> Rendered:
    template = read_template(f"{HEAD}\n---\n{resources}")
    return render(template, allocated(template, VARIABLES, b"s"), VARIABLES, inputs, seed=b"s")


def objects(resources: str, **inputs: str) -> list[JsonObject]:
    done = rendered(resources, **inputs)
    manifests = [manifest.body for manifest in parse_manifests(done.yaml())]
    assert manifests == done.documents
    return manifests


OPTIONAL = """${{ if(inputs.queue === 'true') }}
---
apiVersion: apps.kubeblocks.io/v1alpha1
kind: Cluster
metadata: {name: "${{ defaults.app_name }}-redis", finalizers: [cluster.kubeblocks.io/finalizer]}
spec: {topology: replication, tolerations: []}
---
${{ endif() }}
---
${{ if(inputs.database === 'bundled' || inputs.queue === 'true') }}
apiVersion: v1
kind: ServiceAccount
metadata: {name: "${{ defaults.app_name }}-pg"}

---
${{ endif() }}

apiVersion: v1
kind: Service
metadata:
  name: ${{ defaults.app_name }}
spec:
  ports:
    - {name: http, port: 80}
    ${{ if(inputs.queue === 'true') }}
    - name: queue
      port: 5679
    ${{ endif() }}
  selector: {app: "${{ defaults.app_name }}"}
---
"""


@pytest.mark.parametrize(
    ("inputs", "kinds", "ports"),
    [
        ({}, ["ServiceAccount", "Service"], 1),
        ({"queue": "true", "database": "external"}, ["Cluster", "ServiceAccount", "Service"], 2),
        ({"database": "external"}, ["Service"], 1),
    ],
)
def test_separators_stand_before_behind_and_inside_of_conditions(
    inputs: dict[str, str], kinds: list[str], ports: int
) -> None:
    found = objects(OPTIONAL, **inputs)
    assert [each["kind"] for each in found] == kinds
    assert len(found[-1]["spec"]["ports"]) == ports


WORKLOAD = """apiVersion: apps/v1
kind: StatefulSet
metadata:
    name: ${{ defaults.app_name }}
    labels: {app: "${{ defaults.app_name }}", tier: 1}
    annotations:
        example.org/replicas: 1
        example.org/${{ defaults.app_name }}: 'yes'
spec:
    replicas: ${{ inputs.workers }}
    serviceName: ${{ defaults.app_name }}
    selector: {matchLabels: {app: "${{ defaults.app_name }}"}}
    template:
        metadata: {labels: {app: "${{ defaults.app_name }}"}}
        spec:
            initContainers:
                - name: own
                  image: alpine
                  # Give the `shop` user (id 472) its volume: ${{ not.an.expression(
                  command: ["/bin/sh", "-c", "chown -R 1000:1000 /data; chmod -R 770 /data"]
            containers:
                - name: ${{ defaults.app_name }}
                  image: shop:1.2
                  command:
                      [
                          "/bin/sh",
                          "-c",
                          "exec shop --port ${{ defaults.port }}",
                      ]
                  args: []
                  env:
                      - name: NOTHING
                      - name: ID
                        value: 1000
                      - name: DEBUG
                        value: true
                      - name: PASSWORD
                        value: ${{ inputs.password }}
                      - name: DSN
                        value: root:$(DB_PASSWORD)@tcp(${{ defaults.app_name }}-pg.${{ SEALOS_NAMESPACE }}.svc:3306)/db
                      ${{ if(inputs.database === 'bundled') }}
                      - name: DB
                        valueFrom: {secretKeyRef: {name: "${{ defaults.app_name }}-pg", key: host}}
                      ${{ else() }}
                      - name: DB
                        value: ${{ inputs.url }}
                      ${{ endif() }}
                      - name: AUTH
                        value: ${{ base64('admin:' + inputs.password) }}
                      - name: LEVEL
                        value: ${{ inputs.database !== 'bundled' ? 'high' : inputs.queue === 'true' ? 'mid' : 'low' }}
                  ports:
                      - containerPort: ${{ defaults.port }}
                  resources: {limits: {cpu: 1, memory: 512Mi}}
                  volumeMounts: []
    volumeClaimTemplates:
        - metadata: {name: data, annotations: {path: /data, value: '1'}}
          spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "${{ inputs.size }}Gi"}}}
"""


def container_of(document: JsonObject) -> JsonObject:
    return document["spec"]["template"]["spec"]["containers"][0]


def variables_of(document: JsonObject) -> dict[str, object]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container_of(document)["env"]}


def test_a_workload_has_numbers_where_they_belong_and_texts_everywhere_else() -> None:
    [document] = objects(WORKLOAD, password="123456")
    app = document["metadata"]["name"]
    assert document["spec"]["replicas"] == 2
    assert document["metadata"]["labels"] == {"app": app, "tier": "1"}
    assert document["metadata"]["annotations"] == {"example.org/replicas": "1", f"example.org/{app}": "yes"}
    assert container_of(document)["command"][2] == "exec shop --port 8080"
    assert container_of(document)["ports"] == [{"containerPort": 8080}]
    assert document["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "10Gi"
    env = variables_of(document)
    assert env["NOTHING"] is None
    assert (env["ID"], env["DEBUG"], env["PASSWORD"]) == ("1000", "true", "123456")
    assert env["DSN"] == f"root:$(DB_PASSWORD)@tcp({app}-pg.ns-shop.svc:3306)/db"
    assert env["DB"] == {"secretKeyRef": {"name": f"{app}-pg", "key": "host"}}
    assert env["AUTH"] == "YWRtaW46MTIzNDU2"
    assert env["LEVEL"] == "low"


def test_the_other_branch_is_taken_where_its_input_says_so() -> None:
    [document] = objects(WORKLOAD, database="external", url="postgres://db/x?a=b&c=d#e", password='it\'s: "x"')
    env = variables_of(document)
    assert env["DB"] == "postgres://db/x?a=b&c=d#e"
    assert env["PASSWORD"] == 'it\'s: "x"'
    assert env["LEVEL"] == "high"


SCRIPT = """apiVersion: v1
kind: ConfigMap
metadata: {name: "${{ defaults.app_name }}"}
data:
  run.sh: |
    set -eu
    for i in $(seq 1 60); do [ -f "$${FLAG}" ] || echo "${HOST%:*} ${{ defaults.app_host }}"; done
    cat <<'EOF' > /etc/x.json
    {"url": "https://${{ defaults.app_host }}.${{ SEALOS_CLOUD_DOMAIN }}:${{ SEALOS_CLOUD_PORT }}", "a": {}}
    EOF
    ${{ if(inputs.queue === 'true') }}
    exec queue
    ${{ else() }}
    exec web   # {{ .Values.mine }}
    ${{ endif() }}
  nginx.conf: |-
    if ($request_uri ~* \\.(js|css|gif|jpe?g|png)) {
      add_header Cache-Control "public";
    }
  folded: >
    one
    two ${{ inputs.workers }}
  "quoted-${{ defaults.app_name }}": "tab\\there ${{ inputs.size }}"
"""


def test_scripts_keep_their_lines_and_everything_that_only_looks_like_an_expression() -> None:
    [document] = objects(SCRIPT)
    data = document["data"]
    host = data["run.sh"].split("https://")[1].split(".")[0]
    assert data["run.sh"].splitlines() == [
        "set -eu",
        f'for i in $(seq 1 60); do [ -f "$${{FLAG}}" ] || echo "${{HOST%:*}} {host}"; done',
        "cat <<'EOF' > /etc/x.json",
        f'{{"url": "https://{host}.cloud.example.org:443", "a": {{}}}}',
        "EOF",
        "exec web   # {{ .Values.mine }}",
    ]
    assert data["nginx.conf"].startswith("if ($request_uri ~* \\.(js|css")
    assert data["folded"] == "one two 2\n"
    assert data[f"quoted-{document['metadata']['name']}"] == "tab\there 10"


def test_names_that_nobody_declared_leave_nothing_and_are_told() -> None:
    done = rendered(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
        'data: {a: "x${{ inputs.colour }}y", b: "${{ SEALOS_REGION || \'none\' }}", c: "${{ defaults.gone }}"}\n'
    )
    assert done.documents[0]["data"] == {"a": "xy", "b": "none", "c": ""}
    assert done.missing == ("SEALOS_REGION", "defaults.gone", "inputs.colour")


def test_an_open_brace_that_is_never_closed_on_its_line_stays_as_it_is() -> None:
    [document] = objects(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
        "data:\n  a: ${{ one\n  b: two }}\n  c: |\n    ${{\n    1\n    }}\n"
    )
    assert document["data"] == {"a": "${{ one", "b": "two }}", "c": "${{\n1\n}}\n"}


def test_a_forgotten_separator_is_named_as_such() -> None:
    text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n\napiVersion: v1\nkind: B\nmetadata: {name: b}\n"
    with pytest.raises(TemplateFault, match="put a line with `---` before it") as fault:
        rendered(text)
    assert fault.value.line == HEAD.count("\n") + 7


def test_windows_line_ends_a_byte_order_mark_and_a_comment_before_the_template_are_fine() -> None:
    text = f"# ours\n---\n{HEAD}---\n{OPTIONAL}".replace("\n", "\r\n")
    template = read_template(f"\ufeff{text}")
    done = render(template, allocated(template, VARIABLES, b"s"), VARIABLES, {}, seed=b"s")
    assert [each["kind"] for each in done.documents] == ["ServiceAccount", "Service"]


def test_anchors_and_merges_work_across_expressions() -> None:
    [document] = objects("""apiVersion: v1
kind: ConfigMap
metadata: {name: a}
x: &shared
  app: ${{ defaults.port }}
  more: &list [1, "${{ inputs.size }}"]
y:
  <<: *shared
  own: *list
""")
    assert document["y"] == {"own": [1, "10"], "app": 8080, "more": [1, "10"]}


@pytest.mark.parametrize("value", ['["bot"]', '"[bot] "', "{a: b}", "True", "-Xms1g -Xmx1g", "10%"])
def test_a_value_with_marks_of_yaml_in_it_stays_what_was_entered(value: str) -> None:
    [document] = objects(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n"
        "    env: [{name: A, value: ${{ inputs.size }}}]\n",
        size=value,
    )
    assert document["spec"]["containers"][0]["env"] == [{"name": "A", "value": value}]


@pytest.mark.parametrize("name", ["12345678", "true", "1e3", "0x1f"])
def test_a_name_is_a_text_whatever_it_looks_like(name: str) -> None:
    [document] = objects(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nspec: {name: ${{ inputs.size }}, n: 5}\n", size=name
    )
    assert document["spec"] == {"name": name, "n": 5}


@pytest.mark.parametrize(
    ("tagged", "value"), [("!!str 12", "12"), ("! 12", "12"), ("!!int 12", 12), ("!!str ${{ inputs.workers }}", "2")]
)
def test_tags_of_plain_yaml_are_honoured(tagged: str, value: object) -> None:
    [document] = objects(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\nit: {tagged}\n")
    assert document["it"] == value
