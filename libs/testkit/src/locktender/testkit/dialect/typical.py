"""Manifests as people write them, in any number."""

_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
  namespace: shop
  labels:
    app: web-{number}
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web-{number}
  template:
    metadata:
      labels:
        app: web-{number}
    spec:
      containers:
        - name: web
          image: registry.example.com/shop/web:1.2.{number}
          ports:
            - containerPort: 8080
          env:
            - name: MODE
              value: "production"
          resources:
            requests: {{cpu: 100m, memory: 64Mi}}
"""


def deployments(count: int) -> str:
    """`count` Deployments as one YAML text, some 550 bytes each."""
    return "---\n".join(_DEPLOYMENT.format(number=number) for number in range(count))
