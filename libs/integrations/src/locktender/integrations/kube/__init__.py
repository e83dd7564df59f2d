"""Kubernetes: manifests and kubeconfigs are read here, and clusters are talked to.

`manifests` and `kubeconfig` turn submitted text into values or findings, `secrets` says what of it may be stored,
`client` applies and watches, `planning` asks by dry runs what applying would do, `explain` turns refusals into reasons
for people.
"""
