"""Kubernetes: manifests and kubeconfigs are read here, and clusters are talked to.

`manifests` and `kubeconfig` turn submitted text into values or findings, `secrets` says what of it may be stored,
`client` applies and watches, `explain` turns refusals into reasons for people.
"""
