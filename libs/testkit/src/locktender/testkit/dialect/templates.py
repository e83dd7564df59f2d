"""A template as people write them, of any size."""

_HEAD = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata:
  name: shop
spec:
  title: Shop
  defaults:
    app_name: {type: string, value: "shop-${{ random(8) }}"}
    app_host: {type: string, value: "${{ random(8) }}"}
  inputs:
    image: {description: What to run, type: string, default: "registry.example.com/shop:1.4"}
    password: {description: For the first person, type: string, required: true}
    replicas: {type: number, default: 2}
    public: {description: "Serve at ${{ SEALOS_CLOUD_DOMAIN }}?", type: boolean, default: "true"}
"""

_APP = """\
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: ${{ defaults.app_name }}-NUMBER
  annotations:
    example.org/image: ${{ inputs.image }}
  labels:
    app: ${{ defaults.app_name }}-NUMBER
spec:
  replicas: ${{ inputs.replicas }}
  revisionHistoryLimit: 1
  serviceName: ${{ defaults.app_name }}-NUMBER
  selector:
    matchLabels:
      app: ${{ defaults.app_name }}-NUMBER
  template:
    metadata:
      labels:
        app: ${{ defaults.app_name }}-NUMBER
    spec:
      automountServiceAccountToken: false
      containers:
        - name: ${{ defaults.app_name }}-NUMBER
          image: ${{ inputs.image }}
          env:
            - name: URL
              value: https://${{ defaults.app_host }}.${{ SEALOS_CLOUD_DOMAIN }}
            - name: PASSWORD
              value: ${{ inputs.password }}
            - name: AUTH
              value: ${{ base64(defaults.app_name + ':' + inputs.password) }}
            - name: MODE
              value: ${{ inputs.public === 'true' ? 'public' : 'private' }}
            ${{ if(inputs.public === 'true') }}
            - name: PUBLIC
              value: 'true'
            ${{ else() }}
            - name: PRIVATE
              value: 'true'
            ${{ endif() }}
            - name: DATABASE_HOST
              valueFrom:
                secretKeyRef:
                  name: ${{ defaults.app_name }}-database
                  key: host
          command:
            - /bin/sh
            - -c
            - |
              set -eu
              until nc -z "${DATABASE_HOST}" 5432; do
                sleep 2
              done
              exec shop --at https://${{ defaults.app_host }}.${{ SEALOS_CLOUD_DOMAIN }}
          ports:
            - name: http
              containerPort: 8080
          resources:
            requests: {cpu: 20m, memory: 25Mi}
            limits: {cpu: 200m, memory: 256Mi}
          volumeMounts:
            - name: data
              mountPath: /data
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 1Gi
---
apiVersion: v1
kind: Service
metadata:
  name: ${{ defaults.app_name }}-NUMBER
  labels:
    app: ${{ defaults.app_name }}-NUMBER
spec:
  ports:
    - name: http
      port: 80
      targetPort: http
  selector:
    app: ${{ defaults.app_name }}-NUMBER
${{ if(inputs.public === 'true') }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: ${{ defaults.app_name }}-NUMBER
  labels:
    app: ${{ defaults.app_name }}-NUMBER
  annotations:
    nginx.ingress.kubernetes.io/proxy-body-size: 32m
spec:
  rules:
    - host: ${{ defaults.app_host }}-NUMBER.${{ SEALOS_CLOUD_DOMAIN }}
      http:
        paths:
          - pathType: Prefix
            path: /
            backend:
              service:
                name: ${{ defaults.app_name }}-NUMBER
                port:
                  name: http
${{ endif() }}
"""


def shop(apps: int) -> str:
    """A template with four inputs and three documents for each app, some 3.3 KB of it."""
    return _HEAD + "".join(_APP.replace("NUMBER", str(number)) for number in range(apps))
