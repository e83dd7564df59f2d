"""The sandbox cluster: a small Kubernetes API server over HTTPS, for demonstrations and tests.

It serves the API that deployment tools use (discovery, reads, writes, server-side apply, watches) and controllers that
let workloads become ready, or fail as asked. It runs nothing: pods are rows. It is no place for anything of value.

`python -m locktender.embedded.cluster` runs it as a process; `server.running_cluster` runs it in this one.
"""
